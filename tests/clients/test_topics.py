"""A topic that was just created is waited for until each broker knows it."""

from types import SimpleNamespace

import pytest

from eosctl.clients import leaders
from eosctl.clients.errors import UNKNOWN_TOPIC_OR_PARTITION
from eosctl.clients.librdkafka import await_topic
from eosctl.errors import TimedOut, Unreachable


class SlowBrokers:
    """Brokers that know the topic after so many questions; None: one that does not answer."""

    def __init__(self, **unknown: int | None) -> None:
        self.left = {int(name.removeprefix("b")): count for name, count in unknown.items()}
        self.asked: list[int] = []

    def brokers(self):
        return [SimpleNamespace(node_id=node_id) for node_id in self.left]

    def request(self, node_id, _, *, timeout_s):
        self.asked.append(node_id)
        left = self.left[node_id]
        if left is None:
            raise Unreachable(f"broker {node_id} does not answer")
        self.left[node_id] = max(0, left - 1)
        return SimpleNamespace(topics=[SimpleNamespace(error_code=UNKNOWN_TOPIC_OR_PARTITION if left else 0)])


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaders, "POLL_S", 0.001)


def test_each_broker_is_asked_until_it_knows_the_topic():
    brokers = SlowBrokers(b1=0, b2=3)
    await_topic(brokers, "orders-offsets", timeout_s=5)
    assert brokers.asked == [1, 2, 2, 2, 2]


def test_a_broker_that_does_not_answer_is_not_waited_for():
    brokers = SlowBrokers(b1=None, b2=1)
    await_topic(brokers, "orders-offsets", timeout_s=5)
    assert brokers.asked == [1, 2, 2]


def test_one_that_never_knows_it_is_named():
    with pytest.raises(TimedOut, match=r"orders-offsets exists, and broker 2 does not know it, after 0\.02 s"):
        await_topic(SlowBrokers(b1=0, b2=10**6), "orders-offsets", timeout_s=0.02)

"""`eosctl fence` on three brokers: many IDs, and coordinators that move or go while it runs."""

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from eosctl.executors.fencing import StepProgress
from tests.commands.conftest import Ran
from tests.faulty_sandbox import Sandbox
from tests.integration.coordinators import coordinator_of, describe

pytestmark = [pytest.mark.kafka, pytest.mark.matrix]

Eosctl = Callable[..., Ran]
IDS = 10_000
MOVING_IDS = 2_000
"""Enough to be at it still when a tenth is done."""


class ManyIds:
    """A file of IDs that coordinators know, and what fencing them gives."""

    def __init__(self, servers: str, eosctl: Eosctl, names: list[str], file: Path) -> None:
        self.servers, self.eosctl, self.names, self.file = servers, eosctl, names, file
        file.write_text("".join(f"{name}\n" for name in names))

    def fence(self, *flags: str) -> Ran:
        return self.eosctl("fence", "-b", self.servers, "--ids-file", self.file, "--yes", "-o", "json", *flags)

    def check(self, ran: Ran) -> None:
        """Every ID is fenced, is listed once, and is at its coordinator what the result says."""
        assert ran.exit_code == 0, ran.stderr
        results = json.loads(ran.stdout)["data"]["results"]
        assert [each["transactional_id"] for each in results] == self.names
        assert {each["outcome"] for each in results} == {"fenced"}
        now = describe(self.servers, self.names)
        wrong = [each for each in results if not _agrees(each, now[each["transactional_id"]])]
        assert wrong == []


def _agrees(result: dict[str, Any], told: Any) -> bool:
    after = result["after"]
    return bool(
        (told.producer.producer_id, told.producer.producer_epoch) == (after["producer_id"], after["producer_epoch"])
    )


@pytest.fixture
def many_ids(
    three_brokers: Sandbox, eosctl: Eosctl, fresh_name: Callable[[str], str], tmp_path: Path
) -> Callable[[int], ManyIds]:
    def make(count: int) -> ManyIds:
        prefix = fresh_name("many")
        names = [f"{prefix}-{number}" for number in range(count)]
        return ManyIds(three_brokers.bootstrap_servers, eosctl, names, tmp_path / "ids.txt")

    return make


@pytest.fixture
def all_back(three_brokers: Sandbox) -> Iterator[None]:
    """Starts at the end what the test took down."""
    yield
    for node in (1, 2, 3):
        if three_brokers.broker_pid(node) is None:
            three_brokers.start_broker(node)


@pytest.mark.variation
def test_ten_thousand_ids_of_three_coordinators_are_fenced(many_ids: Callable[[int], ManyIds]) -> None:
    ids = many_ids(IDS)
    ids.check(ids.fence("--create-missing"))
    ids.check(ids.fence())
    told = describe(ids.servers, ids.names).values()
    assert {each.coordinator for each in told if each is not None} == {1, 2, 3}


@pytest.mark.variation
@pytest.mark.parametrize("how", ["stopped", "killed"])
@pytest.mark.usefixtures("all_back")
def test_ids_are_fenced_although_their_coordinator_moves_meanwhile(
    how: str, three_brokers: Sandbox, many_ids: Callable[[int], ManyIds], monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = many_ids(MOVING_IDS)
    assert ids.fence("--create-missing").exit_code == 0
    node = coordinator_of(ids.servers, ids.names[0])
    under_way = _event_after(MOVING_IDS // 10, monkeypatch)
    with ThreadPoolExecutor(1) as other:
        fencing = other.submit(ids.fence, "--timeout", "120")
        assert under_way.wait(60)
        three_brokers.kill_broker(node) if how == "killed" else three_brokers.stop_broker(node)
        assert not fencing.done()
        three_brokers.start_broker(node)
        ran = fencing.result()
    ids.check(ran)


@pytest.mark.usefixtures("all_back")
def test_ids_of_a_broker_that_is_down_are_fenced_by_the_one_that_takes_over(
    three_brokers: Sandbox, many_ids: Callable[[int], ManyIds]
) -> None:
    ids = many_ids(300)
    assert ids.fence("--create-missing").exit_code == 0
    node = coordinator_of(ids.servers, ids.names[0])
    lost = [name for name, told in describe(ids.servers, ids.names).items() if told and told.coordinator == node]
    three_brokers.kill_broker(node)
    ran = ids.fence("--timeout", "120")
    ids.check(ran)
    now = describe(ids.servers, lost)
    assert all(told is not None and told.coordinator != node for told in now.values())


def _event_after(results: int, monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Set when that many IDs have their result."""
    event, end = threading.Event(), StepProgress.end
    left = iter(range(results, -1, -1))

    def counted(progress: StepProgress, *told: Any) -> Any:
        if next(left, 0) == 0:
            event.set()
        return end(progress, *told)

    monkeypatch.setattr(StepProgress, "end", counted)
    return event

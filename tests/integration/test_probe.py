"""`eosctl probe` on real brokers, and on services that speak Kafka's protocol and do otherwise."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from eosctl.model.versions import KafkaVersion
from tests.commands.conftest import Eosctl, Ran, Typed
from tests.faults.kafka_proxy import Fault, KafkaProxy, OtherKafka, Seen, proxied
from tests.faults.other_kafkas import (
    DESCRIBE_PRODUCERS,
    END_TXN,
    FETCH,
    INIT_PRODUCER_ID,
    LIST_OFFSETS,
    LIST_TRANSACTIONS,
    AnswersNothing,
    Interrupts,
    Lacks,
    Lags,
    Uncommitted,
    refusing,
    without_fencing,
)
from tests.faulty_sandbox import Sandbox
from tests.integration.access import allowed
from tests.integration.coordinators import state_of
from tests.waiting import eventually

pytestmark = pytest.mark.kafka


VERIFIES, BUMPS = KafkaVersion(3, 6), KafkaVersion(4, 0)
UNSUPPORTED_VERSION = 35
ZOMBIES = {"zombie-commit-refused", "zombie-add-refused", "zombie-write-refused"}
READ_UNCOMMITTED = {"open-hidden", "aborted-hidden", "fencing-aborts", "abort-marker-written"}
ON_TOPIC = (
    *(("CREATE", "TOPIC", "eosctl-probe-*"), ("READ", "TOPIC", "eosctl-probe-*"), ("WRITE", "TOPIC", "eosctl-probe-*")),
    ("WRITE", "TRANSACTIONAL_ID", "eosctl-probe-*"),
)


@dataclass(frozen=True)
class Answered:
    """The result of a probe."""

    ran: Ran

    @property
    def data(self) -> dict[str, Any]:
        return json.loads(self.ran.stdout)["data"]

    @property
    def answers(self) -> dict[str, str]:
        return {each["id"]: each["answer"] for each in self.data["answers"]}

    @property
    def others(self) -> dict[str, str]:
        """Those that are not yes."""
        return {name: answer for name, answer in self.answers.items() if answer != "yes"}

    def seen(self, name: str) -> str:
        return str(next(each["seen"] for each in self.data["answers"] if each["id"] == name))


def topics(sandbox: Sandbox) -> set[str]:
    admin = AdminClient({"bootstrap.servers": sandbox.bootstrap_servers})
    return {name for name in admin.list_topics(timeout=10).topics if name.startswith("eosctl-probe-")}


@pytest.fixture
def proxy(sandbox: Sandbox) -> Iterator[KafkaProxy]:
    """In front of the shared broker."""
    with proxied(sandbox.bootstrap_servers) as made:
        yield made


@pytest.fixture
def probe_of(sandbox: Sandbox, proxy: KafkaProxy, eosctl: Eosctl) -> Callable[..., Answered]:
    """The findings of a probe at such a service; its topic is gone afterwards."""

    def probe(other: OtherKafka | None = None, *, timeout_s: float = 20) -> Answered:
        proxy.other = other
        ran = eosctl("probe", "-b", sandbox.bootstrap_servers, "--yes", "-o", "json", "--timeout", timeout_s)
        assert topics(sandbox) == set()
        return Answered(ran)

    return probe


@pytest.mark.matrix
def test_a_broker_does_all_that_its_version_has(broker: Sandbox, eosctl: Eosctl):
    found = Answered(eosctl("probe", "-b", broker.bootstrap_servers, "--yes", "-o", "json"))
    expected = {"marker-right-needed": "unknown"}
    if broker.spec.version < VERIFIES:
        expected["partition-verified"] = "no"
    if broker.spec.version < BUMPS:
        expected |= {"transaction-version": "no", "epoch-per-transaction": "no"}
    assert found.others == expected
    assert found.ran.exit_code == 0, "what only newer releases have does not count"
    assert "has Alter" in found.seen("marker-right-needed")
    assert topics(broker) == set()
    name = found.data["transactional_id"]
    assert [(each["kind"], each["name"]) for each in found.data["left"]] == [("transactional ID", name)]
    assert state_of(broker.bootstrap_servers, name) == "Empty", "nothing is left open"
    assert len(found.data["init_producer_id_ms"]) == 6


OTHERS: dict[str, tuple[OtherKafka, dict[str, str]]] = {
    "no ListTransactions": (Lacks(LIST_TRANSACTIONS), {"tool-apis": "no", "list-transactions": "no"}),
    "no DescribeProducers": (Lacks(DESCRIBE_PRODUCERS), {"tool-apis": "no", "describe-producers": "no"}),
    "empty answers": (AnswersNothing(), {"describe-producers": "different"}),
    "no fencing": (without_fencing(), dict.fromkeys(ZOMBIES, "no")),
    "LSO is the high watermark": (Uncommitted(LIST_OFFSETS), {"lso-held": "no"}),
    "read_committed is not looked at": (Uncommitted(FETCH), dict.fromkeys(READ_UNCOMMITTED, "no")),
}


@pytest.mark.parametrize("service", OTHERS)
def test_only_the_differences_of_a_service_are_reported(probe_of: Callable[..., Answered], service: str):
    other, expected = OTHERS[service]
    found = probe_of(other)
    others = found.others
    if "describe-producers" in expected:  # a coordinator that was elected again has an epoch that is not known then
        assert others.pop("abort-marker-written", "unknown") == "unknown"
    assert others == {"marker-right-needed": "unknown", **expected}
    assert found.ran.exit_code == 1


def test_an_end_that_is_seen_by_one_request_before_the_next_is_waited_for(probe_of: Callable[..., Answered]):
    assert probe_of(Lags()).others == {"marker-right-needed": "unknown"}


@pytest.mark.variation
def test_a_marker_with_an_unknown_coordinator_epoch_is_unknown_and_not_refused(
    make_sandbox: Callable[..., Sandbox], eosctl: Eosctl
):
    """A coordinator that was elected again has an epoch above 0, and brokers refuse a marker of a lower one."""
    own = make_sandbox()
    assert Answered(eosctl("probe", "-b", own.bootstrap_servers, "--yes", "-o", "json")).ran.exit_code == 0
    own.stop_broker(1)
    own.start_broker(1)
    with proxied(own.bootstrap_servers) as made:
        made.other = Lacks(DESCRIBE_PRODUCERS)
        found = Answered(eosctl("probe", "-b", own.bootstrap_servers, "--yes", "-o", "json"))
    markers = dict.fromkeys(("abort-marker-written", "marker-right-needed"), "unknown")
    assert found.others == {"tool-apis": "no", "describe-producers": "no", **markers}
    assert "needs the epoch of the coordinator" in found.seen("abort-marker-written")


def test_without_producers_all_that_rests_on_them_is_unknown(probe_of: Callable[..., Answered]):
    found = probe_of(refusing(UNSUPPORTED_VERSION, INIT_PRODUCER_ID))
    refused = "InitProducerId is refused with UNSUPPORTED_VERSION (35)"
    known = {"producer-apis", "tool-apis", "describe-unknown-id", "transaction-version"}
    assert {name for name, answer in found.answers.items() if answer == "yes"} == known
    assert found.answers["init-producer-id"] == "no"
    assert {answer for name, answer in found.answers.items() if name not in {*known, "init-producer-id"}} == {"unknown"}
    assert found.seen("init-producer-id") == refused
    assert found.seen("aborted-hidden") == f"not tried: {refused}"
    assert {each["what"] for each in found.data["unread"]} >= {"aborted-hidden", "fencing-epoch", "lso-held"}


def test_an_answer_that_does_not_come_is_unknown_and_the_others_are_had(
    proxy: KafkaProxy, probe_of: Callable[..., Answered]
):
    proxy.plan(Seen(DESCRIBE_PRODUCERS, 1), Fault.CLOSED)
    found = probe_of()
    assert proxy.hit
    assert found.others == {"marker-right-needed": "unknown", "describe-producers": "unknown"}
    assert (found.ran.exit_code, found.data["complete"]) == (3, False)


def test_a_broker_that_dies_leaves_what_was_seen_and_the_topic_is_deleted(
    proxy: KafkaProxy, probe_of: Callable[..., Answered]
):
    proxy.plan(Seen(END_TXN, 1), Fault.DEAD)
    found = probe_of(timeout_s=2)
    assert found.ran.exit_code == 3
    assert (found.answers["lso-held"], found.answers["committed-shown"]) == ("yes", "unknown")
    assert found.seen("fencing-epoch").startswith("not tried: no further transaction could be opened")
    assert [each["kind"] for each in found.data["left"]] == ["transactional ID"]


def test_an_interrupted_probe_deletes_its_topic_and_reports_its_answers(probe_of: Callable[..., Answered]):
    found = probe_of(Interrupts(END_TXN))
    assert found.ran.exit_code == 130
    assert found.answers["transaction-opened"] == "yes"
    assert found.seen("fencing-epoch") == "not tried: the probe was interrupted"
    assert found.data["interrupted"] is True
    assert "interrupted; only the named resources remain" in found.ran.stderr


class Tool:
    """A user that ACLs are given to."""

    def __init__(self, sandbox: Sandbox, eosctl: Eosctl, directory: Path) -> None:
        self._eosctl = eosctl
        self._identity = directory / "tool.properties"
        self._identity.write_text(sandbox.client_properties("tool"))

    def probe(self) -> Answered:
        return Answered(self._eosctl("probe", "--command-config", self._identity, "--yes", "-o", "json"))


@pytest.fixture
def tool(sandbox: Sandbox, eosctl: Eosctl, tmp_path: Path) -> Tool:
    return Tool(sandbox, eosctl, tmp_path)


def test_without_any_acl_nothing_is_no(sandbox: Sandbox, tool: Tool):
    with allowed(sandbox, "tool"):
        found = tool.probe()
    assert found.ran.exit_code == 3
    assert set(found.others.values()) == {"unknown"}
    assert "User:tool lacks Describe on transactional ID eosctl-probe-" in found.seen("init-producer-id")
    assert found.data["left"] == []
    assert topics(sandbox) == set()


def test_the_acls_of_the_pages_are_enough_and_markers_are_refused_without_right(sandbox: Sandbox, tool: Tool):
    with allowed(sandbox, "tool", *ON_TOPIC, ("DELETE", "TOPIC", "eosctl-probe-*")):
        found = tool.probe()
    assert found.others == {"abort-marker-written": "unknown"}
    assert found.ran.exit_code == 3
    assert found.seen("marker-right-needed") == "WriteTxnMarkers is refused with CLUSTER_AUTHORIZATION_FAILED (31)"


def test_who_may_write_markers_is_shown_that_aborting_works(sandbox: Sandbox, tool: Tool):
    more = (("DELETE", "TOPIC", "eosctl-probe-*"), ("ALTER", "BROKER", "kafka-cluster"))
    with allowed(sandbox, "tool", *ON_TOPIC, *more):
        found = tool.probe()
    assert found.others == {"marker-right-needed": "unknown"}
    assert "User:tool has Alter on the cluster" in found.seen("marker-right-needed")
    assert found.ran.exit_code == 0


def test_without_topic_fencing_is_tried_all_the_same(sandbox: Sandbox, tool: Tool):
    with allowed(sandbox, "tool", ("WRITE", "TRANSACTIONAL_ID", "eosctl-probe-*")):
        found = tool.probe()
    assert (found.answers["fencing-epoch"], found.answers["zombie-commit-refused"]) == ("yes", "yes")
    assert "User:tool lacks Create on topic eosctl-probe-" in found.seen("lso-held")
    assert found.ran.exit_code == 3


def test_a_topic_that_may_not_be_deleted_is_named(sandbox: Sandbox, tool: Tool):
    with allowed(sandbox, "tool", *ON_TOPIC):
        found = tool.probe()
    name = found.data["topic"]
    assert found.ran.exit_code == 9
    assert f"topic {name} may remain: User:tool lacks Delete on topic {name}" in found.ran.stderr
    assert [(each["kind"], each["name"]) for each in found.data["left"]] == [
        ("topic", name),
        ("transactional ID", name),
    ]
    admin = AdminClient({"bootstrap.servers": sandbox.bootstrap_servers})
    admin.delete_topics([name])[name].result(30)
    eventually(lambda: topics(sandbox) == set(), "the end of the topic")


def test_nothing_is_written_before_the_answer(sandbox: Sandbox, at_terminal: Callable[..., Typed], eosctl: Eosctl):
    refused = at_terminal(answer="n\n").run("probe", "-b", sandbox.bootstrap_servers)
    assert refused.exit_code == 8
    name = next(word for word in refused.stderr.split() if word.startswith("eosctl-probe-"))
    assert f"Probe with topic and transactional ID {name.rstrip(',?')}" in refused.stderr
    planned = eosctl("probe", "-b", sandbox.bootstrap_servers, "--dry-run", "-o", "json")
    assert planned.exit_code == 0
    for each in (name.rstrip(",?"), json.loads(planned.stdout)["data"]["transactional_id"]):
        assert state_of(sandbox.bootstrap_servers, each) is None
    assert topics(sandbox) == set()
    assert eosctl("probe", "-b", "127.0.0.1:9", "--prefix", "a b", "--yes").exit_code == 2

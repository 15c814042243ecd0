"""Facts of brokers: groups, evidence, plans, kept facts."""

import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import ClassVar

import pytest

from eosctl.clients.wire import Wire
from eosctl.errors import UsageError
from eosctl.model.client_properties import ClientProperties
from eosctl.model.groups import ListedGroup, ShareGroup
from eosctl.model.hanging import WaitingGroup
from eosctl.model.names import TopicPartition
from eosctl.model.preconditions import ConnectorFacts
from eosctl.model.skipped import Skipped
from eosctl.model.topics import PartitionOffsets
from eosctl.model.versions import KafkaVersion
from eosctl.operations.plan_facts import read_connector_facts
from eosctl.sources import cluster_reader
from eosctl.sources.cluster_reader import CoverageLog, KeptFacts, tracked
from eosctl.sources.kafka_evidence import read_broker_releases, read_finalized_features
from eosctl.sources.kafka_groups import waiting_groups_of
from tests.faulty_sandbox import Sandbox
from tests.integration.coordinators import wire_to
from tests.live_reader import reading_over
from tests.sources.test_connect import Reply, worker

LEVELS = [SimpleNamespace(name="metadata.version", max_version_level=25)]


@pytest.mark.parametrize(
    ("epoch", "levels", "found"),
    [
        (7, LEVELS, {"metadata.version": 25}),
        (7, None, {}),
        (-1, None, Skipped("the broker does not know the finalized features")),
    ],
)
def test_finalized_features_are_known_once_the_broker_knows_their_epoch(epoch, levels, found) -> None:
    """KIP-584: an epoch of -1 stands for features that a broker has not learnt."""
    answer = SimpleNamespace(finalized_features_epoch=epoch, finalized_features=levels)
    assert read_finalized_features(SimpleNamespace(request_any=lambda request: answer)) == found


@pytest.mark.kafka
def test_the_api_versions_of_a_broker_show_between_which_releases_it_is(broker: Sandbox) -> None:
    with wire_to(broker.bootstrap_servers) as wire:
        [release] = read_broker_releases(wire).values()
    assert not isinstance(release, Skipped)
    newest = broker.spec.version >= KafkaVersion(4, 4)
    assert release.at_least <= broker.spec.version
    assert (release.before is None) is newest
    assert newest or release.before > broker.spec.version


class Reader(CoverageLog):
    """A reader that counts its requests; the topics of connector `gone` cannot be read."""

    asked_for: ClassVar[list[str]] = []

    @tracked("groups", once=True)
    def groups(self):
        self.asked_for.append("groups")
        return {"a": 1}

    @tracked("topics of", once=True, kept_s=600.0)
    def topics(self, connectors):
        self.asked_for.append(f"topics of {connectors}")
        return {each: Skipped("403") if each == "gone" else ("orders",) for each in connectors}


def test_a_later_session_takes_what_is_kept_for_a_time_until_that_is_over(monkeypatch):
    now, kept, asked_for = [1000.0], KeptFacts(), []
    monkeypatch.setattr(cluster_reader, "monotonic", lambda: now[0])
    monkeypatch.setattr(Reader, "asked_for", asked_for)

    def session(*connectors, lasts_s=0.0):
        for reader in (Reader(kept), Reader(kept)):
            assert reader.groups() == {"a": 1}
            reader.topics(connectors)
            assert reader.coverage.asked == ("groups", "topics of")
        now[0] += lasts_s
        kept.next_session()
        seen, asked_for[:] = list(asked_for), []
        return seen

    assert session("a", "b") == ["groups", "topics of ('a', 'b')"]
    assert session("a", "b") == ["groups"]
    assert session("a", "b", "c", lasts_s=600.0) == ["groups", "topics of ('a', 'b', 'c')"]
    assert session("a", "b") == ["groups", "topics of ('a', 'b')"]


def test_an_unread_fact_is_asked_again_each_time(monkeypatch):
    kept, asked_for = KeptFacts(), []
    monkeypatch.setattr(Reader, "asked_for", asked_for)

    for _ in range(2):
        reader = Reader(kept)
        reader.topics(("a", "gone"))
        assert [each.reason for each in reader.coverage.unread] == ["403"]

    assert len(asked_for) == 2


NOT_FOUND: Reply = (404, b'{"error_code":404,"message":"No status found for connector c"}')
WORKER: Reply = (200, b'{"version":"4.1.0","kafka_cluster_id":"A"}')


def status(*states: str) -> Reply:
    """The status of a connector whose tasks are in these states."""
    tasks = [{"id": number, "state": state, "worker_id": "w"} for number, state in enumerate(states)]
    return 200, json.dumps({"connector": {"state": "RUNNING", "worker_id": "w"}, "tasks": tasks}).encode()


def facts(replies: Iterator[Reply], timeout_s: float = 5.0) -> ConnectorFacts | Skipped:
    """The facts about connector c, which does not exist; `replies` are the answers to requests for its status."""

    def answer(path: str) -> Reply:
        return next(replies) if path == "/connectors/c/status" else WORKER if path == "/" else (200, b"{}")

    with worker(answer) as url, Wire(ClientProperties(("localhost:1",))) as wire:
        return read_connector_facts(reading_over(wire, None, (url,), timeout_s), ["c"])["c"]


def test_the_end_of_a_deleted_connector_s_tasks_is_waited_for():
    replies = iter([status("RUNNING", "RUNNING"), status("UNASSIGNED", "RUNNING"), NOT_FOUND])
    assert facts(replies) == ConnectorFacts(None)
    assert next(replies, None) is None


@pytest.mark.parametrize("state", ["UNASSIGNED", "FAILED"])
def test_a_task_that_has_ended_is_not_waited_for(state: str):
    assert facts(iter([status(state)])) == ConnectorFacts(None)


def test_whether_it_has_ended_is_unknown_when_the_time_is_up():
    reason = facts(iter(lambda: status("UNASSIGNED", "RUNNING"), None), timeout_s=0.3)
    assert reason == Skipped("it does not exist, but its tasks 1 have not ended")


def test_a_sink_has_no_source_offsets():
    body = {"c": {"info": {"type": "sink"}, "status": {"connector": {"state": "STOPPED"}, "tasks": []}}}
    with (
        worker(lambda path: WORKER if path == "/" else (200, json.dumps(body).encode())) as url,
        Wire(ClientProperties(("localhost:1",))) as wire,
        pytest.raises(UsageError, match="connector c is a sink"),
    ):
        read_connector_facts(reading_over(wire, None, (url,), 5), ["c"])


PLACE = TopicPartition("t", 0)
HELD = {PLACE: PartitionOffsets(PLACE, 0, 10, 50)}
UNKNOWN = Skipped("denied")


@pytest.mark.parametrize(
    ("isolation", "start", "waits"),
    [
        ("read_committed", 10, True),
        ("read_committed", 11, False),
        ("read_committed", -1, False),
        ("read_uncommitted", 10, False),
        (UNKNOWN, 10, True),
    ],
)
def test_a_share_group_waits_where_it_begins_there_and_may_read_committed(
    isolation: str | Skipped, start: int, waits: bool
) -> None:
    group = ShareGroup(isolation, {PLACE: start})
    expected = (WaitingGroup("queue", "Stable", start, 40, "share"),) if waits else ()
    assert waiting_groups_of({}, {"queue": group}, {"queue": ListedGroup("queue", "share", "Stable")}, HELD) == {
        PLACE: expected
    }


def test_share_groups_stand_beside_consumer_groups_and_one_that_is_not_known_is_left_out() -> None:
    shares = {"queue": ShareGroup("read_committed", {PLACE: 9}), "hidden": ShareGroup("read_committed", UNKNOWN)}
    found = waiting_groups_of({"reader": {PLACE: 5}, "other": UNKNOWN}, shares, {}, HELD)[PLACE]
    assert [each.group_id for each in found] == ["reader", "queue"]

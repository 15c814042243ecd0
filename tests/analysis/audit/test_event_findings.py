"""Incomplete events and transactions of a database: which of them are a finding, and what each decision needs."""

from typing import Any

import pytest
from msgspec.structs import replace

from eosctl.analysis.audit.event_findings import (
    NEVER_PRODUCED,
    NO_GRAMMAR,
    PROMISE,
    event_findings,
    verdict_coverage,
)
from eosctl.analysis.audit.findings import SLACK_MS, AuditSummaries
from eosctl.analysis.audit.scan import GapKind
from eosctl.analysis.grammars import BY_NAME
from eosctl.model.audit import AuditedTopic, Gap, TopicRole
from eosctl.model.audit_states import Damage, SessionStart
from eosctl.model.events import (
    Deletion,
    EventSummary,
    EventWriter,
    FirstRecord,
    FollowedDeletion,
    HalfTransaction,
    OpenEvent,
    PartitionWriters,
    TopicEvents,
    TransactionCounts,
    TransactionItem,
    TransactionRole,
)
from eosctl.model.report import Finding, Severity
from tests.analysis.audit.summaries import AS_OF, OFFSETS, OTHER, OUT, UNREAD, bounds, log, producer, state, summaries

TABLE = replace(OUT, grammar="debezium")
COUNTING = replace(OUT, grammar="debezium-transactions")
LATER = (SessionStart(20, AS_OF, 1),)
"""The producer began a second session, with epoch 1."""


def event(offset: int = 5, last: int | None = None, epoch: int = 0, **more: Any) -> OpenEvent:
    given = {"topic": "out", "partition": 0, "timestamp": AS_OF, "producer_id": 7, **more}
    return OpenEvent(
        given["topic"],
        given["partition"],
        "old",
        "new",
        offset,
        offset if last is None else last,
        given["timestamp"],
        given["producer_id"],
        epoch,
    )


def writer(last_offset: int = 30, **more: Any) -> EventWriter:
    given: dict[str, Any] = {
        "producer_id": 7, "first": FirstRecord(0, 0, None, None), "last_epoch": 0, "last_timestamp": AS_OF,
        "unfinished": None, "tombstones": 0, "bare_deletions": 0, "followed": (), "unreadable": 0, **more,
    }  # fmt: skip
    return EventWriter(last_offset=last_offset, **given)


def evidence(*events: OpenEvent, topic: AuditedTopic = TABLE, **more: Any) -> AuditSummaries:
    counts = more.pop("counts", (9, 1, 0))
    settled = state(producer(starts=more.pop("starts", LATER)), **more.pop("settled", {}))
    writers = more.pop("writers", (writer(),))
    placed = writers if isinstance(writers, dict) else {("out", 0): writers}
    logs = (log("out", settled, more.pop("tail", None)), *more.pop("beside", ()))
    given = {"topics": (topic, *more.pop("others", ()), OFFSETS), **more}
    return summaries(
        *logs,
        events=EventSummary((TopicEvents("out", *counts),), events),
        event_writers=tuple(PartitionWriters(*place, found) for place, found in placed.items()),
        **given,
    )


def found(*events: OpenEvent, **more: Any) -> list[tuple[Severity, list[int]]]:
    """Severity of each finding, and the offsets of its places."""
    return [(each.severity, [place["offset"] for place in _places(each)]) for each in _all(*events, **more)]


def _all(*events: OpenEvent, **more: Any) -> list[Finding]:
    return list(event_findings(evidence(*events, **more)))


def _places(finding: Finding) -> list[dict[str, Any]]:
    places = finding.evidence["places"]
    assert isinstance(places, list)
    return places


CUT, LEFT_OUT = [(Severity.ERROR, [5])], [(Severity.WARNING, [5])]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, CUT),
        ({"starts": ()}, LEFT_OUT),
        ({"writers": (writer(6),)}, CUT),
        ({"writers": (writer(5),)}, []),
        ({"writers": (writer(5, last_timestamp=AS_OF + SLACK_MS),)}, []),
        ({"writers": (writer(5, last_timestamp=AS_OF + SLACK_MS + 1),)}, CUT),
        ({"writers": (writer(producer_id=8),)}, []),
        ({"writers": {("out", 1): (writer(),)}}, []),
        ({"writers": {("other", 0): (writer(),)}}, []),
        ({"writers": {("out", 1): (writer(last_timestamp=AS_OF + SLACK_MS + 1),)}}, CUT),
        ({"writers": ()}, []),
        ({"settled": {"cleaned_until": AS_OF - 1}}, CUT),
        ({"settled": {"cleaned_until": AS_OF}}, []),
        ({"topic": OUT}, []),
        ({"topic": replace(TABLE, kept_back=("a filter",))}, []),
        ({"writers": (writer(unreadable=1),)}, []),
        ({"counts": (0, 1, 1)}, []),
        ({"counts": (1, 1, 1)}, CUT),
        ({"counts": (0, 1, 0)}, CUT),
        ({"counts": (0, 0, 1)}, CUT),
        ({"settled": {"damages": (Damage(1, 2, "CRC"),)}}, []),
        ({"settled": {"gaps": (Gap(1, 2, GapKind.COMPACTED.value),)}}, CUT),
        *(({"settled": {"gaps": (Gap(1, 2, kind.value),)}}, []) for kind in
          (GapKind.LOST, GapKind.UNCLEAR, GapKind.EXPIRED)),
        ({"beside": (log("other", state(damages=(Damage(1, 2, "CRC"),))),)}, CUT),
        ({"beside": (log("other", state(cleaned_until=AS_OF)),)}, CUT),
        ({"beside": (log("out", None, state(damages=(Damage(1, 2, "CRC"),))),)}, CUT),
        ({"bounds": (bounds("out", 1),), "settled": {"first_batch": AS_OF}}, []),
        ({"bounds": (bounds("out", 1),), "settled": {"first_batch": AS_OF - 1}}, CUT),
        ({"bounds": (bounds("out", 1),), "settled": {"first_batch": None}}, CUT),
        ({"bounds": (bounds("out", 0),), "settled": {"first_batch": AS_OF}}, CUT),
        ({"bounds": (bounds("offsets", 1),), "settled": {"first_batch": AS_OF}}, CUT),
    ],
)  # fmt: skip
def test_an_event_without_its_end_is_incomplete_once_its_producer_continued_in_a_log_that_is_whole(more, expected):
    assert found(event(), **more) == expected


@pytest.mark.parametrize(("connectors", "subject"), [(("c",), "c"), (("c", "d"), "c, d"), ((), "out")])
def test_an_event_is_a_finding_of_its_topic_s_connectors_or_of_the_topic(connectors, subject):
    [finding] = _all(event(), topic=replace(TABLE, connectors=connectors))
    assert (finding.subject, finding.evidence["connectors"]) == (subject, list(connectors))


@pytest.mark.parametrize(("starts", "expected"), [(LATER, CUT), ((), LEFT_OUT)])
def test_an_event_is_a_finding_of_its_own_topic_alone(starts, expected):
    assert found(event(), starts=starts, others=(replace(OTHER, grammar="debezium"),)) == expected


@pytest.mark.parametrize(
    ("events", "starts", "expected"),
    [
        ((event(5), event(7)), LATER, [(Severity.WARNING, [5, 7])]),
        ((event(5), event(21, epoch=1)), LATER, [(Severity.ERROR, [5]), (Severity.WARNING, [21])]),
        ((event(5), event(7, producer_id=8)), LATER, CUT),
        ((event(5, epoch=1),), LATER, LEFT_OUT),
        ((event(5, epoch=1),), (SessionStart(20, AS_OF, 2),), CUT),
        ((event(5, epoch=0), event(7, epoch=1)), (SessionStart(20, AS_OF, 2),), [(Severity.WARNING, [5, 7])]),
    ],
)
def test_one_incomplete_event_at_the_end_of_a_session_was_cut_and_others_were_left_out(events, starts, expected):
    assert found(*events, starts=starts) == expected


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ((event(5),), "1 change of a key is half there"),
        ((event(5), event(21, epoch=1)), "2 changes of a key are half there"),
    ],
)
def test_changes_are_counted_in_words(events, words):
    [finding] = _all(*events, starts=(*LATER, SessionStart(40, AS_OF, 2)))
    assert finding.message.startswith(words)
    assert "tombstone" not in finding.message
    assert finding.evidence["count"] == len(events)


@pytest.mark.parametrize(
    ("tombstones", "last", "missing"),
    [(0, 5, ["create"]), (1, 5, ["tombstone", "create"]), (1, 6, ["create"]), (0, 6, ["create"])],
)
def test_a_half_change_lacks_its_tombstone_where_others_have_one(tombstones, last, missing):
    [finding] = _all(event(5, last), writers=(writer(tombstones=tombstones),))
    assert _places(finding)[0]["missing"] == missing


FOLLOWED = FollowedDeletion(5, AS_OF, 0, 6, 1)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, CUT),
        ({"tombstones": 0}, []),
        ({"bare_deletions": 1}, []),
        ({"unreadable": 1}, []),
        ({"starts": ()}, []),
        ({"starts": (SessionStart(20, AS_OF, 2),)}, []),
        ({"followed": (FOLLOWED, FOLLOWED._replace(offset=9))}, [(Severity.ERROR, [5, 9])]),
        ({"followed": (FOLLOWED, FOLLOWED._replace(offset=9, producer_epoch=1))}, []),
        ({"producer_id": 8}, []),
    ],
)
def test_a_deletion_lacks_its_tombstone_where_a_session_began_between_and_all_others_have_one(more, expected):
    starts = more.get("starts", LATER)
    given = {
        "tombstones": 1,
        "followed": (FOLLOWED,),
        **{name: each for name, each in more.items() if name != "starts"},
    }
    assert found(starts=starts, writers=(writer(**given),)) == expected


@pytest.mark.parametrize(("count", "words"), [(1, "1 deletion has no tombstone"), (2, "2 deletions have no tombstone")])
def test_deletions_are_counted_in_words(count, words):
    followed = tuple(FOLLOWED._replace(offset=at) for at in range(count))
    [finding] = _all(writers=(writer(tombstones=1, followed=followed),))
    assert finding.message.startswith(words)


def test_the_deletion_of_a_half_change_is_reported_with_the_change():
    [finding] = _all(event(5), writers=(writer(tombstones=1, followed=(FOLLOWED, FOLLOWED._replace(offset=9))),))
    assert [(place["offset"], place["missing"]) for place in _places(finding)] == [
        (5, ["tombstone", "create"]),
        (9, ["tombstone"]),
    ]
    assert finding.message.startswith("1 change of a key is half there")
    assert "; 1 deletion has no tombstone" in finding.message


YOUNGER = AS_OF + SLACK_MS + 1


@pytest.mark.parametrize(
    ("elsewhere", "more", "found_there"),
    [
        (writer(last_epoch=1, last_timestamp=YOUNGER), {}, True),
        (writer(last_epoch=1, last_timestamp=YOUNGER - 1), {}, False),
        (writer(last_epoch=0, last_timestamp=YOUNGER), {}, False),
        (writer(last_epoch=1, last_timestamp=YOUNGER, producer_id=8), {}, False),
        (writer(last_epoch=1, last_timestamp=YOUNGER), {"starts": ()}, False),
        (writer(last_epoch=1, last_timestamp=YOUNGER), {"tail": state(producer())}, False),
        (writer(last_epoch=1, last_timestamp=YOUNGER), {"tail": state()}, True),
        (writer(last_epoch=1, last_timestamp=YOUNGER), {"beside": (log("other", None, state(producer())),)}, True),
    ],
)
def test_the_last_record_of_a_producer_lacks_its_tombstone_once_a_later_session_wrote_elsewhere(
    elsewhere, more, found_there
):
    last = writer(5, tombstones=1, unfinished=Deletion(5, AS_OF, 0, b"k"))
    writers = {("out", 0): (last,), ("out", 1): (elsewhere,)}
    assert found(writers=writers, **more) == (CUT if found_there else [])


def item(last: int, timestamp: int = AS_OF, role: TransactionRole = TransactionRole.ENDS) -> TransactionItem:
    return TransactionItem(("c",), role, "55", last, last, 8, 8, timestamp, 7, 0)


def half(*runs: tuple[int, int], total: int = 3, begun: int = AS_OF, ended: int = AS_OF) -> HalfTransaction:
    end = item(total, ended)
    return HalfTransaction("55", runs, begun, "out", 0, end, "out", 0, end)


def halves(each: HalfTransaction, **more: Any) -> list[Finding]:
    counts = TransactionCounts(more.pop("whole", 1), (each,))
    return _all(topic=more.pop("topic", COUNTING), database_transactions=counts, **more)


BESIDE = AuditedTopic("more", TopicRole.OUTPUT, connectors=("c",), grammar="debezium-transactions")
WITH_RECORDS = (log("more", state()),)


@pytest.mark.parametrize(
    ("more", "is_reported"),
    [
        ({}, True),
        ({"whole": 0}, False),
        ({"topic": replace(COUNTING, kept_back=("a filter",))}, False),
        ({"left_out": {"c": ("elsewhere",)}}, False),
        ({"left_out": {"d": ("elsewhere",)}}, True),
        ({"unread": {"x": UNREAD}}, False),
        ({"unread": {"x": UNREAD}, "users": {"x": ("c",)}}, False),
        ({"unread": {"x": UNREAD}, "users": {"x": ("d",)}}, True),
        ({"settled": {"first_batch": None}}, False),
        ({"settled": {"first_batch": None}, "tail": state()}, True),
        ({"topic": replace(COUNTING, connectors=("c", "d"))}, False),
        ({"others": (BESIDE,), "beside": WITH_RECORDS}, True),
        ({"others": (BESIDE,)}, False),
        ({"others": (replace(BESIDE, connectors=("c", "d")),), "beside": WITH_RECORDS}, False),
        ({"others": (replace(BESIDE, connectors=("d",)),)}, True),
        ({"others": (replace(BESIDE, grammar="debezium"),), "beside": WITH_RECORDS}, False),
        ({"others": (replace(BESIDE, kept_back=("a filter",)),), "beside": WITH_RECORDS}, False),
        ({"settled": {"cleaned_until": AS_OF}}, False),
        ({"settled": {"cleaned_until": AS_OF - 1}}, True),
        ({"settled": {"first_batch": AS_OF + 1}}, False),
        ({"others": (BESIDE,), "beside": (log("more", state(cleaned_until=AS_OF)),)}, False),
        ({"others": (BESIDE,), "beside": (log("more", state(first_batch=AS_OF + 1)),)}, False),
    ],
)
def test_a_transaction_lacks_records_where_all_topics_of_its_connector_are_whole(more, is_reported):
    assert bool(halves(half((1, 2)), **more)) is is_reported


@pytest.mark.parametrize(
    ("runs", "total", "missing"),
    [
        ([(1, 2)], 3, ["3"]),
        ([(2, 3)], 3, ["1"]),
        ([], 2, ["1-2"]),
        ([], 1, ["1"]),
        ([(1, 2), (4, 4)], 6, ["3", "5-6"]),
        ([(3, 3), (5, 9)], 9, ["1-2", "4"]),
    ],
)
def test_the_numbers_of_missing_records_are_named(runs, total, missing):
    [finding] = halves(half(*runs, total=total))
    assert finding.severity is Severity.ERROR
    assert finding.message.startswith("1 database transaction is not whole: transaction 55 has ")
    assert _places(finding)[0]["missing"] == missing


def test_several_transactions_are_counted_in_words():
    counts = TransactionCounts(1, (half((1, 2)), half((1, 1))))
    [finding] = _all(topic=COUNTING, database_transactions=counts)
    assert finding.message.startswith("2 database transactions are not whole")
    assert len(_places(finding)) == 2


RULES = BY_NAME["debezium"]


@pytest.mark.parametrize(
    ("topic", "more", "covers", "not_covered"),
    [
        (OUT, {}, [], [NO_GRAMMAR]),
        (TABLE, {}, [RULES.covers], [RULES.beyond]),
        (TABLE, {"others": (AuditedTopic("more", TopicRole.OUTPUT, connectors=("c",)),)}, [RULES.covers],
         [NO_GRAMMAR, RULES.beyond]),
        (replace(OUT, connectors=("d",)), {}, [], [NO_GRAMMAR]),
        (replace(TABLE, kept_back=("a filter", "a setting")), {}, [RULES.covers],
         [RULES.beyond, "events of several records in out: a filter, a setting"]),
        (TABLE, {"writers": (writer(unreadable=1),)}, [RULES.covers],
         [RULES.beyond, "events of several records in out: the keys of 1 record and those in their headers cannot be "
          "compared"]),
        (replace(OUT, kept_back=("a filter",)), {}, [], [NO_GRAMMAR]),
        (COUNTING, {"database_transactions": TransactionCounts(1)}, [BY_NAME[COUNTING.grammar or ""].covers],
         [BY_NAME[COUNTING.grammar or ""].beyond]),
        (COUNTING, {}, [BY_NAME[COUNTING.grammar or ""].covers],
         [BY_NAME[COUNTING.grammar or ""].beyond,
          "the number of records of each database transaction: no record names its transaction"]),
    ],
)  # fmt: skip
def test_a_verdict_says_which_rules_it_covers_and_what_it_does_not(topic, more, covers, not_covered):
    coverage = verdict_coverage("c", evidence(topic=topic, **more))
    assert coverage == ((PROMISE, *covers), (NEVER_PRODUCED, *not_covered))

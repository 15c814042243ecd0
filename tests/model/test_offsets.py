"""Offsets of one key, of one connector and of all, and what is known of the topics that hold them."""

from typing import Any

import pytest
from msgspec.structs import replace

from eosctl.errors import UsageError
from eosctl.model.names import TopicPartition
from eosctl.model.offsets import (
    ExportedFile,
    KeyRecords,
    MalformedValue,
    MergedOffset,
    OffsetKey,
    OffsetsExport,
    OffsetsPartition,
    OffsetsReport,
    OffsetsTopic,
    OffsetStore,
    OffsetStores,
    SourceRead,
    SourceServer,
    Store,
    StoredOffset,
    StorePlace,
    WorkerSettings,
)
from eosctl.model.records import IsolationLevel, Record
from eosctl.model.report import FindingKind, Severity
from eosctl.model.skipped import Cause, Coverage, Skipped, Unread
from eosctl.model.workers import KnownPhase

PLACE = TopicPartition("t", 0)
COMMITTED, UNCOMMITTED = IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED
UNKNOWN = Skipped("no answer")


def record(offset: int) -> Record:
    return Record(offset, 0, b"k", b"v")


def key_records(committed: int | None, opened: int | None, aborted: int | None) -> KeyRecords:
    return KeyRecords(PLACE, *(None if each is None else record(each) for each in (committed, opened, aborted)), 3)


@pytest.mark.parametrize(
    ("offsets", "last"),
    [
        ((4, None, None), 4),
        ((4, 5, None), 5),
        ((4, None, 5), 5),
        ((4, 2, None), 4),
        ((4, None, 2), 4),
        ((None, 5, None), 5),
        ((None, 5, 6), 6),
    ],
)
def test_a_reader_of_uncommitted_records_has_the_last_one_of_any_state(offsets, last: int):
    found = key_records(*offsets)
    assert found.last.offset == last
    assert found.seen_by(UNCOMMITTED) == record(last)
    assert found.seen_by(COMMITTED) == (None if offsets[0] is None else record(offsets[0]))


def test_a_key_in_two_partitions_is_one_key_with_two_entries():
    one, two = key_records(1, None, None), key_records(2, None, None)
    parts = ({b"a": one, b"b": one}, {b"a": two, None: two})
    topic = OffsetsTopic("t", UNKNOWN, tuple(OffsetsPartition(PLACE, UNKNOWN, keys, {}, 6) for keys in parts))
    assert list(topic.raw_keys()) == [b"a", b"b", None]
    assert [topic.under(each) for each in (b"a", b"b", None, b"c")] == [(one, two), (one,), (two,), ()]
    assert topic.records == 12


def stored(value: Any) -> StoredOffset:
    return StoredOffset(PLACE, record(1), value)


TOMBSTONE, VALUE, BAD = stored(None), stored({"lsn": 1}), stored(MalformedValue(b"x", "no JSON"))


@pytest.mark.parametrize(
    ("general", "own", "live"),
    [
        (None, None, False),
        (TOMBSTONE, None, False),
        (None, TOMBSTONE, False),
        (TOMBSTONE, TOMBSTONE, False),
        (VALUE, None, True),
        (None, VALUE, True),
        (TOMBSTONE, VALUE, True),
        (VALUE, TOMBSTONE, True),
        (UNKNOWN, None, True),
        (None, UNKNOWN, True),
        (TOMBSTONE, BAD, True),
    ],
)
def test_a_key_is_live_where_a_store_holds_or_may_hold_more_than_a_tombstone(general, own, live: bool):
    assert MergedOffset(OffsetKey(b"k", "c", {}), general, own, None, None, "").live is live


@pytest.mark.parametrize(("offset", "usable"), [(VALUE, True), (TOMBSTONE, False), (BAD, False), (stored({}), True)])
def test_a_worker_uses_a_value_that_it_can_read(offset: StoredOffset, usable: bool):
    assert offset.usable is usable


GENERAL = OffsetStore(StorePlace("general"), COMMITTED)
OWN = OffsetStore(StorePlace("own", frozenset({"b:2", "a:1"})), COMMITTED)


@pytest.mark.parametrize(
    ("general", "own", "both", "places"),
    [
        (GENERAL, None, False, ["general"]),
        (None, OWN, False, ["own on a:1,b:2"]),
        (GENERAL, OWN, True, ["general", "own on a:1,b:2"]),
        (GENERAL, GENERAL, True, ["general"]),
    ],
)
def test_a_connector_has_two_stores_where_both_exist(general, own, both: bool, places):
    stores = OffsetStores(general, own, GENERAL.place, "")
    assert stores.both is both
    assert list(map(str, stores.places)) == places


KIND = FindingKind("EOS999", "a-name", "a title", Severity.ERROR, "a cause", "do this", "a class")
WORKER = WorkerSettings("t", KnownPhase.ENABLED, frozenset())
REPORT = OffsetsReport((), {}, (KIND.finding("u", "no offsets topic"),), (), {}, WORKER, 0)


@pytest.mark.parametrize(
    ("is_one", "what_if", "option"),
    [(True, None, None), (True, "u", None), (False, None, "--worker-offsets-topic"), (False, "u", "--offsets-topic"),
     (False, "v", "--worker-offsets-topic")],
)  # fmt: skip
def test_a_topic_that_holds_no_offsets_is_a_wrong_option(is_one: bool, what_if, option: str | None):
    error = replace(REPORT, is_offsets_topic=is_one, what_if=what_if).failure
    if option is None:
        assert error is None
    else:
        assert isinstance(error, UsageError)
        assert error.message == "topic u is not an offsets topic of Kafka Connect"
        assert (error.hint or "").startswith(f"{option} takes the topic")


GAP = Coverage((), (Unread("a topic", "no answer", Cause.UNREACHABLE),))


@pytest.mark.parametrize(
    ("cause", "coverage", "complete"),
    [
        (None, Coverage(), True),
        (None, GAP, False),
        (Cause.NOT_ASKED, Coverage(), True),
        (Cause.NOT_IN_USE, Coverage(), True),
        (Cause.MIXED, Coverage(), False),
        (Cause.DENIED, Coverage(), False),
    ],
)
def test_a_report_is_complete_where_nothing_was_left_unread_and_workers_agree(cause, coverage, complete: bool):
    skipped = {} if cause is None else {"a fact": Skipped("why", cause)}
    assert replace(REPORT, skipped=skipped).covering(coverage).complete is complete


def test_settings_that_were_not_read_are_as_none():
    assert replace(WORKER, clients=UNKNOWN).known_clients == {}
    assert replace(WORKER, clients={"producer.acks": "all"}).known_clients == {"producer.acks": "all"}


@pytest.mark.parametrize(("left_out", "found"), [((), False), (("a key",), True)])
def test_an_export_that_left_an_offset_out_is_reported(left_out: tuple[str, ...], found: bool):
    files = (ExportedFile("c", "c.json", 2, ()), ExportedFile("d", "d.json", 2, left_out))
    assert OffsetsExport(files, Store.KAFKA_EFFECTIVE, 0, "k").found is found


@pytest.mark.parametrize(
    ("server", "slot", "unknown"),
    [
        (SourceServer(1), "s", None),
        (UNKNOWN, "s", UNKNOWN),
        (SourceServer(1), Skipped("no slot"), Skipped("no slot")),
        (UNKNOWN, Skipped("no slot"), UNKNOWN),
    ],
)
def test_a_source_is_known_by_its_server_and_its_slot(server, slot, unknown):
    assert SourceRead(server, slot).unknown == unknown

"""Offsets topics in snapshot files: what is written is read back, and what was changed is noticed."""

import pytest

from eosctl.codecs.snapshot import decode_snapshot, encode_snapshot
from eosctl.errors import Undecodable
from eosctl.model.evidence import Snapshot
from eosctl.model.names import TopicPartition
from eosctl.model.offsets import OffsetsFacts, OffsetsPartition, OffsetsTopic, SourceSupport, StorePlace, WorkerSettings
from eosctl.model.records import RecordState
from eosctl.model.skipped import Skipped
from eosctl.model.versions import KafkaVersion
from tests.analysis.offset_records import record, topic

UNREAD = Skipped("not read")
LOG = topic(
    "offsets",
    [record(0, '["c",{"f":"ü"}]', '{"p":1}'), record(2, '["c",{"f":"ü"}]', '{"p":2}', RecordState.OPEN)],
    [record(1, "foreign", None, RecordState.ABORTED)],
    held_back=1,
)
PLAIN = OffsetsTopic("plain", UNREAD, (OffsetsPartition(TopicPartition("plain", 0), UNREAD, {}),))
FACTS = OffsetsFacts(
    WorkerSettings("offsets", SourceSupport.PREPARING, frozenset({"a:1"}), KafkaVersion(3, 9, 2), {"producer.x": "y"}),
    {
        StorePlace("offsets"): LOG,
        StorePlace("plain", frozenset({"b:2"})): PLAIN,
        StorePlace("gone"): None,
        StorePlace("denied"): UNREAD,
    },
)


def snapshot(offsets: OffsetsFacts | Skipped) -> Snapshot:
    return Snapshot(1, UNREAD, "g", UNREAD, UNREAD, UNREAD, offsets)


def written(facts: OffsetsFacts | Skipped = FACTS) -> list[str]:
    return [f"{line}\n" for line in encode_snapshot(snapshot(facts))]


@pytest.mark.parametrize(
    "facts",
    [FACTS, UNREAD, OffsetsFacts(WorkerSettings("offsets", UNREAD, UNREAD), {})],
    ids=["full", "skipped", "none"],
)
def test_what_is_written_is_read_back(facts: OffsetsFacts | Skipped) -> None:
    assert decode_snapshot(written(facts)) == snapshot(facts)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('"key":"', '"key":"!', r"offsets_key\.committed\.key is not base64"),
        (
            '"exactly_once":"preparing"',
            '"exactly_once":"perhaps"',
            "line 6 of the snapshot: offsets.worker.exactly_once is 'perhaps', not disabled, preparing or enabled",
        ),
        ('"partition":1,"committed"', '"partition":7,"committed"', "offsets_key line without record or partition"),
        ('"open":{', '"open":null,"more":{', "line 7 of the snapshot: offsets_key has a member 'more' that does not"),
        ('"records":2', '"records":"2"', "records is text, not a whole number"),
    ],
)
def test_what_was_changed_is_noticed(before: str, after: str, message: str) -> None:
    text = "".join(written())
    assert before in text
    with pytest.raises(Undecodable, match=message):
        decode_snapshot(text.replace(before, after, 1).splitlines(keepends=True))

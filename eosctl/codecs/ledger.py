"""The tables of a ledger, and their rows as values and back.

1. Every table belongs to jobs: `job` leads each key. No job looks at another one's rows.
2. `audit_job` holds the number of the last run, `audit_cursor` where each partition is to be read from: both are
   compared and set by every run. `audit_range` is the history behind the cursors.
3. An unknown topic ID or cluster ID is the empty text: a key holds no null.
4. `audit_state` holds what the next run goes on from, `audit_run` a line and the whole report for each run.
"""

import json
from collections.abc import Iterable, Sequence
from enum import Enum
from functools import cache
from typing import Any, Final, TypeVar

import msgspec

from eosctl.codecs.json_text import MOST_CHARACTERS, MOST_NESTED, NotJson, read_json
from eosctl.codecs.offsets_topic import decode_offsets_key
from eosctl.errors import Undecodable
from eosctl.model.audit import EarlierAudit, EarlierFinding, StateKind, StateRow
from eosctl.model.audit_states import ReadKey
from eosctl.model.ledger import Cursor, LedgerRange, LedgerRangeKind, RunSummary
from eosctl.model.offsets import MalformedKey
from eosctl.model.report import Severity

Kind = TypeVar("Kind", bound=Enum)
Step = tuple[str, ...]

SCHEMA: Final[tuple[Step, ...]] = (
    (
        """CREATE TABLE audit_job (
            job {text} NOT NULL PRIMARY KEY,
            cluster_id {text} NOT NULL,
            run_number BIGINT NOT NULL,
            state_version BIGINT NOT NULL)""",
        """CREATE TABLE audit_run (
            job {text} NOT NULL,
            run_number BIGINT NOT NULL,
            run_id {text} NOT NULL UNIQUE,
            as_of BIGINT NOT NULL,
            committed_at BIGINT NOT NULL,
            verdict {text} NOT NULL,
            findings BIGINT NOT NULL,
            eosctl_version {text} NOT NULL,
            offsets BIGINT NOT NULL,
            records BIGINT NOT NULL,
            gaps BIGINT NOT NULL,
            report {text} NOT NULL,
            PRIMARY KEY (job, run_number))""",
        """CREATE TABLE audit_cursor (
            job {text} NOT NULL,
            topic {text} NOT NULL,
            topic_partition BIGINT NOT NULL,
            topic_id {text} NOT NULL,
            next_offset BIGINT NOT NULL,
            PRIMARY KEY (job, topic, topic_partition))""",
        """CREATE TABLE audit_range (
            job {text} NOT NULL,
            run_number BIGINT NOT NULL,
            topic {text} NOT NULL,
            topic_partition BIGINT NOT NULL,
            kind {text} NOT NULL,
            topic_id {text} NOT NULL,
            start_offset BIGINT NOT NULL,
            end_offset BIGINT NOT NULL,
            records BIGINT NOT NULL,
            control_records BIGINT NOT NULL,
            aborted_records BIGINT NOT NULL,
            PRIMARY KEY (job, run_number, topic, topic_partition, kind))""",
        """CREATE TABLE audit_state (
            job {text} NOT NULL,
            kind {text} NOT NULL,
            bucket BIGINT NOT NULL,
            topic {text} NOT NULL,
            topic_partition BIGINT NOT NULL,
            start_offset BIGINT NOT NULL,
            payload {blob} NOT NULL,
            PRIMARY KEY (job, kind, bucket, topic, topic_partition, start_offset))""",
    ),
)
"""The statements that upgrade a schema of version n to version n + 1, from none (0) on.

A released step never changes.
"""

SCHEMA_TABLE: Final = "audit_schema"
FIRST_OF_ALL: Final = ("CREATE TABLE audit_schema (version BIGINT NOT NULL)", "INSERT INTO audit_schema VALUES (0)")

CURSOR_COLUMNS: Final = "topic, topic_partition, topic_id, next_offset"
RANGE_COLUMNS: Final = (
    "run_number, topic, topic_partition, topic_id, start_offset, end_offset, kind,"
    " records, control_records, aborted_records"
)
RUN_COLUMNS: Final = (
    "job, run_number, run_id, as_of, committed_at, verdict, findings, eosctl_version, offsets, records, gaps"
)
STATE_COLUMNS: Final = "kind, bucket, topic, topic_partition, start_offset, payload"


def id_text(identity: str | None) -> str:
    return identity or ""


def text_of(value: object, column: str) -> str:
    """The text in a column; Undecodable for anything else."""
    if isinstance(value, str) and "\0" not in value:
        return value
    raise Undecodable(f"the ledger's {column} is {_display(value)}, not text")


def int_of(value: object, column: str) -> int:
    """The whole number of 0 or more in a column; Undecodable for anything else."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63:
        return value
    raise Undecodable(f"the ledger's {column} is {_display(value)}, not a number from 0 to 2^63-1")


def _display(value: object) -> str:
    return f"of type {type(value).__name__}" if isinstance(value, str | bytes) else f"{value!r:.40}"


def decode_cursor(row: Sequence[Any]) -> Cursor:
    topic, partition, topic_id, offset = row
    where = text_of(topic, "audit_cursor.topic")
    at = f"audit_cursor of {where}"
    identity = text_of(topic_id, f"{at} (topic_id)") or None
    return Cursor(where, int_of(partition, f"{at} (partition)"), identity, int_of(offset, f"{at} (next_offset)"))


def decode_range(row: Sequence[Any]) -> tuple[int, LedgerRange]:
    number, topic, partition, topic_id, start, end, kind, *counts = row
    where = text_of(topic, "audit_range.topic")
    at = f"audit_range of {where}"
    first, last = int_of(start, f"{at} (start_offset)"), int_of(end, f"{at} (end_offset)")
    identity, of_kind = text_of(topic_id, f"{at} (topic_id)") or None, _member(LedgerRangeKind, kind, f"{at} (kind)")
    found = (int_of(each, f"{at} (records)") for each in counts)
    return int_of(number, f"{at} (run_number)"), LedgerRange(
        where, int_of(partition, f"{at} (partition)"), identity, first, last, of_kind, *found
    )


def decode_run(row: Sequence[Any]) -> RunSummary:
    texts = {"job", "run_id", "verdict", "eosctl_version"}
    values: list[Any] = [
        (text_of if name in texts else int_of)(value, f"audit_run.{name}")
        for name, value in zip(RUN_COLUMNS.split(", "), row, strict=True)
    ]
    return RunSummary(*values)


def decode_state(row: Sequence[Any]) -> StateRow:
    """STATE_COLUMNS -> StateRow; carried state is settled."""
    kind, bucket, topic, partition, start, payload = row
    where = text_of(topic, "audit_state.topic")
    at = f"audit_state of {where}"
    if not isinstance(payload, bytes | bytearray | memoryview):
        raise Undecodable(f"the ledger's {at} (payload) is {_display(payload)}, not bytes")
    numbers = (int_of(partition, f"{at} (partition)"), int_of(start, f"{at} (start_offset)"))
    of_kind = _member(StateKind, kind, f"{at} (kind)")
    return StateRow(of_kind, int_of(bucket, f"{at} (bucket)"), where, *numbers, True, bytes(payload))


def _member(kinds: type[Kind], value: object, column: str) -> Kind:
    try:
        return kinds(text_of(value, column))
    except ValueError:
        raise Undecodable(f"the ledger's {column} is a kind that is not known") from None


def range_values(ranges: Iterable[LedgerRange]) -> list[tuple[str | int, ...]]:
    return [
        (
            *(each.topic, each.partition, id_text(each.topic_id), each.start, each.end, each.kind.value),
            *(each.records, each.control_records, each.aborted_records),
        )
        for each in ranges
    ]


def marks(columns: str, more: int = 0) -> str:
    return ", ".join("?" * (columns.count(",") + 1 + more))


def decode_earlier_audit(text: str, run_number: int) -> EarlierAudit | None:
    """The conclusions of the run; None if the text is no report: no finding counts as known then."""
    findings: dict[tuple[str, str], tuple[EarlierFinding, ...]] = {}
    try:
        document = json.loads(text)
        data = document["data"]
        for each in data["findings"]:
            found = EarlierFinding(Severity(each["severity"]), dict(each["evidence"]))
            place = each["id"], each["subject"]
            findings[place] = (*findings.get(place, ()), found)
        broken = frozenset(str(each["name"]) for each in data["connectors"] if each["verdict"] == "broken")
        return EarlierAudit(run_number, str(document["as_of"]), findings, broken)
    except (KeyError, TypeError, ValueError, RecursionError):
        return None


# States of an audit as MessagePack (msgspec): an array for each tuple, with its fields in order.
#
# Offsets and keys inside the states stay the bytes that they are in the topic.


T = TypeVar("T")

_ENCODER: Final = msgspec.msgpack.Encoder()
_JSON: Final = msgspec.json.Decoder()
_ONES: Final = bytes.maketrans(b"0123456789", b"1111111111")
_LONG_NUMBER: Final = b"1" * 19
_new: Final = tuple.__new__
AGAIN: Final = "was the ledger changed by hand? Audit into a new one"
_PARTITIONS: Final = (dict, type(None))
_TEXT: Final = msgspec.json.Encoder(order="deterministic")


def encode_audit_state(state: object) -> bytes:
    return _ENCODER.encode(state)


def decode_audit_state(payload: bytes, kind: type[T]) -> T:
    """The state of type `kind` in these bytes; Undecodable where they hold none."""
    try:
        found: T = _decoder(kind).decode(payload)  # type: ignore[arg-type]  # any type is hashable
    except (msgspec.DecodeError, ValueError, RecursionError, OverflowError) as error:
        raise Undecodable("a state of the audit cannot be read", hint=AGAIN) from error
    return found


@cache
def _decoder(kind: Any) -> msgspec.msgpack.Decoder[Any]:  # noqa: ANN401  # any type that msgspec knows
    return msgspec.msgpack.Decoder(kind)


def decode_json(raw: bytes) -> object:
    """A JSON value, as Connect's converter reads it; ValueError for bytes that it refuses, too.

    msgspec reads nearly all values, ten times as fast; the others are read by Jackson's rules. So are integers that may
    not fit into 64 bits: Connect keeps the lowest ones.
    """
    try:
        return _fast(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        try:
            return read_json(raw)
        except NotJson as error:
            raise ValueError(str(error)) from error


def _fast(raw: bytes) -> object:
    nested = raw.count(b"[") + raw.count(b"{")
    if len(raw) > MOST_CHARACTERS or nested > MOST_NESTED or _LONG_NUMBER in raw.translate(_ONES):
        raise msgspec.DecodeError("numbers beyond a long, and deep nesting, are read by every rule")
    return _JSON.decode(raw)


def read_offsets_key(raw: bytes | None) -> ReadKey:
    """The key's connector, and its canonical JSON: members sorted, no blanks."""
    try:
        value = None if raw is None else _fast(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        value = None
    if type(value) is list and len(value) == 2 and type(value[0]) is str and type(value[1]) in _PARTITIONS:
        return _new(ReadKey, (value[0], _TEXT.encode(value).decode(), None))
    key = decode_offsets_key(raw)
    if isinstance(key, MalformedKey):
        return ReadKey(None, "null" if raw is None else raw.decode("utf-8", "backslashreplace"), key.reason)
    return ReadKey(key.connector, _TEXT.encode([key.connector, key.partition]).decode())

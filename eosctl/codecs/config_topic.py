"""Records of the config topic: bytes to the kinds of eosctl.model.config_topic.

Key: UTF-8 text. Value: a JSON object without schema, or null (a tombstone). The first prefix that the key starts with
decides, in this order (KafkaConfigBackingStore.ConsumeCallback):

    target-state-<name>         {"state": text, "state.v2": text or null}    null: back to STARTED
    connector-<name>            {"properties": {text: text or null}}         null: connector deleted
    task-<name>-<n>             {"properties": {text: text or null}}
    commit-<name>               {"tasks": int}
    restart-connector-<name>    {"include-tasks": boolean, "only-failed": boolean}
    tasks-fencing-<name>        {"task-count": int}
    session-key                 {"key": base64, "algorithm": text, "creation-timestamp": long}
    logger-cluster-<namespace>  {"level": text}

Secrets end here: the session key is checked and dropped, property values are masked (eosctl.codecs.secrets), and no
reason why a record is malformed quotes its value.
"""

import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Final

from eosctl.codecs.json_text import NotJson, int_value, read_json, read_text
from eosctl.codecs.secrets import Mask, mask_properties
from eosctl.late_pattern import late_pattern
from eosctl.model.config_topic import (
    ConfigRecord,
    ConnectorConfigRecord,
    Disposition,
    InvalidKeyRecord,
    LoggerLevelRecord,
    MalformedRecord,
    Origin,
    RecordKind,
    RestartRequestRecord,
    SessionKeyRecord,
    TargetStateRecord,
    TaskCommitRecord,
    TaskConfigRecord,
    TaskCountRecord,
)
from eosctl.model.records import Record

SESSION_KEY: Final = "session-key"

_BASE64: Final = late_pattern(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?")
_INT_MAX: Final = (1 << 31) - 1


class _Unusable(Exception):
    """A value that a worker cannot use, with what it does then."""

    def __init__(self, reason: str, disposition: Disposition = Disposition.IGNORED) -> None:
        super().__init__(reason)
        self.reason = reason
        self.disposition = disposition


def decode_config_records(records: Iterable[Record], mask: Mask = mask_properties) -> Iterator[ConfigRecord]:
    return (decode_config_record(record, mask) for record in records)


def decode_config_record(record: Record, mask: Mask = mask_properties) -> ConfigRecord:
    """One record as a worker understands it. Never raises: what a worker cannot use is a MalformedRecord."""
    offset, timestamp, raw_key, raw_value, state, transactional, producer_id, producer_epoch = record
    origin = Origin(offset, timestamp, state, transactional, producer_id, producer_epoch)
    key = None if raw_key is None else read_text(raw_key)
    try:
        value = None if raw_value is None else read_json(raw_value)
    except NotJson as error:
        return _malformed(origin, key, str(error), Disposition.UNREADABLE)
    if key is None:
        return _malformed(origin, key, "the key is null", Disposition.FATAL)
    try:
        return _decode(origin, key, value, mask)
    except _Unusable as error:
        return _malformed(origin, key, error.reason, error.disposition)


@lru_cache(maxsize=4096)  # the same keys are written again and again
def split_key(key: str) -> tuple[RecordKind, str, int]:
    """The kind of record, its connector (or namespace), and the task number (0 unless a task config)."""
    for prefix, kind in _PREFIXES:
        if key.startswith(prefix):
            return _split_task_key(key) if kind is RecordKind.TASK_CONFIG else (kind, key[len(prefix) :], 0)
    return (RecordKind.SESSION_KEY if key == SESSION_KEY else RecordKind.INVALID_KEY), "", 0


def _split_task_key(key: str) -> tuple[RecordKind, str, int]:
    """String.split drops empty pieces at the end, so trailing dashes do no harm: `task-a-1--` is task 1 of `a`."""
    pieces = key.rstrip("-").split("-")
    task = parse_task_number(pieces[-1])
    if len(pieces) < 3 or task is None:
        return RecordKind.INVALID_KEY, "", 0
    return RecordKind.TASK_CONFIG, "-".join(pieces[1:-1]), task


def parse_task_number(text: str) -> int | None:
    """Integer.parseInt without a minus sign: an optional plus, then decimal digits of any script outside surrogates."""
    digits = text.removeprefix("+")
    if not digits or any(digit > "\uffff" or unicodedata.decimal(digit, None) is None for digit in digits):
        return None
    number = 0
    for digit in digits:
        number = number * 10 + unicodedata.decimal(digit)
        if number > _INT_MAX:
            return None
    return number


def _malformed(origin: Origin, key: str | None, reason: str, disposition: Disposition) -> MalformedRecord:
    kind, name, _ = (RecordKind.INVALID_KEY, "", 0) if key is None else split_key(key)
    connector = None if kind in _WITHOUT_CONNECTOR else name
    return MalformedRecord(origin, kind, key, connector, disposition, reason)


def _decode(origin: Origin, key: str, value: object, mask: Mask) -> ConfigRecord:
    kind, name, task = split_key(key)
    if kind is RecordKind.TASK_CONFIG:
        return TaskConfigRecord(origin, name, task, mask(_properties(value)))
    if kind is RecordKind.CONNECTOR_CONFIG:
        return ConnectorConfigRecord(origin, name, None if value is None else mask(_properties(value)))
    if kind is RecordKind.INVALID_KEY:
        return InvalidKeyRecord(origin, key)
    return _DECODERS[kind](origin, name, value)


def _object(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise _Unusable("the value is a tombstone" if value is None else "the value is not a JSON object")
    return value


def _properties(value: object) -> dict[str, object]:
    properties = _object(value).get("properties")
    if not isinstance(properties, dict):
        raise _Unusable("`properties` is not a JSON object")
    return properties


def _text(value: dict[str, object], field: str) -> str:
    text = value.get(field)
    if not isinstance(text, str):
        raise _Unusable(f"`{field}` is not text")
    return text


def _integer(value: object, field: str) -> int:
    number = _object(value).get(field)
    if type(number) is not int:
        raise _Unusable(f"`{field}` is not an integer", Disposition.POISON)
    return int_value(number)


def _task_commit(origin: Origin, name: str, value: object) -> ConfigRecord:
    return TaskCommitRecord(origin, name, _integer(value, "tasks"))


def _task_count(origin: Origin, name: str, value: object) -> ConfigRecord:
    return TaskCountRecord(origin, name, _integer(value, "task-count"))


def _target_state(origin: Origin, name: str, value: object) -> ConfigRecord:
    if value is None:
        return TargetStateRecord(origin, name, None, None, removed=True)
    fields = _object(value)
    state, state_v2 = fields.get("state"), fields.get("state.v2")
    return TargetStateRecord(
        origin, name, state if isinstance(state, str) else None, state_v2 if isinstance(state_v2, str) else None
    )


def _restart_request(origin: Origin, name: str, value: object) -> ConfigRecord:
    fields = _object(value)
    return RestartRequestRecord(origin, name, fields.get("include-tasks") is True, fields.get("only-failed") is True)


def _session_key(origin: Origin, _name: str, value: object) -> ConfigRecord:
    fields = _object(value)
    key = _text(fields, "key")
    if not _BASE64.fullmatch(key):
        raise _Unusable("`key` is not base64", Disposition.FATAL)
    algorithm, created = _text(fields, "algorithm"), fields.get("creation-timestamp")
    if type(created) is not int:
        raise _Unusable("`creation-timestamp` is not an integer")
    if not key:
        raise _Unusable("`key` is empty", Disposition.FATAL)
    return SessionKeyRecord(origin, algorithm, created)


def _logger_level(origin: Origin, name: str, value: object) -> ConfigRecord:
    return LoggerLevelRecord(origin, name, _text(_object(value), "level"))


_PREFIXES: Final = (
    ("target-state-", RecordKind.TARGET_STATE),
    ("connector-", RecordKind.CONNECTOR_CONFIG),
    ("task-", RecordKind.TASK_CONFIG),
    ("commit-", RecordKind.TASK_COMMIT),
    ("restart-connector-", RecordKind.RESTART_REQUEST),
    ("tasks-fencing-", RecordKind.TASK_COUNT),
    ("logger-cluster-", RecordKind.LOGGER_LEVEL),
)
_WITHOUT_CONNECTOR: Final = {RecordKind.SESSION_KEY, RecordKind.LOGGER_LEVEL, RecordKind.INVALID_KEY}
_DECODERS: Final[dict[RecordKind, Callable[[Origin, str, object], ConfigRecord]]] = {
    RecordKind.TASK_COMMIT: _task_commit,
    RecordKind.TASK_COUNT: _task_count,
    RecordKind.TARGET_STATE: _target_state,
    RecordKind.RESTART_REQUEST: _restart_request,
    RecordKind.SESSION_KEY: _session_key,
    RecordKind.LOGGER_LEVEL: _logger_level,
}

"""Records of the config topic as JSON objects, as snapshot files hold them: kind, place and writer, then the fields.

    {"kind": "task-commit", "connector": "orders", "tasks": 3,
     "origin": {"offset": 41, "timestamp": 1790000000000, "state": "committed", "transactional": true,
                "producer_id": 2000, "producer_epoch": 3}}

Secrets are not in them: they ended where the topic's bytes were decoded.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from eosctl.codecs.json_fields import JsonFields
from eosctl.errors import Undecodable
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
from eosctl.model.records import RecordState

MALFORMED: Final = "malformed"


def encode_config_record(record: ConfigRecord) -> dict[str, Any]:
    """The record as a JSON object."""
    fields = {key: value for key, value in record._asdict().items() if key not in {"origin", "kind"}}
    kind = (
        {"kind": MALFORMED, "of": record.kind.value} if isinstance(record, MalformedRecord) else {"kind": record.kind}
    )
    return {**kind, **fields, "origin": record.origin._asdict()}


def decode_config_record(fields: JsonFields) -> ConfigRecord:
    """The record that such an object describes; Undecodable where it describes none."""
    decode = _DECODERS.get(fields.text("kind"))
    if decode is None:
        raise Undecodable(f"{fields.text('kind')!r} is no kind of config topic record")
    try:
        return decode(_origin(fields.inner("origin")), fields)
    except ValueError as error:
        raise Undecodable(f"no record of the config topic: {error}") from error


def _origin(fields: JsonFields) -> Origin:
    return Origin(
        fields.whole("offset"),
        fields.whole("timestamp"),
        RecordState(fields.text("state")),
        fields.flag("transactional"),
        fields.whole("producer_id"),
        fields.whole("producer_epoch"),
    )


def _connector_config(origin: Origin, fields: JsonFields) -> ConfigRecord:
    properties = fields.optional("properties", lambda name: dict(fields.inner(name).members()))
    return ConnectorConfigRecord(origin, fields.text("connector"), properties)


def _task_config(origin: Origin, fields: JsonFields) -> ConfigRecord:
    properties = dict(fields.inner("properties").members())
    return TaskConfigRecord(origin, fields.text("connector"), fields.whole("task"), properties)


def _target_state(origin: Origin, fields: JsonFields) -> ConfigRecord:
    state, newer = fields.optional("state", fields.text), fields.optional("state_v2", fields.text)
    return TargetStateRecord(origin, fields.text("connector"), state, newer, fields.flag("removed"))


def _malformed(origin: Origin, fields: JsonFields) -> MalformedRecord:
    return MalformedRecord(
        origin,
        RecordKind(fields.text("of")),
        fields.optional("key", fields.text),
        fields.optional("connector", fields.text),
        Disposition(fields.text("disposition")),
        fields.text("reason"),
    )


_DECODERS: Final[Mapping[str, Callable[[Origin, JsonFields], ConfigRecord]]] = {
    MALFORMED: _malformed,
    RecordKind.CONNECTOR_CONFIG: _connector_config,
    RecordKind.TASK_CONFIG: _task_config,
    RecordKind.TARGET_STATE: _target_state,
    RecordKind.TASK_COMMIT: lambda at, each: TaskCommitRecord(at, each.text("connector"), each.whole("tasks")),
    RecordKind.TASK_COUNT: lambda at, each: TaskCountRecord(at, each.text("connector"), each.whole("task_count")),
    RecordKind.SESSION_KEY: lambda at, each: SessionKeyRecord(
        at, each.text("algorithm"), each.whole("creation_timestamp")
    ),
    RecordKind.RESTART_REQUEST: lambda at, each: RestartRequestRecord(
        at, each.text("connector"), each.flag("include_tasks"), each.flag("only_failed")
    ),
    RecordKind.LOGGER_LEVEL: lambda at, each: LoggerLevelRecord(at, each.text("namespace"), each.text("level")),
    RecordKind.INVALID_KEY: lambda at, each: InvalidKeyRecord(at, each.text("key")),
}

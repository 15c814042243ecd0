"""Records of the status topic: bytes to the kinds of eosctl.model.status_topic.

Key: UTF-8 text. Value: a JSON object without schema, or null (a tombstone). As KafkaStatusBackingStore.read does it:

    status-connector-<connector>               {"state", "trace", "worker_id", "generation"}
    status-task-<connector>-<task>             the same
    status-topic-<topic>:connector-<connector> {"topic": {"name", "connector", "task", "discoverTimestamp"}}

1. The first prefix that the key begins with decides, in this order. Another key, an empty name of a connector and a
   task's number that is no int are logged and discarded.
2. A state that this version does not know, members of another type, and no `generation` are logged; the status of
   before stays.
3. Traces may hold secrets: they are masked here (codecs.secrets).
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from eosctl.codecs.config_topic import parse_task_number
from eosctl.codecs.json_text import NotJson, int_value, read_json, read_text
from eosctl.codecs.secrets import mask_text
from eosctl.model.records import Record
from eosctl.model.status_topic import StatusKind, StatusRecord

CONNECTOR: Final = "status-connector-"
TASK: Final = "status-task-"
TOPIC: Final = "status-topic-"
BEFORE_CONNECTOR: Final = ":connector-"
STATES: Final = frozenset({"UNASSIGNED", "RUNNING", "PAUSED", "FAILED", "DESTROYED", "RESTARTING", "STOPPED"})
"""AbstractStatus.State of 3.3 to 4.3; STOPPED since 3.5."""


def decode_status_records(records: Iterable[Record]) -> Iterator[StatusRecord]:
    return map(decode_status_record, records)


def decode_status_record(record: Record) -> StatusRecord:
    """One record as a worker of the newest version reads it. Never raises."""
    key = "" if record.key is None else read_text(record.key)
    if key.startswith(CONNECTOR) and key != CONNECTOR:
        return _status(record, StatusKind.CONNECTOR, key[len(CONNECTOR) :], None)
    if key.startswith(TASK):
        *name, number = key.rstrip("-").split("-")
        task = parse_task_number(number)
        if len(name) > 2 and task is not None:
            return _status(record, StatusKind.TASK, "-".join(name[2:]), task)
    if key.startswith(TOPIC):
        topic, connector = _used(key)
        if topic and connector:
            return _use(record, topic, connector)
    return StatusRecord(record, StatusKind.INVALID, "", reason="its key names no connector, task or topic")


def _used(key: str) -> tuple[str, str]:
    """Topic and connector, cut by length after the first colon."""
    colon = key.find(":")
    return key[len(TOPIC) : max(0, colon)], key[colon + len(BEFORE_CONNECTOR) :] if colon >= 0 else ""


def _use(record: Record, topic: str, connector: str) -> StatusRecord:
    found = StatusRecord(record, StatusKind.TOPIC, connector, topic=topic)
    if record.value is None:
        return found
    status = _members(record.value).get("topic")
    task = status.get("task") if isinstance(status, dict) else None
    if type(task) is not int:
        return found._replace(reason="its value is no status of a topic")
    return found._replace(task=int_value(task))


def _status(record: Record, kind: StatusKind, connector: str, task: int | None) -> StatusRecord:
    found = StatusRecord(record, kind, connector, task)
    if record.value is None:
        return found
    status = _members(record.value)
    state, trace, worker = (status.get(name) for name in ("state", "trace", "worker_id"))
    generation = status.get("generation")
    is_sound = isinstance(trace, str | None) and isinstance(worker, str | None)
    is_known = isinstance(state, str) and state in STATES
    if not is_sound or not is_known or type(generation) is not int:
        return found._replace(reason="its value is no status that workers know")
    return found._replace(
        state=state,
        trace=None if trace is None else mask_text(str(trace)),
        worker_id=None if worker is None else str(worker),
        generation=int_value(generation),
    )


def _members(value: bytes) -> dict[str, Any]:
    """The members of the object; none where it is another value or no JSON."""
    try:
        found = read_json(value)
    except NotJson:
        return {}
    return found if isinstance(found, dict) else {}

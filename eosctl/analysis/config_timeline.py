"""The history of a config topic: one entry per record, with what it did to the reader's state."""

from collections.abc import Collection, Iterable, Iterator

from eosctl.analysis.config_topic import ConfigTopicReplay
from eosctl.model.config_timeline import Effect, TimelineEntry
from eosctl.model.config_topic import (
    ConfigRecord,
    ConnectorConfigRecord,
    InvalidKeyRecord,
    LoggerLevelRecord,
    MalformedRecord,
    RestartRequestRecord,
    SessionKeyRecord,
    TargetStateRecord,
    TaskCommitRecord,
    TaskConfigRecord,
    TaskCountRecord,
)
from eosctl.model.connectors import Reader
from eosctl.model.counts import counted


def timeline(
    records: Iterable[ConfigRecord], reader: Reader, connectors: Collection[str] = ()
) -> Iterator[TimelineEntry]:
    """Entries in offset order, read lazily; of the given connectors only, if any are given."""
    replay = ConfigTopicReplay(reader)
    for record in records:
        name = connector_of(record)
        effect = replay.apply(record)
        if connectors and name not in connectors:
            continue
        missing = () if name is None else replay.missing_tasks(name)
        yield TimelineEntry(
            record.origin,
            record.kind,
            name,
            _words(record, effect, missing),
            effect,
            None if name is None else replay.is_pending_fencing(name),
            None if name is None else bool(missing),
        )


def connector_of(record: ConfigRecord) -> str | None:
    """The connector that a record is about, None for session keys, logger levels and invalid keys."""
    if isinstance(record, SessionKeyRecord | LoggerLevelRecord | InvalidKeyRecord):
        return None
    return record.connector


def _words(record: ConfigRecord, effect: Effect, missing: tuple[int, ...]) -> str:
    words = _said(record)
    if effect is Effect.APPLIED and isinstance(record, TaskCommitRecord):
        words += "; fencing pending"
        if missing:
            words += f"; task configs missing: {', '.join(map(str, missing[:10]))}"
    return words + _EFFECT_WORDS.get(effect, "")


def _said(record: ConfigRecord) -> str:
    match record:
        case ConnectorConfigRecord():
            said = "connector deleted" if record.properties is None else f"connector config {_class(record)}".rstrip()
        case TaskConfigRecord():
            said = f"config of task {record.task}, waiting for a commit"
        case TaskCommitRecord():
            said = f"commit of {counted(record.tasks, 'task')}"
        case TaskCountRecord():
            said = f"fencing done, {counted(record.task_count, 'task')} recorded"
        case TargetStateRecord():
            said = "target state removed" if record.removed else f"target state {record.state_v2 or record.state}"
        case _:
            said = _said_of_the_cluster(record)
    return said


def _said_of_the_cluster(record: ConfigRecord) -> str:
    match record:
        case SessionKeyRecord():
            said = f"session key ({record.algorithm})"
        case RestartRequestRecord():
            said = f"restart, tasks included: {record.include_tasks}, only failed: {record.only_failed}"
        case LoggerLevelRecord():
            said = f"logger {record.namespace} at {record.level}"
        case InvalidKeyRecord():
            said = f"invalid key {record.key[:100]}"
        case MalformedRecord():
            said = f"malformed {record.kind.value}: {record.reason}"
        case _:
            said = record.kind.value
    return said


def _class(record: ConnectorConfigRecord) -> object:
    return (record.properties or {}).get("connector.class") or ""


_EFFECT_WORDS = {
    Effect.IGNORED: " (ignored)",
    Effect.UNCLAIMED: " (ignored: the connector's config is unknown)",
    Effect.UNREADABLE: " (ignored)",
    Effect.POISON: " (a worker throws here and loses the rest of that poll)",
    Effect.FATAL: " (a starting worker fails here)",
    Effect.ABORTED: " (aborted: not seen)",
    Effect.HELD_BACK: " (not yet seen: behind an open transaction)",
}

"""The history of a config topic: one entry per record, with what it did to the reader's state."""

from collections.abc import Collection, Iterable, Iterator

from eosctl.analysis.config_topic import ConfigTopicReplay
from eosctl.model.config_timeline import TimelineEntry
from eosctl.model.config_topic import (
    ConfigRecord,
    ConnectorConfigRecord,
    Effect,
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
    words = _summary(record)
    if effect is Effect.APPLIED and isinstance(record, TaskCommitRecord):
        words += "; fencing pending"
        if missing:
            words += f"; task configs missing: {', '.join(map(str, missing[:10]))}"
    return words + _EFFECT_WORDS.get(effect, "")


def _summary(record: ConfigRecord) -> str:
    match record:
        case ConnectorConfigRecord():
            summary = (
                "connector deleted" if record.properties is None else f"connector config {_class(record)}".rstrip()
            )
        case TaskConfigRecord():
            summary = f"config of task {record.task}, waiting for a commit"
        case TaskCommitRecord():
            summary = f"commit of {counted(record.tasks, 'task')}"
        case TaskCountRecord():
            summary = f"fencing done, {counted(record.task_count, 'task')} recorded"
        case TargetStateRecord():
            summary = "target state removed" if record.removed else f"target state {record.state_v2 or record.state}"
        case _:
            summary = _cluster_summary(record)
    return summary


def _cluster_summary(record: ConfigRecord) -> str:
    match record:
        case SessionKeyRecord():
            summary = f"session key ({record.algorithm})"
        case RestartRequestRecord():
            summary = f"restart, tasks included: {record.include_tasks}, only failed: {record.only_failed}"
        case LoggerLevelRecord():
            summary = f"logger {record.namespace} at {record.level}"
        case InvalidKeyRecord():
            summary = f"invalid key {record.key[:100]}"
        case MalformedRecord():
            summary = f"malformed {record.kind.value}: {record.reason}"
        case _:
            summary = record.kind.value
    return summary


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

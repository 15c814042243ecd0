"""Rules about Iceberg's sink connector: its coordinator, and the control topic between coordinator and tasks."""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from eosctl.analysis.catalogue import connect as kinds
from eosctl.analysis.client_configs import clients_of
from eosctl.analysis.connect_requests import for_connector
from eosctl.model.client_roles import ClientRole
from eosctl.model.connectors import ICEBERG_START
from eosctl.model.evidence import Evidence, IcebergState
from eosctl.model.names import TopicPartition
from eosctl.model.report import Finding, Severity
from eosctl.model.rules import Rule
from eosctl.model.skipped import Skipped
from eosctl.model.times import lasting
from eosctl.model.topics import PartitionOffsets, TopicFacts
from eosctl.model.transactions import TransactionDescription
from eosctl.model.whole_numbers import whole_number

RESET: Final = "auto.offset.reset"
NEAR: Final = 2
"""The rule warns when the oldest unread event has reached this part of the retention time: one in NEAR."""


class _Place(NamedTuple):
    """A partition of a sink's control topic; at is the coordinator's offset, None without one."""

    connector: str
    state: IcebergState
    bounds: PartitionOffsets
    at: int | None

    @property
    def partition(self) -> TopicPartition:
        return self.bounds.topic_partition

    @property
    def is_lost(self) -> bool:
        return self.at is not None and self.at < self.bounds.log_start_offset

    @property
    def has_records(self) -> bool:
        return self.bounds.log_start_offset < self.bounds.high_watermark


def _states(evidence: Evidence) -> Iterator[tuple[str, IcebergState]]:
    yield from ({} if isinstance(evidence.iceberg, Skipped) else evidence.iceberg).items()


def _places(evidence: Evidence) -> Iterator[_Place | Skipped]:
    for name, state in _states(evidence):
        committed, offsets = state.committed, state.offsets
        if isinstance(committed, Skipped):
            yield committed
        elif isinstance(offsets, Skipped):
            yield offsets
        else:
            for place, bounds in offsets.items():
                yield bounds if isinstance(bounds, Skipped) else _Place(name, state, bounds, committed.get(place))


def sinks_stopped_by(evidence: Evidence, transaction: TransactionDescription) -> tuple[str, ...]:
    """Running sinks that read a partition of the transaction, where an earlier start of a sink began it.

    Each start has a new UUID in its transactional IDs. Sinks whose present start the config topic does not have are
    left out.
    """
    statuses = {} if isinstance(evidence.statuses, Skipped) else evidence.statuses
    name, starts = transaction.transactional_id, _starts(evidence)
    if name.endswith(tuple(start for each in starts.values() for start in each)):
        return ()
    written = {each.topic for each in transaction.partitions}
    return tuple(
        sink
        for sink, state in _states(evidence)
        if state.sink.control_topic in written
        and name.startswith(state.sink.id_prefixes)
        and starts.get(sink)
        and (sink not in statuses or statuses[sink].running_tasks)
    )


def _starts(evidence: Evidence) -> dict[str, tuple[str, ...]]:
    """The ends of the transactional IDs of each sink's present start, by connector."""
    known = () if isinstance(evidence.inspection, Skipped) else evidence.inspection.connectors
    return {
        each.state.name: tuple(
            str(task[ICEBERG_START]) for task in each.state.task_configs.values() if ICEBERG_START in task
        )
        for each in known
    }


def _coordinators(evidence: Evidence) -> Iterator[Finding | Skipped]:
    statuses = {} if isinstance(evidence.statuses, Skipped) else evidence.statuses
    for name, state in _states(evidence):
        count, group = state.coordinators, state.sink.coordinator_group
        status = statuses.get(name)
        if isinstance(count, Skipped):
            yield count
        elif count > 1:
            message = f"group {group} has {count} members: {count} coordinators commit to the table"
            yield _coordinator_finding(name, state, count, message, Severity.ERROR)
        elif count == 0 and status is not None and status.running_tasks:
            message = f"tasks are RUNNING and group {group} has no member: no coordinator commits to the table"
            yield _coordinator_finding(name, state, count, message, Severity.WARNING)


def _coordinator_finding(name: str, state: IcebergState, count: int, message: str, severity: Severity) -> Finding:
    group = state.sink.coordinator_group
    cure = for_connector(kinds.ICEBERG_COORDINATORS.fix.replace("<group>", group), name)
    evidence = {"group": group, "coordinators": count}
    return kinds.ICEBERG_COORDINATORS.finding(name, message, evidence, cure=cure, severity=severity)


def _deleted(evidence: Evidence) -> Iterator[Finding | Skipped]:
    for name, state in _states(evidence):
        if isinstance(state.topic, Skipped):
            yield state.topic
        elif state.topic is not None:
            yield from _compacted(name, state, state.topic)
    for each in _places(evidence):
        if isinstance(each, Skipped):
            yield each
        elif each.is_lost:
            yield _lost(each)
        elif isinstance(each.state.topic, TopicFacts):
            yield from _near(evidence, each, each.state.topic)


def _compacted(name: str, state: IcebergState, topic: TopicFacts) -> Iterator[Finding | Skipped]:
    policy = topic.setting("cleanup.policy")
    if isinstance(policy, Skipped):
        yield policy
    elif "compact" in policy:
        message = f"control topic {topic.name} has cleanup.policy={policy}: compaction keeps one event of each task"
        yield _deletion(name, state, message, {"cleanup_policy": policy}, Severity.ERROR)


def _lost(place: _Place) -> Finding:
    first = place.bounds.log_start_offset
    message = (
        f"group {place.state.sink.coordinator_group} is at offset {place.at} of {place.partition}, which begins at "
        f"{first} now: events between were deleted before a coordinator read them"
    )
    is_at_work = isinstance(place.state.coordinators, int) and place.state.coordinators > 0
    figures = {"partition": str(place.partition), "committed": place.at, "log_start_offset": first}
    severity = Severity.ERROR if is_at_work else Severity.WARNING
    return _deletion(place.connector, place.state, message, figures, severity)


def _near(evidence: Evidence, place: _Place, topic: TopicFacts) -> Iterator[Finding | Skipped]:
    since, setting, policy = place.state.unread_since, topic.setting("retention.ms"), topic.setting("cleanup.policy")
    for each in (since, setting):
        if isinstance(each, Skipped):
            yield each
    if isinstance(since, Skipped) or isinstance(setting, Skipped) or place.partition not in since:
        return
    retention, age = (
        whole_number(setting, f"retention.ms of topic {topic.name}"),
        evidence.as_of - since[place.partition],
    )
    if "delete" in str(policy) and 0 <= retention <= NEAR * age:
        message = (
            f"the first event of {place.partition} that no coordinator has read is {lasting(age)} old, and "
            f"retention.ms is {retention}: it may be deleted unread"
        )
        figures = {"partition": str(place.partition), "age_ms": age, "retention_ms": retention}
        yield _deletion(place.connector, place.state, message, figures, Severity.WARNING)


def _deletion(
    name: str, state: IcebergState, message: str, figures: Mapping[str, object], severity: Severity
) -> Finding:
    cure = kinds.ICEBERG_DELETED.fix.replace("<topic>", state.sink.control_topic)
    return kinds.ICEBERG_DELETED.finding(name, message, figures, cure=cure, severity=severity)


def _latest(evidence: Evidence) -> Iterator[Finding | Skipped]:
    for each in _places(evidence):
        if isinstance(each, Skipped):
            yield each
            continue
        if not each.has_records or not (each.at is None or each.is_lost):
            continue
        reset = _reset(evidence, each.connector)
        if reset is not None:
            where = "no offset" if each.at is None else f"offset {each.at}, which is deleted,"
            message = (
                f"group {each.state.sink.coordinator_group} has {where} in {each.partition}, and {RESET} is {reset}: a "
                f"coordinator that starts passes over the events up to {each.bounds.high_watermark}"
            )
            figures = {"partition": str(each.partition), "committed": each.at}
            cure = for_connector(kinds.ICEBERG_LATEST.fix, each.connector)
            yield kinds.ICEBERG_LATEST.finding(each.connector, message, figures, cure=cure)


def _reset(evidence: Evidence, connector: str) -> str | None:
    """In words, that it is latest; None where every worker makes the client with another value.

    Workers whose file was not read count as ones that do not set it: as a setting of a worker it has no effect in
    Connect itself.
    """
    resets = [each.setting(RESET) for each in clients_of(evidence, connector, ClientRole.ICEBERG, exactly_once=False)]
    if "latest" in resets:
        return "latest"
    unread = any(isinstance(each, Skipped) for each in resets)
    return "latest (unless a worker's file, which was not read, sets it)" if unread else None


_ASKED: Final = (
    (kinds.ICEBERG_COORDINATORS, "Does each Iceberg sink that runs have exactly one coordinator?", _coordinators),
    (kinds.ICEBERG_DELETED, "Does each Iceberg sink's control topic keep its events until they are read?", _deleted),
    (kinds.ICEBERG_LATEST, "Does the coordinator of each Iceberg sink begin where it reads every event?", _latest),
)
RULES: Final = tuple(Rule(kind, question, needs=("iceberg",), check=check) for kind, question, check in _ASKED)

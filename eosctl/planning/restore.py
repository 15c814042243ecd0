"""The plan that puts a connector's offsets back to those of an export file (KIP-875).

1. A source partition is found among the connector's keys by what its JSON says, and that key's bytes are written again:
   encoded again they may come in another order, and then the connector would not find them.
2. A partition that no key stands for is written only if the user says so, and if it is known how: it has one member or
   none, or the connector's other keys with these members have them all in one order, otherwise in the file's.
3. An offset of null deletes. Where the connector has two stores, deletions go to the workers' topic first and must have
   succeeded there before its own topic is written (KAFKA-15018): if not, the old value would come back.
4. Partitions that the file does not name keep their offsets.
5. An offset of another shape than the one that it replaces, and one behind it, is written only if the user says so.
6. An offset that is there already is written again where a later one follows it whose transaction was not committed:
   workers that are not enabled read that one.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from eosctl.analysis.catalogue.migration import CONNECTOR_UNKNOWN, SOURCE_PARTITION_UNCLEAR
from eosctl.codecs.offsets_digest import entries_by_connector, offsets_now, value_digest
from eosctl.codecs.offsets_topic import (
    canonical,
    decode_offsets_key,
    decode_offsets_value,
    encode_offsets_key,
    encode_offsets_value,
)
from eosctl.model.exported_offsets import ConnectorOffset
from eosctl.model.migration import MigrationFacts, MigrationRequest, Move
from eosctl.model.names import ConnectorTaskId, task_transactional_id
from eosctl.model.offsets import Entry, OffsetKey, SourcePartition
from eosctl.model.partitioner import java_partition
from eosctl.model.plan import (
    ClusterIs,
    ConnectorStopped,
    FenceProducers,
    NoOpenTransaction,
    OffsetsUnchanged,
    OffsetsWrite,
    Plan,
    PlannedStep,
    ResumeConnector,
    StopConnector,
    TopicIsCompact,
    VerifyOffsets,
    WriteOffsets,
)
from eosctl.model.plan_facts import ConnectorFacts, PlanFacts
from eosctl.model.planned import Planned
from eosctl.model.preconditions import IN_USE_HINT, how_to_stop, not_compact, violation
from eosctl.model.report import Finding, Severity
from eosctl.model.sides import Side
from eosctl.planning.created_connectors import PARTITIONS, NewConnector, creating_steps, objections_to
from eosctl.planning.manual_steps import resumed_by_hand
from eosctl.planning.merge import after_writing, text
from eosctl.planning.producing_elsewhere import find_clusters
from eosctl.planning.source_positions import find_differences, find_positions, unknown_source
from eosctl.planning.unused_ids import unused_ids

KIND: Final = "offsets.restore"
CREATING_KIND: Final = "offsets.create-connector"


@dataclass(frozen=True, slots=True)
class RestoreRequest:
    """Which offsets the connector shall have. topics are those of its stores, the one written last at the end.

    own_topic says that the last of them is the connector's, named that the user named it; force is as with a move.
    new: the connector is created with the plan.
    create_keys: source partitions that no key stands for are to be written, with their members as in the file where
    the connector's order is not known.
    """

    connector: str
    group_id: str
    topics: tuple[str, ...]
    offsets: tuple[ConnectorOffset, ...]
    stop: bool = False
    resume: bool = False
    just_stopped: tuple[ConnectorStopped, ...] = field(default=())
    create_keys: bool = False
    own_topic: bool = False
    named: bool = False
    force: bool = False
    new: NewConnector | None = None


def plan_restore(request: RestoreRequest, facts: MigrationFacts) -> Planned:
    """The plan by the rules above, with what speaks against it."""
    planner = _Planner(request, facts)
    findings = (
        *planner.findings,
        *planner.misspelt(),
        *find_clusters(in_place(request), facts),
        *planner.differences(),
    )
    findings += tuple(find_positions(request.connector, request.offsets, facts.source))
    against = [*planner.objections(), *unknown_source(facts.source)]
    against += [(each.message, each.cure) for each in findings if each.severity is Severity.ERROR]
    hint = against[0][1] if against else None
    return Planned(
        plan=Plan(KIND if request.new is None else CREATING_KIND, facts.as_of, tuple(planner.steps())),
        cluster_id=facts.cluster_ids[Side.SOURCE],
        findings=findings,
        objections=tuple(objection for objection, _ in against),
        hint=hint,
    )


def in_place(request: RestoreRequest) -> MigrationRequest:
    """As a move that leaves the offsets where they are: they must be in this cluster, too."""
    name, topic = request.connector, request.topics[-1]
    own = topic if request.own_topic else None
    move = Move(name, name, topic, topic, own, own, unchanged=True, named=request.named)
    return MigrationRequest((move,), request.group_id, request.group_id, force=request.force)


class _Planner:
    def __init__(self, request: RestoreRequest, facts: MigrationFacts) -> None:
        self._request = request
        self._facts = facts
        self._unused = unused_ids(in_place(request), facts)
        self._entries = {topic: self._of(topic) for topic in request.topics}
        self.findings: list[Finding] = []
        known: dict[str, dict[bytes, OffsetKey]] = {}
        self._orders: dict[frozenset[str], set[tuple[str, ...]]] = {}
        for entries in self._entries.values():
            for key, _ in entries:
                known.setdefault(canonical(key), {})[key.raw] = key
                self._orders.setdefault(frozenset(key.partition or ()), set()).add(tuple(key.partition or ()))
        self._wanted = dict(self._resolved(known))

    def _of(self, topic: str) -> list[Entry]:
        held = self._facts.offsets.get((Side.SOURCE, topic))
        return [] if held is None else entries_by_connector(held).get(self._request.connector, [])

    def _resolved(self, known: dict[str, dict[bytes, OffsetKey]]) -> Iterator[tuple[bytes, bytes | None]]:
        """Raw key to value, for every offset of the file that can be written."""
        for each in self._request.offsets:
            partition, is_sure = self._ordered(each.partition)
            made = encode_offsets_key(self._request.connector, partition)
            found = list(known.get(canonical(OffsetKey(made, self._request.connector, each.partition)), {}))
            value = encode_offsets_value(each.offset)
            if len(found) > 1:
                self._object(made, "stands in the topic in several ways: which one the connector uses is not known")
            elif found:
                yield found[0], value
            elif value is None:
                continue
            elif not is_sure:
                self._object(
                    made, "is not in the topic, and in which order the connector writes its members is unknown"
                )
            elif self._request.new is None and not self._request.create_keys:
                self._object(made, f"is not in the topic: {self._present()}; --create-keys writes it")
            else:
                self._warn_of_members(made, each.partition)
                yield made, value

    def _present(self) -> str:
        """Of which members the connector's keys are."""
        members = sorted(", ".join(sorted(each)) for each in self._orders if each)
        return f"the connector's keys have the members {'; or '.join(members)}" if members else "it has no key there"

    def _warn_of_members(self, key: bytes, partition: SourcePartition) -> None:
        if self._orders and frozenset(partition) not in self._orders:
            what = f"{text(key)} has other members than the connector's keys: {self._present()}"
            finding = SOURCE_PARTITION_UNCLEAR.finding(self._request.connector, what, severity=Severity.WARNING)
            self.findings.append(finding)

    def differences(self) -> Iterator[Finding]:
        """What is odd about offsets that take the place of others; what the connector's own topic has counts first."""
        for raw, value in self._wanted.items():
            key, after = decode_offsets_key(raw), decode_offsets_value(value)
            held = (
                decode_offsets_value(each)
                for topic in reversed(self._request.topics)
                for each in self._values(topic, raw)
            )
            before = next((each for each in held if isinstance(each, Mapping)), None)
            if before is not None and isinstance(after, Mapping) and isinstance(key, OffsetKey):
                connector = self._request.connector
                # What a connector of that name left behind is written over only where the user says so.
                force = self._request.force or self._request.new is not None
                yield from find_differences(connector, key.partition or {}, before, after, force=force)

    def _values(self, topic: str, raw: bytes) -> Iterator[bytes | None]:
        return (each.committed.value for key, each in self._entries[topic] if key.raw == raw and each.committed)

    def _ordered(self, partition: SourcePartition) -> tuple[SourcePartition, bool]:
        """The partition with its members in the connector's own order, and whether that is known."""
        orders = self._orders.get(frozenset(partition), set())
        if len(orders) == 1:
            return {name: partition[name] for name in next(iter(orders))}, True
        return partition, len(partition) < 2 or self._request.create_keys

    def _object(self, key: bytes, what: str) -> None:
        self.findings.append(SOURCE_PARTITION_UNCLEAR.finding(self._request.connector, f"{text(key)} {what}"))

    def misspelt(self) -> Iterator[Finding]:
        """A name that nobody knows."""
        nobody = isinstance(self._now, ConnectorFacts) and self._now.state is None
        if self._request.new is None and nobody and not any(self._entries.values()):
            yield CONNECTOR_UNKNOWN.finding(
                self._request.connector,
                f"connector {self._request.connector} does not exist and has no offsets: one of this name will begin "
                "from these",
            )

    def objections(self) -> Iterator[tuple[str, str]]:
        """Why nothing may be written, each with what to do."""
        # One that is to be created has no tasks to stop: where it exists, that is the objection.
        reason = self._not_stopped() if self._request.new is None else None
        if reason is not None and not (self._request.stop and isinstance(self._now, ConnectorFacts)):
            yield reason, how_to_stop(self._stopped, PlanFacts(connectors=self._facts.connectors))
        if self._request.new is not None:
            yield from objections_to(self._request.new, self._facts, self._entries, self._wanted)
        for unused in self._unused:
            in_use = violation(unused, PlanFacts(live_owners=self._facts.live_owners))
            if in_use is not None:
                yield in_use, IN_USE_HINT
        for topic in self._request.topics:
            now = self._facts.topics[Side.SOURCE, topic]
            objection = f"topic {topic} does not exist" if now is None else not_compact(now.facts)
            if now is None and self._is_made(topic):
                continue
            if objection is not None:
                yield objection, "an offsets topic has to exist and to be compact"

    def _is_made(self, topic: str) -> bool:
        """Whether the plan creates the topic: the own one of a connector that it creates."""
        return self._request.new is not None and self._request.own_topic and topic == self._request.topics[-1]

    @property
    def _stopped(self) -> ConnectorStopped:
        return ConnectorStopped(Side.SOURCE, self._request.connector)

    def _not_stopped(self) -> str | None:
        return violation(self._stopped, PlanFacts(connectors=self._facts.connectors))

    @property
    def _now(self) -> object:
        return self._facts.connectors[Side.SOURCE, self._request.connector]

    @property
    def _cluster(self) -> ClusterIs:
        return ClusterIs(Side.SOURCE, self._facts.cluster_ids[Side.SOURCE])

    def steps(self) -> Iterator[PlannedStep]:
        """Stop or create, fence, write each store, resume."""
        connector = self._request.connector
        exists = isinstance(self._now, ConnectorFacts) and self._now.state is not None
        if (self._request.stop and exists and self._not_stopped() is not None) or self._request.just_stopped:
            yield PlannedStep(StopConnector(Side.SOURCE, connector), (self._cluster,))
        if self._request.new is not None:
            yield from creating_steps(
                self._request.new, self._facts, self._request.topics, (self._cluster, self._stopped)
            )
        ids = self._facts.fenced_ids.get(Side.SOURCE, ())
        if ids:
            fence = FenceProducers(Side.SOURCE, ids, self._facts.transaction_timeout_ms)
            yield PlannedStep(fence, (self._cluster, self._stopped, *self._unused))
        for topic in self._request.topics:
            only_deletions = topic != self._request.topics[-1]
            wanted = {key: value for key, value in self._wanted.items() if value is None or not only_deletions}
            yield from self._write(topic, wanted)
        if self._request.resume:
            yield PlannedStep(ResumeConnector(Side.SOURCE, connector, self._request.topics[-1]), (self._cluster,))
        else:
            yield PlannedStep(resumed_by_hand(f"resume connector {connector}", connector))

    def _write(self, topic: str, wanted: dict[bytes, bytes | None]) -> Iterator[PlannedStep]:
        now = self._facts.topics[Side.SOURCE, topic]
        if now is None and not self._is_made(topic):
            return
        entries, partitions = self._entries[topic], PARTITIONS if now is None else now.facts.partitions
        writes = tuple(_writes(entries, wanted, partitions))
        if not writes:
            return
        before, after = offsets_now(entries), value_digest(after_writing(entries, writes))
        connector = self._request.connector
        guards = (
            self._cluster,
            self._stopped,
            TopicIsCompact(Side.SOURCE, topic, partitions, None if now is None else now.topic_id),
        )
        step = WriteOffsets(
            Side.SOURCE,
            topic,
            connector,
            task_transactional_id(self._request.group_id, ConnectorTaskId(connector, 0)),
            self._facts.transaction_timeout_ms,
            writes,
            before.records,
            before.values,
            after,
        )
        unchanged = OffsetsUnchanged(Side.SOURCE, topic, connector, before.records, after)
        yield PlannedStep(step, (*guards, unchanged, NoOpenTransaction(Side.SOURCE, topic, connector), *self._unused))
        yield PlannedStep(VerifyOffsets(Side.SOURCE, topic, connector, after), guards)


def _writes(entries: Sequence[Entry], wanted: dict[bytes, bytes | None], partitions: int) -> Iterator[OffsetsWrite]:
    """Records for the keys whose value is another; one that lies in two partitions is written to both."""
    for raw, value in wanted.items():
        for partition in _partitions(entries, raw, partitions):
            there = _value(entries, raw, partition)
            if there != value or _hidden(entries, raw, partition):
                yield OffsetsWrite(partition, raw, value, there)


def _partitions(entries: Iterable[Entry], raw: bytes, partitions: int) -> list[int]:
    held = [
        records.topic_partition.partition
        for key, records in entries
        if key.raw == raw and records.committed is not None and records.committed.value is not None
    ]
    return sorted({java_partition(raw, partitions), *held})


def _value(entries: Iterable[Entry], raw: bytes, partition: int) -> bytes | None:
    for key, records in entries:
        if key.raw == raw and records.topic_partition.partition == partition and records.committed is not None:
            return records.committed.value
    return None


def _hidden(entries: Iterable[Entry], raw: bytes, partition: int) -> bool:
    """Whether readers of uncommitted records find another value there, of a transaction that was not committed."""
    return any(
        key.raw == raw and records.topic_partition.partition == partition and records.last is not records.committed
        for key, records in entries
    )

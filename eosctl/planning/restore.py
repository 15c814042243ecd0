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

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct, field

from eosctl.analysis.catalogue.plans import (
    CONNECTOR_UNKNOWN,
    HISTORY_FILE,
    HISTORY_LEFT,
    HISTORY_MISSING,
    OFFSET_UNLIKE_BEFORE,
    POSITION_AT_SOURCE,
    RECORDS_SKIPPED,
    SOURCE_PARTITION_UNCLEAR,
)
from eosctl.analysis.positions import (
    POSTGRESQL,
    at_source,
    compare_positions,
    explain_position,
    meaning_of_rewind,
    position_reader,
)
from eosctl.codecs.offsets_topic import (
    canonical,
    decode_offsets_key,
    decode_offsets_value,
    encode_offsets_key,
    encode_offsets_value,
    entries_by_connector,
    offsets_now,
    value_digest,
)
from eosctl.model.migration import KeptHistory, MigrationFacts, MigrationRequest, Move
from eosctl.model.names import ConnectorTaskId, Side, task_transactional_id
from eosctl.model.offsets import (
    ConnectorOffset,
    Entry,
    OffsetKey,
    Order,
    Served,
    SourceOffset,
    SourcePartition,
    SourceRead,
)
from eosctl.model.plan import (
    IN_USE_HINT,
    CreateConnector,
    CreateTopic,
    FenceProducers,
    OffsetsWrite,
    Plan,
    PlannedStep,
    ResumeConnector,
    StopConnector,
    VerifyOffsets,
    WriteOffsets,
)
from eosctl.model.planned import Planned
from eosctl.model.preconditions import (
    ClusterIs,
    ConnectorFacts,
    ConnectorStopped,
    NoOpenTransaction,
    OffsetsUnchanged,
    PlanFacts,
    TopicIsCompact,
    TopicIsCompactOrAbsent,
    not_compact,
)
from eosctl.model.records import java_partition
from eosctl.model.report import Finding, Severity
from eosctl.model.skipped import Skipped
from eosctl.model.text import pluralize
from eosctl.model.versions import INITIAL_STATE
from eosctl.planning.migration import after_writing, text, unused_ids
from eosctl.planning.operated import resumed_by_hand
from eosctl.planning.producing_elsewhere import find_clusters

# Creating a connector that begins at given offsets: the objections, in addition to those against a restore.
#
# 1. The connector does not exist, and workers can create one STOPPED (KIP-980, 3.7): one that runs before its offsets
#    are written begins from nothing.
# 2. Offsets outlive a connector that is deleted (KIP-875). If the topic has offsets under this name, and they differ
#    from the new ones, the user must allow to overwrite them.
# 3. At least one offset is to be written: without, it would begin from nothing.


PARTITIONS: Final = 25
"""Of a connector's own offsets topic, as Connect creates it."""


class NewConnector(Struct, frozen=True):
    """The connector to create: the file with its config, and the digest of that (codecs.connector_files).

    overwrite: offsets that a deleted connector of this name left may be written over.
    """

    name: str
    file: str
    digest: str
    overwrite: bool = False


def objections_to(
    new: NewConnector,
    facts: MigrationFacts,
    entries: Mapping[str, Sequence[Entry]],
    wanted: Mapping[bytes, bytes | None],
) -> Iterator[tuple[str, str]]:
    """Why it must not be created, each with the remedy. entries are by topic, wanted the values by raw key."""
    now = facts.connectors[Side.SOURCE, new.name]
    if isinstance(now, Skipped):
        yield f"whether connector {new.name} exists is unknown: {now.reason}", "ask a worker: --connect-url"
    elif now.state is not None:
        change = (
            f"to change its offsets: `eosctl offsets restore FILE --connector {new.name}`; to create "
            "another connector, change `name` in the config"
        )
        yield f"connector {new.name} exists: it is {now.state}", change
        return
    version = facts.worker_version
    if not isinstance(version, Skipped) and version < INITIAL_STATE:
        yield (
            f"workers of {version} cannot create a connector STOPPED (KIP-980, since {INITIAL_STATE})",
            "`eosctl offsets restore` writes the offsets of a connector that does not exist: do that first, then "
            "create it (POST /connectors), and it begins there",
        )
    if not any(wanted.values()):
        yield (
            "the file has no offset to begin at",
            "without one, create the connector over REST: it begins from nothing",
        )
    for topic, held in entries.items():
        left = _left(held, wanted)
        if left and not new.overwrite:
            yield (
                f"a deleted connector {new.name} left {pluralize(left, 'offset')} in topic {topic} that are missing "
                "or different in the file",
                "`eosctl offsets show` shows them; --force overwrites the offsets in the file and keeps the "
                "others; a null offset in the file deletes an offset",
            )


def _left(held: Iterable[Entry], wanted: Mapping[bytes, bytes | None]) -> int:
    """The number of live source partitions that differ from the wanted ones."""
    live = {key.raw: records.committed.value for key, records in held if records.committed is not None}
    return sum(1 for raw, value in live.items() if value is not None and wanted.get(raw) != value)


def creating_steps(
    new: NewConnector, facts: MigrationFacts, topics: Sequence[str], guards: tuple[ClusterIs, ConnectorStopped]
) -> Iterator[PlannedStep]:
    """The connector, STOPPED, and its own offsets topic where that does not exist, replicated as the workers' is."""
    yield PlannedStep(CreateConnector(Side.SOURCE, new.name, new.file, new.digest), guards)
    workers, own = facts.topics.get((Side.SOURCE, topics[0])), topics[-1]
    if facts.topics[Side.SOURCE, own] is None and own != topics[0]:
        factor = -1 if workers is None else workers.facts.replication_factor
        absent = TopicIsCompactOrAbsent(Side.SOURCE, own, PARTITIONS)
        yield PlannedStep(CreateTopic(Side.SOURCE, own, PARTITIONS, factor), (guards[0], absent))


# Compares the positions in a plan with the source's answers.
#
# 1. With what was read of a Debezium PostgreSQL's server, each position is held against its slot. A fact that could not
#    be read is an objection: the user asked for it.
# 2. For other kinds of sources, and without these facts, the plan names the checks to make, once for each kind.
# 3. A position is held against the one that it replaces: a file is edited by hand, and misspelt.


LOOK_YOURSELF: Final = (
    "eosctl cannot ask this kind of source: look there whether it still has what follows the position"
)
SNAPSHOT: Final = "rows that the source no longer streams are sent again by a new snapshot"
NOTHING: Final = "nothing: the source has what follows"


def find_positions(connector: str, offsets: Iterable[ConnectorOffset], source: SourceRead | None) -> Iterator[Finding]:
    """The findings about each offset of a known kind of source."""
    said: set[str] = set()
    for each in offsets:
        reader = None if each.offset is None else position_reader(each.partition, each.offset)
        if source is not None and (each.offset is None or reader is POSTGRESQL):
            yield from _held_against(connector, each, source)
        elif reader is not None and each.offset is not None and reader.source not in said:
            said.add(reader.source)
            meaning = meaning_of_rewind(each.partition, each.offset)
            message = f"eosctl did not check whether the source still has the later changes. {reader.source}: {meaning}"
            cure = None if reader is POSTGRESQL else LOOK_YOURSELF
            yield POSITION_AT_SOURCE.finding(connector, message, cure=cure, severity=Severity.INFO)


def _held_against(connector: str, each: ConnectorOffset, source: SourceRead) -> Iterator[Finding]:
    if isinstance(source.server, Skipped) or isinstance(source.slot, Skipped):
        return
    found = at_source(each.offset, source.slot, source.server)
    position = None if each.offset is None else explain_position(each.partition, each.offset)
    partition = json.dumps(dict(each.partition), ensure_ascii=False)
    message = f"{partition}: {position}; {found.words}" if position else f"{partition}: {found.words}"
    severity = Severity.INFO if found.served is Served.SERVED else Severity.WARNING
    cure = NOTHING if found.served is Served.SERVED else SNAPSHOT
    yield POSITION_AT_SOURCE.finding(connector, message, cure=cure, severity=severity)


def find_differences(
    connector: str, partition: SourcePartition, before: SourceOffset, after: SourceOffset, *, force: bool
) -> Iterator[Finding]:
    """Suspicious differences between an offset and its replacement for the same source partition.

    force: the user wants it nevertheless.
    """
    place = json.dumps(dict(partition), ensure_ascii=False)
    if (odd := _shape(partition, before, after)) is not None:
        words, is_needed = odd
        severity = Severity.ERROR if is_needed and not force else Severity.WARNING
        yield OFFSET_UNLIKE_BEFORE.finding(connector, f"{place}: {words}", severity=severity)
    elif compare_positions(partition, before, after) is Order.AFTER:
        then, now = (explain_position(partition, each) for each in (before, after))
        what = f"{place}: forward from {then} to {now}; records between them are never copied"
        severity = Severity.WARNING if force else Severity.ERROR
        yield RECORDS_SKIPPED.finding(connector, what, severity=severity)


def _shape(partition: SourcePartition, before: SourceOffset, after: SourceOffset) -> tuple[str, bool] | None:
    """The difference in form, and whether the connector needs the missing part; None without a difference.

    Of an unknown kind of source all members are needed.
    """
    reader = position_reader(partition, before)
    needs = before.keys() if reader is None else reader.needs
    gone, more = sorted(before.keys() - after.keys()), sorted(after.keys() - before.keys())
    if gone or more:
        differing = ((f"lacks {', '.join(gone)}", gone), (f"has {', '.join(more)} more", more))
        return f"the offset {' and '.join(what for what, names in differing if names)}", bool(needs & set(gone))
    both = ((name, before[name], after[name]) for name in before if None not in (before[name], after[name]))
    for name, was, now in both:
        if type(was) is not type(now):
            return f"{name} is {_typed(now)}, and {_typed(was)} now", name in needs
        match was, now:
            case int(), int() if name in needs and now < 0 <= was:
                return f"{name} is {now}: no source has a negative one", True
    return None


def _typed(value: object) -> str:
    kinds = {str: "text", int: "a whole number", float: "a number with a point", bool: "true or false"}
    return f"{kinds.get(type(value), 'another type')} ({json.dumps(value, ensure_ascii=False)})"


def unknown_source(source: SourceRead | None) -> Iterator[tuple[str, str]]:
    """Why the source's state is unknown, with the remedy."""
    reason = None if source is None else source.unknown
    if reason is not None:
        yield (
            f"whether the source still has these positions is not known: {reason.reason}",
            "without --source-dsn the plan is made without asking it",
        )


KIND: Final = "offsets.restore"
CREATING_KIND: Final = "offsets.create-connector"


class RestoreRequest(Struct, frozen=True):
    """The offsets that the connector must have. topics are its stores, the last one is written last.

    own_topic: the last one is connector-specific. named: the user named it. force is as with a move. new: the plan
    creates the connector. create_keys: also write source partitions without a key, with their members as in the file if
    the connector's order is unknown. kept: the plan is for later. A running connector moves on until then, so every
    offset of the file is written.
    """

    connector: str
    group_id: str
    topics: tuple[str, ...]
    offsets: tuple[ConnectorOffset, ...]
    stop: bool = False
    resume: bool = False
    just_stopped: tuple[StopConnector, ...] = field(default=())
    create_keys: bool = False
    own_topic: bool = False
    named: bool = False
    force: bool = False
    new: NewConnector | None = None
    kept: bool = False


def plan_restore(request: RestoreRequest, facts: MigrationFacts) -> Planned:
    """The plan by the rules above, with what speaks against it."""
    planner = _Planner(request, facts)
    findings = (
        *planner.findings,
        *planner.misspelt(),
        *find_clusters(in_place(request), facts),
        *planner.differences(),
    )
    asked_of = request.offsets if facts.source is not None else planner.changing()
    findings += tuple(find_positions(request.connector, asked_of, facts.source))
    if any(each.offset is not None for each in request.offsets):
        findings += tuple(_without_history(request, facts))
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


def _without_history(request: RestoreRequest, facts: MigrationFacts) -> Iterator[Finding]:
    """An offset that Debezium cannot go on at, because the schema history that it reads first is not there."""
    here = facts.cluster_ids[Side.SOURCE]
    for name, history in facts.histories.items():
        unknown = history if isinstance(history, Skipped) else history.cluster_id
        if isinstance(history, KeptHistory) and history.topic is None:
            if request.new is not None:
                said = "its schema history is a file of its worker's host, which no plan of eosctl writes"
                yield HISTORY_LEFT.finding(name, said, cure=HISTORY_FILE, severity=Severity.WARNING)
        elif isinstance(unknown, Skipped):
            said = f"whether its schema history is there is not known: {unknown.reason}"
            yield HISTORY_LEFT.finding(name, said, severity=Severity.WARNING)
        elif isinstance(history, KeptHistory) and unknown == here and not history.records:
            said = f"its schema history, topic {history.topic}, does not exist in Kafka cluster {here} or is empty"
            severity = Severity.ERROR if history.is_needed and not request.force else Severity.WARNING
            yield HISTORY_LEFT.finding(name, said, {"topic": history.topic}, cure=HISTORY_MISSING, severity=severity)


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
                self._orders.setdefault(frozenset(key.members), set()).add(tuple(key.members))
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
                self._object(made, "is in the topic under several keys; the key that the connector uses is not known")
            elif found:
                yield found[0], value
            elif value is None:
                if self._moves_on:
                    yield made, value
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
        """Suspicious differences of offsets that replace others; the connector's own topic counts first."""
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
                # Leftovers of a former connector of that name are overwritten only if the user agrees.
                force = self._request.force or self._request.new is not None
                yield from find_differences(connector, key.members, before, after, force=force)

    def changing(self) -> tuple[ConnectorOffset, ...]:
        """The offsets of the file without those from which the connector goes on anyway."""
        if self._moves_on:
            return self._request.offsets
        own = self._entries[self._request.topics[-1]]
        now = {
            canonical(key): decode_offsets_value(records.committed.value)
            for key, records in own
            if records.committed is not None
        }
        name = self._request.connector
        return tuple(
            each
            for each in self._request.offsets
            if now.get(canonical(OffsetKey(b"", name, each.partition))) != each.offset
        )

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
        """A name without a connector and without offsets."""
        unknown = isinstance(self._now, ConnectorFacts) and self._now.state is None
        if self._request.new is None and unknown and not any(self._entries.values()):
            yield CONNECTOR_UNKNOWN.finding(
                self._request.connector,
                f"connector {self._request.connector} does not exist and has no offsets: one of this name will begin "
                "from these",
            )

    def objections(self) -> Iterator[tuple[str, str]]:
        """Why nothing may be written, each with the remedy."""
        # One that is to be created has no tasks to stop: where it exists, that is the objection.
        reason = self._not_stopped() if self._request.new is None else None
        if reason is not None and not (self._request.stop and isinstance(self._now, ConnectorFacts)):
            yield reason, self._stopped.how_to_stop(PlanFacts(connectors=self._facts.connectors))
        if self._request.new is not None:
            yield from objections_to(self._request.new, self._facts, self._entries, self._wanted)
        for unused in self._unused:
            in_use = unused.violation(PlanFacts(live_owners=self._facts.live_owners))
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
        """True if the plan creates the topic: the own one of a connector that it creates."""
        return self._request.new is not None and self._request.own_topic and topic == self._request.topics[-1]

    @property
    def _stopped(self) -> ConnectorStopped:
        return ConnectorStopped(Side.SOURCE, self._request.connector)

    def _not_stopped(self) -> str | None:
        return self._stopped.violation(PlanFacts(connectors=self._facts.connectors))

    @property
    def _is_to_stop(self) -> bool:
        return self._request.stop and isinstance(self._now, ConnectorFacts) and self._not_stopped() is not None

    @property
    def _moves_on(self) -> bool:
        """Whether the offsets that are there now are others by the time that the plan is carried out."""
        return self._request.kept and self._is_to_stop

    @property
    def _now(self) -> object:
        return self._facts.connectors[Side.SOURCE, self._request.connector]

    @property
    def _cluster(self) -> ClusterIs:
        return ClusterIs(Side.SOURCE, self._facts.cluster_ids[Side.SOURCE])

    def steps(self) -> Iterator[PlannedStep]:
        """Stop or create, fence, write each store, resume."""
        connector = self._request.connector
        paused = isinstance(self._now, ConnectorFacts) and self._now.state == "PAUSED"
        for step in self._request.just_stopped or [StopConnector(Side.SOURCE, connector, paused)] * self._is_to_stop:
            yield PlannedStep(step, (self._cluster,))
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
        writes = tuple(writes_of(entries, wanted, partitions, also_unchanged=self._moves_on))
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


def writes_of(
    entries: Sequence[Entry], wanted: Mapping[bytes, bytes | None], partitions: int, *, also_unchanged: bool = False
) -> Iterator[OffsetsWrite]:
    """Records for the keys whose value is another; one that lies in two partitions is written to both."""
    for raw, value in wanted.items():
        for partition in _partitions(entries, raw, partitions):
            there = _value(entries, raw, partition)
            if also_unchanged or there != value or _hidden(entries, raw, partition):
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
    """True if read_uncommitted readers find another value there, of an uncommitted transaction."""
    return any(
        key.raw == raw and records.topic_partition.partition == partition and records.last is not records.committed
        for key, records in entries
    )

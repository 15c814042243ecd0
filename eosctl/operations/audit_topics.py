"""The topics of an audit: internal ones by the workers' settings, output topics by name, REST or config."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from eosctl.analysis.audit.history import config_event, fold_transaction_log_history
from eosctl.analysis.grammars import grammar_of
from eosctl.analysis.offsets_report import Connectors
from eosctl.analysis.output_topics import output_topics
from eosctl.codecs.ledger import encode_audit_state, read_offsets_key
from eosctl.codecs.record_batches import decode_entries, most_batch_bytes
from eosctl.engines.scanning import COMPACT
from eosctl.errors import EosctlError, Unreachable, UsageError
from eosctl.model.acls import PatternType
from eosctl.model.audit import (
    AuditedTopic,
    AuditPlan,
    OpenAtPlan,
    PartitionBounds,
    StateKind,
    StateRow,
    TopicRole,
    longest_transaction_ms,
)
from eosctl.model.client_properties import Property
from eosctl.model.client_roles import ConnectorConfig
from eosctl.model.names import TRANSACTION_LOG, TopicPartition, did_you_mean, is_topic_name, no_such_topic
from eosctl.model.offsets import WorkerSettings
from eosctl.model.records import RecordState
from eosctl.model.skipped import Cause, Coverage, Skipped, not_asked
from eosctl.model.topics import (
    CLEANUP_POLICY,
    RETENTION_BYTES,
    RETENTION_MS,
    RETENTION_SETTINGS,
    OffsetRange,
    PartitionOffsets,
    TopicDescription,
)
from eosctl.model.transaction_log import TransactionalIdHolder, TransactionLogHistory
from eosctl.model.transactions import ActiveProducer
from eosctl.model.whole_numbers import whole_number
from eosctl.operations.audit_request import AuditRequest
from eosctl.operations.decisions import read_former_holders
from eosctl.operations.hanging import join_with_coordinators
from eosctl.operations.offset_stores import DEFAULT_OFFSETS_TOPIC, source_connectors, worker_settings
from eosctl.operations.session import Session
from eosctl.operations.workers import require_workers_group, worker_version
from eosctl.sources.audit_log import DataBatch, OpenSource
from eosctl.sources.cluster_reader import ClusterReader, read_task_states, require_sources
from eosctl.sources.log_directories import (
    OpenSegments,
    PartitionSegments,
    find_segments,
    read_segments,
    read_transaction_log_segments,
    survey_segments,
)


class AuditScope(Struct, frozen=True):
    """Topics to audit with their roles, and known facts about the Connect cluster."""

    topics: tuple[AuditedTopic, ...]
    connectors: tuple[str, ...] | Skipped
    unread: Mapping[str, Skipped] = field(default_factory=dict)
    users: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    selected: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def read_bounds(reader: ClusterReader, scope: AuditScope) -> AuditPlan:
    """A plan without ranges; audited_from is the log start.

    Without record batches there is nothing to read, so there are no bounds either, and the topics are unread; the
    reader has the records of the config topic. Raises UsageError for a topic that does not exist, NotAuthorized without
    Describe.
    """
    described = reader.topics([each.name for each in scope.topics], RETENTION_SETTINGS)
    missing = next((each.name for each in scope.topics if each.name not in described), None)
    if missing is not None:
        raise no_such_topic(missing, reader.topic_names())
    places = list(_partitions(scope.topics, described))
    found = reader.bounds(places)
    offsets = [found[place] for place in places if place in found]
    batches = reader.record_batches()
    unread = dict(scope.unread)
    if isinstance(batches, Skipped):
        unread |= {f"topic {each.name}": batches for each in scope.topics if each.role is not TopicRole.CONFIG}
    return AuditPlan(
        as_of=reader.now(),
        cluster_id=reader.cluster_id,
        group_id=reader.group_id,
        topics=tuple(with_settings(each, described[each.name]) for each in scope.topics),
        bounds=() if isinstance(batches, Skipped) else tuple(map(log_bounds, offsets)),
        ranges=(),
        connectors=scope.connectors,
        holders=_holders(reader),
        open=_open(reader, [each.topic_partition for each in offsets if each.held_back]),
        selected=scope.selected,
        named=scope.named,
        left_out=dict(scope.left_out),
        unread=unread,
        users=dict(scope.users),
        longest_transaction_ms=_longest_transaction_ms(reader),
    )


def _longest_transaction_ms(reader: ClusterReader) -> int:
    """The brokers' longest transaction timeout; the default, which only affects the stalls shown, if unreadable."""
    with reader.optional_reads():
        brokers = reader.broker_settings()
    known = () if isinstance(brokers, Skipped) else brokers.values()
    return longest_transaction_ms(each for each in known if not isinstance(each, Skipped))


def _partitions(topics: Iterable[AuditedTopic], described: Mapping[str, TopicDescription]) -> Iterator[TopicPartition]:
    for topic in topics:
        yield from (TopicPartition(topic.name, index) for index in range(described[topic.name].partitions))


def with_settings(topic: AuditedTopic, described: TopicDescription) -> AuditedTopic:
    """The topic with its ID, cleanup policy and retention as they were described."""
    settings = described.settings
    policy = settings if isinstance(settings, Skipped) else settings.get(CLEANUP_POLICY, Skipped("not answered"))
    retention = None if isinstance(settings, Skipped) else _retention_ms(settings)
    return replace(topic, topic_id=described.topic_id, cleanup_policy=policy, retention_ms=retention)


def _retention_ms(settings: Mapping[str, str]) -> int | None:
    if "delete" not in settings.get(CLEANUP_POLICY, "delete"):
        return -1
    kept = settings.get(RETENTION_MS)
    return whole_number(kept, RETENTION_MS) if kept is not None and settings.get(RETENTION_BYTES) == "-1" else None


def log_bounds(offsets: PartitionOffsets) -> PartitionBounds:
    """Bounds of an audit that begins at the log start."""
    place, start = offsets.topic_partition, offsets.log_start_offset
    return PartitionBounds(
        place.topic, place.partition, start, offsets.last_stable_offset, offsets.high_watermark, start
    )


def _holders(reader: ClusterReader) -> tuple[TransactionalIdHolder, ...] | Skipped:
    try:
        listed = reader.transactional_ids()
    except EosctlError as error:
        return Skipped.of(error)
    for reason in listed.unlisted:
        return Skipped(reason, Cause.UNREACHABLE)
    return tuple(TransactionalIdHolder(each.producer_id, each.transactional_id) for each in listed.transactions)


def _open(reader: ClusterReader, places: Collection[TopicPartition]) -> tuple[OpenAtPlan, ...] | Skipped:
    """Open transactions of these partitions, and which of them hang: KIP-664's rule without its age.

    The age keeps lookups from racing with the end of a transaction. Here the partitions are read again afterwards.
    """
    try:
        return tuple(_judged(reader, places)) if places else ()
    except EosctlError as error:
        return Skipped.of(error)


def _judged(reader: ClusterReader, places: Collection[TopicPartition]) -> Iterator[OpenAtPlan]:
    known = reader.partitions({place.topic: None for place in places})
    leaders = {place: known[place] for place in places}
    candidates = _open_producers(reader, leaders)
    access = reader.access()
    if isinstance(access, Skipped):
        raise Unreachable(access.reason)
    access.require(reader.principal)
    joined = join_with_coordinators(reader, candidates)
    joined.require()
    again = {
        (each.topic_partition, each.producer.producer_id, each.transaction_start_offset)
        for each in _open_producers(reader, leaders)
    }
    for each in joined.transactions:
        reason = each.reason if each.place in again else None
        yield OpenAtPlan(
            each.topic_partition.topic,
            each.topic_partition.partition,
            each.start_offset,
            each.producer.producer_id,
            each.producer.producer_epoch,
            each.transactional_id,
            reason is not None,
            None if reason is None else reason.value,
        )


def _open_producers(reader: ClusterReader, leaders: Mapping[TopicPartition, int]) -> list[ActiveProducer]:
    seen = reader.producers(leaders, quiet=True)
    if seen.unanswered:
        raise Unreachable(f"no leader answered for {', '.join(map(str, seen.unanswered))}")
    return [each for each in seen.producers if each.transaction_start_offset is not None]


def guess_role(keys: Iterable[bytes | None]) -> TopicRole:
    """The role of an unnamed topic with such keys."""
    for key in keys:
        if key is not None and read_offsets_key(key).connector is not None:
            return TopicRole.OFFSETS
    return TopicRole.OUTPUT


ELSEWHERE: Final = Skipped("they are in another cluster")


class FoundTopics:
    """The topics, the present source connectors, and the failed reads."""

    def __init__(self, reader: ClusterReader, request: AuditRequest) -> None:
        self._reader, self._request = reader, request.offsets
        self._topics: dict[str, AuditedTopic] = {}
        self.unread: dict[str, Skipped] = {}
        self.users: dict[str, tuple[str, ...]] = {}
        version = worker_version(reader, self._request.worker_version).version
        worker = worker_settings(reader, self._request, version)
        self._connectors = source_connectors(reader, self._request, version)
        self._require_connectors()
        self._existing = self._reader.topic_names()
        self.left_out: dict[str, tuple[str, ...]] = {}
        written = self._written()
        self._scope = _scope(self._request.connectors, request.topics, written)
        self._add_internal(worker, request.offsets_topics)
        self._add_named(request.topics, written)
        self._leave_out_of_scope()

    @property
    def topics(self) -> tuple[AuditedTopic, ...]:
        return tuple(self._with_grammar(self._topics[name]) for name in sorted(self._topics))

    @property
    def connectors(self) -> tuple[str, ...] | Skipped:
        configs = self._connectors.configs
        return configs if isinstance(configs, Skipped) else tuple(sorted(configs))

    def _require_connectors(self) -> None:
        """Refuse a name that no connector has or had: an audit of it would find nothing.

        Only the config topic knows connectors that were deleted: where it was not read, no name is refused.
        """
        configs = self._connectors.configs
        mentioned = self._connectors.named
        if isinstance(configs, Skipped) or not mentioned:
            return
        for name in self._request.connectors:
            if name not in configs and name not in mentioned:
                hint = did_you_mean(name, {*configs, *mentioned}, "without --connector, all connectors are audited")
                raise UsageError(
                    f"connector {name} does not exist, and the config topic does not mention it", hint=hint
                )

    def _add(self, name: str, role: TopicRole, connectors: Iterable[str] = (), *, own: bool = False) -> None:
        known = self._topics.get(name)
        users = tuple(sorted({*connectors, *(() if known is None else known.connectors)}))
        if name not in self._existing and not is_topic_name(name):
            return  # there is none, and never was
        if name not in self._existing:
            self._lack(f"topic {name}", "it does not exist, or Describe on it is missing", users)
        elif known is None or known.role is role:
            self._topics[name] = AuditedTopic(name, role, connectors=users, own=own)

    def _with_grammar(self, topic: AuditedTopic) -> AuditedTopic:
        """An output topic with the grammar of its connectors, if they have one in common."""
        configs = {} if isinstance(self._connectors.configs, Skipped) else self._connectors.configs
        users = [_connector_config(name, configs[name]) for name in topic.connectors if name in configs]
        grammars = [grammar_of(each) for each in users]
        known = grammars[0] if grammars and len(users) == len(topic.connectors) else None
        if topic.role is not TopicRole.OUTPUT or known is None or any(each is not known for each in grammars):
            return topic
        kept_back = tuple(sorted({reason for each in users for reason in known.kept_back(each)}))
        return replace(topic, grammar=known.name, kept_back=kept_back)

    def _lack(self, what: str, reason: str, users: Iterable[str]) -> None:
        self.unread[what] = Skipped(reason)
        if users:
            self.users[what] = tuple(sorted({*users, *self.users.get(what, ())}))

    def _add_internal(self, worker: WorkerSettings, named: Iterable[str]) -> None:
        """Adds connectors' own offsets topics, present and earlier ones."""
        self._add(self._request.config_topic, TopicRole.CONFIG)
        self._add(worker.offsets_topic, TopicRole.OFFSETS)
        for name, topic in _own_topics(worker, self._connectors):
            if isinstance(topic, Skipped):
                self._lack(f"offsets of connector {name}", topic.reason, [name])
            elif topic != worker.offsets_topic and self._is_in_scope([name]):
                self._add(topic, TopicRole.OFFSETS, [name], own=True)
        existing = () if isinstance(self._connectors.configs, Skipped) else self._connectors.configs
        for name, topics in sorted(self._connectors.named.items()):
            for topic in sorted(topics - {worker.offsets_topic}):
                if (name in existing or topic in self._existing) and self._is_in_scope([name]):
                    self._add(topic, TopicRole.OFFSETS, [name], own=True)
        for topic in named:
            self._add(topic, TopicRole.OFFSETS, self._request.connectors, own=topic != worker.offsets_topic)

    def _is_in_scope(self, connectors: Iterable[str]) -> bool:
        return self._scope is None or not self._scope.isdisjoint(connectors)

    def _leave_out_of_scope(self) -> None:
        """Drops gaps that concern only connectors outside the audit's scope."""
        for what, users in self.users.items():
            if not self._is_in_scope(users):
                del self.unread[what]
        self.users = {what: users for what, users in self.users.items() if what in self.unread}

    def _add_named(self, named: tuple[str, ...], written: Mapping[str, set[str]]) -> None:
        for name in named:
            if name in self._topics and self._topics[name].role is not TopicRole.OUTPUT:
                continue
            # A topic that may not be described is in no list of topics: asking for it by its name is denied.
            if name not in self._existing and name not in self._reader.topics([name], ()):
                raise no_such_topic(name, self._existing)
            self._add(name, self._role(name), written.get(name, self._request.connectors))
        for name, connectors in sorted(written.items()):
            if not named and self._is_in_scope(connectors):
                self._add(name, TopicRole.OUTPUT, connectors)
            for connector in connectors if named and name not in named and self._is_in_scope(connectors) else ():
                self.left_out[connector] = (*self.left_out.get(connector, ()), name)

    def _role(self, name: str) -> TopicRole:
        """Recognizes an unnamed offsets topic of workers by its first keys."""
        return guess_role(self._reader.first_keys(name))

    def _written(self) -> Mapping[str, set[str]]:
        """Output topics to their connectors: topics that Connect saw (KIP-558), and topics in configs.

        A topic that Connect saw and that is missing is hidden, or deleted. A topic from a config may never have been
        written; it counts as hidden only if Connect's active topics are unknown.
        """
        configs = {} if isinstance(self._connectors.configs, Skipped) else self._connectors.configs
        active = self._reader.active_topics(sorted(configs)) if configs else {}
        if isinstance(active, Skipped):
            if active.cause is not Cause.NOT_ASKED:
                self.unread["active topics"] = active
            active = {}
        for name, topics in active.items():
            if isinstance(topics, Skipped):
                self.unread[f"active topics of {name}"] = topics
                self.users[f"active topics of {name}"] = (name,)
        known = {name: topics for name, topics in active.items() if not isinstance(topics, Skipped)}
        found: dict[str, set[str]] = {}
        for name in sorted(configs):
            seen = known.get(name, ())
            for topic in (*seen, *self._configured(name, configs[name])):
                if topic in seen or topic in self._existing or not seen:
                    found.setdefault(topic, set()).add(name)
        return found

    def _configured(self, name: str, config: Mapping[str, object]) -> Iterator[str]:
        for pattern in output_topics(_connector_config(name, config)):
            if pattern.pattern_type is PatternType.LITERAL and pattern.name != "*":
                yield pattern.name
            else:
                prefix = "" if pattern.name == "*" else pattern.name
                yield from (topic for topic in self._existing if prefix and topic.startswith(prefix))


def _connector_config(name: str, config: Mapping[str, object]) -> ConnectorConfig:
    properties = {key: Property(str(value), "config") for key, value in config.items() if value is not None}
    return ConnectorConfig(name, properties)


def _scope(connectors: Iterable[str], named: Iterable[str], written: Mapping[str, set[str]]) -> frozenset[str] | None:
    """The connectors of the audit: the requested ones, or those that write to the requested topics.

    None, which is all of them, without a request, or if a requested topic has no known writer.
    """
    wanted = frozenset(connectors)
    writers = [written.get(name, set()) for name in named]
    if wanted or not writers or not all(writers):
        return wanted or None
    return frozenset().union(*writers)


def _own_topics(worker: WorkerSettings, connectors: Connectors) -> Iterator[tuple[str, str | Skipped]]:
    """Each connector with the offsets topic that it writes first; Skipped if it cannot be read here."""
    if isinstance(connectors.configs, Skipped):
        return
    stores_of = connectors.stores(worker)
    for name in sorted(connectors.configs):
        stores = stores_of(name)
        if isinstance(stores, Skipped):
            yield name, stores
            continue
        for each in stores:
            yield name, each.written_to.topic if each.written_to.bootstrap_servers is None else ELSEWHERE


class ClusterInput:
    """A cluster, live or saved. Its topics are found once."""

    def __init__(self, reader: ClusterReader, request: AuditRequest) -> None:
        self._reader = reader
        require_workers_group(reader)  # another one's tasks are not the producers of these connectors
        require_sources(read_task_states(reader), request.offsets.connectors)
        found = FoundTopics(reader, request)
        self._scope = AuditScope(
            found.topics,
            found.connectors,
            found.unread,
            found.users,
            request.offsets.connectors,
            request.topics,
            found.left_out,
        )

    def bounds(self) -> AuditPlan:
        """As the partition leaders answer now."""
        return read_bounds(self._reader, self._scope)

    def open_source(self) -> OpenSource:
        """Record batches, if the reader has them; a plan without them has no ranges."""
        batches = self._reader.record_batches()
        return OpenSegments(()) if isinstance(batches, Skipped) else batches

    def decoded(self, kind: StateKind) -> Iterator[StateRow]:
        """The config topic's records, if the reader has no record batches."""
        config = next((each.name for each in self._scope.topics if each.role is TopicRole.CONFIG), None)
        if kind is StateKind.CONFIG and config is not None and isinstance(self._reader.record_batches(), Skipped):
            records = self._reader.config_topic(config).records
            events = [config_event(each) for each in records if each.origin.state is RecordState.COMMITTED]
            yield StateRow(StateKind.CONFIG, 0, config, 0, 0, True, encode_audit_state(events))

    def transaction_log_history(self, plan: AuditPlan, producer_ids: frozenset[int]) -> TransactionLogHistory | Skipped:
        return read_history(self._reader, plan, producer_ids)

    @property
    def coverage(self) -> Coverage:
        return self._reader.coverage


def read_history(
    reader: ClusterReader, plan: AuditPlan, producer_ids: frozenset[int]
) -> TransactionLogHistory | Skipped:
    """By the partitions of the IDs that hold these producer IDs, or held them by the transaction log."""
    known = _known_holders(plan, producer_ids)
    lost = producer_ids - known.keys()
    try:
        former = read_former_holders(reader, lost) if lost else frozenset()
        names = sorted({*known.values(), *former})
        if not names:
            return TransactionLogHistory()
        log = reader.transaction_log(names)
        unread = next(iter(log.unread.values()), None)
        return fold_transaction_log_history(log.records, producer_ids) if unread is None else unread
    except EosctlError as error:
        return Skipped.of(error)


def _known_holders(plan: AuditPlan, producer_ids: Collection[int]) -> Mapping[int, str]:
    holders = () if isinstance(plan.holders, Skipped) else plan.holders
    return {each.producer_id: each.transactional_id for each in holders if each.producer_id in producer_ids}


NOT_ASKED: Final = not_asked("segment files were read; eosctl sent no request to brokers or workers")
PEEKED: Final = 10
INTERNAL: Final = frozenset({"__consumer_offsets", TRANSACTION_LOG, "__cluster_metadata", "__share_group_state"})


class LogDirectoryInput:
    """Log directories. The topics of connectors are seen from their producers alone."""

    coverage = Coverage()

    def __init__(self, session: Session, request: AuditRequest) -> None:
        self._session, self._request = session, request
        found = find_segments(request.log_directories, self._wanted())
        most = most_batch_bytes(session.client_properties)
        surveyed = (survey_segments(place, paths) for place, paths in found.items())
        self._segments = tuple(replace(each, most_batch_bytes=most) for each in surveyed)
        for each in self._segments:
            if each.cut_bytes:
                where = f"{each.cut_bytes} bytes at the end of {each.paths[-1]}, from offset {each.end_offset} on"
                session.options.console.warn(
                    f"{where}, are no whole batch: not read; a broker cuts them off when it starts"
                )

    def _wanted(self) -> tuple[str, ...]:
        """Named topics besides the internal ones; all if none is named."""
        topics, offsets = self._request.topics, self._request.offsets
        internal = (offsets.config_topic, self._worker_topic(), *self._request.offsets_topics)
        return (*topics, *internal) if topics else ()

    def _worker_topic(self) -> str:
        return self._request.offsets.worker_offsets_topic or DEFAULT_OFFSETS_TOPIC

    def bounds(self) -> AuditPlan:
        """As the files end."""
        topics = {each.topic_partition.topic: self._topic(each) for each in self._with_records()}
        return AuditPlan(
            as_of=self._session.now(),
            cluster_id=None,
            group_id=self._session.options.group_id,
            topics=tuple(topics[name] for name in sorted(topics)),
            bounds=tuple(_bounds(each) for each in self._segments if each.topic_partition.topic in topics),
            ranges=(),
            connectors=NOT_ASKED,
            holders=NOT_ASKED,
            open=NOT_ASKED,
            selected=self._request.offsets.connectors,
        )

    def _with_records(self) -> Iterable[PartitionSegments]:
        """Partitions by size, the emptiest first: the last one of a topic decides its role."""
        named = (each for each in self._segments if each.topic_partition.topic not in INTERNAL)
        return sorted(named, key=lambda each: each.end_offset)

    def _topic(self, segments: PartitionSegments) -> AuditedTopic:
        name, offsets = segments.topic_partition.topic, self._request.offsets
        if name == offsets.config_topic:
            role = TopicRole.CONFIG
        elif name in {self._worker_topic(), *self._request.offsets_topics}:
            role = TopicRole.OFFSETS
        else:
            role = guess_role(islice(_keys(segments), PEEKED))
        users = offsets.connectors if name in self._request.offsets_topics else ()
        own = role is TopicRole.OFFSETS and name != self._worker_topic()
        cleaned = any(each.cleaned for each in self._segments if each.topic_partition.topic == name)
        return AuditedTopic(name, role, segments.topic_id, COMPACT if cleaned else NOT_ASKED, users, own=own)

    def open_source(self) -> OpenSource:
        return OpenSegments(self._segments)

    def decoded(self, kind: StateKind) -> Iterable[StateRow]:  # the protocol's
        return ()

    def transaction_log_history(self, plan: AuditPlan, producer_ids: frozenset[int]) -> TransactionLogHistory | Skipped:
        """From the same directories."""
        try:
            found = find_segments(self._request.log_directories, [TRANSACTION_LOG])
            segments = [survey_segments(place, paths) for place, paths in found.items()]
            return fold_transaction_log_history(read_transaction_log_segments(segments), producer_ids)
        except EosctlError as error:
            return Skipped.of(error)


def _bounds(segments: PartitionSegments) -> PartitionBounds:
    place, start = segments.topic_partition, segments.log_start_offset
    return PartitionBounds(place.topic, place.partition, start, segments.last_stable_offset, segments.end_offset, start)


def _keys(segments: PartitionSegments) -> Iterable[bytes | None]:
    place = segments.topic_partition
    whole = OffsetRange(place.topic, place.partition, segments.log_start_offset, segments.end_offset)
    for item in read_segments(segments, whole):
        if isinstance(item, DataBatch):
            yield from (entry.key for entry in decode_entries(item.batch, check_crc=False))

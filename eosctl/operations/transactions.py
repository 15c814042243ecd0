"""Answers `transactions list`, `describe`, `producers`, `log` and `history`."""

from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from eosctl.analysis.config_topic import connector_states
from eosctl.analysis.producer_epochs import ChurnFold, EpochFold, churn_findings, contentions
from eosctl.analysis.producer_state import StatesFold, state_findings
from eosctl.analysis.transaction_log import fold_transaction_log, history, log_findings
from eosctl.analysis.transactions import (
    KnownNames,
    list_with_owners,
    owners_of,
    ownership,
    streams_applications,
)
from eosctl.codecs.transaction_log import decode_log_record, may_begin_with
from eosctl.errors import EosctlError, Undecodable, Unreachable, UsageError
from eosctl.model.connectors import ICEBERG_START, ConnectorState
from eosctl.model.groups import no_such_group
from eosctl.model.names import TRANSACTION_LOG, coordinator_partition, did_you_mean
from eosctl.model.producer_epochs import EpochHistory, IdChurn
from eosctl.model.producer_state import ProducerStates
from eosctl.model.skipped import Cause, Coverage, Skipped, not_asked, read_or_skip, unread_in
from eosctl.model.text import pluralize
from eosctl.model.transaction_log import (
    LogRecord,
    NewerLogRecord,
    TransactionHistory,
    TransactionLogRecords,
    TransactionLogReport,
)
from eosctl.model.transactions import (
    Described,
    HiddenIds,
    ListedTransaction,
    ListedTransactions,
    ProducerList,
    Selection,
    TransactionDescription,
    TransactionDescriptions,
    TransactionList,
    TransactionListing,
    UndescribedId,
    transactional_ids_by_producer,
)
from eosctl.operations.session import Session
from eosctl.operations.workers import require_group
from eosctl.sources.cluster_reader import ClusterReader, Wanted
from eosctl.sources.log_directories import LogSegment, partition_of_segment


class ConnectNames(Struct, frozen=True):
    """Known Connect clusters: groups of the Kafka cluster, and the connectors of --group-id.

    config_topic is the name of the topic that the connectors are from; notes say what makes owners less certain.
    """

    names: KnownNames
    connectors: Mapping[str, ConnectorState] | Skipped
    config_topic: str
    notes: tuple[str, ...]


class _Connectors(Struct, frozen=True):
    config_topic: str
    states: Mapping[str, ConnectorState]


def read_connect_names(reader: ClusterReader, config_topic: str, *, needed: bool = False) -> ConnectNames:
    """The readable names; others are Skipped, because a transaction without an owner is still worth showing.

    needed: owners decide which IDs are shown. UsageError if the group is not that of the answering workers.
    """
    with nullcontext() if needed else reader.optional_reads():
        groups, group_id = reader.groups(), reader.group_id
        connect = read_or_skip(reader.connect)
        found = read_or_skip(lambda: _read_connectors(reader, config_topic))
        absent = group_id is not None and not isinstance(groups, Skipped) and group_id not in groups
        if absent:
            require_group(reader, connect)
    clusters: dict[str, set[str]] = {}
    if not isinstance(groups, Skipped):
        clusters = {each.group_id: set() for each in groups.values() if each.is_connect}
    if group_id is not None:
        known = set() if isinstance(found, Skipped) else set(found.states)
        running = set() if isinstance(connect, Skipped) else set(connect.connectors)
        clusters[group_id] = known | running
    states = {} if isinstance(found, Skipped) else found.states
    starts = {
        str(task[ICEBERG_START]): name
        for name, state in states.items()
        for task in state.task_configs.values()
        if ICEBERG_START in task
    }
    unread = {"groups": groups, "connectors": found}
    notes = [f"owners by {what}: {why.reason}" for what, why in unread.items() if isinstance(why, Skipped)]
    if group_id is not None and absent:
        notes.append(f"group {group_id}: {no_such_group(group_id, clusters.keys() - {group_id}).reason}")
    return ConnectNames(
        KnownNames.of(clusters, () if isinstance(groups, Skipped) else groups.values(), starts),
        found if isinstance(found, Skipped) else found.states,
        config_topic if isinstance(found, Skipped) else found.config_topic,
        tuple(notes),
    )


def with_threads(reader: ClusterReader, names: KnownNames, transactional_ids: Iterable[str | None]) -> KnownNames:
    """The names, with the members of Kafka Streams applications that may have some of the IDs."""
    applications = streams_applications(filter(None, transactional_ids), names.groups)
    if not applications:
        return names
    with reader.optional_reads():
        members = reader.consumer_members(applications)
    return names if isinstance(members, Skipped) else replace(names, members=members)


def _read_connectors(reader: ClusterReader, config_topic: str) -> _Connectors | Skipped:
    if reader.group_id is None:
        return not_asked("no --group-id was given, so connectors are not known")
    log = reader.config_topic(config_topic)
    return _Connectors(log.topic, connector_states(log.records))


def wanted_partitions(arguments: Iterable[str]) -> Wanted:
    """The partitions in the arguments. Raises UsageError for one that is not TOPIC[:PARTITION,…]."""
    wanted: dict[str, frozenset[int] | None] = {}
    for argument in arguments:
        topic, colon, indexes = argument.partition(":")
        if not topic or (colon and not all(index.isascii() and index.isdigit() for index in indexes.split(","))):
            raise UsageError(f"invalid partition {argument!r}: expected TOPIC[:N,…]", hint="for example orders:0,3")
        before = wanted.get(topic, frozenset())
        named = frozenset(int(index) for index in indexes.split(",")) if colon else None
        wanted[topic] = None if named is None or before is None else before | named
    return wanted


class DescribeRequest(Struct, frozen=True):
    """The transactional IDs to describe, and the topic that names their owners' connectors."""

    transactional_ids: tuple[str, ...]
    config_topic: str


class ProducersRequest(Struct, frozen=True):
    """The partitions whose producers to list, as TOPIC[:PARTITION,…], and the topic that names connectors."""

    topics: tuple[str, ...]
    config_topic: str


MOST_DESCRIBED: Final = 100_000
"""Of more IDs only those with an open transaction are described: 0.2 ms of CPU and 1 kB each."""


def list_transactions(reader: ClusterReader, selection: Selection, config_topic: str) -> TransactionList:
    """Every transactional ID that the selection keeps, described, with owners."""
    as_of = reader.now()
    listed = reader.transactional_ids(states=selection.states, producer_ids=selection.producer_ids)
    named = [each for each in listed.transactions if selection.names(each)]
    wanted = named if len(named) <= MOST_DESCRIBED else [each for each in named if each.state.is_open]
    coordinators = {each.transactional_id: each.coordinator for each in wanted}
    described = reader.describe(coordinators, coordinators)
    connect = read_connect_names(reader, config_topic, needed=selection.owner is not None)
    descriptions = {name: each for name, each in described.items() if isinstance(each, TransactionDescription)}
    hidden = _hidden(reader, len(listed.transactions), selection)
    undescribed = (each.message for each in described.values() if isinstance(each, Unreachable))
    names = with_threads(reader, connect.names, coordinators)
    transactions = list_with_owners(named, descriptions, names, selection, as_of)
    return TransactionList(
        as_of=as_of,
        cluster_id=reader.cluster_id,
        transactions=transactions,
        hidden=hidden,
        unanswered=listed.unanswered,
        missing=tuple(dict.fromkeys((*listed.unlisted, *undescribed))),
        notes=(
            *_hidden_notes(reader.principal, hidden),
            *_undescribed_notes(len(named) - len(wanted)),
            *(() if transactions else _owner_notes(selection.owner, connect)),
            *connect.notes,
        ),
        coverage=reader.coverage,
    )


def _undescribed_notes(count: int) -> tuple[str, ...]:
    if not count:
        return ()
    return (
        f"{count:,} IDs without an open transaction were not described: epochs and timeouts of their producers are not "
        "shown. Give --state or --pattern to list fewer",
    )


def _owner_notes(wanted: str | None, connect: ConnectNames) -> tuple[str, ...]:
    """Possible meanings of --owner, if it names no connector."""
    known = () if isinstance(connect.connectors, Skipped) else connect.connectors
    if wanted is None or wanted in known:
        return ()
    meant = did_you_mean(wanted, known, "`eosctl connector list` lists them")
    return (f"no connector is called {wanted}; {meant}",)


def _hidden(reader: ClusterReader, listed: int, selection: Selection) -> HiddenIds | Skipped:
    """How many IDs the brokers hide from this principal, as far as known."""
    access = reader.access()
    if isinstance(access, Skipped):
        return access
    if access.granted:
        return HiddenIds(may_see_all=True, count=0, uncertain=access.unknown)
    count: int | Skipped = Skipped("a list with filters cannot be held against the transaction log")
    if not (selection.states or selection.producer_ids):
        logged = reader.logged_ids()
        count = logged if isinstance(logged, Skipped) else max(0, logged - listed)
    return HiddenIds(may_see_all=False, count=count, uncertain=access.unknown)


def _hidden_notes(principal: str, hidden: HiddenIds | Skipped) -> tuple[str, ...]:
    if isinstance(hidden, Skipped):
        return ()
    if hidden.may_see_all:
        unsure = hidden.uncertain
        return () if unsure is None else (f"whether all IDs are shown is not certain: {unsure}",)
    how_many = "how many is unknown" if isinstance(hidden.count, Skipped) else pluralize(hidden.count, "ID")
    return (f"{principal} lacks Describe on some transactional IDs, and brokers omit these IDs: {how_many}",)


def describe_transactions(reader: ClusterReader, request: DescribeRequest) -> TransactionDescriptions:
    as_of = reader.now()
    described = reader.describe(request.transactional_ids)
    connect = read_connect_names(reader, request.config_topic)
    names = with_threads(reader, connect.names, described)
    return TransactionDescriptions(
        as_of=as_of,
        cluster_id=reader.cluster_id,
        transactions=tuple(_described(name, each, names, as_of, reader.unknown_id) for name, each in described.items()),
        errors=tuple(each for each in described.values() if isinstance(each, EosctlError)),
        notes=connect.notes,
        coverage=reader.coverage,
    )


def _described(
    name: str, described: Described, names: KnownNames, as_of: int, unknown: str
) -> ListedTransaction | UndescribedId:
    if not isinstance(described, TransactionDescription):
        reason = unknown if described is None else described.message
        return UndescribedId(name, ownership(name, names), reason)
    listing = TransactionListing(name, described.producer.producer_id, described.state, described.coordinator)
    (listed,) = list_with_owners([listing], {name: described}, names, Selection(), as_of)
    return listed


def list_producers(reader: ClusterReader, request: ProducersRequest) -> ProducerList:
    """The producers of the partitions named, with the IDs that hold them. Raises UsageError if none is named."""
    if not request.topics:
        raise UsageError("no topic was named", hint="give --topic TOPIC[:N,…]")
    as_of = reader.now()
    seen = reader.producers(reader.partitions(wanted_partitions(request.topics)), quiet=True)
    connect = read_connect_names(reader, request.config_topic)
    ids = {each.producer.producer_id for each in seen.producers}
    listed = reader.transactional_ids(producer_ids=ids) if ids else ListedTransactions((), {})
    names = transactional_ids_by_producer(listed.transactions)
    if ids - names.keys():
        reader.access()  # the coverage keeps it if IDs may be hidden
    return ProducerList(
        as_of=as_of,
        cluster_id=reader.cluster_id,
        producers=seen.producers,
        transactional_ids=names,
        owners=owners_of(names.values(), with_threads(reader, connect.names, names.values())),
        not_searched=seen.unanswered,
        notes=(*(_unknown_holders(listed.unlisted) if ids - names.keys() else ()), *connect.notes),
        coverage=reader.coverage,
    )


def _unknown_holders(reasons: Sequence[str]) -> tuple[str, ...]:
    return (f"who holds a producer ID is not known of all: {'; '.join(reasons)}",) if reasons else ()


class LogRequest(Struct, frozen=True):
    """The IDs (none: all), the files (none: the cluster), and the user's settings of the brokers.

    prefix selects further IDs, or all wanted ones if none is named.
    """

    transactional_ids: frozenset[str]
    segments: tuple[Path, ...]
    partitions: int | None
    expiration_ms: int | None
    config_topic: str
    prefix: str | None = None

    def wants(self, name: str) -> bool:
        if name in self.transactional_ids:
            return True
        return not self.transactional_ids if self.prefix is None else name.startswith(self.prefix)


class _Log(Struct, frozen=True):
    """The requested records, and the facts that the findings need."""

    as_of: int
    cluster_id: str | None
    records: Iterator[LogRecord]
    names: KnownNames
    leaders: Mapping[int, int] | Skipped
    partitions: int | Skipped
    expiration_ms: int | Skipped
    unread: Mapping[int, Skipped]
    notes: tuple[str, ...]

    def lies_unread(self, name: str) -> bool:
        """True if the ID belongs to a partition that was not read."""
        if isinstance(self.leaders, Skipped) or not self.unread:
            return False
        return coordinator_partition(name, len(self.leaders)) in self.unread


def fold_log(session: Session, request: LogRequest) -> TransactionLogReport:
    """The last state of each ID with findings; warns of IDs that the log has no record of."""
    log = _read(session, request)
    folded = fold_transaction_log(_of_few_ids(log.records, request))
    owners = owners_of(folded.ids, _named(session, request, log, folded.ids))
    absent = _absent(session, request, log, folded.ids)
    facts = {"expiry": log.expiration_ms, "the coordinator's partition": log.partitions}
    unchecked = (f"not checked: {what}: {why.reason}" for what, why in facts.items() if isinstance(why, Skipped))
    return TransactionLogReport(
        as_of=log.as_of,
        cluster_id=log.cluster_id,
        log=folded,
        owners=owners,
        leaders=log.leaders,
        findings=log_findings(folded, owners, log.as_of, log.expiration_ms, log.partitions),
        absent=absent,
        unread=log.unread,
        notes=(*unchecked, *log.notes),
        coverage=_coverage(session, request),
    )


def log_history(session: Session, request: LogRequest) -> TransactionHistory:
    """Every record that the log still holds, with its event; warns of IDs that it has no record of."""
    log = _read(session, request)
    entries = tuple(history(_of_few_ids(log.records, request)))
    return TransactionHistory(
        as_of=log.as_of,
        cluster_id=log.cluster_id,
        entries=entries,
        absent=_absent(session, request, log, {each.record.transactional_id for each in entries}),
        unread=log.unread,
        notes=log.notes,
        coverage=_coverage(session, request),
    )


def read_epoch_history(session: Session, request: LogRequest) -> EpochHistory:
    """The producers that had each of these IDs; warns of IDs that the log has no record of."""
    log = _read(session, request)
    fold = EpochFold()
    fold.add_all(_of_few_ids(log.records, request))
    found = fold.found()
    newer = (f"{pluralize(fold.newer, 'record was', 'records were')} not read: a newer Kafka wrote them",)
    return EpochHistory(
        as_of=log.as_of,
        cluster_id=log.cluster_id,
        epochs=tuple(each for producers in found.values() for each in producers),
        left_out=fold.left_out,
        owners=owners_of(found, _named(session, request, log, found)),
        findings=tuple(contentions(found)),
        absent=_absent(session, request, log, found),
        unread=log.unread,
        notes=(*(newer if fold.newer else ()), *log.notes),
        coverage=_coverage(session, request),
    )


def read_churn(session: Session, request: LogRequest, *, with_states: bool = False) -> IdChurn:
    """How the IDs of each prefix come and go, by the transaction log; with_states, the brokers' producers as well.

    Raises UsageError if states are wanted of files.
    """
    if with_states and request.segments:
        raise UsageError("segment files show no producer states: brokers are asked for them", hint="leave one out")
    log = _read(session, request)
    known = None if isinstance(log.expiration_ms, Skipped) else log.expiration_ms
    producer_ids: set[int] | None = set() if with_states and not request.prefix else None
    fold = ChurnFold(log.as_of, known, producer_ids)
    fold.add_all(log.records)
    prefixes = fold.found()
    states: ProducerStates | Skipped = not_asked("--producers was not given")
    uncounted: dict[str, Skipped] = {}
    if with_states:
        logged = None if fold.newer or log.unread else producer_ids
        states, uncounted = _read_states(session.reader, log.as_of, logged)
    newer = (f"{pluralize(fold.newer, 'record was', 'records were')} not read: a newer Kafka wrote them",)
    return IdChurn(
        as_of=log.as_of,
        cluster_id=log.cluster_id,
        prefixes=prefixes,
        other_ids=fold.other_ids,
        expiration_ms=log.expiration_ms,
        states=states,
        findings=(
            *churn_findings(prefixes, log.as_of),
            *(() if isinstance(states, Skipped) else state_findings(states)),
        ),
        absent=frozenset(),
        unread=log.unread,
        notes=(*(newer if fold.newer else ()), *log.notes),
        coverage=_coverage(session, request) + Coverage((), tuple(unread_in("producers of", uncounted))),
    )


def _read_states(
    reader: ClusterReader, as_of: int, logged: Container[int] | None
) -> tuple[ProducerStates, dict[str, Skipped]]:
    """Of all partitions that could be read, and why others could not: by topic where Read is missing."""
    leaders = reader.partitions({})
    with reader.optional_reads():
        replicas, settings = reader.replicas(), reader.broker_settings()
    fold, uncounted, unread = StatesFold(as_of, logged), dict[str, Skipped](), 0
    for place, producers in reader.producers_by_partition(leaders):
        if isinstance(producers, Skipped):
            unread += 1
            uncounted[place.topic if producers.cause is Cause.DENIED else str(place)] = producers
        else:
            fold.add(place, leaders[place], producers)
    return fold.found(replicas, settings, unread), uncounted


MOST_IDS: Final = 200_000
"""So many IDs are kept in memory at a time, with about 3 kB each."""


def _of_few_ids(records: Iterable[LogRecord], request: LogRequest) -> Iterator[LogRecord]:
    """The same records. Raises UsageError where they are of more than MOST_IDS IDs, with a prefix that has fewer."""
    names: set[str] = set()
    for record in records:
        if record.transactional_id is not None:
            names.add(record.transactional_id)
            if len(names) > MOST_IDS:
                stem = request.prefix or ""
                raise UsageError(
                    f"the transaction log has more than {MOST_IDS:,} transactional IDs"
                    + (f" that begin with {stem}" if stem else "")
                    + ", and each takes about 3 kB of memory",
                    hint=f"name IDs, or select fewer: `eosctl transactions history --prefix {narrower(stem, names)}`, "
                    "for example; `eosctl transactions churn` counts them all by prefix",
                )
        yield record


SAMPLE: Final = 10_000


def narrower(stem: str, names: Collection[str]) -> str:
    """The most frequent prefix that is longer than the stem and has a tenth of these names at most."""
    sample = sorted(names)[:: max(1, len(names) // SAMPLE)]
    found, length = stem, len(stem)
    while longer := Counter(each[: length + 1] for each in sample if len(each) > length):
        [(found, count)] = longer.most_common(1)
        if count <= len(sample) // 10:
            break
        length += 1
    return found


def _absent(session: Session, request: LogRequest, log: _Log, found: Collection[str]) -> frozenset[str]:
    """The requested IDs without a record in the part of the log that was read."""
    missing = request.transactional_ids.difference(found)
    absent = frozenset(name for name in missing if not log.lies_unread(name))
    if absent:
        session.options.console.warn(f"the log holds no record of {', '.join(sorted(absent))}: never used, or expired")
    return absent


def _named(session: Session, request: LogRequest, log: _Log, found: Iterable[str]) -> KnownNames:
    return log.names if request.segments else with_threads(session.reader, log.names, found)


def _coverage(session: Session, request: LogRequest) -> Coverage:
    return Coverage() if request.segments else session.reader.coverage


def _read(session: Session, request: LogRequest) -> _Log:
    return _read_segments(session, request) if request.segments else _read_cluster(session, request)


def _read_cluster(session: Session, request: LogRequest) -> _Log:
    reader = session.reader
    if request.prefix is None:
        log = reader.transaction_log(request.transactional_ids)
    else:
        log = reader.transaction_log(prefix="" if request.transactional_ids else request.prefix)
    connect = read_connect_names(reader, request.config_topic)
    return _Log(
        as_of=reader.now(),
        cluster_id=reader.cluster_id,
        records=_wanted(log.records, request),
        names=connect.names,
        leaders=log.leaders,
        partitions=request.partitions or len(log.leaders) or Skipped("there is no transaction log yet"),
        expiration_ms=request.expiration_ms or log.expiration_ms,
        unread=log.unread,
        notes=(*_left_out(log), *connect.notes),
    )


def _left_out(log: TransactionLogRecords) -> tuple[str, ...]:
    if not log.left_out:
        return ()
    records = pluralize(log.left_out, "record of the log was", "records of the log were")
    return (f"{records} not kept: the snapshot has the last of each ID",)


def _read_segments(session: Session, request: LogRequest) -> _Log:
    group_id = session.options.group_id
    return _Log(
        as_of=session.now(),
        cluster_id=None,
        records=_wanted(_segment_records(session, request), request),
        names=KnownNames.of({} if group_id is None else {group_id: ()}),
        leaders=not_asked("read from files"),
        partitions=request.partitions or not_asked("read from files; give --partitions"),
        expiration_ms=request.expiration_ms or not_asked("read from files; give --expiration-ms"),
        unread={},
        notes=(),
    )


def _segment_records(session: Session, request: LogRequest) -> Iterator[LogRecord]:
    stem = (
        b"" if request.prefix is None or request.transactional_ids else request.prefix.encode(errors="surrogateescape")
    )
    for path in request.segments:
        place = partition_of_segment(path)
        if place is not None and place.topic != TRANSACTION_LOG:
            raise UsageError(f"{path} is a segment of {place}, not of {TRANSACTION_LOG}")
        segment, is_empty = LogSegment(path), True
        for record in segment:
            is_empty = False
            if may_begin_with(record.key or b"", stem):
                yield decode_log_record(-1 if place is None else place.partition, record)
        if segment.cut_bytes and is_empty:
            reason = f"{path} has no whole record batch: it is no segment of {TRANSACTION_LOG}, or was cut off"
            raise Undecodable(reason, hint="give a .log file of a __transaction_state partition's directory")
        if segment.cut_bytes:
            session.options.console.warn(
                f"{path} ends within a batch: its last {segment.cut_bytes} bytes were not read"
            )


def _wanted(records: Iterable[LogRecord], request: LogRequest) -> Iterator[LogRecord]:
    if not request.transactional_ids and request.prefix is None:
        return iter(records)
    return (each for each in records if isinstance(each, NewerLogRecord) or request.wants(each.transactional_id))

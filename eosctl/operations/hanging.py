"""Answers `transactions hanging` and `lso`: open transactions that no coordinator will end, and waiting readers."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from eosctl.analysis.hanging import (
    ALL_AGES,
    ConnectTopics,
    behind,
    decided,
    find_candidates,
    find_young,
    group_lags,
    held_back,
    judge,
    reading_committed,
    stability,
    still_open,
    waiting_parts,
    why_undated,
)
from eosctl.analysis.tracing import COMPLETE
from eosctl.analysis.transactions import owners_of
from eosctl.errors import Unreachable, UsageError
from eosctl.model.groups import CONSUMER_OFFSETS, ListedGroup
from eosctl.model.hanging import (
    NO_LEADER,
    Decision,
    GroupLag,
    GroupReading,
    HangingReason,
    HangingTransactions,
    HeldBack,
    JoinedTransactions,
    LastStableOffsets,
    OpenTransaction,
    Place,
    UnknownAge,
    Verdict,
    WaitingGroup,
    join_answers,
)
from eosctl.model.names import TopicPartition, coordinator_partition, did_you_mean
from eosctl.model.skipped import Cause, Coverage, Skipped, Unread, not_asked, read_or_skip
from eosctl.model.text import pluralize
from eosctl.model.times import ClusterClock
from eosctl.model.topics import PartitionOffsets, RecordCounts
from eosctl.model.transactions import ActiveProducer, Ownership, TransactionalIdAccess, transactional_ids_by_producer
from eosctl.operations.decisions import MOST_OPEN, Overtaken, read_decisions, read_overtaken
from eosctl.operations.offset_stores import DEFAULT_OFFSETS_TOPIC
from eosctl.operations.session_options import Reporter
from eosctl.operations.transactions import ConnectNames, read_connect_names, wanted_partitions, with_threads
from eosctl.sources.cluster_reader import ClusterReader, Wanted

Waiting = Mapping[TopicPartition, tuple[WaitingGroup, ...] | Skipped]


class HangingRequest(Struct, frozen=True):
    """The partitions to search, the age of a transaction, and the internal topics of Connect.

    worker_offsets_topic None is the one that the reader knows, otherwise the default. most_log_bytes bounds the part of
    the transaction log that is read about hanging transactions (None: no bound); a decision that is not in it is
    unknown.
    """

    topics: tuple[str, ...]
    broker: int | None
    max_timeout_ms: int
    config_topic: str
    worker_offsets_topic: str | None
    most_log_bytes: int | None = None


class Searched(Struct, frozen=True):
    """Result of a search for hanging transactions: verdicts on all that were old enough, with their certainty.

    joined includes those that cannot be judged. undated would hang if they were old enough, which clock, the cluster's,
    leaves open (None: nothing looked young, so it was not requested). unanswered are the partitions whose leaders did
    not answer. young are the open transactions that are not old enough. producers counts those of each leader. notes
    say how much of the transaction log was read.
    """

    as_of: int
    verdicts: tuple[Verdict, ...]
    joined: JoinedTransactions
    undated: tuple[UnknownAge, ...]
    clock: ClusterClock | Skipped | None
    unanswered: tuple[TopicPartition, ...]
    access: TransactionalIdAccess
    young: tuple[ActiveProducer, ...]
    producers: Mapping[int, int]
    notes: tuple[str, ...] = ()

    def require_all(self) -> None:
        """Raises Unreachable where a fact could not be read or judged."""
        if self.unanswered:
            raise Unreachable(f"no leader answered for {', '.join(map(str, self.unanswered))}")
        self.joined.require()


def find_hanging(reader: ClusterReader, request: HangingRequest) -> HangingTransactions:
    """All hanging transactions in the partitions, with the readers that they hold back and their owners."""
    partitions = reader.partitions(wanted_partitions(request.topics), request.broker)
    searched = search(reader, partitions, request.max_timeout_ms, request.most_log_bytes)
    connect = read_connect_names(reader, request.config_topic)
    judged = [each.transaction for each in searched.verdicts]
    undecided, dated = searched.joined.undecided, [each.transaction for each in searched.undated]
    return HangingTransactions(
        as_of=searched.as_of,
        cluster_id=reader.cluster_id,
        verdicts=searched.verdicts,
        held_back=_read_held_back(reader, judged, _connect_topics(reader, connect, request)) if judged else {},
        undecided=undecided,
        undated=searched.undated,
        clock=searched.clock,
        undecided_reasons=searched.joined.reasons,
        owners=_owners(reader, connect, (*judged, *undecided, *dated)),
        access=searched.access,
        searched=len(partitions) - len(searched.unanswered),
        not_searched=searched.unanswered,
        notes=(*searched.notes, *connect.notes),
        young=searched.young,
        producers=searched.producers,
        coverage=reader.coverage + _ages(searched.undated),
    )


def _owners(
    reader: ClusterReader, connect: ConnectNames, transactions: Iterable[OpenTransaction]
) -> dict[str, Ownership]:
    ids = [each.transactional_id for each in transactions]
    return owners_of(ids, with_threads(reader, connect.names, ids))


def _ages(undated: Collection[UnknownAge]) -> Coverage:
    what = {each: f"age of the transaction in {each.transaction.topic_partition}" for each in undated}
    unread = (
        Unread(f"{name} from {each.transaction.start_offset}", each.reason, Cause.UNKNOWN)
        for each, name in what.items()
    )
    return Coverage((), tuple(unread))


def search(
    reader: ClusterReader,
    leaders: Mapping[TopicPartition, int],
    max_timeout_ms: int,
    most_log_bytes: int | None = None,
) -> Searched:
    """Finds hanging transactions in these partitions by KIP-664's rule, confirmed by a second look.

    Raises NotAuthorized if Describe on some transactional ID is missing: brokers omit hidden IDs, and then every
    candidate would look as if it hung.
    """
    access = reader.access()
    if isinstance(access, Skipped):
        raise Unreachable(access.reason)
    access.require(reader.principal)
    seen = reader.producers(leaders)
    as_of = reader.now()
    candidates = find_candidates(seen.producers, as_of, max_timeout_ms)
    young = find_young(seen.producers, as_of, max_timeout_ms)
    clock = reader.clock() if young else None
    reasons = {} if clock is None else {each: why_undated(each.last_timestamp, as_of, clock) for each in young}
    undated = [each for each, reason in reasons.items() if reason is not None]
    ended = _ended(reader, [each for each in young if each not in undated])
    joined = join_with_coordinators(reader, [*candidates, *undated, *ended])
    notes: tuple[str, ...] = ()
    verdicts, unanswered = judge(joined.transactions, as_of), set(seen.unanswered)
    suspected = {each.transaction.topic_partition for each in verdicts if each.hangs}
    if suspected:
        again = reader.producers({each: leaders[each] for each in sorted(suspected)}, quiet=True)
        verdicts = still_open(verdicts, again.producers)
        unanswered |= set(again.unanswered)
        hung = [each.transaction for each in verdicts if each.hangs]
        decisions = read_decisions(reader, hung, leaders, most_log_bytes)
        verdicts, notes = decided(verdicts, decisions.by_place), decisions.notes
    passed, unread = _search_overtaken(reader, seen.producers, joined, leaders)
    verdicts = (*(each for each in verdicts if each.transaction.place not in passed), *passed.values())
    dated, doubtful, not_old = _by_age(verdicts, young, reasons)
    counts, silent = _by_leader(seen.producers, leaders), tuple(sorted(unanswered))
    return Searched(as_of, dated, joined, doubtful, clock, silent, access, not_old, counts, (*notes, *unread))


def _by_leader(producers: Iterable[ActiveProducer], leaders: Mapping[TopicPartition, int]) -> Mapping[int, int]:
    counts = Counter(leaders[each.topic_partition] for each in producers)
    return {leader: counts[leader] for leader in set(leaders.values()) - {NO_LEADER}}


def _by_age(
    verdicts: Collection[Verdict], young: Collection[ActiveProducer], reasons: Mapping[ActiveProducer, str | None]
) -> tuple[tuple[Verdict, ...], tuple[UnknownAge, ...], tuple[ActiveProducer, ...]]:
    """The verdicts that hold whatever the clocks, those that do if the transaction is old enough, and the too young.

    reasons say of which young ones the age is unknown. It does not matter for one whose decision is known, nor for one
    that was overtaken.
    """
    hung_by_log = {
        each.transaction.active
        for each in verdicts
        if isinstance(each.decision, Decision) or each.reason is HangingReason.OVERTAKEN
    }
    doubtful = tuple(
        UnknownAge(each.transaction, reason, each.decision)
        for each in verdicts
        if each.hangs
        and each.transaction.active not in hung_by_log
        and (reason := reasons.get(each.transaction.active)) is not None
    )
    too_young = {each for each in young if each not in hung_by_log and reasons.get(each) is None}
    aged = (each for each in verdicts if each.transaction.active not in too_young)
    dated = tuple(
        each for each in aged if reasons.get(each.transaction.active) is None or each.transaction.active in hung_by_log
    )
    return dated, doubtful, tuple(each for each in young if each in too_young)


def _search_overtaken(
    reader: ClusterReader,
    producers: Collection[ActiveProducer],
    known: JoinedTransactions,
    leaders: Mapping[TopicPartition, int],
) -> tuple[Mapping[Place, Verdict], tuple[str, ...]]:
    """Verdicts on transactions of any age that were overtaken, by their places, and what was not read."""
    opened, joined = find_candidates(producers, 0, ALL_AGES), {each.active for each in known.transactions}
    if len(opened) > MOST_OPEN:
        many = pluralize(len(opened), "transaction is", "transactions are")
        return {}, (f"{many} open, and of {MOST_OPEN:,} at most it is looked for whether one overtook an earlier one",)
    with reader.optional_reads():
        others = read_or_skip(partial(join_with_coordinators, reader, [each for each in opened if each not in joined]))
    if isinstance(others, Skipped):
        return {}, (f"whether transactions in progress overtook earlier ones is not known: {others.reason}",)
    found = read_overtaken(reader, (*known.transactions, *others.transactions), leaders)
    return {each.transaction.place: each for each in found.verdicts}, _not_looked_for(found)


def _not_looked_for(found: Overtaken) -> tuple[str, ...]:
    if found.unread is None:
        return ()
    return (f"whether transactions in progress overtook earlier ones is not known: {found.unread}",)


def _ended(reader: ClusterReader, young: Collection[ActiveProducer]) -> tuple[ActiveProducer, ...]:
    """Young ones of an ID whose transaction is complete: they hang, if the transaction log has their decision."""
    if not young:
        return ()
    producer_ids = {each.producer.producer_id for each in young}
    with reader.optional_reads():
        listed = read_or_skip(partial(reader.transactional_ids, producer_ids=producer_ids))
    if isinstance(listed, Skipped):
        return ()
    complete = {each.producer_id for each in listed.transactions if each.state in COMPLETE}
    return tuple(each for each in young if each.producer.producer_id in complete)


def join_with_coordinators(reader: ClusterReader, candidates: Collection[ActiveProducer]) -> JoinedTransactions:
    """Producers with an open transaction, joined with their coordinators' answers where these exist."""
    if not candidates:
        return JoinedTransactions((), (), ())
    listed = reader.transactional_ids(producer_ids={each.producer.producer_id for each in candidates})
    names = transactional_ids_by_producer(listed.transactions)
    return join_answers(candidates, listed, reader.describe(sorted(set(names.values()))))


def _connect_topics(reader: ClusterReader, connect: ConnectNames, request: HangingRequest) -> ConnectTopics | None:
    """The internal topics of the Connect cluster with the known group ID, or None."""
    with reader.optional_reads():
        group_id = reader.group_id
    if group_id is None:
        return None
    connectors = {} if isinstance(connect.connectors, Skipped) else connect.connectors
    known = request.worker_offsets_topic or read_or_skip(reader.worker_offsets_topic)
    offsets_topic = known if isinstance(known, str) else DEFAULT_OFFSETS_TOPIC
    with reader.optional_reads():
        config_topic = _own(reader, "config", connect.config_topic)
        offsets_topic = _own(reader, "offsets", offsets_topic)
    return ConnectTopics(group_id, config_topic, offsets_topic, connectors)


def _own(reader: ClusterReader, role: str, topic: str) -> str:
    """The topic; "", which no topic is called, where it is not known to be this Connect cluster's."""
    return "" if isinstance(read_or_skip(lambda: reader.require_topic(role, topic)), Skipped) else topic


def _read_held_back(
    reader: ClusterReader, transactions: Collection[OpenTransaction], topics: ConnectTopics | None
) -> dict[Place, HeldBack]:
    """The readers that each open transaction holds back, by its place; Skipped where unreadable."""
    offsets = reader.offsets(sorted({each.topic_partition for each in transactions}))
    waiting = reader.waiting_groups({place: each for place, each in offsets.items() if not isinstance(each, Skipped)})
    commits = reader.pending_commits(transactions)
    found = {}
    for each in transactions:
        partition = each.topic_partition
        here = offsets[partition]
        groups = here if isinstance(here, Skipped) else _at(waiting, partition)
        names = () if isinstance(groups, Skipped) else [group.group_id for group in groups]
        parts = waiting_parts(partition.topic, names, topics)
        found[each.place] = held_back(each, here, groups, parts, commits.get(each.place, ()))
    return found


def _at(waiting: Waiting | Skipped, partition: TopicPartition) -> tuple[WaitingGroup, ...] | Skipped:
    return waiting if isinstance(waiting, Skipped) else waiting.get(partition, ())


class StabilityRequest(Struct, frozen=True):
    """The partitions (none: all that are held back), and the number of looks.

    every_s is the time between two looks, None for a single one; looks bounds their number. group is a consumer group:
    without topics, the partitions are those with its committed offsets. within is the most offsets that the group may
    be behind in a partition whose records are counted.
    """

    topics: tuple[str, ...]
    config_topic: str
    every_s: float | None = None
    looks: int | None = None
    group: str | None = None
    within: int = 1_000_000


def last_stable_offsets(reader: ClusterReader, request: StabilityRequest) -> LastStableOffsets:
    """Offsets of the partitions named, or of all that are held back, with the transactions responsible."""
    return _look(reader, request, read_connect_names(reader, request.config_topic))


def watch_last_stable_offsets(
    reader: ClusterReader, request: StabilityRequest, show: Callable[[LastStableOffsets], None], console: Reporter
) -> LastStableOffsets:
    """The last look. Shows each look before it, until the requested number or Ctrl-C."""
    if request.every_s is None:
        if request.looks is not None:
            raise UsageError("--looks limits the number of refreshes, so it needs --watch")
        return last_stable_offsets(reader, request)
    pauses = reader.every(request.every_s)
    connect = read_connect_names(reader, request.config_topic)
    found, count = _look(reader, request, connect), 1
    try:
        while request.looks is None or count < request.looks:
            show(found)
            next(pauses)
            found, count = _look(reader, request, connect), count + 1
    except KeyboardInterrupt:
        console.narrate(f"watched {count} times")
    return found


def _look(reader: ClusterReader, request: StabilityRequest, connect: ConnectNames) -> LastStableOffsets:
    group = None if request.group is None else _read_group(reader, request.group)
    wanted = wanted_partitions(request.topics) or _committed_in(group)
    leaders = reader.partitions(wanted) if wanted or group is None else {}
    coordinator = {} if group is None else _coordinator_partition(reader, group.group_id)
    answered = reader.offsets(sorted({*leaders, *coordinator}))
    offsets = {place: each for place, each in answered.items() if not isinstance(each, Skipped)}
    held = {place: each for place, each in offsets.items() if each.held_back > 0}
    as_of = reader.now()
    asked = {**coordinator, **leaders}
    since = reader.first_timestamps({place: each.last_stable_offset for place, each in held.items()}, asked)
    seen = reader.producers({place: asked[place] for place in held}, quiet=True)
    joined = join_with_coordinators(reader, find_candidates(seen.producers, as_of, ALL_AGES))
    opened = (*joined.transactions, *joined.undecided)
    if any(each.transactional_id is None for each in opened):
        reader.access()  # the coverage keeps it if IDs may be hidden
    reasons, passed = "; ".join(joined.reasons), read_overtaken(reader, joined.transactions, asked)
    if group is not None:
        group = replace(group, pending=_pending(reader, group.group_id, opened))
        if not group.pending:  # no commit of its own waits there
            offsets = {place: each for place, each in offsets.items() if place in leaders}
            held = {place: each for place, each in held.items() if place in leaders}
    return LastStableOffsets(
        as_of=as_of,
        cluster_id=reader.cluster_id,
        partitions=stability(offsets if wanted else held, opened, since),
        free=len(offsets) - len(held),
        owners=_owners(reader, connect, opened),
        not_searched=tuple(place for place, each in answered.items() if isinstance(each, Skipped)),
        notes=(
            *([f"which IDs hold back is not known of all: {reasons}"] if reasons else []),
            *_not_looked_for(passed),
            *connect.notes,
        ),
        overtaken={each.transaction.place: each for each in passed.verdicts},
        coverage=reader.coverage + _unread_places(group, wanted),
        group=group,
        counts={} if group is None else _counted(reader, group, offsets, request.within),
        lags=_lags(reader, offsets) if group is None else (),
    )


WITHIN: Final = 100_000
"""Without --group, a group's records are counted in partitions where it is at most so many offsets behind."""
MOST_BYTES: Final = 16 << 20
"""How much is read to count them. A watch continues in its next cycle."""


def _lags(reader: ClusterReader, offsets: Mapping[TopicPartition, PartitionOffsets]) -> tuple[GroupLag, ...] | Skipped:
    """The lags of all consumer groups that may use read_committed, in these partitions."""
    with reader.optional_reads():
        groups, committed = reader.groups(), reader.committed_by_group()
        if isinstance(groups, Skipped):
            return groups
        if isinstance(committed, Skipped):
            return committed
        positions = reading_committed(committed, offsets)
        wanted: dict[PartitionOffsets, set[int]] = {}
        for here in positions.values():
            for place, at in here.items():
                if 0 < behind(offsets[place], at) <= WITHIN:
                    wanted.setdefault(offsets[place], set()).add(at)
        nearest = sorted(wanted, key=lambda each: (behind(each, min(wanted[each])), each.topic_partition))
        tallies = reader.record_tallies({each: wanted[each] for each in nearest}, MOST_BYTES)
    return group_lags(positions, groups, offsets, tallies)


def _counted(
    reader: ClusterReader, group: GroupReading, offsets: Mapping[TopicPartition, PartitionOffsets], within: int
) -> Mapping[TopicPartition, RecordCounts | Skipped]:
    """The content of each partition that the group has not read; a share group is left out, because it has no single
    position."""
    if group.group.is_share:
        return {}
    positions = {each: (at,) for place, each in offsets.items() if (at := group.at(place)) is not None}
    left = {each: behind(each, at) for each, (at,) in positions.items()}
    tallies = reader.record_tallies({each: starts for each, starts in positions.items() if left[each] <= within})
    counts: dict[TopicPartition, RecordCounts | Skipped] = {}
    for each, (at,) in positions.items():
        tally = tallies.get(each.topic_partition)
        if tally is None:
            counts[each.topic_partition] = not_asked(f"it is {left[each]:,} offsets behind; give --within {left[each]}")
        elif isinstance(tally, Skipped):
            counts[each.topic_partition] = tally
        else:
            begin = min(max(at, each.log_start_offset), each.last_stable_offset)
            known = tally.counts(begin, each.last_stable_offset)
            counts[each.topic_partition] = Skipped("its records were not counted") if known is None else known
    return counts


def _read_group(reader: ClusterReader, group_id: str) -> GroupReading:
    """Raises UsageError where the cluster has no such group, or where Connect workers form it."""
    groups, committed = reader.groups(), reader.committed_offsets(group_id)
    unlisted = ListedGroup(group_id, "", "")
    if isinstance(groups, Skipped):
        return GroupReading(unlisted, committed)
    if group_id not in groups and not committed:
        hint = did_you_mean(group_id, groups, "a sink connector's group is connect-NAME unless it has a group.id")
        raise UsageError(f"there is no group {group_id}, or it may not be described", hint=hint)
    if group_id in groups and groups[group_id].is_connect:
        raise UsageError(
            f"{group_id} is the group of Connect workers, which commits no offsets",
            hint="--group takes a consumer group, such as a sink connector's connect-NAME",
        )
    return GroupReading(groups.get(group_id, unlisted), committed)


def _unread_places(group: GroupReading | None, wanted: Wanted) -> Coverage:
    """Places that a group without commits reads, if the user named none."""
    if group is None or wanted or isinstance(group.committed, Skipped):
        return Coverage()
    reason = "it has committed no offsets; name them with --topic"
    return Coverage((), (Unread(f"partitions that group {group.group_id} reads", reason, Cause.UNKNOWN),))


def _committed_in(group: GroupReading | None) -> Wanted:
    """The partitions that the group committed offsets of."""
    if group is None or isinstance(group.committed, Skipped):
        return {}
    topics = {each.topic for each in group.committed}
    return {topic: frozenset(each.partition for each in group.committed if each.topic == topic) for topic in topics}


def _coordinator_partition(reader: ClusterReader, group_id: str) -> Mapping[TopicPartition, int]:
    """The partition that holds the group's commits, with its leader; None before the first group."""
    if CONSUMER_OFFSETS not in reader.topic_names():
        return {}
    leaders = reader.partitions({CONSUMER_OFFSETS: None})
    place = TopicPartition(CONSUMER_OFFSETS, coordinator_partition(group_id, len(leaders)))
    return {place: leaders[place]}


def _pending(
    reader: ClusterReader, group_id: str, opened: Collection[OpenTransaction]
) -> tuple[TopicPartition, ...] | Skipped:
    """Partitions with offsets of the group in an open transaction."""
    waiting = [each for each in opened if each.topic_partition.topic == CONSUMER_OFFSETS]
    found: set[TopicPartition] = set()
    for commits in (reader.pending_commits(waiting) if waiting else {}).values():
        if isinstance(commits, Skipped):
            return commits
        found |= {place for commit in commits if commit.group_id == group_id for place in commit.partitions}
    return tuple(sorted(found))

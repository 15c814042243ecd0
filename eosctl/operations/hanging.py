"""What `transactions hanging` answers: open transactions that no coordinator will end, and who waits for them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from eosctl.analysis.connect_waits import ConnectTopics, waiting_parts
from eosctl.analysis.hanging import find_candidates, find_young, judge, still_open, why_undated
from eosctl.analysis.last_stable import held_back
from eosctl.analysis.owners import owners_of
from eosctl.errors import Unreachable
from eosctl.model.clock import ClusterClock
from eosctl.model.coverage import Coverage, Unread
from eosctl.model.described import transactional_ids_by_producer
from eosctl.model.hanging import HangingTransactions, HeldBack, OpenTransaction, Place, Undated, Verdict, WaitingGroup
from eosctl.model.id_access import TransactionalIdAccess
from eosctl.model.joined_transactions import JoinedTransactions, join_answers
from eosctl.model.names import TopicPartition
from eosctl.model.producers import ActiveProducer
from eosctl.model.skipped import Cause, Skipped, or_skipped
from eosctl.operations.offset_stores import DEFAULT_OFFSETS_TOPIC
from eosctl.operations.owners import ConnectNames, read_connect_names
from eosctl.operations.partitions import wanted_partitions
from eosctl.sources.cluster_reader import ClusterReader

Waiting = Mapping[TopicPartition, tuple[WaitingGroup, ...] | Skipped]


@dataclass(frozen=True, slots=True)
class HangingRequest:
    """Where to search, how old a transaction must be, and which internal topics Connect has.

    worker_offsets_topic None is the one that the reader knows, otherwise the default.
    """

    topics: tuple[str, ...]
    broker: int | None
    max_timeout_ms: int
    config_topic: str
    worker_offsets_topic: str | None


@dataclass(frozen=True, slots=True)
class Searched:
    """What a search for hanging transactions found: verdicts on all that were old enough, and how sure they are.

    joined has those too that cannot be judged; undated are those that would hang if they were old enough, and whether
    they are is not known by clock, the cluster's (None: nothing looked young, so it was not asked for); unanswered are
    the partitions whose leaders did not answer; young are the open transactions that are not old enough.
    """

    as_of: int
    verdicts: tuple[Verdict, ...]
    joined: JoinedTransactions
    undated: tuple[Undated, ...]
    clock: ClusterClock | Skipped | None
    unanswered: tuple[TopicPartition, ...]
    access: TransactionalIdAccess
    young: tuple[ActiveProducer, ...]

    def require_all(self) -> None:
        """Raise Unreachable where something could not be seen or judged."""
        if self.unanswered:
            raise Unreachable(f"no leader answered for {', '.join(map(str, self.unanswered))}")
        self.joined.require()


def find_hanging(reader: ClusterReader, request: HangingRequest) -> HangingTransactions:
    """All that hangs in the partitions asked for, with what it holds back and who owns it."""
    partitions = reader.partitions(wanted_partitions(request.topics), request.broker)
    searched = search(reader, partitions, request.max_timeout_ms)
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
        owners=owners_of([each.transactional_id for each in (*judged, *undecided, *dated)], connect.names),
        access=searched.access,
        searched=len(partitions) - len(searched.unanswered),
        not_searched=searched.unanswered,
        notes=connect.notes,
        young=searched.young,
        coverage=reader.coverage + _ages(searched.undated),
    )


def _ages(undated: Collection[Undated]) -> Coverage:
    """The ages that the answer lacks."""
    what = {each: f"age of the transaction in {each.transaction.topic_partition}" for each in undated}
    unread = (
        Unread(f"{name} from {each.transaction.start_offset}", each.reason, Cause.UNKNOWN)
        for each, name in what.items()
    )
    return Coverage((), tuple(unread))


def search(reader: ClusterReader, leaders: Mapping[TopicPartition, int], max_timeout_ms: int) -> Searched:
    """Finds hanging transactions in these partitions by KIP-664's rule, confirmed by a second look.

    Raises NotAuthorized where Describe on some transactional ID is missing: brokers leave out what may not be seen, and
    without it every candidate would look as if it hung.
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
    joined = join_with_coordinators(reader, [*candidates, *undated])
    verdicts, unanswered = judge(joined.transactions, as_of), set(seen.unanswered)
    suspected = {each.transaction.topic_partition for each in verdicts if each.hangs}
    if suspected:
        again = reader.producers({each: leaders[each] for each in sorted(suspected)}, quiet=True)
        verdicts = still_open(verdicts, again.producers)
        unanswered |= set(again.unanswered)
    doubtful = tuple(
        Undated(each.transaction, reason)
        for each in verdicts
        if each.hangs and (reason := reasons.get(each.transaction.active)) is not None
    )
    dated = tuple(each for each in verdicts if reasons.get(each.transaction.active) is None)
    not_old = tuple(each for each in young if each not in undated)
    return Searched(as_of, dated, joined, doubtful, clock, tuple(sorted(unanswered)), access, not_old)


def join_with_coordinators(reader: ClusterReader, candidates: Collection[ActiveProducer]) -> JoinedTransactions:
    """Producers with an open transaction and what coordinators know of them, as far as coordinators answer."""
    if not candidates:
        return JoinedTransactions((), (), ())
    listed = reader.transactional_ids(producer_ids={each.producer.producer_id for each in candidates})
    names = transactional_ids_by_producer(listed.transactions)
    return join_answers(candidates, listed, reader.describe(sorted(set(names.values()))))


def _connect_topics(reader: ClusterReader, connect: ConnectNames, request: HangingRequest) -> ConnectTopics | None:
    """The internal topics of the Connect cluster whose group ID is known; None where none is."""
    with reader.adding():
        group_id = reader.group_id
    if group_id is None:
        return None
    connectors = {} if isinstance(connect.connectors, Skipped) else connect.connectors
    known = request.worker_offsets_topic or or_skipped(reader.worker_offsets_topic)
    offsets_topic = known if isinstance(known, str) else DEFAULT_OFFSETS_TOPIC
    return ConnectTopics(group_id, connect.config_topic, offsets_topic, connectors)


def _read_held_back(
    reader: ClusterReader, transactions: Collection[OpenTransaction], topics: ConnectTopics | None
) -> dict[Place, HeldBack]:
    """What each open transaction keeps from readers, by its place; what cannot be read is Skipped."""
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

"""A cluster with one topic whose producers a test gives, for decisions about transactions."""

from collections.abc import Mapping, Sequence

from eosctl.model.hanging import NO_LEADER, TransactionalIdAccess
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.times import ClusterClock
from eosctl.model.topics import PartitionOffsets
from eosctl.model.transactions import (
    ActiveProducer,
    AnsweredProducers,
    Described,
    ListedTransactions,
    TransactionDescription,
    TransactionListing,
    TransactionState,
)
from tests.fake_cluster import FakeCluster

NOW = 1_790_000_000_000
HERE, THERE = TopicPartition("orders", 0), TopicPartition("orders", 1)
SEES_ALL = TransactionalIdAccess((), None)


def active(
    producer_id: int = 9, place: TopicPartition = HERE, start: int | None = 5, age_ms: int = 3_600_000
) -> ActiveProducer:
    """A producer whose last batch is an hour old, with a transaction open from `start` on."""
    return ActiveProducer(place, ProducerIdAndEpoch(producer_id, 0), 3, NOW - age_ms, None, start)


def described(name: str, producer_id: int = 9, *partitions: TopicPartition) -> TransactionDescription:
    """An ongoing transaction of the ID in these partitions, an hour old."""
    holder, begun = ProducerIdAndEpoch(producer_id, 0), NOW - 3_600_000
    return TransactionDescription(name, TransactionState.ONGOING, holder, 60_000, begun, partitions, 1)


def cluster(
    *looks: Sequence[ActiveProducer],
    listed: Mapping[str, int] | None = None,
    unlisted: tuple[str, ...] = (),
    answers: Mapping[str, Described] | None = None,
    **facts: object,
) -> FakeCluster:
    """Two partitions of which the second may lack a leader; `looks` are the producers at each time of asking.

    listed are the transactional IDs with their producer IDs, answers what their coordinators say.
    """
    rounds = iter(looks)
    ids = tuple(TransactionListing(name, each, TransactionState.ONGOING, 1) for name, each in (listed or {}).items())
    leaders = facts.setdefault("partitions", {HERE: 1, THERE: 1})
    assert isinstance(leaders, dict)
    silent = tuple(place for place, leader in leaders.items() if leader == NO_LEADER)

    def producers(_: object, *, quiet: bool = False) -> AnsweredProducers:
        return AnsweredProducers(tuple(next(rounds)), silent)

    def offsets(places: Sequence[TopicPartition]) -> dict[TopicPartition, PartitionOffsets]:
        return {place: PartitionOffsets(place, 0, 5, 9) for place in places}

    return FakeCluster(
        **{
            "as_of": NOW,
            "access": SEES_ALL,
            "clock": ClusterClock(1, 0, 5),
            "producers": producers,
            "offsets": offsets,
            "waiting_groups": {},
            "pending_commits": {},
            "first_timestamps": {},
            "transactional_ids": ListedTransactions(ids, {}, unlisted),
            "describe": lambda names, _coordinators=None: {name: (answers or {}).get(name) for name in names},
            **facts,
        }  # type: ignore[arg-type]  # facts of any kind
    )

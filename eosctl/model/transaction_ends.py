"""Committing a transaction for its owner: the request, and the facts before it."""

from msgspec import Struct

from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.preconditions import Parts
from eosctl.model.transaction_log import TransactionLogValue
from eosctl.model.transactions import Ownership, TransactionDescription
from eosctl.model.workers import LiveOwners


class CommitRequest(Struct, frozen=True):
    """The ID to commit, the producer that its owner kept, and how long to watch its client (s)."""

    transactional_id: str
    producer: ProducerIdAndEpoch
    watch_s: float


class CommitFacts(Struct, frozen=True):
    """An ID before its commit: at its coordinator, last in the transaction log, and twice in its partitions.

    before and after are the leaders' answers watch_s apart; both are empty unless it is Ongoing under that producer.
    ended is the record of the log by which the producer's last transaction ended; another may have the ID now.
    undecided is why its owner may still decide to commit it; None: the owner does not have it.
    """

    as_of: int
    cluster_id: str
    described: TransactionDescription | None
    logged: TransactionLogValue | None
    before: Parts
    after: Parts
    ownership: Ownership
    live: LiveOwners
    ended: TransactionLogValue | None = None
    undecided: str | None = None


class MissingMarkerRequest(Struct, frozen=True):
    """A transaction that its coordinator committed, with the producer that partitions without its marker have."""

    transactional_id: str
    producer: ProducerIdAndEpoch


class AbortRequest(Struct, frozen=True):
    """The transactions to abort: their least age (ms), and whether to abort ones that do not hang."""

    topic_partition: TopicPartition
    start_offset: int | None
    producer_id: int | None
    max_timeout_ms: int
    force: bool

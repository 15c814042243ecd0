"""Transactions that an application left behind: open ones, and decided ones that lack markers."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from msgspec import Struct

from eosctl.errors import EosctlError, Unreachable, UsageError
from eosctl.late_pattern import late_pattern
from eosctl.model.names import FLINK_SINK, ProducerIdAndEpoch, TopicPartition
from eosctl.model.report import Result
from eosctl.model.skipped import Skipped
from eosctl.model.text import first_few
from eosctl.model.transaction_log import TransactionLogValue
from eosctl.model.transactions import NO_TIMEOUT_MS, Ownership, TransactionState


class LeftoverKind(StrEnum):
    """open: Ongoing; prepared: decided, and markers may be missing."""

    OPEN = "open"
    PREPARED = "prepared"


class MissingMarker(Struct, frozen=True):
    """A partition whose end-transaction marker its coordinator waits for; broker is its leader, None: there is none."""

    topic_partition: TopicPartition
    broker: int | None
    why: str


class Leftover(Struct, frozen=True):
    """A transaction that has not ended, by the last record of its ID.

    later_commit is an ID that differs in its last number or UUID only, and committed a transaction which began later.
    missing are the partitions whose markers a prepared one waits for, Skipped where they
    are not known; empty for others.
    """

    transactional_id: str
    kind: LeftoverKind
    value: TransactionLogValue
    later_commit: str | None = None
    missing: tuple[MissingMarker, ...] | Skipped = ()

    @property
    def ends_at_ms(self) -> int | None:
        """When its coordinator aborts it, in ms since the epoch; None: never, or it is decided."""
        is_ongoing = self.value.state is TransactionState.ONGOING
        if not is_ongoing or self.value.timeout_ms == NO_TIMEOUT_MS:
            return None
        return self.value.start_ms + self.value.timeout_ms


class Leftovers(Result, frozen=True, kw_only=True):
    """Open transactions under a prefix in the transaction log, the oldest first; as_of is in ms since the epoch.

    ids counts the IDs that begin with the prefix; unread gives the reasons for unread partitions of the log.
    """

    as_of: int
    cluster_id: str | None
    prefix: str
    leftovers: tuple[Leftover, ...]
    ids: int
    owners: Mapping[str, Ownership]
    unread: Mapping[int, Skipped]
    notes: tuple[str, ...]

    @property
    def found(self) -> bool:
        return bool(self.leftovers)

    @property
    def failure(self) -> EosctlError | None:
        if not self.unread or self.leftovers:
            return None
        reasons = first_few([each.reason for each in self.unread.values()])
        return Unreachable(f"the transaction log was not read as a whole: {reasons}")


class DecidedTransaction(NamedTuple):
    """A transaction that its owner decided to commit."""

    transactional_id: str
    producer: ProducerIdAndEpoch


_DECIDED: Final = late_pattern(r"(?P<id>\S.*?)[\s,;]+(?P<producer_id>\d{1,19})[\s,;/]+(?P<epoch>\d{1,5})")


def decided_transactions(lines: Iterable[str], source: object) -> tuple[DecidedTransaction, ...]:
    """The transactions of a list: ID, producer ID and epoch on each line. Raises UsageError for another line."""
    found = []
    for number, line in enumerate(lines, 1):
        parts = _DECIDED.fullmatch(line.strip())
        if parts is None:
            raise UsageError(
                f"line {number} of {source} is not an ID, a producer ID and an epoch: {line!r}",
                hint="for example: sink-orders-0-7 42 3",
            )
        producer = ProducerIdAndEpoch(int(parts["producer_id"]), int(parts["epoch"]))
        found.append(DecidedTransaction(parts["id"], producer))
    return tuple(found)


class FlinkWriter(NamedTuple):
    """The state of one subtask's writer: the prefix of its IDs, and those whose commit it does not know of, each with
    its checkpoint.

    subtask and subtasks (how many there were) are None where a connector before 4.0 wrote it, without IDs.
    """

    prefix: str
    subtask: int | None
    subtasks: int | None
    uncommitted: frozenset[tuple[str, int]]

    def names(self) -> set[str]:
        return {name for name, _ in self.uncommitted}

    def newest(self) -> set[str]:
        """The IDs of its last checkpoint, which its committer's state certainly has; older ones may be committed."""
        last = max((checkpoint for _, checkpoint in self.uncommitted), default=None)
        return {name for name, checkpoint in self.uncommitted if checkpoint == last}


class FlinkCheckpoint(Struct, frozen=True):
    """The Kafka sinks of a Flink job in a completed checkpoint: what the job commits when it is restored,
    and the writers."""

    checkpoint_id: int
    transactions: tuple[DecidedTransaction, ...]
    writers: tuple[FlinkWriter, ...]

    def why_undecided(self, transactional_id: str) -> str | None:
        """Why it is not known whether the checkpoint has this ID's transaction; None if it certainly does not."""
        found = FLINK_SINK.fullmatch(transactional_id)
        held = {each.transactional_id for each in self.transactions}
        if found is None or transactional_id in held:
            return None
        writers = [each for each in self.writers if each.prefix == found["prefix"]]
        there = {each.subtask for each in writers}
        if not writers:
            return f"checkpoint {self.checkpoint_id} has no state of a sink with this prefix, or not in these files"
        if None in there:
            return "a connector before 4.0 wrote the checkpoint: whether its files have all transactions is unknown"
        if there != set(range(max(each.subtasks or 0 for each in writers))):
            return f"the files have the state of {len(there)} subtasks only: copy all files of the checkpoint"
        if any(transactional_id in each.names() and not each.newest() <= held for each in writers):
            return "the state of its writer has the ID, and the files have no committer's: copy all files"
        return None


class LeftoversRequest(Struct, frozen=True):
    """The prefix of the IDs, the transactions to commit, and whether the other open ones are fenced.

    decided is None where the owner's decision was not given, checkpoint where it is not in the owner's own state.
    watch_s is how long the clients are watched, in seconds.
    """

    prefix: str
    decided: tuple[DecidedTransaction, ...] | None
    fence_rest: bool
    watch_s: float
    config_topic: str
    checkpoint: FlinkCheckpoint | None = None

    def why_undecided(self, transactional_id: str) -> str | None:
        """Why the ID's owner may still decide to commit its open transaction; None if it does not."""
        if self.checkpoint is not None:
            return self.checkpoint.why_undecided(transactional_id)
        if self.decided is not None or FLINK_SINK.fullmatch(transactional_id) is None:
            return None
        return (
            "by the shape of the ID a checkpoint of a Flink job may hold the transaction. A job that is restored "
            "does not produce its records again"
        )

"""What a probe saw: facts, the errors that requests were refused with, and why something is not known."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple, TypeAlias, TypeVar

from eosctl.model.acls import Operation
from eosctl.model.names import ProducerIdAndEpoch
from eosctl.model.producers import ActiveProducer
from eosctl.model.skipped import Cause, Skipped
from eosctl.model.transactions import TransactionDescription, TransactionState

T = TypeVar("T")

NOT_TRIED: Final = Skipped("not tried", Cause.NOT_ASKED)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that was answered with an error: the API, the error's code and Kafka's name for it."""

    api: str
    code: int
    name: str

    def __str__(self) -> str:
        return f"{self.api} is refused with {self.name} ({self.code})"


class VersionRange(NamedTuple):
    """The lowest and the highest version of an API that a broker answers."""

    lowest: int
    highest: int


class Initialised(NamedTuple):
    """InitProducerId was answered: the producer, and the ms from the first request to the answer."""

    producer: ProducerIdAndEpoch
    elapsed_ms: float


class Shown(StrEnum):
    """What a read_committed Fetch does with a record."""

    RETURNED = "returned"
    NAMED_ABORTED = "returned, and its transaction named as aborted"
    NOT_RETURNED = "not returned"


@dataclass(frozen=True, slots=True)
class Look:
    """A record at `offset`, as the partition shows it.

    last_stable_offset and high_watermark are by ListOffsets; shown is by a read_committed Fetch; marker is the type of
    the control record behind it, None where there is none.
    """

    offset: int
    last_stable_offset: int
    high_watermark: int
    shown: Shown
    marker: str | None

    @property
    def is_stable(self) -> bool:
        """Whether the last stable offset is beyond it."""
        return self.last_stable_offset > self.offset

    @property
    def is_ended(self) -> bool:
        """Whether each of the three, which are asked for one after another, shows that its transaction has ended."""
        return self.is_stable and self.marker is not None and self.shown is not Shown.NOT_RETURNED

    @property
    def bounds(self) -> str:
        """Both offsets of the partition, for people."""
        return f"last stable offset {self.last_stable_offset}, high watermark {self.high_watermark}"


class Raised(NamedTuple):
    """A producer before and after a request that raises its epoch."""

    before: ProducerIdAndEpoch
    after: ProducerIdAndEpoch

    @property
    def fences(self) -> bool:
        """Whether the former is behind the latter: a higher epoch, or another producer ID."""
        return (
            self.before.producer_id != self.after.producer_id or self.before.producer_epoch < self.after.producer_epoch
        )

    def __str__(self) -> str:
        return f"{self.before} became {self.after}"


Seen: TypeAlias = T | Refusal | Skipped
"""A fact, the error that it was refused with, or why it is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observations:
    """What the brokers answered.

    stopped says why whatever is NOT_TRIED was not tried. versions are by node ID and API key; features those that are
    finalized; rights what the principal may do on the cluster. unused is the description of an ID that nobody has used.
    first, long_timeout and repeats are InitProducerId: the first, with the timeout of Connect's fencing, and again.
    opened is the offset of the first record of an open transaction, which described, listed, producers and open are
    about. zombie_* is what a fenced producer got: None where it was accepted. unadded is a Produce of a transaction to
    which the partition was not added; bumped a transaction by KIP-890. marker is what WriteTxnMarkers got, and marked
    the record that it was about, afterwards.
    """

    principal: str = ""
    stopped: str = "not tried"
    versions: Mapping[int, Mapping[int, VersionRange] | Skipped] | Skipped = NOT_TRIED
    features: Mapping[str, int] | Skipped = NOT_TRIED
    rights: frozenset[Operation] | Skipped = NOT_TRIED
    unused: Seen[TransactionDescription] = NOT_TRIED
    first: Seen[Initialised] = NOT_TRIED
    long_timeout: Seen[Initialised] = NOT_TRIED
    repeats: tuple[float, ...] = ()
    opened: Seen[int] = NOT_TRIED
    described: Seen[TransactionDescription] = NOT_TRIED
    listed: Seen[TransactionState | None] = NOT_TRIED
    producers: Seen[tuple[ActiveProducer, ...]] = NOT_TRIED
    open: Seen[Look] = NOT_TRIED
    committed: Seen[Look] = NOT_TRIED
    aborted: Seen[Look] = NOT_TRIED
    fencing: Seen[Raised] = NOT_TRIED
    fenced: Seen[Look] = NOT_TRIED
    zombie_commit: Seen[None] = NOT_TRIED
    zombie_add: Seen[None] = NOT_TRIED
    zombie_write: Seen[None] = NOT_TRIED
    unadded: Seen[None] = NOT_TRIED
    bumped: Seen[Raised] = NOT_TRIED
    marker: Seen[None] = NOT_TRIED
    marked: Seen[Look] = NOT_TRIED

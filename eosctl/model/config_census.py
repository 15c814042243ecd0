"""What the records of a config topic show beyond the state they build: who wrote them, and what is wrong with them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from eosctl.model.config_topic import Disposition, Origin, RecordKind
from eosctl.model.names import ProducerIdAndEpoch

SHOWN = 20
"""Of each kind of trouble at most this many examples are kept, however many there are."""


@dataclass(frozen=True, slots=True)
class InvalidKeys:
    """Records whose key is of no kind: how many, and the first of them as (offset, key)."""

    count: int = 0
    examples: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class MalformedKey:
    """Malformed records under one key: how many, where the last one lies, what a worker does with it and why."""

    key: str | None
    kind: RecordKind
    connector: str | None
    disposition: Disposition
    reason: str
    count: int
    last_offset: int


@dataclass(frozen=True, slots=True)
class PrivilegedWrites:
    """Records that only a leader writes, by whether they were written in transactions.

    plain_after counts the plain ones that follow a transactional one; first_plain_after and last_plain_after are their
    bounds. last_transactional is the offset of the last transactional one, last_is_plain what the very last one is.
    """

    transactional: int = 0
    plain: int = 0
    plain_after: int = 0
    first_plain_after: int | None = None
    last_plain_after: int | None = None
    last_transactional: int | None = None
    last_is_plain: bool = False


@dataclass(frozen=True, slots=True)
class Interleaving:
    """A leader's producer that wrote again after another producer had taken over.

    `earlier` wrote at earlier_offset and again at offset, though `later` had written at later_offset in between;
    count is how often that happened in the topic, this being the first time.
    """

    earlier: ProducerIdAndEpoch
    later: ProducerIdAndEpoch
    earlier_offset: int
    later_offset: int
    offset: int
    count: int


@dataclass(frozen=True, slots=True)
class ConfigTopicCensus:
    """Counts and examples over all records, aborted and open ones included; size does not grow with the topic."""

    records: int = 0
    aborted: int = 0
    open: int = 0
    first_open: Origin | None = None
    kinds: Mapping[RecordKind, int] = field(default_factory=dict)
    invalid_keys: InvalidKeys = InvalidKeys()
    malformed: tuple[MalformedKey, ...] = ()
    privileged: PrivilegedWrites = PrivilegedWrites()
    interleaving: Interleaving | None = None

    @property
    def valid_keys(self) -> int:
        """How many records have a key that Connect knows."""
        return self.records - self.kinds.get(RecordKind.INVALID_KEY, 0)

    @property
    def is_config_topic(self) -> bool:
        """Whether the topic may be a config topic: it is empty, or a record has a key that Connect knows."""
        return not self.records or self.valid_keys > 0

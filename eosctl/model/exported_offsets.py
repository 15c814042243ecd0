"""Offsets outside of a topic: what an export file holds, and how two sets of them differ."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from eosctl.model.offsets import SourceOffset, SourcePartition
from eosctl.model.positions import AtSource, Order
from eosctl.model.report import Answer
from eosctl.model.skipped import Skipped


class ConnectorOffset(NamedTuple):
    """One entry of a KIP-875 body; offset None is JSON null: none, or to be deleted."""

    partition: SourcePartition
    offset: SourceOffset | None


class OffsetId(NamedTuple):
    """What an offset is of: a connector, and a source partition as canonical JSON."""

    connector: str
    partition: str


OffsetsById = Mapping[OffsetId, SourceOffset | Skipped | None]
"""Offsets of many connectors; None and absent mean the same: none. Skipped: not known."""


class Store(StrEnum):
    """Which offset of each source partition to take."""

    KAFKA_EFFECTIVE = "kafka-effective"
    KIP618_EFFECTIVE = "kip618-effective"
    WORKER_GLOBAL = "worker-global"
    CONNECTOR_SPECIFIC = "connector-specific"


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """A file that was written, how many offsets are in it, and what could not be expressed."""

    connector: str
    file: str
    offsets: int
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OffsetsExport(Answer):
    """The files that were written, with the offsets of `store` as of as_of (ms since the epoch)."""

    files: tuple[ExportedFile, ...]
    store: Store
    as_of: int
    cluster_id: str | None
    notes: tuple[str, ...] = ()

    @property
    def found(self) -> bool:
        """Whether something could not be expressed."""
        return any(each.left_out for each in self.files)


class Change(StrEnum):
    """How one offset differs between A and B."""

    ONLY_IN_A = "only-in-a"
    ONLY_IN_B = "only-in-b"
    DIFFERENT = "different"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class OffsetChange:
    """One offset that differs, with its value on both sides (None: none there).

    position_a and position_b say it in the connector's own terms, order where B lies seen from A, and rewind what it
    means to go back; None where the kind of source is not known. source_a and source_b are what the source says of
    them, where it was asked.
    """

    id: OffsetId
    change: Change
    a: SourceOffset | Skipped | None
    b: SourceOffset | Skipped | None
    position_a: str | None = None
    position_b: str | None = None
    order: Order | None = None
    rewind: str | None = None
    source_a: AtSource | Skipped | None = None
    source_b: AtSource | Skipped | None = None


@dataclass(frozen=True, slots=True)
class OffsetsDifference(Answer):
    """What differs between A and B; same counts the offsets that do not."""

    a: str
    b: str
    changes: tuple[OffsetChange, ...]
    same: int

    @property
    def found(self) -> bool:
        """Whether anything differs."""
        return bool(self.changes)

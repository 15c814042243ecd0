"""Logical replication slots of a PostgreSQL, from which connectors are streamed to."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from eosctl.model.skipped import Skipped


@dataclass(frozen=True, slots=True)
class ReplicationSlot:
    """A row of pg_replication_slots; log sequence numbers as whole numbers, None where there is none.

    active says that somebody streams from it now. wal_status (from PostgreSQL 13 on) is reserved, extended, unreserved
    or, where the server has removed log that the slot needs, lost.
    """

    active: bool
    restart_lsn: int | None
    confirmed_flush_lsn: int | None
    wal_status: str | None = None


@dataclass(frozen=True, slots=True)
class SourceServer:
    """The logical slots of one database by name, and the position that the server has written (or replayed) to."""

    current_lsn: int
    slots: Mapping[str, ReplicationSlot] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SourceRead:
    """What was read of a connector's source: its server, and the name of its slot; Skipped where it is not known."""

    server: SourceServer | Skipped
    slot: str | Skipped

    @property
    def unknown(self) -> Skipped | None:
        """Why nothing can be said, if so."""
        return next((each for each in (self.server, self.slot) if isinstance(each, Skipped)), None)

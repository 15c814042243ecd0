"""Reading a PostgreSQL's logical replication slots."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from eosctl.errors import Undecodable
from eosctl.model.replication_slots import ReplicationSlot, SourceServer

Rows = Callable[[str], Iterator[Sequence[object]]]
"""The rows of a statement, in a transaction that only reads."""

_NOW: Final = "CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END"
# As JSON, because servers before 13 have no wal_status.
_SLOTS: Final = (
    "SELECT slot_name::text, active, restart_lsn::text, confirmed_flush_lsn::text, to_jsonb(s)->>'wal_status' "
    "FROM pg_catalog.pg_replication_slots s WHERE slot_type = 'logical' AND database = current_database()"
)


def read_slots(rows: Rows) -> SourceServer:
    """The slots of the database that is connected to, and the server's position. Anybody may read them."""
    slots = {
        str(name): ReplicationSlot(bool(active), _lsn(restart), _lsn(confirmed), None if wal is None else str(wal))
        for name, active, restart, confirmed, wal in rows(_SLOTS)
    }
    [(now,)] = rows(f"SELECT ({_NOW})::text")
    return SourceServer(_lsn(now) or 0, slots)


def _lsn(text: object) -> int | None:
    """`0/16F1C00` as a whole number."""
    if text is None:
        return None
    high, _, low = str(text).partition("/")
    try:
        return (int(high, 16) << 32) + int(low, 16)
    except ValueError as error:
        raise Undecodable(f"the server answered {text} where a log sequence number is expected") from error

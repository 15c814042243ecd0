"""Reading a PostgreSQL's logical replication slots."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Final

from eosctl.errors import Undecodable
from eosctl.late_pattern import late_pattern
from eosctl.model.offsets import ReplicationSlot, SourceServer

Rows = Callable[[str], Iterator[Sequence[object]]]
"""The rows of a statement, in a transaction that only reads."""

MOST_SLOTS: Final = 10_000
_LSN: Final = late_pattern(r"[0-9A-Fa-f]{1,8}/[0-9A-Fa-f]{1,8}")
_NOW: Final = "CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END"
# As JSON, because servers before 13 have no wal_status.
_SLOTS: Final = (
    "SELECT slot_name::text, active, restart_lsn::text, confirmed_flush_lsn::text, to_jsonb(s)->>'wal_status' "
    "FROM pg_catalog.pg_replication_slots s WHERE slot_type = 'logical' AND database = current_database()"
)


def read_slots(rows: Rows) -> SourceServer:
    """The slots of the database that is connected to, and the server's position. Any user may read them."""
    found = list(islice(rows(_SLOTS), MOST_SLOTS + 1))
    if len(found) > MOST_SLOTS:
        raise Undecodable(f"the server answered with more than {MOST_SLOTS} replication slots")
    slots = dict(map(_slot, found))
    match list(islice(rows(f"SELECT ({_NOW})::text"), 2)):
        case [(now,)]:
            return SourceServer(_lsn(now) or 0, slots)
    raise Undecodable("the server did not answer with one position of its log")


def _slot(row: Sequence[object]) -> tuple[str, ReplicationSlot]:
    match row:
        case (str(name), bool(active), restart, confirmed, None | str() as wal):
            return name, ReplicationSlot(active, _lsn(restart), _lsn(confirmed), wal)
    raise Undecodable("the server's row of pg_replication_slots has other columns than requested")


def _lsn(text: object) -> int | None:
    """`0/16F1C00` as a whole number."""
    if text is None:
        return None
    if not isinstance(text, str) or not _LSN.fullmatch(text):
        raise Undecodable(f"the server answered {str(text)[:40]!r} where a log sequence number is expected")
    high, _, low = text.partition("/")
    return (int(high, 16) << 32) + int(low, 16)

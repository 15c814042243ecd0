"""Whether a PostgreSQL can still stream from a position of Debezium's.

1. The server streams from the slot's confirmed_flush_lsn, or from the position that is asked for if that is further
   (StartLogicalReplication): what the slot has left behind is not sent again, whatever the offset says.
2. Debezium confirms `lsn_commit` of what Connect has committed, or `lsn_proc` where there is none. So that is what a
   position is compared by.
3. A slot whose log was removed (wal_status lost) cannot be streamed from. Where there is none, Debezium creates one
   that begins at the present.
"""

from eosctl.analysis.positions.postgresql import lsn_text
from eosctl.analysis.positions.snapshots import is_unfinished_snapshot
from eosctl.model.counts import counted
from eosctl.model.offsets import SourceOffset
from eosctl.model.positions import AtSource, Served
from eosctl.model.replication_slots import ReplicationSlot, SourceServer

_MEMBERS = ("lsn_commit", "lsn_proc", "lsn")


def at_source(offset: SourceOffset | None, slot_name: str, server: SourceServer) -> AtSource:
    """What the slot has of the position; None: of a connector that begins from nothing."""
    slot = server.slots.get(slot_name)
    now = lsn_text(server.current_lsn)
    if slot is None or slot.confirmed_flush_lsn is None:
        lost = "" if offset is None else f": what was written before is not read, from {_at(offset)} on"
        return AtSource(
            Served.SERVED if offset is None else Served.GONE,
            f"there is no logical slot {slot_name}; Debezium creates one that begins at the present, {now}{lost}",
        )
    state = f"slot {slot_name} ({_state(slot, server)})"
    if slot.wal_status == "lost":
        return AtSource(Served.GONE, f"{state} has lost log that it needs: nothing can be streamed from it")
    if offset is None:
        return AtSource(Served.SERVED, f"without an offset it takes a snapshot by its snapshot.mode; {state}")
    if is_unfinished_snapshot(offset):
        return AtSource(Served.SERVED, f"its snapshot begins again; {state}")
    return _compared(offset, slot, server, state)


def _compared(offset: SourceOffset, slot: ReplicationSlot, server: SourceServer, state: str) -> AtSource:
    lsn, confirmed = _lsn(offset), slot.confirmed_flush_lsn or 0
    if lsn is None:
        return AtSource(Served.LEFT_BEHIND, f"its log sequence number is none; {state} streams from where it is")
    if lsn > server.current_lsn:
        ahead = f"the server is at {lsn_text(server.current_lsn)} and never wrote {lsn_text(lsn)}"
        return AtSource(
            Served.GONE, f"{ahead}: is it another server, or was it restored? Changes up to there are skipped"
        )
    if lsn < confirmed:
        left = counted(confirmed - lsn, "byte")
        return AtSource(
            Served.LEFT_BEHIND,
            f"{state} is {left} further: Debezium streams from confirmed_flush_lsn whatever the offset says, so "
            f"changes from {lsn_text(lsn)} to there are not read again",
        )
    return AtSource(Served.SERVED, f"{state} still has all that follows")


def _lsn(offset: SourceOffset) -> int | None:
    """Rule 2."""
    numbers = (offset.get(member) for member in _MEMBERS)
    return next((each for each in numbers if type(each) is int), None)


def _at(offset: SourceOffset) -> str:
    return lsn_text(_lsn(offset))


def _state(slot: ReplicationSlot, server: SourceServer) -> str:
    lag = counted(max(0, server.current_lsn - (slot.confirmed_flush_lsn or 0)), "byte")
    wal = "" if slot.wal_status in {None, "reserved", "extended"} else f", wal_status {slot.wal_status}"
    return (
        f"{'in use' if slot.active else 'not in use'}, restart_lsn {lsn_text(slot.restart_lsn)}, confirmed_flush_lsn "
        f"{lsn_text(slot.confirmed_flush_lsn)}, {lag} behind the server{wal}"
    )

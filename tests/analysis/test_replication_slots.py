"""What a slot of PostgreSQL has of a position of Debezium's."""

import pytest

from eosctl.analysis.positions.debezium import at_source
from eosctl.model.migration import ReplicationSlot, SourceServer
from eosctl.model.offsets import Served, SourceOffset

SLOT = ReplicationSlot(active=False, restart_lsn=0x100, confirmed_flush_lsn=0x200, wal_status="reserved")
SERVER = SourceServer(0x300, {"shop": SLOT})
STATE = "slot shop (not in use, restart_lsn 0/100, confirmed_flush_lsn 0/200, 256 bytes behind the server)"
LEFT = (
    f"{STATE} is 16 bytes further: Debezium streams from confirmed_flush_lsn whatever the offset says, so changes from "
    "0/1F0 to there are not read again"
)


@pytest.mark.parametrize(
    ("offset", "served", "words"),
    [
        ({"lsn": 0x200}, Served.SERVED, f"{STATE} still has all that follows"),
        ({"lsn": 0x1F0}, Served.LEFT_BEHIND, LEFT),
        ({"lsn": 0x280, "lsn_proc": 0x1F0}, Served.LEFT_BEHIND, LEFT),
        ({"lsn": 0x1F0, "lsn_commit": 0x210}, Served.SERVED, f"{STATE} still has all that follows"),
        (
            {"lsn": 0x301},
            Served.GONE,
            "the server is at 0/300 and never wrote 0/301: is it another server, or was it restored? Changes up to "
            "there are skipped",
        ),
        ({"lsn": 0x300}, Served.SERVED, f"{STATE} still has all that follows"),
        (
            {"lsn": "x"},
            Served.LEFT_BEHIND,
            f"its log sequence number is none; {STATE} streams from where it is",
        ),
        ({"lsn": 0x10, "snapshot": "initial"}, Served.SERVED, f"its snapshot begins again; {STATE}"),
        (None, Served.SERVED, f"without an offset it takes a snapshot by its snapshot.mode; {STATE}"),
    ],
)
def test_a_position_is_held_against_what_the_slot_has_confirmed(offset: SourceOffset, served: Served, words: str):
    assert at_source(offset, "shop", SERVER) == (served, words)


def test_without_a_slot_debezium_begins_at_the_present():
    begins = "there is no logical slot other; Debezium creates one that begins at the present, 0/300"
    gone = f"{begins}: what was written before is not read, from 0/1F0 on"
    assert at_source({"lsn": 0x1F0}, "other", SERVER) == (Served.GONE, gone)
    assert at_source(None, "other", SERVER) == (Served.SERVED, begins)


def test_a_slot_whose_log_was_removed_serves_nothing_and_one_that_may_lose_it_says_so():
    lost = SourceServer(0x300, {"shop": ReplicationSlot(True, None, 0x200, "lost")})
    assert at_source({"lsn": 0x250}, "shop", lost).served is Served.GONE
    soon = SourceServer(0x300, {"shop": ReplicationSlot(True, 0x100, 0x200, "unreserved")})
    found = at_source({"lsn": 0x250}, "shop", soon)
    assert (found.served, "in use" in found.words, "wal_status unreserved" in found.words) == (
        Served.SERVED,
        True,
        True,
    )

"""A proxy that holds a commit: what it takes for one, and the real one behind a real client."""

import struct

import pytest

from eosctl.sandbox.kafka_proxy import Hold, Moment, committed_id

ID = b"certify-certified-0"


def end_txn(version: int, *, committed: bool, transactional_id: bytes = ID, client_id: bytes | None = b"c") -> bytes:
    """The frame of EndTxn as its schema has it."""
    client = struct.pack(">h", -1) if client_id is None else struct.pack(">h", len(client_id)) + client_id
    flexible = version >= 3
    name = bytes([len(transactional_id) + 1]) if flexible else struct.pack(">h", len(transactional_id))
    body = name + transactional_id + struct.pack(">qh?", 1000, 3, committed)
    return (
        struct.pack(">hhi", 26, version, 5)
        + client
        + (b"\0" if flexible else b"")
        + body
        + (b"\0" if flexible else b"")
    )


@pytest.mark.parametrize("version", range(6))
@pytest.mark.parametrize("client_id", [None, b"", b"connector-producer-certified-0"])
def test_a_commit_is_distinguished_from_an_abort_and_from_other_requests(version: int, client_id: bytes | None):
    assert committed_id(end_txn(version, committed=True, client_id=client_id)) == ID
    assert committed_id(end_txn(version, committed=False, client_id=client_id)) is None
    assert committed_id(struct.pack(">hhih", 18, 3, 1, -1) + b"\0\0") is None


def test_a_hold_takes_one_commit_of_its_own_ids():
    hold = Hold("certify-certified-", Moment.BEFORE_COMMIT)
    assert not hold.take(end_txn(3, committed=True, transactional_id=b"connect-cluster-certify"))
    assert hold.take(end_txn(3, committed=True))
    assert not hold.take(end_txn(3, committed=True))
    assert hold.transactional_id == ID.decode()


def test_a_hold_that_has_ended_takes_none():
    hold = Hold("certify-", Moment.AFTER_COMMIT)
    hold.end(passes=True)
    assert not hold.take(end_txn(3, committed=True))
    assert hold.wait(0) is None

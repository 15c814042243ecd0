"""Positions of known kinds of sources: how their offsets are recognised, described and ordered."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

from msgspec import Struct

from eosctl.late_pattern import late_pattern
from eosctl.model.offsets import AtSource, Order, ReplicationSlot, Served, SourceOffset, SourcePartition, SourceServer
from eosctl.model.text import pluralize
from eosctl.model.times import rfc3339


class PositionReader(Struct, frozen=True):
    """One kind of source.

    needs are the members that every offset of it has, partition those of its source partition (none: any). describe
    says the position in a few words. compare is the second position relative to the first. rewind is the effect of an
    earlier position. The members of `needs` are there, of any type.
    """

    source: str
    needs: frozenset[str]
    partition: frozenset[str]
    describe: Callable[[SourceOffset], str]
    compare: Callable[[SourceOffset, SourceOffset], Order]
    rewind: str


def by_members(*members: str) -> Callable[[SourceOffset, SourceOffset], Order]:
    """A comparison by these members, which are whole numbers, the first of them first."""

    def compare(before: SourceOffset, after: SourceOffset) -> Order:
        return order_of(*(tuple(each[member] for member in members) for each in (before, after)))

    return compare


def order_of(before: object, after: object) -> Order:
    """By whole numbers, or tuples of them; INCOMPARABLE for anything else."""
    was, now = _numbers(before), _numbers(after)
    if was is None or now is None:
        return Order.INCOMPARABLE
    return Order.SAME if was == now else Order.AFTER if now > was else Order.BEFORE


def _numbers(value: object) -> tuple[int, ...] | None:
    parts = value if isinstance(value, tuple) else (value,)
    numbers = tuple(each for each in parts if type(each) is int)
    return numbers if len(numbers) == len(parts) else None


# Debezium for MongoDB: the time and order of an operation, and the resume token of its change stream.
#
# A resume token is opaque; what is compared are seconds and the order within them.


def _describe_mongodb(offset: SourceOffset) -> str:
    seconds, token = offset["sec"], offset.get("resume_token")
    time = rfc3339(seconds * 1000) if type(seconds) is int else str(seconds)
    words = f"{time} operation {offset['ord']}"
    return words if token is None else f"{words}, resume token {str(token)[:24]}…"


MONGODB: Final = PositionReader(
    "Debezium MongoDB",
    frozenset({"sec", "ord"}),
    frozenset({"server_id"}),
    _describe_mongodb,
    by_members("sec", "ord"),
    "the change stream resumes after its token, if the oplog still holds it; check db.getReplicationInfo()",
)


# Snapshots of a database in Debezium's offsets.
#
# 1. It commits offsets with `snapshot` (true before Debezium 3, or the kind of snapshot) while it copies tables, and
#    with `snapshot_completed` or `last_snapshot_record` false. `false` and `last` are ordinary ones. Incremental
#    snapshots are none of these: they resume where they stopped, while changes are streamed.


_STREAMING: Final = frozenset({"false", "incremental"})


def is_snapshot(offset: SourceOffset) -> bool:
    kind = offset.get("snapshot")
    return kind is not None and str(kind).lower() not in _STREAMING


def is_unfinished_snapshot(offset: SourceOffset) -> bool:
    """True for the offset of a snapshot that has not ended."""
    if offset.get("snapshot_completed") is True or offset.get("last_snapshot_record") is True:
        return False
    kind = offset.get("snapshot")
    if kind is None or kind is False:
        return offset.get("snapshot_completed") is False
    return is_snapshot(offset) and str(kind).lower() != "last"


# Debezium for PostgreSQL: log sequence numbers.
#
# 1. Transactions are streamed in the order of their commits, and so is `lsn_commit`, the last commit before an event.
#    The `lsn` of an event may be lower than in the transaction before: their records lie side by side in the log.
# 2. `lsn` of a snapshot is that of its moment. One that has not ended is begun again.
# 3. The first transactions after a snapshot have no `lsn_commit`.
# 4. `lsn_proc` is that of the last event that was processed whole. A connector that restarts within a transaction gets
#    its BEGIN again, and skips processed events: the `lsn` of the BEGIN is lower, and the position is the same. For
#    any other message a lower `lsn` is an earlier position.
# 5. `transaction_id` is kept from the last transaction for which metadata were written, perhaps an earlier one than
#    `txId`, and decides nothing.


def lsn_text(lsn: object) -> str:
    """A log sequence number as PostgreSQL writes it, 0/16F1C00."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}" if type(lsn) is int and lsn >= 0 else str(lsn)


def _describe(offset: SourceOffset) -> str:
    at = lsn_text(offset["lsn"])
    if is_unfinished_snapshot(offset):
        return f"snapshot at {at}, in progress: it will be begun again"
    if is_snapshot(offset):
        return f"snapshot at {at}, complete"
    words = f"streaming at {at}"
    if "lsn_commit" in offset:
        words += f", last commit {lsn_text(offset['lsn_commit'])}"
    if "txId" in offset:
        words += f", transaction {offset['txId']}"
    stale = str(offset.get("transaction_id") or "").partition(":")[0]
    if stale and stale != str(offset.get("txId")):
        words += f" (transaction_id {offset['transaction_id']} is of an earlier one)"
    return words


def _compare(before: SourceOffset, after: SourceOffset) -> Order:
    """Rules 1, 3 and 4: by commits, then by position; where only one has a commit, only if both numbers agree."""
    was, now = before.get("lsn_commit"), after.get("lsn_commit")
    by_lsn = order_of(before["lsn"], after["lsn"])
    if was is not None and now is not None:
        return order_of((was, _reached(before)), (now, _reached(after)))
    if was is None and now is None:
        return by_lsn
    expected = Order.AFTER if was is None else Order.BEFORE
    return expected if by_lsn is expected else Order.INCOMPARABLE


def _reached(offset: SourceOffset) -> object:
    """Rule 4. Leaves other than numbers to the comparison."""
    lsn, processed = offset["lsn"], offset.get("lsn_proc")
    if offset.get("messageType") == "BEGIN" and type(lsn) is int and type(processed) is int:
        return max(lsn, processed)
    return lsn


POSTGRESQL: Final = PositionReader(
    "Debezium PostgreSQL",
    frozenset({"lsn"}),
    frozenset({"server"}),
    _describe,
    _compare,
    "the server streams from the slot's confirmed_flush_lsn, regardless of the offset: earlier changes are not "
    "read again. Changes up to the offset are skipped. Check confirmed_flush_lsn in pg_replication_slots",
)


# Debezium for MySQL and MariaDB: positions in the binary log, or sets of GTIDs.
#
# 1. With `gtids` in both: the set that holds the other one is further (BinlogHistoryRecordComparator). Sets of which
#    none holds the other cannot be compared. While a transaction is read, the set is that of before it: in equal sets
#    the events that were read of it (`event`) count, and the rows of the next one (`row`).
# 2. Without: file, position, and then `event` and `row`, if both are of one server.
# 3. A GTID of MariaDB (`domain-server-sequence`) stands for all of its domain and server up to it (MariaDbGtidSet).
# 4. With provide.transaction.metadata a connector that starts within a transaction writes its BEGIN again, with the
#    transaction's start as its offset: without `event` and `row`. The connector then skips the events and rows of the
#    offset that it was given, so the next record has a higher count. If it stops before that record is committed, its
#    next start is given the transaction's start, and reads all again. Seen with MariaDB: see docs/dev/lab.md.


_FILE: Final = late_pattern(r".*\.([0-9]{1,19})")
_OF_MARIADB: Final = late_pattern(r"([0-9]{1,10}-[0-9]{1,10})-([0-9]{1,20})")
_INTERVAL: Final = late_pattern(r"([0-9]{1,19})(?:-([0-9]{1,19}))?")


def _describe_mysql(offset: SourceOffset) -> str:
    words = f"{offset['file']} position {offset['pos']}"
    words += f", GTIDs {offset['gtids']}" if offset.get("gtids") else ""
    if "event" in offset or "row" in offset:
        events, rows = _within(offset)
        words += f", event {events} row {rows} of the next transaction"
    return f"snapshot at {words}" if is_snapshot(offset) else words


def _compare_mysql(before: SourceOffset, after: SourceOffset) -> Order:
    was, now = before.get("gtids"), after.get("gtids")
    if was or now:
        found = _by_gtids(_intervals(str(was)), _intervals(str(now)))
        return order_of(_within(before), _within(after)) if found is Order.SAME else found
    if before.get("server_id") != after.get("server_id"):
        return Order.INCOMPARABLE
    return order_of(_place(before), _place(after))


def begins_transaction_again(before: SourceOffset, after: SourceOffset) -> bool:
    """Whether an offset is the start of the transaction that the one before is within (rule 4). Both are MYSQL's."""
    if _within(before) == (0, 0) or _within(after) != (0, 0):
        return False
    return _compare_mysql({**before, "event": 0, "row": 0}, after) is Order.SAME


def _place(offset: SourceOffset) -> object:
    found = _FILE.fullmatch(str(offset["file"]))
    return None if found is None else (int(found[1]), offset["pos"], *_within(offset))


def _within(offset: SourceOffset) -> tuple[object, object]:
    """The part of the transaction that was read from that position."""
    return offset.get("event", 0), offset.get("row", 0)


def _intervals(gtids: str) -> Mapping[str, list[tuple[int, int]]] | None:
    """By server the intervals of transactions, both ends included; None where it is no such set."""
    sets: dict[str, list[tuple[int, int]]] = {}
    for part in gtids.replace("\n", "").split(","):
        of_mariadb = _OF_MARIADB.fullmatch(part.strip())
        if of_mariadb is not None:
            sets.setdefault(of_mariadb[1], []).append((0, int(of_mariadb[2])))
            continue
        server, *ranges = part.strip().split(":")
        for each in ranges:
            found = _INTERVAL.fullmatch(each)
            if found is None:
                return None
            sets.setdefault(server, []).append((int(found[1]), int(found[2] or found[1])))
        if not ranges:
            return None
    return sets


def _by_gtids(
    was: Mapping[str, list[tuple[int, int]]] | None, now: Mapping[str, list[tuple[int, int]]] | None
) -> Order:
    if was is None or now is None:
        return Order.INCOMPARABLE
    back, ahead = _holds(was, now), _holds(now, was)
    if back and ahead:
        return Order.SAME
    return Order.AFTER if ahead else Order.BEFORE if back else Order.INCOMPARABLE


def _holds(whole: Mapping[str, list[tuple[int, int]]], part: Mapping[str, list[tuple[int, int]]]) -> bool:
    return all(
        any(low <= first and last <= high for low, high in whole.get(server, ()))
        for server, ranges in part.items()
        for first, last in ranges
    )


MYSQL: Final = PositionReader(
    "Debezium MySQL or MariaDB",
    frozenset({"file", "pos"}),
    frozenset({"server"}),
    _describe_mysql,
    _compare_mysql,
    "all changes after it are read again, if the server still has that binary log; check SHOW BINARY LOGS",
)


# Debezium for SQL Server: log sequence numbers of commit and change, in three parts of hexadecimal digits.


_LSN: Final = late_pattern(r"([0-9A-Fa-f]{8}):([0-9A-Fa-f]{8}):([0-9A-Fa-f]{4})")


def _describe_sql_server(offset: SourceOffset) -> str:
    words = f"commit {offset['commit_lsn']}, change {offset.get('change_lsn')}"
    return f"snapshot at {words}" if is_snapshot(offset) else words


def _compare_sql_server(before: SourceOffset, after: SourceOffset) -> Order:
    return order_of(_sql_server_lsn(before), _sql_server_lsn(after))


def _sql_server_lsn(offset: SourceOffset) -> object:
    lsns = [_lsn(offset["commit_lsn"]), _lsn(offset.get("change_lsn"))]
    serial = offset.get("event_serial_no")
    return None if None in lsns else (*(part for each in lsns for part in each or ()), 0 if serial is None else serial)


def _lsn(text: object) -> tuple[int, ...] | None:
    """The number; `NULL`, Debezium's word for no change yet, lies before all others."""
    if text in (None, "NULL"):
        return (0, 0, 0)
    found = _LSN.fullmatch(str(text))
    return None if found is None else tuple(int(part, 16) for part in found.groups())


SQL_SERVER: Final = PositionReader(
    "Debezium SQL Server",
    frozenset({"commit_lsn"}),
    frozenset({"server"}),
    _describe_sql_server,
    _compare_sql_server,
    "all changes after it are read again, if the capture instances still hold them; check sys.fn_cdc_get_min_lsn",
)


# Checks that a PostgreSQL can still stream from a Debezium position.
#
# 1. The server streams from the slot's confirmed_flush_lsn, or from the position that is asked for if that is further
#    (StartLogicalReplication): changes before the slot's position are not sent again, regardless of the offset.
# 2. Debezium confirms the `lsn_commit` of the offset that Connect has committed, or its `lsn_proc` if it has no
#    `lsn_commit`. So positions are compared by these.
# 3. A slot whose log was removed (wal_status lost) cannot be streamed from. If the slot is missing, Debezium creates a
#    slot that begins at the present.


_MEMBERS = ("lsn_commit", "lsn_proc", "lsn")


def at_source(offset: SourceOffset | None, slot_name: str, server: SourceServer) -> AtSource:
    """The slot's view of the position; None for a connector that begins from nothing."""
    slot = server.slots.get(slot_name)
    now = lsn_text(server.current_lsn)
    if slot is None or slot.confirmed_flush_lsn is None:
        lost = "" if offset is None else f": changes from {_at(offset)} to there are not read"
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
    lsn, confirmed = _slot_lsn(offset), slot.confirmed_flush_lsn or 0
    if lsn is None:
        return AtSource(Served.LEFT_BEHIND, f"its log sequence number is invalid; {state} streams from where it is")
    if lsn > server.current_lsn:
        ahead = f"the server is at {lsn_text(server.current_lsn)} and never wrote {lsn_text(lsn)}"
        return AtSource(
            Served.GONE, f"{ahead}: is it another server, or was it restored? Changes up to there are skipped"
        )
    if lsn < confirmed:
        left = pluralize(confirmed - lsn, "byte")
        return AtSource(
            Served.LEFT_BEHIND,
            f"{state} is {left} further. Debezium streams from confirmed_flush_lsn regardless of the offset, so "
            f"changes from {lsn_text(lsn)} to there are not read again",
        )
    return AtSource(Served.SERVED, f"{state} still has all later changes")


def _slot_lsn(offset: SourceOffset) -> int | None:
    """Rule 2."""
    numbers = (offset.get(member) for member in _MEMBERS)
    return next((each for each in numbers if type(each) is int), None)


def _at(offset: SourceOffset) -> str:
    return lsn_text(_slot_lsn(offset))


def _state(slot: ReplicationSlot, server: SourceServer) -> str:
    lag = pluralize(max(0, server.current_lsn - (slot.confirmed_flush_lsn or 0)), "byte")
    wal = "" if slot.wal_status in {None, "reserved", "extended"} else f", wal_status {slot.wal_status}"
    return (
        f"{'in use' if slot.active else 'not in use'}, restart_lsn {lsn_text(slot.restart_lsn)}, confirmed_flush_lsn "
        f"{lsn_text(slot.confirmed_flush_lsn)}, {lag} behind the server{wal}"
    )


# Confluent's JDBC source: the highest value of an incrementing column, a timestamp, or both.
#
# With both, rows are read in the order of their timestamps, and of the incrementing column among equal ones.


def _describe_jdbc(offset: SourceOffset) -> str:
    parts = []
    if (time := offset.get("timestamp")) is not None:
        parts.append(f"rows up to {rfc3339(time) if type(time) is int else time}")
    if (number := offset.get("incrementing")) is not None:
        parts.append(f"incrementing column {number}")
    return ", ".join(parts)


def _compare_jdbc(before: SourceOffset, after: SourceOffset) -> Order:
    if before.keys() != after.keys():
        return Order.INCOMPARABLE
    return order_of(_place_jdbc(before), _place_jdbc(after))


def _place_jdbc(offset: SourceOffset) -> tuple[object, ...]:
    members = ("timestamp", "timestamp_nanos", "incrementing")
    return tuple(offset[member] for member in members if member in offset)


_REWIND: Final = "rows above it are read again with their present values; deleted rows are not"
INCREMENTING: Final = PositionReader(
    "JDBC", frozenset({"incrementing"}), frozenset(), _describe_jdbc, _compare_jdbc, _REWIND
)
TIMESTAMP: Final = PositionReader(
    "JDBC", frozenset({"timestamp", "timestamp_nanos"}), frozenset(), _describe_jdbc, _compare_jdbc, _REWIND
)


# Kafka's FileStreamSource: a position in a file, in bytes.


def _describe_file(offset: SourceOffset) -> str:
    return f"byte {offset['position']} of the file"


FILE_STREAM: Final = PositionReader(
    "FileStreamSource",
    frozenset({"position"}),
    frozenset({"filename"}),
    _describe_file,
    by_members("position"),
    "all lines after it are read again, if the file is still the same",
)


# MirrorMaker 2's MirrorSource: the offset of the last record that was mirrored of a partition.


def _describe_mirror(offset: SourceOffset) -> str:
    return f"offset {offset['offset']} of the source partition"


MIRROR_SOURCE: Final = PositionReader(
    "MirrorSource",
    frozenset({"offset"}),
    frozenset({"cluster", "partition", "topic"}),
    _describe_mirror,
    by_members("offset"),
    "all records after it that the source topic still holds are mirrored again",
)


DEBEZIUM: Final = (POSTGRESQL, MYSQL, SQL_SERVER, MONGODB)
READERS: Final = (*DEBEZIUM, INCREMENTING, TIMESTAMP, FILE_STREAM, MIRROR_SOURCE)


def position_reader(partition: SourcePartition | None, offset: SourceOffset) -> PositionReader | None:
    """The reader for offsets of this form; None for unknown connectors."""
    if partition is None:
        return None
    return _reader_of(tuple(partition), tuple(offset))


@lru_cache(maxsize=256)  # a connector's partitions and offsets have the same members, all of them
def _reader_of(partition: tuple[str, ...], offset: tuple[str, ...]) -> PositionReader | None:
    names, members = frozenset(partition), frozenset(offset)
    return next((each for each in READERS if each.needs <= members and each.partition <= names), None)


def debezium_reader(offset: SourceOffset) -> PositionReader | None:
    """Debezium's reader by the offset's members alone, which other connectors may have too."""
    members = offset.keys()
    return next((each for each in DEBEZIUM if each.needs <= members), None)


def explain_position(partition: SourcePartition | None, offset: SourceOffset) -> str | None:
    """The meaning of the offset, after its kind of source; None for an unknown kind."""
    reader = None if partition is None else _reader_of(tuple(partition), tuple(offset))
    return None if reader is None else f"{reader.source}: {reader.describe(offset)}"


def compare_positions(partition: SourcePartition | None, a: SourceOffset, b: SourceOffset) -> Order | None:
    """Position of B relative to A; None where the kind of source is unknown or differs."""
    reader = position_reader(partition, a)
    return None if reader is None or reader is not position_reader(partition, b) else reader.compare(a, b)


def meaning_of_rewind(partition: SourcePartition | None, offset: SourceOffset) -> str | None:
    """Effect of an earlier position on the connector; None for an unknown kind of source."""
    reader = position_reader(partition, offset)
    return None if reader is None else reader.rewind

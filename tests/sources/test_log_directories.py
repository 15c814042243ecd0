"""Segments and logs, read in parts."""

import os
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder

from eosctl.codecs.record_batches import DamagedOffsets, MarkerType
from eosctl.codecs.transaction_log import encode_transaction_log_key
from eosctl.errors import ConfigError, Undecodable, UsageError
from eosctl.model.names import TRANSACTION_LOG, TopicPartition
from eosctl.model.records import Record
from eosctl.model.topics import OffsetRange, PartitionOffsets
from eosctl.model.transaction_log import LogEnd
from eosctl.sources import kafka_transaction_log, log_directories
from eosctl.sources.audit_log import LogItem
from eosctl.sources.log_directories import (
    LogSegment,
    PartitionSegments,
    find_segments,
    partition_of_segment,
    read_segments,
    survey_segments,
)
from tests.analysis.audit.brokers import Writer, Written, data_batch, marker_batch


def built(offset: int, records: int = 3) -> bytes:
    builder = DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, 1 << 20)
    for number in range(records):
        builder.append(number, timestamp=1000 + number, key=b"k%d" % number, value=b"v" * 50, headers=[])
    data = builder.build()
    data[0:8] = offset.to_bytes(8, "big")
    return bytes(data)


@pytest.fixture
def segment(tmp_path: Path) -> Path:
    directory = tmp_path / "__transaction_state-9"
    directory.mkdir()
    return directory / "00000000000000000000.log"


def offsets(path: Path) -> tuple[list[int], int]:
    read = LogSegment(path)
    return [record.offset for record in read], read.cut_bytes


def test_a_segment_is_read_to_its_end(segment: Path):
    segment.write_bytes(built(0) + built(3))
    assert offsets(segment) == ([0, 1, 2, 3, 4, 5], 0)
    assert partition_of_segment(segment) == TopicPartition("__transaction_state", 9)


def test_chunks_that_end_within_a_batch_make_no_difference(segment: Path, monkeypatch: pytest.MonkeyPatch):
    segment.write_bytes(b"".join(built(3 * number) for number in range(40)))
    for size in (1, 7, 61, 300, 1000):
        monkeypatch.setattr(log_directories, "CHUNK", size)
        assert offsets(segment) == (list(range(120)), 0)


def test_a_copy_that_ends_within_a_batch_shows_the_remaining_bytes(segment: Path):
    segment.write_bytes(built(0) + built(3)[:-5])
    assert offsets(segment) == ([0, 1, 2], len(built(3)) - 5)


def test_zeros_at_the_end_are_space_that_was_allocated_ahead(segment: Path, monkeypatch: pytest.MonkeyPatch):
    segment.write_bytes(built(0) + bytes(5000))
    assert offsets(segment) == ([0, 1, 2], 0)
    monkeypatch.setattr(log_directories, "CHUNK", 100)
    assert offsets(segment) == ([0, 1, 2], 0)


def test_an_empty_file_has_no_records(segment: Path):
    segment.write_bytes(b"")
    assert offsets(segment) == ([], 0)


def test_other_files_are_refused_by_name(segment: Path):
    segment.write_bytes(b"these bytes are no record batch, however long they are")
    with pytest.raises(Undecodable, match=r"00000\.log: .*not a record batch"):
        offsets(segment)
    with pytest.raises(ConfigError, match="cannot read the segment"):
        offsets(segment.with_name("none.log"))


def test_a_damaged_batch_is_refused(segment: Path):
    damaged = bytearray(built(0))
    damaged[-1] ^= 1
    segment.write_bytes(damaged)
    with pytest.raises(Undecodable, match="CRC does not match"):
        offsets(segment)


def test_a_directory_of_another_name_is_no_partition(tmp_path: Path):
    assert partition_of_segment(tmp_path / "copy.log") in {None, TopicPartition(tmp_path.name.rpartition("-")[0], 0)}


PLACE = TopicPartition(TRANSACTION_LOG, 0)
EMPTY = struct.pack(">hqhibiqq", 0, 7, 0, 60_000, 0, -1, 1, 1)
NAMES = ("ours", "theirs")


def following(monkeypatch, after, *, gone=(), begin=0, end=6, epoch=3):
    """Offsets of our ID's records after this end; those at odd offsets are another ID's."""
    log = [
        Record(offset, 1, encode_transaction_log_key(NAMES[offset % 2]), EMPTY)
        for offset in range(begin, end)
        if offset not in gone
    ]
    monkeypatch.setattr(
        kafka_transaction_log,
        "read_log",
        lambda _wire, _place, start, offsets: (each for each in log if each.offset >= start),
    )
    bounds = [PartitionOffsets(PLACE, begin, end, end)]
    ends = kafka_transaction_log.log_ends(bounds, {0: epoch})
    assert ends == {0: LogEnd(epoch, end)}
    found = kafka_transaction_log.read_following(None, bounds, ends, after, ["ours"])
    return None if found is None else [each.offset for each in found]


@pytest.mark.parametrize(("start", "found"), [(0, [0, 2, 4]), (3, [4]), (5, []), (6, [])])
def test_records_of_our_ids_after_the_end_of_the_last_reading(monkeypatch, start, found):
    assert following(monkeypatch, {0: LogEnd(3, start)}) == found


@pytest.mark.parametrize(
    ("after", "log"),
    [
        ({1: LogEnd(3, 2)}, {}),  # the partition was empty, or was not read
        ({0: LogEnd(2, 2)}, {}),  # another leader was elected, and may lack records that the last one had
        ({0: LogEnd(3, 7)}, {}),  # the log is shorter
        ({0: LogEnd(3, 2)}, {"begin": 3}),  # records were deleted
        ({0: LogEnd(3, 2)}, {"gone": {2}}),
        ({0: LogEnd(3, 2)}, {"gone": {4}}),  # the cleaner removed a record, maybe the tombstone of an ID
        ({0: LogEnd(3, 2)}, {"gone": {5}}),
    ],
)
def test_the_whole_log_is_read_where_records_may_be_missing_between(monkeypatch, after, log):
    assert following(monkeypatch, after, **log) is None


ORDERS = TopicPartition("orders", 0)
TASK = Writer(7, 0, transactional=True)
PLAIN = Writer()


def batch(offset: int, records: int = 2, writer: Writer = PLAIN) -> bytes:
    return data_batch(offset, [Written(delta, 1000, b"k", b"v" * 40) for delta in range(records)], writer)


def batches(start: int, end: int) -> bytes:
    return b"".join(batch(offset) for offset in range(start, end, 2))


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    directory = tmp_path / "logs" / "orders-0"
    directory.mkdir(parents=True)
    return directory


def write(partition: Path, segments: dict[int, bytes], suffix: str = "") -> None:
    for base, data in segments.items():
        (partition / f"{base:020}.log{suffix}").write_bytes(data)


def survey(partition: Path) -> PartitionSegments:
    found = find_segments([partition.parent])
    return survey_segments(ORDERS, found[ORDERS])


def offsets_of(items: Iterable[LogItem]) -> list[int]:
    """First offsets of the batches."""
    return [each.batch.header.base_offset for each in items if not isinstance(each, DamagedOffsets)]


def damages_of(items: Iterable[LogItem]) -> list[tuple[int, int]]:
    return [(each.offset, each.next_offset) for each in items if isinstance(each, DamagedOffsets)]


def read(segments: PartitionSegments, start: int = 0, end: int | None = None) -> list[LogItem]:
    until = segments.end_offset if end is None else end
    return list(read_segments(segments, OffsetRange("orders", 0, start, until)))


def seen(partition: Path) -> tuple[list[int], list[tuple[int, int]], int]:
    """Batches, damages, and the bytes at the end that are no batch."""
    segments = survey(partition)
    items = read(segments)
    return offsets_of(items), damages_of(items), segments.cut_bytes


def test_segments_follow_each_other_at_every_chunk_size(partition: Path, monkeypatch: pytest.MonkeyPatch):
    write(partition, {0: batches(0, 10), 10: batches(10, 30), 30: b""})
    for size in (1, 70, 250, 1 << 20):
        monkeypatch.setattr(log_directories, "CHUNK", size)
        assert seen(partition) == ([*range(0, 30, 2)], [], 0)


def damaged_at(data: bytes, number: int, place: int, value: bytes) -> bytes:
    """The bytes with others in the batch of that number."""
    at = number * len(batch(0)) + place
    return data[:at] + value + data[at + len(value) :]


@pytest.mark.parametrize(
    ("place", "value"),
    [
        pytest.param(16, b"\7", id="magic"),
        pytest.param(8, struct.pack(">i", 3), id="a length that no batch has"),
        pytest.param(8, struct.pack(">i", 90), id="a length that ends within the batch"),
        pytest.param(8, struct.pack(">i", 200), id="a length that ends within the next batch"),
        pytest.param(8, struct.pack(">i", 1 << 30), id="a length behind the end of the file"),
        pytest.param(8, struct.pack(">i", -5), id="a negative length"),
        pytest.param(0, struct.pack(">q", 1 << 60), id="an offset far ahead"),
        pytest.param(23, struct.pack(">i", -9), id="a last offset below the first"),
        pytest.param(0, bytes(80), id="zeros"),
    ],
)
@pytest.mark.parametrize("last", [False, True])
def test_a_damaged_batch_costs_its_own_offsets_only(partition: Path, place: int, value: bytes, last: bool):
    data = damaged_at(batches(0, 20), 4, place, value)
    write(partition, {0: data} if last else {0: data, 20: batches(20, 30)})
    kept = [offset for offset in range(0, 20 if last else 30, 2) if offset != 8]
    assert seen(partition) == (kept, [(8, 10)], 0)


def test_damage_that_is_longer_than_a_chunk_is_skipped_too(partition: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(log_directories, "CHUNK", 300)
    write(partition, {0: batches(0, 10) + os.urandom(5000) + batches(40, 60)})
    assert seen(partition) == ([*range(0, 10, 2), *range(40, 60, 2)], [(10, 40)], 0)


@pytest.mark.parametrize("kept", [9, 11, 16, 17, 60, 61, 100])
def test_a_broker_that_crashed_leaves_a_batch_cut_off_at_the_end(partition: Path, kept: int):
    write(partition, {0: batches(0, 10), 10: batches(10, 14) + batch(14)[:kept]})
    assert seen(partition) == ([*range(0, 14, 2)], [], kept)


def test_a_segment_that_is_cut_off_in_the_middle_of_the_log_is_damage(partition: Path):
    write(partition, {0: batches(0, 10)[:-30], 10: batches(10, 14)})
    assert seen(partition) == ([0, 2, 4, 6, 10, 12], [(8, 10)], 0)


@pytest.mark.parametrize("zeros", [5, 61, 5000, 5 << 20])
def test_space_that_was_allocated_ahead_is_the_end_of_the_log(partition: Path, zeros: int):
    write(partition, {0: batches(0, 10) + bytes(zeros)})
    assert seen(partition) == ([*range(0, 10, 2)], [], 0)


def test_a_batch_cut_off_before_space_that_was_allocated_ahead_is_counted(partition: Path):
    write(partition, {0: batches(0, 10) + batch(10)[:70] + bytes(5000)})
    assert seen(partition) == ([*range(0, 10, 2)], [], 5070)


def test_zeros_in_the_middle_of_the_log_are_damage(partition: Path):
    write(partition, {0: batches(0, 10) + bytes(5 << 20), 20: batches(20, 24)})
    assert seen(partition) == ([*range(0, 10, 2), 20, 22], [(10, 20)], 0)


def test_only_partitions_that_a_broker_serves_are_read(partition: Path):
    write(partition, {0: batches(0, 10)})
    write(partition, {0: batches(0, 4), 100: batches(100, 104)}, ".deleted")
    write(partition, {0: batches(0, 4), 100: batches(100, 104)}, ".cleaned")
    for name in ("orders-1.abc-delete", "orders-2.abc-future", "orders-3.abc-stray", "kafka-7"):
        other = partition.parent / name
        other.mkdir()
        (other / ("server.log" if name == "kafka-7" else f"{0:020}.log")).write_bytes(batches(0, 4))
    (partition / "server.log").write_bytes(b"[2026-01-01] INFO started")
    assert list(find_segments([partition.parent])) == [ORDERS]
    assert seen(partition) == ([*range(0, 10, 2)], [], 0)


def test_a_directory_without_segments_is_refused(partition: Path):
    write(partition, {0: batches(0, 4)}, ".deleted")
    with pytest.raises(UsageError, match="no segment of any topic"):
        find_segments([partition.parent])


def test_a_cleaner_that_was_interrupted_leaves_the_swap_file_in_the_place_of_its_segments(partition: Path):
    write(partition, {0: batch(0) + batch(8) + batch(14)}, ".swap")
    write(partition, {10: batches(10, 20), 20: batches(20, 24)})
    assert seen(partition) == ([0, 8, 14, 16, 18, 20, 22], [], 0)


def test_a_swap_file_beside_the_segment_of_its_name_is_not_needed(partition: Path):
    write(partition, {0: batch(0) + batch(8)}, ".swap")
    write(partition, {0: batches(0, 10)})
    assert seen(partition) == ([*range(0, 10, 2)], [], 0)


def test_of_two_copies_of_a_partition_the_longer_one_is_read(partition: Path, tmp_path: Path):
    write(partition, {0: batches(0, 10), 10: batches(10, 14)})
    other = tmp_path / "other" / "orders-0"
    other.mkdir(parents=True)
    write(other, {0: batches(0, 10), 10: batches(10, 20)})
    for directories in ([partition.parent, other.parent], [other.parent, partition.parent], [other, partition, other]):
        segments = survey_segments(ORDERS, find_segments(directories)[ORDERS])
        assert offsets_of(read(segments)) == [*range(0, 20, 2)]


def test_records_that_a_broker_writes_meanwhile_are_not_read(partition: Path):
    write(partition, {0: batches(0, 10) + batch(10)[:50]})
    segments = survey(partition)
    assert (segments.end_offset, segments.cut_bytes) == (10, 50)
    write(partition, {0: batches(0, 20), 20: batches(20, 30)})
    assert offsets_of(read(segments)) == [*range(0, 10, 2)]


@pytest.mark.parametrize(
    ("gone", "ranges", "damages"),
    [
        (0, [(0, 30)], [(0, 10)]),
        (0, [(0, 5), (5, 30)], [(0, 5), (5, 10)]),
        (10, [(0, 30)], [(10, 20)]),
        (10, [(12, 14), (14, 16)], [(12, 14), (14, 16)]),
        (20, [(0, 30)], [(20, 30)]),
    ],
)
def test_a_segment_that_is_deleted_meanwhile_is_damage(
    partition: Path, gone: int, ranges: Sequence[tuple[int, int]], damages: list[tuple[int, int]]
):
    write(partition, {0: batches(0, 10), 10: batches(10, 20), 20: batches(20, 30)})
    segments = survey(partition)
    (partition / f"{gone:020}.log").rename(partition / f"{gone:020}.log.deleted")
    items = [item for start, end in ranges for item in read(segments, start, end)]
    assert damages_of(items) == damages
    assert not {offset for offset in offsets_of(items) if gone <= offset < gone + 10}


def test_segments_that_a_cleaner_puts_together_meanwhile_lose_nothing(partition: Path):
    write(partition, {0: batches(0, 10), 10: batches(10, 20), 20: batches(20, 30)})
    segments = survey(partition)
    write(partition, {0: batch(0) + batch(18)})
    (partition / f"{10:020}.log").unlink()
    items = read(segments)
    assert (offsets_of(items), damages_of(items)) == ([0, 18, *range(20, 30, 2)], [])


def test_a_log_that_is_truncated_meanwhile_is_damage(partition: Path):
    write(partition, {0: batches(0, 10)})
    segments = survey(partition)
    write(partition, {0: batches(0, 6)})
    items = read(segments)
    assert (offsets_of(items), damages_of(items)) == ([0, 2, 4], [(6, 10)])


def test_transactions_are_known_by_their_markers_regardless_of_records_between_them(partition: Path):
    aborted = batch(0, writer=TASK) + batch(2) + marker_batch(4, 1000, MarkerType.ABORT, TASK)
    committed = batch(5, writer=TASK) + marker_batch(7, 1000, MarkerType.COMMIT, TASK)
    write(partition, {0: aborted, 5: committed + batch(8, writer=TASK) + batch(10)})
    segments = survey(partition)
    assert (segments.last_stable_offset, segments.end_offset) == (8, 12)
    items = [each for each in read(segments, 0, 8) if hasattr(each, "aborted")]
    assert [(each.batch.header.base_offset, each.aborted) for each in items] == [(0, True), (2, False), (5, False)]


def test_a_broker_s_checkpoint_files_show_the_log_start_and_the_compacted_part(partition: Path):
    write(partition, {0: batches(0, 10), 10: batches(12, 20)})
    assert (survey(partition).log_start_offset, survey(partition).cleaned) == (0, False)
    directory = partition.parent
    (directory / "log-start-offset-checkpoint").write_text("0\n1\norders 0 6\n")
    (directory / "cleaner-offset-checkpoint").write_text("0\n2\nbills 0 4\norders 0 9\n")
    segments = survey(partition)
    assert (segments.log_start_offset, segments.end_offset, segments.cleaned) == (6, 20, True)


def test_a_log_begins_with_its_first_segment_though_its_first_batch_is_gone(partition: Path):
    write(partition, {0: batches(4, 10)})
    assert survey(partition).log_start_offset == 0


def test_a_log_whose_records_are_all_gone_is_empty_where_its_last_segment_begins(partition: Path):
    write(partition, {40: b""})
    segments = survey(partition)
    assert (segments.log_start_offset, segments.last_stable_offset, segments.end_offset) == (40, 40, 40)


def test_a_file_that_is_no_checkpoint_is_named(partition: Path):
    write(partition, {0: batches(0, 4)})
    (partition.parent / "cleaner-offset-checkpoint").write_text("0\n1\norders zero\n")
    with pytest.raises(ConfigError, match="cleaner-offset-checkpoint is no checkpoint: 'orders zero'"):
        survey(partition)

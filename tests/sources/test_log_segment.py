"""Segment files as they lie on a broker's disk: whole, cut, filled with zeros, or not segments at all."""

from pathlib import Path

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder

from eosctl.errors import ConfigError, Undecodable
from eosctl.model.names import TopicPartition
from eosctl.sources import log_directories
from eosctl.sources.log_directories import LogSegment, partition_of_segment


def batch(offset: int, records: int = 3) -> bytes:
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
    segment.write_bytes(batch(0) + batch(3))
    assert offsets(segment) == ([0, 1, 2, 3, 4, 5], 0)
    assert partition_of_segment(segment) == TopicPartition("__transaction_state", 9)


def test_chunks_that_end_within_a_batch_make_no_difference(segment: Path, monkeypatch: pytest.MonkeyPatch):
    segment.write_bytes(b"".join(batch(3 * number) for number in range(40)))
    for size in (1, 7, 61, 300, 1000):
        monkeypatch.setattr(log_directories, "CHUNK", size)
        assert offsets(segment) == (list(range(120)), 0)


def test_a_copy_that_ends_within_a_batch_says_how_much_is_left(segment: Path):
    segment.write_bytes(batch(0) + batch(3)[:-5])
    assert offsets(segment) == ([0, 1, 2], len(batch(3)) - 5)


def test_zeros_at_the_end_are_space_that_was_allocated_ahead(segment: Path, monkeypatch: pytest.MonkeyPatch):
    segment.write_bytes(batch(0) + bytes(5000))
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
    damaged = bytearray(batch(0))
    damaged[-1] ^= 1
    segment.write_bytes(damaged)
    with pytest.raises(Undecodable, match="CRC does not match"):
        offsets(segment)


def test_a_directory_of_another_name_tells_no_partition(tmp_path: Path):
    assert partition_of_segment(tmp_path / "copy.log") in {None, TopicPartition(tmp_path.name.rpartition("-")[0], 0)}

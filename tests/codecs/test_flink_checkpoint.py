"""Transactions of sinks in the files of a Flink checkpoint. The files of real jobs are read in test_flink_job."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosctl.codecs.flink_checkpoint import decode_flink_checkpoint
from eosctl.errors import ConfigError, UsageError
from eosctl.model.leftovers import DecidedTransaction, FlinkWriter
from eosctl.model.names import ProducerIdAndEpoch

HEADER = struct.pack(">IIq", 0x4960672D, 4, 42)


def utf(text: str) -> bytes:
    return struct.pack(">H", len(text.encode())) + text.encode()


def sized(content: bytes) -> bytes:
    return struct.pack(">i", len(content)) + content


def committable(name: str, producer_id: int = 7, epoch: int = 3) -> bytes:
    return sized(struct.pack(">hq", epoch, producer_id) + utf(name))


def writer(prefix: str, subtask: int = 0, subtasks: int = 1, names=()) -> bytes:
    held = b"".join(utf(name) + struct.pack(">q", 41) for name in names)
    owned = struct.pack(">iiii", subtask, subtasks, 1, len(names))
    return struct.pack(">i", 2) + sized(utf(prefix) + owned + held)


def old_writer(prefix: str) -> bytes:
    return struct.pack(">i", 1) + sized(utf(prefix))


def decided(name: str, producer_id: int = 7, epoch: int = 3) -> DecidedTransaction:
    return DecidedTransaction(name, ProducerIdAndEpoch(producer_id, epoch))


def test_transactions_and_writers_are_found_in_all_files():
    others = [b"x" * 30 + committable("sink-1-42", 8, 0), writer("sink", 1, 2, ["sink-1-42", "sink-1-41"])]
    metadata = HEADER + committable("sink-0-42") + b"more" + writer("sink", 0, 2)
    found = decode_flink_checkpoint(metadata, others, "sink-")
    assert found.checkpoint_id == 42
    assert found.transactions == (decided("sink-0-42"), decided("sink-1-42", 8, 0))
    assert found.writers == (
        FlinkWriter("sink", 0, 2, frozenset()),
        FlinkWriter("sink", 1, 2, frozenset({("sink-1-42", 41), ("sink-1-41", 41)})),
    )


@pytest.mark.parametrize(
    ("prefix", "transactions", "writers"),
    [
        ("sink-", ["sink-0-42"], ["sink"]),
        ("sink", ["sink-0-42", "sinks-0-42"], ["sink", "sinks"]),
        ("sinks-", ["sinks-0-42"], ["sinks"]),
        ("sink-0", ["sink-0-42"], []),
        ("other-", [], []),
    ],
)
def test_only_sinks_with_the_prefix_are_taken(prefix, transactions, writers):
    both = committable("sink-0-42") + committable("sinks-0-42") + writer("sink") + writer("sinks")
    found = decode_flink_checkpoint(HEADER + both, (), prefix)
    assert [each.transactional_id for each in found.transactions] == transactions
    assert [each.prefix for each in found.writers] == writers


def test_a_connector_before_4_0_names_no_subtask():
    found = decode_flink_checkpoint(HEADER + old_writer("sink"), (), "sink-")
    assert found.writers == (FlinkWriter("sink", None, None, frozenset()),)


@pytest.mark.parametrize(
    "content",
    [
        committable("sink-0-42", producer_id=-1),
        committable("sink-0-42", epoch=-1),
        b"\0" + committable("sink-0-42")[1:3] + b"\1" + committable("sink-0-42")[4:],
        committable("sink-0-42")[:-1],
        committable("sink-0-42")[-9:],
        utf("sink-0-42") + struct.pack(">q", 42),
        struct.pack(">i", 3) + sized(utf("sink") + struct.pack(">iiii", 0, 1, 1, 0)),
        struct.pack(">i", 2) + sized(utf("sink") + struct.pack(">iiii", 0, 1, 2, 0)),
        struct.pack(">i", 2) + sized(utf("sink") + struct.pack(">iiii", 0, 1, 1, 1)),
        struct.pack(">i", 2) + sized(utf("sink") + struct.pack(">iiii", 0, 1, 1, 0) + b"more"),
        struct.pack(">i", 1) + sized(utf("sink") + b"more"),
        writer("sink", names=["sink-0-42"])[:-1],
    ],
)
def test_what_the_lengths_before_it_do_not_fit_is_no_state(content):
    found = decode_flink_checkpoint(HEADER + content, (), "sink-")
    assert (found.transactions, found.writers) == ((), ())


@given(st.binary(max_size=80), st.integers(0, 200), st.integers(0, 255))
def test_damaged_files_give_no_error(noise, place, byte):
    whole = bytearray(noise + committable("sink-0-42") + writer("sink", names=["sink-0-42", "sink-0-43"]) + noise)
    whole[place % len(whole)] = byte
    for content in (bytes(whole), bytes(whole[: place % len(whole)])):
        decode_flink_checkpoint(HEADER + content, (content,), "sink-")


@pytest.mark.parametrize("metadata", [b"", b"sink-0-42", HEADER[:15], b"\0" + HEADER[1:]])
def test_another_file_is_refused(metadata):
    with pytest.raises(ConfigError, match="no _metadata of a Flink checkpoint"):
        decode_flink_checkpoint(metadata, (), "sink-")


@pytest.mark.parametrize("prefix", ["", "-"])
def test_a_prefix_is_needed(prefix):
    with pytest.raises(UsageError):
        decode_flink_checkpoint(HEADER, (), prefix)

"""Records decoded as columns against the decoder of batches: the same offsets, equal records, and answers."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eosctl.codecs.record_batches import Codec, iter_batches
from eosctl.engines import mirroring
from eosctl.engines.mirroring import DecodedRun, NoColumns, OpenBatch, columns_of, plain_records, record_by_record
from eosctl.model.mirror import Compared
from eosctl.sources.audit_log import DataBatch
from tests.engines.mirror_logs import Log, Written, batch, pair, with_records

BODIES = (
    st.none() | st.binary(max_size=3) | st.sampled_from([bytes(62), bytes(63), bytes(64), b"v" * 4090, b"w" * 8200])
)
TEXTS = st.sampled_from(["", "a", "trace"])
RECORDS = st.builds(
    Written,
    st.integers(0, 3) | st.sampled_from([10**12, 10**15]),
    BODIES,
    BODIES,
    st.lists(st.tuples(TEXTS, BODIES), max_size=3).map(tuple),
)
TOPICS = st.lists(RECORDS, min_size=1, max_size=8)


@st.composite
def logs(draw: st.DrawFn, records: list[Written]) -> Log:
    """These records in batches of any size, with offsets that compaction has taken in between."""
    base, batches, left = draw(st.integers(0, 1 << 40)), [], list(records)
    append_time = draw(st.booleans()) and draw(st.booleans())
    while left:
        count = draw(st.integers(1, len(left)))
        steps = draw(st.lists(st.sampled_from([1, 1, 1, 2, 70]), min_size=count - 1, max_size=count - 1))
        deltas = list(accumulate(steps, initial=0))
        codec = draw(st.sampled_from(Codec))
        batches.append(batch(left[:count], deltas, base, codec, append_time=append_time))
        left, base = left[count:], base + deltas[-1] + draw(st.integers(1, 3))
    return Log(tuple(batches))


@st.composite
def mirrored(draw: st.DrawFn) -> tuple[Log, Log]:
    """A log and a copy of it, in other batches, with records missing, repeated, in another order and changed."""
    records = draw(TOPICS) * draw(st.integers(1, 3))
    copied = list(records)
    for what in draw(st.lists(st.sampled_from(["drop", "repeat", "swap", "change"]), max_size=3)):
        at = draw(st.integers(0, max(0, len(copied) - 1)))
        if what == "drop":
            del copied[at : at + 2]
        elif what == "repeat":
            copied[at:at] = copied[at : at + 3]
        elif what == "swap":
            copied[at : at + 2] = reversed(copied[at : at + 2])
        else:
            copied[at : at + 1] = [replace(each, value=b"changed") for each in copied[at : at + 1]]
    source = draw(logs(records))
    aborted = draw(st.frozensets(st.integers(0, len(source.batches)), max_size=1))
    return replace(source, aborted=aborted), draw(logs(copied))


def run_of(log: Log) -> list[OpenBatch]:
    return [OpenBatch(each, plain_records(each.batch)) for each in log.items()]


@settings(max_examples=25)
@given(mirrored(), st.sampled_from(Compared))
def test_columns_have_the_offsets_of_the_records_and_equal_digests_where_records_are_equal(
    sides: tuple[Log, Log], compared: Compared
):
    run = [each for side in sides for each in run_of(side)]
    fast, plain = (decode(run, compared) for decode in (columns_of, record_by_record))
    assert (fast.offsets, list(fast.counts)) == (plain.offsets, list(plain.counts))
    assert len(set(fast.digests)) == len(set(plain.digests)) == len(set(zip(fast.digests, plain.digests, strict=True)))


@settings(max_examples=25)
@given(mirrored())
def test_columns_give_the_answer_that_records_give_one_by_one(sides: tuple[Log, Log]):
    both, partitions = pair(*sides)
    fast, plain = (mirroring._compared(both, partitions, decode) for decode in (columns_of, record_by_record))
    assert fast == plain


ONE = Written(5, b"k", b"v", (("h", None),))
ONE_BYTES = bytes([0, 0, 0, 2]) + b"k" + bytes([2]) + b"v" + bytes([2, 2]) + b"h" + bytes([1])


def record(body: bytes) -> bytes:
    """A record of this body, with its attributes and deltas in front."""
    return bytes([2 * len(body)]) + body


def log_of(records: bytes) -> Log:
    return Log((with_records(batch([ONE], [0], 0), records),))


def test_a_record_with_a_longer_varint_than_needed_is_the_same_record():
    long = log_of(record(ONE_BYTES.replace(b"k\x02v", b"k\x82\x00v")))
    with pytest.raises(NoColumns):
        columns_of(run_of(long), Compared.WHOLE)
    found = mirroring.compare_pair(*pair(long, Log((batch([ONE], [0], 0),)))).alignment
    assert (found.matched, found.gaps, found.unknown) == (1, (), ())


@pytest.mark.parametrize(
    "records",
    [
        record(ONE_BYTES)[:-1],
        record(ONE_BYTES) + b"\0",
        record(ONE_BYTES[:-1]),
        record(ONE_BYTES.replace(b"\x02k", b"\x7ek")),
        record(ONE_BYTES.replace(b"v\x02", b"v\x01")),
        b"\x01" + ONE_BYTES,
        b"\xff\xff\xff\xff\xff\xff" + ONE_BYTES,
    ],
    ids=["cut", "more", "no end", "long key", "no headers", "negative", "endless"],
)
def test_records_that_do_not_add_up_are_damaged_though_both_sides_have_them(records: bytes):
    log = log_of(records)
    found = mirroring.compare_pair(*pair(log, log)).alignment
    assert (found.matched, len(found.damages)) == (0, 2)


def test_a_record_that_does_not_add_up_is_damaged_behind_one_as_long_that_does():
    wrong = record(ONE_BYTES.replace(b"\x02v\x02", b"\x04v\x02"))
    made = with_records(batch([ONE, ONE], [0, 1], 0), record(ONE_BYTES) + wrong.replace(b"\0\0\0", b"\0\0\2", 1))
    found = mirroring.compare_pair(*pair(Log((made,)), Log((made,)))).alignment
    assert (found.matched, len(found.damages)) == (0, 2)


@pytest.mark.parametrize("compared", Compared)
def test_bodies_as_long_with_other_parts_are_distinguished(compared: Compared):
    parts = [Written(5, b"k", b"\2\0", ()), Written(5, b"k", b"", (("", b""),)), Written(5, b"k", b"", (("", b""),))]
    run = run_of(Log((batch(parts, range(3), 0),)))
    digests, plain = (decode(run, compared).digests for decode in (columns_of, record_by_record))
    assert [digests.index(each) for each in digests] == [plain.index(each) for each in plain] == [0, 1, 1]
    empty = run_of(Log((batch([replace(parts[0], value=b"")], [0], 0),)))
    without = columns_of(empty, compared).digests
    headers_count = compared in {Compared.WHOLE, Compared.WITHOUT_TIMESTAMP}
    assert (without[0] == digests[1]) is not headers_count


def test_many_headers_and_batches_of_all_sizes_are_compared():
    many = replace(ONE, headers=tuple((f"h{each}", b"v") for each in range(70)))
    records = [many, *(replace(ONE, timestamp=each) for each in range(9000))]
    cuts = [0, 1, 2, 70, 5000, 9001]
    source = Log(tuple(batch(records[a:b], range(b - a), a) for a, b in pairwise(cuts)))
    target = Log((batch(records, range(9001), 0, Codec.ZSTD),))
    assert mirroring.compare_pair(*pair(source, target)).alignment.matched == 9001


@dataclass(frozen=True)
class Answers(Log):
    """A log whose `batches` are answers to a Fetch, of several batches each."""

    def items(self) -> Iterator[DataBatch]:
        """All batches."""
        return (DataBatch(each, False) for answer in self.batches for each in iter_batches(answer))


def test_a_run_ends_with_an_answer_once_it_is_half_as_long_as_it_may_be(monkeypatch: pytest.MonkeyPatch):
    """Records of one answer are read where they lie."""
    made, base = [], 0
    for count in (1, 3, 3, 10, 1):
        made.append(b"".join(batch([ONE], [0], base + number) for number in range(count)))
        base += count
    log = Answers(tuple(made))
    monkeypatch.setattr(mirroring, "RUN_BYTES", 4 * len(run_of(log)[0].records))
    sizes: list[int] = []

    def decode(run: Sequence[OpenBatch], compared: Compared) -> DecodedRun:
        sizes.append(len(run))
        return columns_of(run, compared)

    both, partitions = pair(log, Log(()))
    mirroring._compared(both, partitions, decode)
    assert sizes[:6] == [4, 3, 4, 4, 2, 1]


def test_numpy_starts_no_threads():
    code = "import os, eosctl.engines.mirroring; print(len(os.listdir('/proc/self/task')))"
    given = {name: each for name, each in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    ran = subprocess.run([sys.executable, "-c", code], env=given, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "1"

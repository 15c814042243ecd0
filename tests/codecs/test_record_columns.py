"""Records as columns: which lengths and varints are refused, a decision a row."""

import random
from itertools import accumulate

import numpy as np
import pytest

from eosctl.codecs import record_columns
from eosctl.codecs.record_columns import BATCH_HEADER, LOG_APPEND_TIME, LONG, PAD, Parts, Records, columns, digests


def varint(number: int) -> bytes:
    """Zigzag, as a client writes it."""
    left, found = (number << 1) ^ (number >> 63), b""
    while left > 127:
        left, found = left >> 7, found + bytes([left & 127 | 128])
    return found + bytes([left])


def sized(value: bytes | None) -> bytes:
    return varint(-1) if value is None else varint(len(value)) + value


def body(
    key: bytes | None = b"k", value: bytes | None = b"v", headers: tuple[tuple[bytes, bytes | None], ...] = ()
) -> bytes:
    return (
        sized(key) + sized(value) + varint(len(headers)) + b"".join(sized(name) + sized(each) for name, each in headers)
    )


def record(inside: bytes, at: int = 0, ms: int = 0) -> bytes:
    return sized(b"\0" + varint(ms) + varint(at) + inside)


def batch(*records: bytes, count: int | None = None, attributes: int = 0, base: int = 100) -> Records:
    number = len(records) if count is None else count
    return Records(memoryview(b"".join(records)), number, base, 1_000, 2_000, attributes)


WITH_ALL = Parts(timestamp=True, headers=True)


def offsets(*batches: Records) -> list[int] | None:
    found = columns(batches, WITH_ALL)
    return None if found is None else found.offsets.tolist()


ONE = record(body())


@pytest.mark.parametrize(
    ("batches", "found"),
    [
        ([], []),
        ([batch()], []),
        ([batch(), batch()], []),
        ([batch(ONE)], [100]),
        ([batch(ONE, record(body(None, None), 1))], [100, 101]),
        ([batch(), batch(ONE, base=7), batch()], [7]),
        ([batch(ONE), batch(record(body()), record(body(), 5), base=200)], [100, 200, 205]),
        ([batch(ONE, count=-1)], None),
        ([batch(ONE, count=0)], None),
        ([batch(ONE, count=2)], None),
        ([batch(ONE, ONE, count=1)], None),
        ([batch(ONE, count=1 << 30)], None),
        ([batch(count=1)], None),
        ([batch(ONE[:-1])], None),
        ([batch(ONE + b"\0")], None),
        ([batch(ONE), batch(ONE[:-1])], None),
        # A length of two and of three bytes, alone and behind another.
        ([batch(record(body(value=b"v" * 100)))], [100]),
        ([batch(record(body(value=b"v" * 9_000)), record(body(), 1))], [100, 101]),
        ([batch(record(body()), record(body(value=b"v" * 9_000), 1))], [100, 101]),
        ([batch(record(body(value=b"v" * 9_000))[:-1])], None),
        # Odd zigzag numbers are lengths below 0.
        ([batch(b"\x01")], None),
        ([batch(b"\x81\x80\x01" + bytes(8192))], None),
        ([batch(b"\x80" * 6)], None),
        # A second byte of 127 is the length's last one, also where another record's length has three.
        ([batch(record(body(value=b"v" * 8_117)), record(body(value=b"v" * 9_000), 1))], [100, 101]),
        # Six bytes of a length; the last of them would be taken for the attributes.
        ([batch(b"\x8e\x80\x80\x80\x80\x00" + varint(0) + varint(0) + body())], None),
        ([batch(b"\x80\x80\x80\x80\x08", count=2)], None),
    ],
)
def test_records_that_do_not_fill_their_batch_are_left_to_the_decoder(batches, found):
    assert offsets(*batches) == found
    assert offsets(*in_one_answer(batches)) == found


def in_one_answer(batches: list[Records], between: int = BATCH_HEADER, behind: int = PAD) -> list[Records]:
    """The same batches, with so many other bytes before each one and behind the last one."""
    other, answer = b"\x55", b""
    ends = []
    for each in batches:
        answer += other * between + each.data
        ends.append(len(answer))
    view = memoryview(answer + other * behind)
    return [each._replace(data=view[end - len(each.data) : end]) for each, end in zip(batches, ends, strict=True)]


THREE = [
    batch(ONE, record(body(value=b"of 6 b"), 3)),
    batch(record(body(b"key"), 0, 90), base=200),
    batch(ONE, base=300),
]


@pytest.mark.parametrize(
    ("between", "behind", "copied"),
    [(BATCH_HEADER, PAD, 0), (BATCH_HEADER, PAD - 1, 1), (BATCH_HEADER + 1, PAD, 1), (0, PAD, 1)],
)
def test_records_of_one_answer_are_read_where_they_lie_if_nothing_else_is_between(between, behind, copied, monkeypatch):
    expected, join, copies = columns(THREE, WITH_ALL), record_columns._joined, []
    monkeypatch.setattr(record_columns, "_joined", lambda *given: copies.append(1) or join(*given))
    found = columns(in_one_answer(THREE, between, behind), WITH_ALL)
    assert [each.tolist() for each in found] == [each.tolist() for each in expected]
    assert len(copies) == copied


def test_records_of_two_answers_are_copied():
    one, other = in_one_answer(THREE), in_one_answer(THREE)
    assert offsets(one[0], *other[1:]) == offsets(*THREE)


@pytest.mark.parametrize(
    ("first", "second", "length"),
    [(0, 0, 1), (126, 255, 64), (127, 0, 0), (128, 0, 2), (128, 1, 66), (254, 127, 8193), (129, 1, 0), (128, 128, 0)],
)
def test_the_first_two_bytes_of_a_record_give_its_length_where_that_has_no_more_bytes(first, second, length):
    assert record_columns.ADVANCES[first | second << 8] == length


@pytest.mark.parametrize(
    ("first", "second", "value", "size"),
    [
        (0, 255, 0, 1),
        (127, 1, -64, 1),
        (128, 0, 0, 0),
        (128, 1, 64, 2),
        (129, 1, -65, 2),
        (254, 127, 8191, 2),
        (255, 127, -8192, 2),
        (255, 128, 0, 0),
    ],
)
def test_a_varint_of_two_bytes_or_one_is_read_from_a_table(first, second, value, size):
    """size 0: it has more bytes, or more than it needs."""
    pair = first | second << 8
    assert record_columns.SMALL[pair] & 3 == size
    assert not size or record_columns.SMALL[pair] >> 2 == value


def test_deltas_of_one_two_and_three_bytes_are_read_side_by_side():
    found = columns(
        [batch(*(record(body(), at, at * 3) for at in (0, 63, 64, 8_191, 8_192))), batch(ONE, base=9_000)], WITH_ALL
    )
    assert found is not None
    assert found.offsets.tolist() == [100, 163, 164, 8_291, 8_292, 9_000]
    assert found.digests.tolist() == [one(body(), ms=at * 3) for at in (0, 63, 64, 8_191, 8_192, 0)]


MANY = tuple((b"h", b"x") for _ in range(65))


@pytest.mark.parametrize(
    ("inside", "good"),
    [
        (body(), True),
        (body(None, None), True),
        (body(b"", b""), True),
        (body(headers=((b"", None),)), True),
        (body(headers=((b"a", b""), (b"b", b"c"))), True),
        (body(headers=MANY[:64]), True),
        (body(headers=MANY), False),
        (varint(-2) + sized(b"v") + b"\0", False),
        (sized(b"k") + varint(-2) + b"\0", False),
        (sized(b"k") + sized(b"v") + varint(-1), False),
        (sized(b"k") + sized(b"v") + varint(1) + varint(-1) + sized(b"x"), False),
        (sized(b"k") + sized(b"v") + varint(1) + sized(b"h") + varint(-2), False),
        (body() + b"\0", False),
        (body()[:-1], False),
        (body(headers=((b"a", b"bc"),))[:-1], False),
        (varint(9) + b"k" + sized(b"v") + b"\0", False),
        # Longer than needed: the client would have written one byte.
        (b"\x82\x00k" + sized(b"v") + b"\0", False),
        (b"\x82\x80\x00k" + sized(b"v") + b"\0", False),
        (sized(b"k") + sized(b"v") + b"\x80\x00", False),
        (b"\x80\x80\x80\x80\x80\x01" + sized(b"v") + b"\0", False),
        (b"", False),
    ],
)
@pytest.mark.parametrize("most", [8, 0])
def test_a_body_is_read_alike_by_its_shape_and_field_by_field(inside, good, most, monkeypatch):
    """most: shapes that are tried before the rest is decoded."""
    monkeypatch.setattr(record_columns, "MOST_SHAPES", most)
    assert offsets(batch(record(inside))) == ([100] if good else None)
    assert offsets(batch(ONE, record(inside, 1), record(body(value=b"w"), 2))) == ([100, 101, 102] if good else None)


@pytest.mark.parametrize(
    ("head", "good"),
    [
        (b"\0\0\0", True),
        (b"\0" + varint(-5) + varint(-1), True),
        (b"\0" + varint(1 << 62) + varint((1 << 31) - 1), True),
        (b"\0\x80\x00\0", False),
        (b"\0\0\x80\x00", False),
        (b"\0\0" + b"\x80" * 5 + b"\x01", False),
        (b"\0" + b"\x80" * 10 + b"\x01\0", False),
    ],
)
def test_deltas_are_as_short_as_they_can_be(head, good):
    assert (offsets(batch(sized(head + body()))) is not None) == good


def test_shapes_that_differ_are_each_read_at_their_own_places():
    """Nine lengths, more than shapes are tried, twice, and two bodies as long with their parts elsewhere."""
    bodies = [body(value=b"v" * each, headers=((b"h", b"x"),)) for each in range(9)] * 2
    bodies += [body(b"kk", b"v"), body(b"k", b"vv")]
    found = columns(
        [batch(*(record(each, at) for at, each in enumerate(bodies)))], Parts(timestamp=False, headers=False)
    )
    assert found is not None
    assert found.offsets.tolist() == list(range(100, 120))
    assert found.digests[:9].tolist() == found.digests[9:18].tolist()
    assert found.digests[19] == found.digests[2]
    assert len(set(found.digests.tolist())) == 10


def one(inside: bytes, *, ms: int = 0, parts: Parts = WITH_ALL, attributes: int = 0) -> int:
    found = columns([batch(record(inside, ms=ms), attributes=attributes)], parts)
    assert found is not None
    return int(found.digests[0])


HEADED = body(headers=((b"h", b"x"),))


@pytest.mark.parametrize(
    ("first", "second", "equal"),
    [
        (one(body()), one(body()), True),
        (one(body()), one(body(value=b"w")), False),
        (one(body(b"kk", b"v")), one(body(b"k", b"kv")), False),
        (one(body(None)), one(body(b"")), False),
        (one(body()), one(HEADED), False),
        (one(body(), parts=Parts(True, False)), one(HEADED, parts=Parts(True, False)), True),
        (one(body()), one(body(), ms=1), False),
        (one(body()), one(body(), ms=1 << 40), False),
        (one(body(), parts=Parts(False, True)), one(body(), ms=1, parts=Parts(False, True)), True),
        # The broker's time is the batch's.
        (one(body(), attributes=LOG_APPEND_TIME), one(body(), ms=1, attributes=LOG_APPEND_TIME), True),
        (one(body(), attributes=LOG_APPEND_TIME), one(body(), ms=1_000), True),
        (one(body(), attributes=LOG_APPEND_TIME), one(body()), False),
        (one(body(), attributes=4), one(body()), True),
    ],
    ids=lambda value: str(value) if isinstance(value, bool) else "digest",  # a digest is another in each process
)
def test_equal_records_have_equal_digests_and_others_have_not(first, second, equal):
    assert (first == second) is equal


@pytest.mark.parametrize("size", [0, 1, PAD - 1, PAD, PAD + 1, LONG - 1, LONG, LONG + 1])
def test_a_digest_is_of_the_bytes_in_its_range_alone(size):
    data = bytes(each % 250 + 1 for each in range(size))
    pieces = [data, data[:-1] + b"\xff" if size else b"", data, data + b"\0"]
    begins = np.array([0, *accumulate(len(each) for each in pieces[:-1])], np.int64)
    lengths = np.array([len(each) for each in pieces], np.int64)
    found = digests(np.frombuffer(b"".join(pieces) + b"\xff" * PAD, np.uint8), begins, begins + lengths).tolist()
    assert found[0] == found[2]
    assert found[0] != found[3]
    assert (found[0] == found[1]) is (size == 0)
    alone = digests(np.frombuffer(data + bytes(PAD), np.uint8), np.array([0]), np.array([size])).tolist()
    assert alone == found[:1]


def test_a_digest_is_the_same_whatever_lengths_the_records_beside_it_have():
    lengths = np.array([*range(70), *range(LONG - 40, LONG + 3)], np.int64)
    begins = np.cumsum(lengths) - lengths
    data = np.frombuffer(random.Random(7).randbytes(int(lengths.sum())) + b"\xff" * PAD, np.uint8)
    assert len(lengths) > record_columns.MOST_LENGTHS
    alone = [int(digests(data, begins[[each]], begins[[each]] + lengths[[each]])[0]) for each in range(len(lengths))]
    assert digests(data, begins, begins + lengths).tolist() == alone

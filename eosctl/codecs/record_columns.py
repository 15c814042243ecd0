"""The records of many batches as columns: offsets, timestamps, and a digest of the rest of each record.

    length varint, attributes int8, timestampDelta varint, offsetDelta varint, then the body:
    keyLength varint, key, valueLength varint, value, header count varint, and each header as key is and value is

Varints are zigzag-encoded, -1 is null. Equal records have equal bodies in every batch, because every client writes the
shortest varints. Batches with longer varints or wrong lengths are left to the decoder of `record_batches`, record by
record.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

# Digests of many byte ranges at once.
#
# A digest is a sum of products modulo 2**64: the range's 32-bit words, its length and the timestamp, each with a key
# of 64 bits of its own. For any two records that differ the chance of an equal sum is at most 2**-32, and mostly
# 2**-64. The keys come from Python's keyed hash: they are unknown outside of the process.


Column = np.ndarray[Any, Any]

PAD: Final = 32
"""Bytes behind the last record that may be read, and counted as zeros."""
LONG: Final = 4096
"""Longer bodies are digested by Python's hash, one at a time."""
GATHERED: Final = 1 << 17
KEYS: Final = np.array([hash(b"key %d" % each) | 1 for each in range(LONG // 4 + PAD)], np.int64).view(np.uint64)
TIME_KEYS: Final = np.array([hash(b"time %d" % each) | 1 for each in range(2)], np.int64).view(np.uint64)
LENGTH_KEY: Final = np.array([hash(b"length") | 1], np.int64).view(np.uint64)
TAILS: Final = np.where(np.arange(PAD) < np.arange(PAD + 1)[:, None], 255, 0).astype(np.uint8).view("<u4")
MOST_LENGTHS: Final = 32


def with_times(found: Column, times: Column) -> Column:
    """The digests with timestamps (ms) in them."""
    unsigned = times.astype(np.int64).view(np.uint64)
    mixed: Column = found + (unsigned & 0xFFFFFFFF) * TIME_KEYS[0] + (unsigned >> 32) * TIME_KEYS[1]
    return mixed


def digests(data: Column, begins: Column, ends: Column) -> Column:
    """The digests of the bytes from each begin to its end; PAD more bytes lie behind the last one.

    Most topics have records of few lengths: those of one length are taken together. Others are by the number of PADs.
    """
    lengths = ends - begins
    found = lengths.astype(np.uint64) * LENGTH_KEY
    counts = np.bincount(np.minimum(lengths, LONG + 1))
    if np.count_nonzero(counts) <= MOST_LENGTHS:
        for length in np.flatnonzero(counts[: LONG + 1]).tolist():
            members = np.flatnonzero(lengths == length)
            _add_words(found, data, begins, members, length)
    else:
        chunks = (lengths + PAD - 1) // PAD
        for width in np.flatnonzero(np.bincount(chunks)[: LONG // PAD + 1]).tolist():
            _add_words(found, data, begins, np.flatnonzero(chunks == width), width * PAD, lengths)
    long = np.flatnonzero(lengths > LONG)
    hashes = [hash(data[begins[each] : ends[each]].tobytes()) for each in long.tolist()]
    found[long] += np.array(hashes, np.int64).view(np.uint64)
    return found


def _add_words(
    found: Column, data: Column, begins: Column, members: Column, most: int, lengths: Column | None = None
) -> None:
    """Adds the products of the members' words to `found`. None has more bytes than `most`; without lengths all have
    as many."""
    size = (most + 3) & ~3
    if not size:
        return
    whole = np.ndarray((len(data) - size + 1,), f"V{size}", data, strides=(1,))
    step = max(1, GATHERED // size)
    for place in range(0, len(members), step):
        some = members[place : place + step]
        taken = whole[begins[some]].view("<u4").reshape(len(some), size // 4)
        if lengths is not None:
            taken[:, size // 4 - len(TAILS[0]) :] &= TAILS[lengths[some] - (size - PAD)]
        elif most & 3:
            taken[:, -1] &= (1 << 8 * (most & 3)) - 1
        # einsum adds up in a register, and matmul writes each sum of integers to memory: twice the time.
        found[some] += np.einsum("ij,j->i", taken.astype(np.uint64), KEYS[: size // 4])


MOST_HEADERS: Final = 64
MOST_VARINT: Final = 5
MOST_SHAPES: Final = 8
BATCH_HEADER: Final = 61
LOG_APPEND_TIME: Final = 0x08


class Records(NamedTuple):
    data: memoryview
    record_count: int
    base_offset: int
    base_timestamp: int
    max_timestamp: int
    attributes: int


class Parts(NamedTuple):
    timestamp: bool
    headers: bool


class Columns(NamedTuple):
    offsets: Column
    digests: Column


def _advances() -> Column:
    """For each two first bytes of a record, its length with the length field; 0: the length has more bytes, or is
    invalid."""
    pairs = np.arange(1 << 16)
    first, second = pairs & 255, pairs >> 8
    one = np.where(first & 1, 0, (first >> 1) + 1)
    two = np.where(first & 1, 0, (((first & 127) | (second << 7)) >> 1) + 2)
    return np.where(first < 128, one, np.where(second < 128, two, 0)).astype(np.int64)


ADVANCES: Final = _advances()


def _small_values() -> Column:
    """For each two first bytes of a varint, its value times 4, plus the number of its bytes; 0 for that: more than two,
    or a longer form than needed."""
    pairs = np.arange(1 << 16)
    first, second = pairs & 255, pairs >> 8
    raw = np.where(first < 128, first, (first & 127) | (second << 7))
    sizes = np.where(first < 128, 1, np.where((second < 128) & (second > 0), 2, 0))
    return ((raw >> 1) ^ -(raw & 1)) << 2 | sizes


SMALL: Final = _small_values()


def columns(batches: Sequence[Records], parts: Parts) -> Columns | None:
    """The records of these batches, in order; None if any batch's records do not add up or have longer varints."""
    lengths = np.array([len(each.data) for each in batches], np.int64)
    counts = np.array([each.record_count for each in batches], np.int64)
    if counts.min(initial=0) < 0 or (counts > lengths).any():
        return None
    data, places = _where_they_lie(batches, lengths) or _joined(batches, lengths)
    ends, owners = places + lengths, np.repeat(np.arange(len(batches)), counts)
    begins = _begins(data, places, ends, counts, owners)
    if begins is None:
        return None
    fields = _fields(data, begins, owners, ends)
    if fields is None:
        return None
    bases, times, latest, attributes = np.array([each[2:] for each in batches], np.int64).reshape(-1, 4).T
    offsets = np.repeat(bases, counts) + fields.offset_deltas
    times = np.repeat(times, counts) + fields.time_deltas
    if (attributes & LOG_APPEND_TIME).any():
        times = np.where(np.repeat(attributes & LOG_APPEND_TIME, counts), np.repeat(latest, counts), times)
    found = digests(data, fields.bodies, fields.ends if parts.headers else fields.headers)
    return Columns(offsets, with_times(found, times) if parts.timestamp else found)


def _joined(batches: Sequence[Records], lengths: Column) -> tuple[Column, Column]:
    """A copy of all records, and where those of each batch begin in it."""
    data = np.frombuffer(b"".join((*(each.data for each in batches), bytes(PAD))), np.uint8)
    return data, np.cumsum(lengths) - lengths


def _where_they_lie(batches: Sequence[Records], lengths: Column) -> tuple[Column, Column] | None:
    """The bytes in which the records lie already, batch after batch, as the answer to a Fetch has them; otherwise None.

    The batches are in the order of the bytes, so the distance from the first to the last one shows whether anything
    else is between them.
    """
    answer: Any = batches[0].data.obj if batches else None
    if answer is None or any(each.data.obj is not answer or not each.data for each in batches):
        return None
    data = np.frombuffer(answer, np.uint8)
    first, last = (_address(each.data) - _address(data) for each in (batches[0], batches[-1]))
    places: Column = first + np.cumsum(lengths + BATCH_HEADER) - lengths - BATCH_HEADER
    return (data, places) if places[-1] == last and last + lengths[-1] + PAD <= len(data) else None


def _address(data: Any) -> int:  # noqa: ANN401  # any buffer
    return int(np.frombuffer(data, np.uint8).__array_interface__["data"][0])


def _begins(data: Column, begins: Column, ends: Column, counts: Column, owners: Column) -> Column | None:
    """The beginning of each record; None if the last record of a batch does not end with the batch.

    Only lengths lead from one record to the next: each step advances in all batches at once, the longest ones first.
    """
    pairs = np.ndarray((len(data) - 1,), "<u2", data, strides=(1,))
    order = np.argsort(-counts, kind="stable")
    at, falling = begins[order], counts[order].tolist()
    firsts = np.cumsum(counts) - counts
    stepped = np.empty(len(owners), np.int64)
    steps, done, active = [], 0, len(order)
    for step in range(falling[0] if falling else 0):
        while falling[active - 1] <= step:
            active -= 1
        now = at[:active]
        steps.append(done)
        stepped[done : done + active] = now
        done += active
        try:
            now += ADVANCES.take(pairs[now])
        except IndexError:  # a record is longer than its batch
            return None
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(order))
    numbers = np.arange(len(owners)) - firsts[owners]
    found: Column = stepped.take(np.array(steps, np.int64).take(numbers) + ranks.take(owners))
    for number in order[at != ends[order]].tolist():
        chain = _chain(data, int(begins[number]), int(ends[number]), int(counts[number]))
        if chain is None:
            return None
        found[firsts[number] : firsts[number] + len(chain)] = chain
    return found


def _chain(data: Column, at: int, end: int, count: int) -> list[int] | None:
    """The same of one batch, whatever the lengths of its records are."""
    starts = []
    for _ in range(count):
        starts.append(at)
        length = shift = 0
        byte = 128
        while byte > 127:
            if at >= end or shift > 28:
                return None
            byte = int(data[at])
            at, length, shift = at + 1, length | (byte & 127) << shift, shift + 7
        if length & 1:
            return None
        at += length >> 1
    return starts if at == end else None


class _Fields(NamedTuple):
    """Of each record: where its body and its headers begin, and where it ends."""

    time_deltas: Column
    offset_deltas: Column
    bodies: Column
    headers: Column
    ends: Column


def _fields(data: Column, begins: Column, owners: Column, batch_ends: Column) -> _Fields | None:
    """None where lengths in a record do not add up to its own."""
    ends = np.empty_like(begins)
    ends[:-1] = begins[1:]
    if len(ends):
        final = np.flatnonzero(owners[1:] != owners[:-1])
        ends[final], ends[-1] = batch_ends[owners[final]], batch_ends[owners[-1]]
    before = _small_fields(data, begins) or _any_fields(data, begins)
    headers = None if before is None else _headers(data, before.bodies, ends)
    return None if before is None or headers is None else _Fields(*before, headers, ends)


class _Before(NamedTuple):
    """The fields before the body of each record, and where it begins."""

    time_deltas: Column
    offset_deltas: Column
    bodies: Column


def _small_fields(data: Column, begins: Column) -> _Before | None:
    """None where a length, or a delta, has more than two bytes: all fields lie in the first seven bytes otherwise."""
    heads = np.ndarray((len(data) - 7,), "<i8", data, strides=(1,))[begins]
    if ((heads & 0x8080) == 0x8080).any():
        return None
    size = ((heads >> 7) & 1) + 2
    heads >>= size << 3
    time = SMALL.take(heads & 0xFFFF)
    heads >>= (time & 3) << 3
    offset = SMALL.take(heads & 0xFFFF)
    if not ((time & 3).all() and (offset & 3).all()):
        return None
    return _Before(time >> 2, offset >> 2, begins + size + (time & 3) + (offset & 3))


def _any_fields(data: Column, begins: Column) -> _Before | None:
    _, at, _ = _small_varints(data, begins, MOST_VARINT)
    time_deltas, at, short = _small_varints(data, at + 1, 10)
    offset_deltas, bodies, shorter = _small_varints(data, at, MOST_VARINT)
    return _Before(time_deltas, offset_deltas, bodies) if short.all() and shorter.all() else None


def _headers(data: Column, bodies: Column, ends: Column) -> Column | None:
    """The beginning of each record's headers; None if lengths in a body do not add up to its own.

    Most records have the shape of another one: the body is as long and has the same bytes in its length fields, so all
    its parts lie at the same places. The rest is decoded.
    """
    found, lengths, left = np.full_like(bodies, -1), ends - bodies, np.arange(len(bodies))
    for _ in range(MOST_SHAPES):
        if not len(left):
            return found
        begin, size = int(bodies[left[0]]), int(lengths[left[0]])
        places: list[int] = []
        try:
            headers = _shape(data[begin : begin + max(0, size)].tobytes(), places)
        except (IndexError, ValueError):
            return None
        alike = left[lengths[left] == size]
        at = bodies[alike]
        same = np.ones(len(at), bool)
        for place in places:
            same &= data.take(at + place) == data[begin + place]
        found[alike[same]] = at[same] + headers
        left = left[found[left] < 0]
    decoded = _decoded_headers(data, bodies[left], ends[left])
    if decoded is None:
        return None
    found[left] = decoded
    return found


def _shape(body: bytes, places: list[int]) -> int:
    """The beginning of its headers; the places of lengths and counts are added to `places`.

    Raises IndexError or ValueError if they do not add up or are not as short as possible.
    """
    headers = _behind(body, _behind(body, 0, places, -1), places, -1)
    count, at = _number(body, headers, places)
    for _ in range(count):
        at = _behind(body, _behind(body, at, places, 0), places, -1)
    if at != len(body) or not 0 <= count <= MOST_HEADERS:
        raise ValueError
    return headers


def _behind(body: bytes, at: int, places: list[int], least: int) -> int:
    length, at = _number(body, at, places)
    if length < least:
        raise ValueError
    return at + max(0, length)


def _number(body: bytes, at: int, places: list[int]) -> tuple[int, int]:
    value = 0
    for number in range(MOST_VARINT):
        byte = body[at + number]
        places.append(at + number)
        value |= (byte & 127) << 7 * number
        if byte < 128:
            break
    if byte > 127 or (number and not byte):
        raise ValueError
    return (value >> 1) ^ -(value & 1), at + number + 1


def _decoded_headers(data: Column, bodies: Column, ends: Column) -> Column | None:
    good, at = np.ones(len(bodies), bool), bodies
    for _ in range(2):
        at = _pass_bytes(data, at, ends, good, null=True)
    headers = at
    count, at, short = _varints(data, at, MOST_VARINT)
    good &= short & (count >= 0) & (count <= MOST_HEADERS)
    left = np.flatnonzero(good & (count > 0))
    number = 0
    while len(left):
        still, here, until = np.ones(len(left), bool), at[left], ends[left]
        here = _pass_bytes(data, here, until, still, null=False)
        at[left] = _pass_bytes(data, here, until, still, null=True)
        good[left] &= still
        number += 1
        left = left[still & (count[left] > number)]
    good &= at == ends
    return headers if good.all() else None


def _pass_bytes(data: Column, at: Column, ends: Column, good: Column, *, null: bool) -> Column:
    """Behind a length and as many bytes. A bad value stays within the record."""
    length, behind, short = _varints(data, at, MOST_VARINT)
    good &= short & (length >= (-1 if null else 0))
    behind += np.maximum(length, 0)
    good &= behind <= ends
    return np.minimum(behind, ends)


def _small_varints(data: Column, at: Column, most: int) -> tuple[Column, Column, Column]:
    """As _varints, in half of its time where none has more than two bytes."""
    pairs = np.ndarray((len(data) - 1,), "<u2", data, strides=(1,))[np.minimum(at, len(data) - 2)]
    small = SMALL.take(pairs)
    sizes = small & 3
    return (small >> 2, at + sizes, sizes > 0) if sizes.all() else _varints(data, at, most)


def _varints(data: Column, at: Column, most: int) -> tuple[Column, Column, Column]:
    """The varints at these places, the places behind them, and whether each is as short as it can be."""
    byte = data[at]
    value, behind = (byte & 127).astype(np.int64), at + 1
    short = np.ones(len(at), bool)
    more = np.flatnonzero(byte & 128)
    for number in range(1, most):
        if not len(more):
            break
        byte = data[np.minimum(at[more] + number, len(data) - 1)]
        value[more] |= (byte & 127).astype(np.int64) << 7 * number
        behind[more] += 1
        short[more[byte == 0]] = False
        more = more[byte > 127]
    short[more] = False
    return ((value >> 1) & ((1 << 63) - 1)) ^ -(value & 1), behind, short

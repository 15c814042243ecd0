"""Digests of many byte ranges at once.

A digest is a sum of products modulo 2**64: the range's 32-bit words, its length and the timestamp, each with a key of
64 bits of its own. For any two records that differ the chance of an equal sum is at most 2**-32, and mostly 2**-64. The
keys come from Python's keyed hash: nobody outside of the process knows them.
"""

from typing import Any, Final

import numpy as np

Column = np.ndarray[Any, Any]

PAD: Final = 32
"""Bytes behind the last record that may be read, and counted as zeros."""
LONG: Final = 4096
"""Longer bodies are digested by Python's hash, one at a time."""
GATHERED: Final = 1 << 18
KEYS: Final = np.array([hash(b"key %d" % each) | 1 for each in range(LONG // 4 + PAD)], np.int64).view(np.uint64)
TIME_KEYS: Final = np.array([hash(b"time %d" % each) | 1 for each in range(2)], np.int64).view(np.uint64)
LENGTH_KEY: Final = np.array([hash(b"length") | 1], np.int64).view(np.uint64)
TAILS: Final = np.where(np.arange(PAD) < np.arange(PAD + 1)[:, None], 255, 0).astype(np.uint8)


def with_times(found: Column, times: Column) -> Column:
    """The digests with timestamps (ms) in them."""
    unsigned = times.astype(np.int64).view(np.uint64)
    mixed: Column = found + (unsigned & 0xFFFFFFFF) * TIME_KEYS[0] + (unsigned >> 32) * TIME_KEYS[1]
    return mixed


def digests(data: Column, begins: Column, ends: Column) -> Column:
    """The digests of the bytes from each begin to its end; PAD more bytes lie behind the last one."""
    lengths = ends - begins
    found = lengths.astype(np.uint64) * LENGTH_KEY
    chunks = (lengths + PAD - 1) // PAD
    longest = int(chunks.max()) if len(chunks) else 0
    for width in (np.flatnonzero(np.bincount(chunks)) if longest else np.zeros(0, np.int64)).tolist():
        if width * PAD > LONG or not width:
            continue
        members = np.flatnonzero(chunks == width)
        size = width * PAD
        whole = np.ndarray((len(data) - size + 1,), f"V{size}", data, strides=(1,))
        step = max(1, GATHERED // size)
        for place in range(0, len(members), step):
            some = members[place : place + step]
            taken = whole[begins[some]].view(np.uint8).reshape(len(some), size)
            taken[:, size - PAD :] &= TAILS[lengths[some] - (size - PAD)]
            found[some] += taken.view("<u4").astype(np.uint64) @ KEYS[: size // 4]
    long = np.flatnonzero(chunks * PAD > LONG)
    hashes = [hash(data[begins[each] : ends[each]].tobytes()) for each in long.tolist()]
    found[long] += np.array(hashes, np.int64).view(np.uint64)
    return found

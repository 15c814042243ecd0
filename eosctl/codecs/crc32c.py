"""CRC-32C (Castagnoli), which covers a record batch from its attributes to its end."""

import warnings
from collections.abc import Callable
from functools import cache


@cache
def crc32c() -> Callable[[bytes], int]:
    """The fastest one that is installed: several GB/s where it is the processor's own instruction."""
    with warnings.catch_warnings(action="ignore"):
        import google_crc32c
    if google_crc32c.implementation == "c":
        value: Callable[[bytes], int] = google_crc32c.value
        return value
    # Without a wheel for the platform that one is a loop in Python; this one is always in C.
    from aiokafka.record.util import calc_crc32c

    slower: Callable[[bytes], int] = calc_crc32c
    return slower

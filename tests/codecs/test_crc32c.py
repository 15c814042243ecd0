"""CRC-32C by whichever library is the fastest here."""

import sys

import google_crc32c
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosctl.codecs.record_batches import SMALL, _small_crc32c, crc32c


@pytest.fixture(autouse=True)
def decided_anew():
    crc32c.cache_clear()
    yield
    crc32c.cache_clear()


@pytest.mark.parametrize("implementation", ["c", "python"])
def test_both_implementations_compute_the_value_of_rfc_3720(monkeypatch, implementation):
    """Appendix B.4: 32 bytes of zeros, of ones, and rising."""
    monkeypatch.setattr(google_crc32c, "implementation", implementation)
    assert [crc32c()(each) for each in (bytes(32), b"\xff" * 32, bytes(range(32)))] == [
        0x8A9136AA, 0x62A8AB43, 0x46DD794E,
    ]  # fmt: skip


def test_where_no_wheel_fits_the_loop_in_python_is_not_taken(monkeypatch):
    monkeypatch.setattr(google_crc32c, "implementation", "python")
    assert crc32c() is not google_crc32c.value


@given(st.binary(max_size=SMALL))
def test_both_libraries_agree(data):
    from aiokafka.record.util import calc_crc32c

    assert crc32c()(data) == _small_crc32c()(data) == calc_crc32c(data)


def test_a_small_batch_needs_the_other_library_only_where_aiokafka_is_not_in_c(monkeypatch):
    assert _small_crc32c.__wrapped__()(bytes(32)) == 0x8A9136AA
    assert _small_crc32c.__wrapped__() is not crc32c()
    monkeypatch.setitem(sys.modules, "aiokafka.record._crecords.cutil", None)
    assert _small_crc32c.__wrapped__() is crc32c()

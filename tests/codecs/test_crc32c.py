"""CRC-32C by whichever library is the fastest here."""

import subprocess
import sys

import google_crc32c
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosctl.codecs.record_batches import FIRST, PIECE, FewThenMany, crc32c


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
    from aiokafka.record.util import calc_crc32c

    monkeypatch.setattr(google_crc32c, "implementation", "python")
    assert crc32c() is calc_crc32c


@pytest.mark.parametrize("size", [0, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE, 3 * PIECE + 5])
def test_many_bytes_have_one_value_whether_they_are_bytes_or_a_view(size):
    data = bytes(number % 251 for number in range(size))
    view = memoryview(b"before" + data)[6:]
    assert crc32c()(data) == crc32c()(view) == FewThenMany()(view) == google_crc32c.value(data)


@given(st.binary(max_size=3000))
def test_the_libraries_agree(data):
    from aiokafka.record.util import calc_crc32c

    assert crc32c()(data) == FewThenMany()(data) == calc_crc32c(data)


def test_the_fastest_library_is_loaded_for_many_bytes_alone():
    code = "import sys; from eosctl.codecs.record_batches import FIRST, FewThenMany; crc = FewThenMany()\n"
    code += "for size in (FIRST - 1, 1, 32): print(hex(crc(bytes(size))), 'google_crc32c' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    sums = [hex(crc32c()(bytes(size))) for size in (FIRST - 1, 1)]
    assert ran.stdout.split() == [sums[0], "False", sums[1], "True", "0x8a9136aa", "True"]


def test_where_aiokafka_is_not_in_c_the_fastest_is_taken_at_once(monkeypatch):
    monkeypatch.setitem(sys.modules, "aiokafka.record._crecords.cutil", None)
    assert FewThenMany()._compute is crc32c()

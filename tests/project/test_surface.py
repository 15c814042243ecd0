"""The stable surface is complete: options, exit codes, and the Python API."""

from eosctl.version import __version__
from tests.project.surface import FILE, lost, refusal, surface


def test_nothing_of_the_surface_is_lost():
    """`make reference` adds what is new."""
    recorded, *lines = FILE.read_text("utf-8").splitlines()
    assert recorded == f"version {__version__.partition('.')[0]}"
    assert lost(lines, set(surface())) == []


def test_the_surface_has_each_kind_of_promise():
    found = set(surface())
    assert {
        "option doctor --fail-on",
        "choice doctor --fail-on warning",
        "argument apply plan",
        "exit 8",
        "call Cluster.offsets *connectors",
        "call connect timeout_s",
        "field TransactionList.transactions",
        "field Result.complete",
    } <= found


def test_a_line_may_go_with_the_next_major_version_only():
    before = "version 1\noption fence --force\nexit 8\n"
    assert "option fence --force" in str(refusal(before, {"exit 8"}, "1.9.0"))
    assert refusal(before, {"exit 8", "option fence --force", "exit 9"}, "1.9.0") is None
    assert refusal(before, {"exit 8"}, "2.0.0") is None


def test_before_version_1_a_line_may_go():
    assert refusal("version 0\nexit 8\n", set(), "0.2.0") is None

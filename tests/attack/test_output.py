"""Output that cannot be written: a lost answer is exit code 74, a lost word on the way changes nothing."""

import errno
import os
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest

from eosctl.errors import OutputLost, PartlyApplied
from eosctl.model.report import Result, Triage
from eosctl.render.console import Console, OutputOptions, Stream, Terminal, write_output_file
from eosctl.render.streams import answer_stream, talk_stream
from eosctl.shell.options import answer

PROBE = Path(__file__).parents[1] / "commands" / "probe.py"


def ran(*args: str, out: str = "/dev/full", err: str | None = None) -> tuple[int, str]:
    """Exit code and what is on standard error, with standard output (and error) at these places."""
    with open(out, "w") as stdout, open(err or "/dev/null", "w") as lost:  # noqa: PTH123  # devices
        where = lost if err else subprocess.PIPE
        ended = subprocess.run(
            [sys.executable, str(PROBE), *args], stdout=stdout, stderr=where, text=True, check=False, timeout=60
        )
    return ended.returncode, ended.stderr or ""


@pytest.mark.parametrize(
    "args",
    [
        ["probe", "show", "orders"],
        ["probe", "show", "orders", "--found", "-o", "json"],
        ["--help"],
        ["--version"],
    ],
)
def test_a_full_disk_for_the_answer_is_74_and_says_so(args: list[str]):
    code, told = ran(*args)
    assert code == 74
    assert told.endswith("eosctl: error: the answer could not be written: No space left on device\n")
    assert "Traceback" not in told


def test_a_failure_keeps_its_own_code_though_the_answer_is_lost():
    code, told = ran("probe", "fail", "Refused", "-o", "json")
    assert code == 8
    assert "Refused happened" in told
    assert ran("probe", "fail", "answered")[0] == 74


@pytest.mark.parametrize(("args", "code"), [(["show", "orders", "--found"], 1), (["fail", "denied"], 5)])
def test_a_full_disk_for_standard_error_changes_no_exit_code(args: list[str], code: int):
    assert ran("probe", *args, out="/dev/null", err="/dev/full")[0] == code


def test_both_lost_is_74():
    assert ran("probe", "show", "orders", err="/dev/full")[0] == 74


class Full(StringIO):
    """What a full disk is."""

    def write(self, text: str) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def console() -> Console:
    terminal = Terminal(Stream(StringIO()), Stream(answer_stream(Full())), Stream(talk_stream(Full())))
    return Console(terminal, OutputOptions())


def test_a_word_on_the_way_that_is_lost_stops_nothing():
    said = console()
    said.narrate("1. done: stopped")
    said.warn("look")
    with pytest.raises(OutputLost):
        said.result("done")


def test_what_became_of_a_plan_is_not_hidden_by_a_lost_answer():
    class Failed(Result):
        @property
        def failure(self) -> PartlyApplied:
            return PartlyApplied("1 of 2 steps are done")

    class Options:
        console = console()
        triage = Triage()

    with pytest.raises(PartlyApplied):
        answer(Options(), Failed(), lambda _: "outcome")  # type: ignore[arg-type]  # what it needs of them


def test_a_device_that_is_full_is_said_with_its_name():
    with pytest.raises(OutputLost, match="cannot write /dev/full: No space left on device"):
        write_output_file(Path("/dev/full"), ["x"])


def test_rows_that_cannot_be_read_are_no_lost_answer(tmp_path: Path):
    def rows():
        yield "1\n"
        raise OSError("the ledger is gone")

    with (tmp_path / "out").open("w") as file, pytest.raises(OSError, match="the ledger is gone"):
        answer_stream(file).writelines(rows())

"""The boundary: what every way to end leaves on stdout, on stderr and as the exit code."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from eosctl import cli, errors

PROBE = Path(__file__).with_name("probe.py")


@pytest.fixture(autouse=True)
def probe(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Make `eosctl probe` the only command; tracebacks go where the test's files go."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    spec = importlib.util.spec_from_file_location("probe", PROBE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "probe", module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(cli, "COMMANDS", module.ENTRIES)


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start the probe as a separate process, which ends with the test."""
    processes: list[subprocess.Popen[str]] = []

    def starting(*args: str, **streams: Any) -> subprocess.Popen[str]:
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | streams
        process = subprocess.Popen([sys.executable, str(PROBE), *args], text=True, **streams)
        processes.append(process)
        return process

    yield starting
    for process in processes:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    ("how", "code", "kind"),
    [
        ("UsageError", 2, "UsageError"),
        ("ConfigError", 2, "ConfigError"),
        ("Unreachable", 4, "Unreachable"),
        ("TimedOut", 4, "TimedOut"),
        ("denied", 5, "NotAuthorized"),
        ("Unsupported", 6, "Unsupported"),
        ("Undecodable", 7, "Undecodable"),
        ("Refused", 8, "Refused"),
        ("PartlyApplied", 9, "PartlyApplied"),
        ("Bug", 70, "Bug"),
        ("Interrupted", 130, "Interrupted"),
        ("interrupt", 130, "Interrupted"),
        ("bug", 70, "Bug"),
        ("socket", 70, "Bug"),
    ],
)
def test_each_failure_ends_with_its_code_and_leaves_one_envelope(eosctl, how, code, kind):
    ran = eosctl("probe", "fail", how, "-o", "json")
    assert ran.exit_code == code
    envelope = json.loads(ran.stdout)
    assert envelope.keys() == {"kind", "version", "error"}
    assert (envelope["kind"], envelope["version"]) == ("error", 1)
    assert envelope["error"].keys() == {"type", "message", "hint", "exit_code"}
    assert (envelope["error"]["type"], envelope["error"]["exit_code"]) == (kind, code)


def test_a_failure_names_the_cause_and_the_next_step(eosctl):
    ran = eosctl("probe", "fail", "denied")
    assert ran.stdout == ""
    assert ran.stderr == "eosctl: error: User:tool may not WRITE on topic orders\nhint: ask for it\n"


def test_the_envelope_of_a_failure_is_exactly_this(eosctl):
    assert json.loads(eosctl("probe", "fail", "Refused", "-o", "json").stdout) == {
        "kind": "error",
        "version": 1,
        "error": {"type": "Refused", "message": "Refused happened", "hint": "try again", "exit_code": 8},
    }


@pytest.mark.parametrize("output", ["jsonl", "yaml"])
def test_the_other_machine_formats_leave_the_same_envelope(eosctl, output):
    parse = json.loads if output == "jsonl" else yaml.safe_load
    assert parse(eosctl("probe", "fail", "Refused", "-o", output).stdout) == json.loads(
        eosctl("probe", "fail", "Refused", "-o", "json").stdout
    )


def test_a_failure_after_the_answer_leaves_the_answer_as_the_only_document(eosctl):
    ran = eosctl("probe", "fail", "answered", "-o", "json")
    assert ran.exit_code == 9
    assert json.loads(ran.stdout)["data"] == {"text": "done"}
    assert ran.stderr == "eosctl: error: 1 of 2 steps was applied\n"


def test_a_bug_names_its_place_and_keeps_its_text_for_the_traceback_file(eosctl, tmp_path):
    ran = eosctl("probe", "fail", "bug")
    assert ran.exit_code == 70
    assert ran.stderr.startswith("eosctl: error: this is a bug: KeyError in fail (probe.py line ")
    assert "hunter2" not in ran.stderr
    [file] = tmp_path.iterdir()
    assert str(file) in ran.stderr
    assert "KeyError: 'hunter2'" in file.read_text()
    assert file.stat().st_mode & 0o077 == 0


def test_verbose_shows_the_traceback_of_a_bug(eosctl):
    assert "Traceback (most recent call last)" in eosctl("probe", "fail", "bug", "-v").stderr


def test_every_error_has_an_exit_code_of_the_contract():
    def family(kind: type[errors.EosctlError]) -> set[type[errors.EosctlError]]:
        return {kind}.union(*(family(child) for child in kind.__subclasses__()))

    codes = {kind.exit_code for kind in family(errors.EosctlError)}
    assert codes == {2, 3, 4, 5, 6, 7, 8, 9, 70, 74, 130}


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--nonsense"], "No such option: --nonsense"),
        (["prob"], "No such command 'prob'. Did you mean 'probe'?"),
        (["-o", "table", "probe"], "Missing command."),
        (["probe", "show", "--timeout", "soon"], "Invalid value for '--timeout'"),
        (["probe", "show", "-X", "acks"], "-X acks: expected KEY=VALUE"),
        (["probe", "show", "-o", "xml"], "Invalid value for '--output' / '-o'"),
        (["probe", "fail", "Refused", "-b", "broker:9092"], "No such option: -b"),
        (["probe", "show", "--timeout"], "requires an argument.\nhint: run `eosctl probe show --help`"),
    ],
)
def test_a_wrong_command_line_ends_with_2(eosctl, args, message):
    ran = eosctl(*args)
    assert ran.exit_code == 2
    assert ran.stdout == ""
    assert message in ran.stderr
    assert "\nhint: " in ran.stderr


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--timeout", "30s"], "'--timeout': '30s' is not a number of seconds (at least 0.001, such as 30)"),
        (["--timeout", "0"], "'--timeout': '0' is not a number of seconds (at least 0.001, such as 30)"),
        (["--timeout", "inf"], "'--timeout': 'inf' is too large: give at most 1000000000"),
        (["--timeout", "9999999999"], "'--timeout': '9999999999' is too large: give at most 1000000000"),
        (["--max-answer", "1.5"], "'--max-answer': '1.5' is not a whole number of MiB (from 1 to 1048576, such as 32)"),
    ],
)
def test_a_refused_number_is_told_with_its_unit_and_an_example(eosctl, args, message):
    assert f"Invalid value for {message}\nhint: " in eosctl("probe", "show", *args).stderr


@pytest.mark.parametrize(
    "args", [["-o", "json", "nonsense"], ["probe", "show", "--output=json", "--nonsense"], ["-ojson"]]
)
def test_a_wrong_command_line_leaves_json_where_json_was_asked_for(eosctl, args):
    ran = eosctl(*args)
    assert json.loads(ran.stdout)["error"]["type"] == "UsageError"


def test_a_wrong_value_in_the_environment_is_told_with_its_variable(eosctl, monkeypatch):
    monkeypatch.setenv("EOSCTL_TIMEOUT", "soon")
    assert "'soon' is not a number of seconds" in (told := eosctl("probe", "show").stderr)
    assert "(from the environment: EOSCTL_TIMEOUT)" in told


def test_a_switch_of_the_environment_is_true_or_false(eosctl, monkeypatch):
    monkeypatch.setenv("EOSCTL_QUIET", "maybe")
    assert "'maybe' is not true or false (from the environment: EOSCTL_QUIET)" in eosctl("probe", "show").stderr
    monkeypatch.setenv("EOSCTL_QUIET", "true")
    assert eosctl("probe", "show").exit_code == 0


def test_a_wrong_command_line_leaves_json_where_the_environment_asks_for_it(eosctl, monkeypatch):
    monkeypatch.setenv("EOSCTL_OUTPUT", "json")
    assert json.loads(eosctl("nonsense").stdout)["error"]["exit_code"] == 2


def test_a_missing_module_is_not_hidden(eosctl, monkeypatch):
    monkeypatch.setattr(cli, "COMMANDS", (cli.Entry("gone", "Gone."),))
    assert "gone" in eosctl("--help").stdout
    ran = eosctl("gone")
    assert ran.exit_code == 70
    assert "ModuleNotFoundError" in ran.stderr


def test_eosctl_alone_shows_its_help(eosctl):
    ran = eosctl()
    assert ran == eosctl("--help")
    assert ran.exit_code == 0
    assert ran.stdout.startswith("Usage: eosctl ")


def test_version_is_one_line(eosctl):
    assert eosctl("--version").stdout == f"eosctl {cli.__version__}\n"


def test_finding_something_is_exit_code_1(eosctl):
    assert eosctl("probe", "show", "orders", "--found").exit_code == 1


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_head_ends_the_output_and_not_the_command(start, monkeypatch, unbuffered):
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    process = start("probe", "rows", "30000")  # a pipe holds 64 KiB, and this is three times that
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == "NUMBER\n"
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(30) == 1


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    ("args", "code"), [(["show", "--help"], 0), (["show", "--found", "-q"], 1), (["rows", "5"], 1)]
)
def test_a_closed_pipe_is_silent_and_leaves_the_exit_code(start, monkeypatch, args, code, unbuffered):
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    reader, writer = os.pipe()
    os.close(reader)
    process = start("probe", *args, stdout=writer)
    os.close(writer)
    assert process.stderr is not None
    assert process.stderr.read() == ("eosctl: warning: a warning\n" if "-q" in args else "")
    assert process.wait(30) == code


def test_an_interrupt_ends_with_130(start):
    process = start("probe", "endless", "-o", "json")
    assert process.stderr is not None
    assert process.stderr.readline() == "began\n"
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert stderr == "eosctl: error: interrupted\n"
    assert json.loads(stdout)["error"]["type"] == "Interrupted"


def test_closed_streams_do_not_hurt():
    command = f'"{sys.executable}" "{PROBE}" probe show orders --found <&- >&- 2>&-'
    assert subprocess.run(command, shell=True, check=False).returncode == 1


def test_text_of_any_script_reaches_a_pipe_of_any_encoding(start, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    stdout, _ = start("probe", "show", "-o", "plain", "bestellungen-ü", encoding="utf-8").communicate(timeout=30)
    assert stdout == "bestellungen-ü\t14\n"


ENDING = """
import sys
from types import ModuleType

class Freed:
    def __del__(self, write=sys.__stderr__.write):
        write("freed")

def run():
    import atexit, threading, time

    def late():
        time.sleep(0.1)
        print("thread")

    atexit.register(lambda: print("callback"))
    threading.Thread(target=late).start()
    sys.exit(3)

sys.modules["eosctl.cli"] = ModuleType("eosctl.cli")
sys.modules["eosctl.cli"].main = run
sys.argv = ["eosctl", "probe"]
freed = Freed()
"""
"""A program whose command leaves a thread and a callback behind; Python's own end frees an object."""
ITSELF = "from eosctl.__main__ import main; main()"
INSIDE = """
import runpy
try:
    runpy.run_module("eosctl", run_name="__main__")
except SystemExit as end:
    sys.exit(end.code + 1)
"""


def ended(program: str, *options: str, **streams: Any) -> tuple[int, str, str]:
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | streams
    ran = subprocess.run([sys.executable, *options, "-c", program], text=True, check=False, **streams)
    return ran.returncode, ran.stdout, ran.stderr


def test_threads_and_callbacks_end_before_the_process_does_at_once():
    assert ended(ENDING + ITSELF) == (3, "thread\ncallback\n", "")


@pytest.mark.parametrize("options", [("-W", "default"), ("-X", "dev")])
def test_python_ends_as_always_where_it_is_to_warn_of_what_was_left_open(options):
    assert ended(ENDING + ITSELF, *options) == (3, "thread\ncallback\n", "freed")


def test_a_program_around_eosctl_has_the_last_word():
    earlier = "import atexit; atexit.register(print, 'earlier')\n"
    assert ended(ENDING + earlier + ITSELF) == (3, "thread\ncallback\nearlier\n", "freed")
    assert ended(ENDING + INSIDE) == (4, "thread\ncallback\n", "freed")


def test_output_that_is_lost_at_the_very_end_is_not_fine(monkeypatch):
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        code, _, told = ended(ENDING + ITSELF, stdout=full)
    assert code == 120
    assert "No space left on device" in told

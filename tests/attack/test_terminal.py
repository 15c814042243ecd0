"""Output on a terminal: names, invisible characters, closed streams."""

import errno
import json
import os
import random
import subprocess
import sys
import unicodedata
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from eosctl.codecs.offsets_topic import encode_kip875
from eosctl.codecs.yaml_text import decode_yaml
from eosctl.errors import EosctlError, OutputLost, PartlyApplied, Refused, Unsupported, UsageError
from eosctl.model.acls import AclBinding, Operation, transactional_id
from eosctl.model.offsets import ConnectorOffset
from eosctl.model.report import Result, Triage, failed_gate
from eosctl.model.text import UNSEEN, shell_word
from eosctl.render.answers.acls import AclFormat, EmitOptions, emit_acls
from eosctl.render.cells import Page, cell, escape_controls
from eosctl.render.console import (
    Console,
    OutputOptions,
    Stream,
    Terminal,
    answer_stream,
    talk_stream,
    write_output_file,
)
from eosctl.render.document import Column, Document, Table
from eosctl.render.formats import Output, text_of
from eosctl.render.gates import junit, sarif
from eosctl.render.watch_files import watch_service
from eosctl.shell.options import answer

HOSTILE = (
    *("\x1b[2J", "\r", "\x9b", "\u2028", "\ud800", "\x00"),
    *("\u202e", "\u2066", "\u2069", "\u200f", "\u061c"),
    *("\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u034f", "\u180e", "\ufe0f", "\u3164", "\U000e0041"),
)


def hostile_name(seed):
    """A name with some of these in it."""
    chosen = random.Random(seed)
    return "".join(chosen.choice((*HOSTILE, "orders", "ö", "日", "-")) for _ in range(8))


def is_seen(char):
    return char not in HOSTILE and unicodedata.category(char) not in {"Cc", "Cs", "Zl", "Zp", "Cf"}


@pytest.mark.parametrize("char", HOSTILE, ids=ascii)
def test_a_character_that_is_not_seen_is_written_as_an_escape(char):
    shown = cell(f"a{char}b")
    assert shown.startswith("a\\")
    assert all(map(is_seen, shown))


def test_names_in_any_script_are_left_alone():
    for name in ("Ötztal", "заказы", "注文", "طلبات", "הזמנות", "नमस्ते", "e\u0301"):
        assert escape_controls(name) == name


@pytest.mark.parametrize("seed", range(20))
def test_tables_warnings_narration_and_questions_show_names_as_they_are(seed):
    name = hostile_name(seed)
    table = Table("rows", (Column("NAME", "name"),))
    said = text_of(Document("x", {"rows": [{"name": name}]}, blocks=(table,)), Output.TABLE, Page(80, False))
    out, err = StringIO(), StringIO()
    streams = (Stream(StringIO("n\n"), 80), Stream(out, 80), Stream(err, 80))
    console = Console(Terminal(*streams, no_color=True), OutputOptions())
    console.warn(name)
    console.narrate(name)
    with pytest.raises(Refused):
        console.confirm(f"stop {name}?", yes=False)
    for text in (said, err.getvalue()):
        assert [ascii(char) for char in text if char != "\n" and not is_seen(char)] == []


NAMES = st.lists(st.sampled_from((*HOSTILE, "\x85", "\x0b", "\n", "'", "\\", "a", "ö")) | st.characters()).map("".join)
ENCODABLE = NAMES.map(lambda name: name.encode("utf-8", "ignore").decode())


def unseen(text):
    return [ascii(char) for char in UNSEEN.findall(text) if char not in "\n\t"]


@given(NAMES)
def test_every_output_format_is_safe_and_the_machine_formats_keep_the_value(name):
    document = Document("x", {"rows": [{"name": name}]}, blocks=(Table("rows", (Column("NAME", "name"),)),))
    shown = {output: text_of(document, output, Page(80, colour=False)) for output in Output}
    assert {output: unseen(text) for output, text in shown.items()} == {output: [] for output in Output}
    assert json.loads(shown[Output.JSON])["data"]["rows"] == [{"name": name}]
    assert json.loads(shown[Output.JSONL].splitlines()[1])["data"] == {"name": name}
    assert yaml.safe_load(shown[Output.YAML])["data"]["rows"] == [{"name": name}]


@given(NAMES)
def test_files_for_pipelines_are_safe(name):
    gate = failed_gate(name, EosctlError(name))
    assert [unseen(text) for text in (sarif(gate), junit(gate))] == [[], []]
    json.loads(sarif(gate))


@pytest.mark.parametrize("form", AclFormat)
@settings(max_examples=30)
@given(name=ENCODABLE)
def test_every_format_of_acls_is_safe_or_refused(form, name):
    try:
        binding = AclBinding("User:w", Operation.WRITE, transactional_id(f"a{name}b"))
        text = emit_acls((binding,), form, EmitOptions())
    except Unsupported:
        assert form is AclFormat.CSV
        return
    assert unseen(text) == []


@pytest.mark.parametrize("shell", ["bash", "dash"])
def test_a_shell_reads_a_quoted_word_as_it_is(shell):
    chars = sorted({*HOSTILE, "\n", "'\n"} - {"\ud800", "\x00"})
    words = [each for char in chars for each in (f"a{char}0\\b'", f'-%s$(id)`id`"{char}', f"{char}\n\n")]
    script = "\n".join(f"printf '%s\\0' {shell_word(word)}" for word in words)
    printed = subprocess.run([shell, "-c", script], capture_output=True, check=True).stdout
    assert printed.decode().split("\0") == [*words, ""]


def test_a_unit_refuses_a_line_end():
    file = SimpleNamespace(program="eosctl", profiles=("a\nExecStart=/bin/x",), address="a:1", every_s=1)
    with pytest.raises(UsageError, match="a unit of systemd cannot have"):
        watch_service(file)


def test_a_merge_works_and_a_merge_of_too_many_is_refused_by_its_name():
    assert decode_yaml("a: &a {x: 1}\nb: {<<: *a, y: 2}\n", "f") == {"a": {"x": 1}, "b": {"x": 1, "y": 2}}
    lines = ["a0: &a0 {k: 1}"]
    lines += [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}" for n in range(1, 8)]
    with pytest.raises(EosctlError, match="<< merges more than 100000 keys"):
        decode_yaml("\n".join(lines), "f")


@given(NAMES)
def test_exported_offsets_are_safe_and_read_back(name):
    exported = encode_kip875((ConnectorOffset({"file": name}, {"position": name}),))
    assert unseen(exported) == []
    assert json.loads(exported)["offsets"] == [{"partition": {"file": name}, "offset": {"position": name}}]


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
def test_a_full_disk_for_the_answer_is_reported_with_74(args: list[str]):
    code, printed = ran(*args)
    assert code == 74
    assert printed.endswith("eosctl: error: the answer could not be written: No space left on device\n")
    assert "Traceback" not in printed


def test_a_failure_keeps_its_own_code_though_the_answer_is_lost():
    code, printed = ran("probe", "fail", "Refused", "-o", "json")
    assert code == 8
    assert "Refused happened" in printed
    assert ran("probe", "fail", "answered")[0] == 74


@pytest.mark.parametrize(("args", "code"), [(["show", "orders", "--found"], 1), (["fail", "denied"], 5)])
def test_a_full_disk_for_standard_error_changes_no_exit_code(args: list[str], code: int):
    assert ran("probe", *args, out="/dev/null", err="/dev/full")[0] == code


def test_both_lost_is_74():
    assert ran("probe", "show", "orders", err="/dev/full")[0] == 74


class Full(StringIO):
    """A full disk."""

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


def test_the_outcome_of_a_plan_is_shown_although_the_answer_cannot_be_written():
    class Failed(Result):
        @property
        def failure(self) -> PartlyApplied:
            return PartlyApplied("1 of 2 steps are done")

    class Options:
        console = console()
        triage = Triage()

    with pytest.raises(PartlyApplied):
        answer(Options(), Failed(), lambda _: "outcome")  # type: ignore[arg-type]  # what it needs of them


def test_a_full_device_is_reported_with_its_name():
    with pytest.raises(OutputLost, match="cannot write /dev/full: No space left on device"):
        write_output_file(Path("/dev/full"), ["x"])


def test_rows_that_cannot_be_read_are_no_lost_answer(tmp_path: Path):
    def rows():
        yield "1\n"
        raise OSError("the ledger is gone")

    with (tmp_path / "out").open("w") as file, pytest.raises(OSError, match="the ledger is gone"):
        answer_stream(file).writelines(rows())

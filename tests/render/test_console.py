"""The only writer."""

from io import StringIO

import pytest

from eosctl.errors import ConfigError, Interrupted, Refused
from eosctl.render.console import ColourChoice, Console, OutputOptions, Stream, Terminal, terminal_of, write_output_file
from eosctl.render.document import Column, Document, Table
from eosctl.render.formats import Output


def console_at(
    width: int | None, options: OutputOptions | None = None, answer: str = ""
) -> tuple[Console, StringIO, StringIO]:
    stdout, stderr = StringIO(), StringIO()
    terminal = Terminal(Stream(StringIO(answer), width), Stream(stdout, width), Stream(stderr, width))
    return Console(terminal, options or OutputOptions()), stdout, stderr


def test_text_ends_with_one_newline():
    for text in ("done", "done\n"):
        console, stdout, _ = console_at(None)
        console.result(text)
        assert stdout.getvalue() == "done\n"


def test_a_command_answers_once():
    console, _, _ = console_at(None)
    console.result("one")
    with pytest.raises(RuntimeError, match="answers once"):
        console.result("two")


def test_progress_is_for_terminals_and_leaves_nothing_behind():
    for width, options, drawn in (
        (None, OutputOptions(), False),
        (80, OutputOptions(quiet=True), False),
        (80, OutputOptions(), True),
    ):
        console, stdout, stderr = console_at(width, options)
        with console.progress("reading", total=10, unit="records") as advance:
            advance(10)
        assert stdout.getvalue() == ""
        assert ("reading" in stderr.getvalue()) is drawn
        assert ("10/10 records" in stderr.getvalue()) is drawn


@pytest.mark.parametrize("answer", ["", "\n", "n\n", "maybe\n", "yess\n"])
def test_anything_but_yes_is_a_refusal(answer):
    console, _, _ = console_at(80, answer=answer)
    with pytest.raises(Refused):
        console.confirm("Fence?", yes=False)


@pytest.mark.parametrize("answer", ["y\n", "Yes\n", " YES \n"])
def test_yes_is_yes(answer):
    console, _, stderr = console_at(80, answer=answer)
    console.confirm("Fence?", yes=False)
    assert stderr.getvalue() == "Fence? [y/N] "


def test_ctrl_c_at_a_question_reports_on_a_new_line_that_nothing_was_changed(monkeypatch):
    console, _, stderr = console_at(80, answer="")

    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(console._terminal.stdin.file, "readline", interrupted, raising=False)
    with pytest.raises(Interrupted, match="not confirmed, nothing was changed"):
        console.confirm("Fence?", yes=False)
    assert stderr.getvalue() == "Fence? [y/N] \n"


def test_an_error_cannot_reach_into_the_terminal():
    console, _, stderr = console_at(None)
    console.error(Refused("connector \x1b[2J runs", hint="stop\x07 it"))
    assert stderr.getvalue() == "eosctl: error: connector \\x1b[2J runs\nhint: stop\\x07 it\n"


def test_a_reader_that_goes_away_does_not_end_the_command():
    class Closed(StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    terminal = Terminal(Stream(StringIO()), Stream(Closed()), Stream(Closed()))
    console = Console(terminal, OutputOptions(output=Output.JSON))
    console.narrate("reading")
    console.result("done")
    console.error(Refused("late"))


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    file = tmp_path / "answer"
    file.write_text("before")
    with pytest.raises(UnicodeEncodeError):
        write_output_file(file, ["half \ud800"])
    assert file.read_text() == "before"
    write_output_file(file, ["after"])
    assert file.read_text() == "after"
    assert list(tmp_path.iterdir()) == [file]


def test_a_file_in_a_missing_directory_is_a_configuration_error(tmp_path):
    with pytest.raises(ConfigError, match="No such file or directory"):
        write_output_file(tmp_path / "no" / "file", ["text"])


WIDE_ROW = Document("k", {"rows": [{"a": "word " * 30}]}, blocks=(Table("rows", (Column("A", "a"),)),))


@pytest.mark.parametrize(("columns", "widest"), [(None, 149), ("60", 60), ("0", 149), ("many", 149)])
def test_columns_is_the_width_of_a_pipe_and_makes_no_terminal_of_it(columns, widest):
    stdout = StringIO()
    environ = {} if columns is None else {"COLUMNS": columns}
    terminal = terminal_of(StringIO(), stdout, StringIO(), environ)
    console = Console(terminal, OutputOptions())
    console.result(WIDE_ROW)
    assert max(map(len, stdout.getvalue().splitlines())) in range(widest - 5, widest + 1)
    assert not console.interactive
    assert not terminal.coloured(terminal.stdout)


def test_results_that_the_answer_repeats_on_the_terminal_are_only_counted_during_the_run():
    for width, options, said in (
        (80, OutputOptions(), False),
        (80, OutputOptions(output=Output.JSON), True),
        (None, OutputOptions(), True),
    ):
        console, _, stderr = console_at(width, options)
        with console.results("applying", 1, unit="steps") as say:
            say("1. done: stopped")
        assert ("1. done: stopped\n" in stderr.getvalue()) is said
        assert ("1/1 steps" in stderr.getvalue()) is not said


def test_messages_on_a_terminal_are_folded_at_spaces_and_commands_stay_whole():
    error = ConfigError(
        "profile lab exists in /etc/users/me/config/eosctl", hint="take another name: eosctl profile add N -b B"
    )
    console, _, stderr = console_at(30, OutputOptions(colour=ColourChoice.NEVER))
    console.error(error)
    console.narrate("to name a cluster, in the user's file:\neosctl profile add NAME -b HOST:PORT")
    assert stderr.getvalue().splitlines() == [
        "eosctl: error: profile lab",
        "exists in",
        "/etc/users/me/config/eosctl",
        "hint: take another name:",
        "eosctl profile add N -b B",
        "to name a cluster, in the",
        "user's file:",
        "eosctl profile add NAME -b HOST:PORT",
    ]
    console, _, stderr = console_at(None)
    console.error(error)
    assert stderr.getvalue() == f"eosctl: error: {error.message}\nhint: {error.hint}\n"

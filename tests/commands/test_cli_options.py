"""The shared options: their places, their origins, and their precedence."""

import json
from pathlib import Path

import pytest
from test_cli import probe  # noqa: F401  # the fixture

from eosctl.shell.shared_options import leading_shared


def given(ran) -> dict:
    assert ran.exit_code == 0, ran.stderr
    return json.loads(ran.stdout)["data"]


@pytest.mark.parametrize(
    "args",
    [
        ["-o", "json", "-b", "broker:9092", "probe", "show", "orders"],
        ["probe", "-o", "json", "-b", "broker:9092", "show", "orders"],
        ["probe", "show", "orders", "-o", "json", "-b", "broker:9092"],
        ["-ojson", "--bootstrap-servers=broker:9092", "probe", "show", "orders"],
        ["--bootstrap-server", "other:1", "probe", "show", "-b", "broker:9092", "orders", "--output", "json"],
    ],
)
def test_shared_options_stand_before_the_command_or_after_it_and_the_last_wins(eosctl, args):
    data = given(eosctl(*args))
    assert data["bootstrap_servers"] == "broker:9092"
    assert data["connectors"] == [{"name": "orders", "length": 6}]


def test_repeated_options_add_up_across_both_places(eosctl):
    data = given(eosctl("-v", "-X", "a=1", "--connect-url", "http://one/", "probe", "show", "-vX", "b=x=y", "-ojson",
                        "--connect-url", "http://two"))  # fmt: skip
    assert data["properties"] == {"a": "1", "b": "x=y"}
    assert data["connect_urls"] == ["http://one", "http://two"]
    assert data["verbosity"] == 2


def test_the_environment_gives_what_the_command_line_does_not(eosctl, monkeypatch):
    monkeypatch.setenv("EOSCTL_BOOTSTRAP_SERVER", "env:1")
    monkeypatch.setenv("EOSCTL_GROUP_ID", "env-group")
    monkeypatch.setenv("EOSCTL_CONNECT_URL", "http://one http://two")
    monkeypatch.setenv("EOSCTL_TIMEOUT", "2.5")
    monkeypatch.setenv("EOSCTL_OUTPUT", "json")
    data = given(eosctl("--group-id", "typed-group", "probe", "show"))
    assert data["bootstrap_servers"] == "env:1"
    assert data["group_id"] == "typed-group"
    assert data["connect_urls"] == ["http://one", "http://two"]
    assert data["timeout_s"] == 2.5


def test_an_option_that_the_command_does_not_take_is_refused_before_it_too(eosctl):
    ran = eosctl("--dry-run", "probe", "show")
    assert ran.exit_code == 2
    assert "No such option: --dry-run" in ran.stderr


@pytest.mark.parametrize(
    ("args", "count"),
    [
        ([], 0),
        (["fence", "-b", "x"], 0),
        (["-b", "x", "fence"], 2),
        (["-bx", "fence"], 1),
        (["--output=json", "--quiet", "fence"], 2),
        (["-qvvo", "json", "fence"], 2),
        (["-z", "fence"], 0),
        (["--version"], 0),
        (["-"], 0),
        (["--output"], 1),
    ],
)
def test_leading_options_are_distinguished_from_the_commands_name(args, count):
    assert leading_shared(args) == count


def test_json_is_the_envelope_with_the_data(eosctl):
    envelope = json.loads(eosctl("probe", "show", "orders", "-o", "json").stdout)
    assert list(envelope) == ["kind", "version", "as_of", "cluster_id", "data"]


def test_quiet_leaves_warnings_and_verbose_adds_detail(eosctl):
    assert eosctl("probe", "show").stderr == "reading\neosctl: warning: a warning\n"
    assert eosctl("probe", "show", "-q").stderr == "eosctl: warning: a warning\n"
    assert eosctl("probe", "show", "-v").stderr == "reading\nreading in detail\neosctl: warning: a warning\n"


def test_an_output_file_gets_the_answer_and_stdout_nothing(eosctl, tmp_path: Path):
    file = tmp_path / "answer.tsv"
    ran = eosctl("probe", "show", "orders", "-o", "plain", "--output-file", file)
    assert (ran.exit_code, ran.stdout) == (0, "")
    assert file.read_text() == "orders\t6\n"
    assert list(tmp_path.iterdir()) == [file]


def test_an_output_file_that_cannot_be_written_is_a_configuration_error(eosctl, tmp_path: Path):
    file = tmp_path / "nowhere" / "answer.json"
    ran = eosctl("probe", "show", "-o", "json", "--output-file", file)
    assert ran.exit_code == 2
    assert json.loads(ran.stdout)["error"]["message"] == f"cannot write {file}: No such file or directory"


def test_writing_asks_and_no_is_the_default(at_terminal):
    ran = at_terminal(answer="\n").run("probe", "change")
    assert ran.exit_code == 8
    assert ran.stderr.startswith("Change it? [y/N] ")
    assert "not confirmed, nothing was changed" in ran.stderr
    assert at_terminal(answer="y\n").run("probe", "change").stdout == "changed\n"


def test_the_end_of_input_at_the_question_is_a_no(at_terminal):
    assert at_terminal(answer="").run("probe", "change").exit_code == 8


def test_writing_without_a_terminal_needs_yes(eosctl):
    ran = eosctl("probe", "change")
    assert ran.exit_code == 8
    assert "--yes" in ran.stderr
    assert eosctl("-y", "probe", "change").stdout == "changed\n"


def test_a_dry_run_never_asks(at_terminal):
    ran = at_terminal().run("probe", "change", "--dry-run")
    assert (ran.exit_code, ran.stdout, ran.stderr) == (0, "would change\n", "")


def test_colours_follow_option_then_no_color_then_force_color_then_terminal(eosctl, at_terminal):
    def coloured(ran) -> bool:
        return "\x1b[1mCONNECTOR" in ran.stdout

    show = ("probe", "show", "orders")
    assert not coloured(eosctl(*show))
    assert coloured(eosctl(*show, "--color", "always"))
    assert coloured(at_terminal().run(*show))
    assert not coloured(at_terminal().run(*show, "--no-color"))
    assert not coloured(at_terminal(no_color=True, force_color=True).run(*show))
    assert coloured(at_terminal(no_color=True).run(*show, "--color=always"))
    assert "\x1b[" in at_terminal().run("probe", "show", "--help").stdout
    assert "\x1b[" not in at_terminal(no_color=True).run("probe", "show", "--help").stdout


def test_help_puts_the_commands_own_options_before_the_shared_ones(eosctl):
    text = eosctl("probe", "show", "--help").stdout
    places = [text.index(part) for part in ("Usage:", "Examples:", "Columns:", "Arguments:", "--found", "Connection:",
                                            "--group-id", "Output:", "--output-file")]  # fmt: skip
    assert places == sorted(places)

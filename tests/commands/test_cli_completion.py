"""The offers of a TAB: requested as a shell does, and in a bash with a person at its keyboard."""

import json
import os
from itertools import product
from pathlib import Path

import pytest
import typer
from completion import home, loaded_for, offers, worker
from keyboard import keyboard

from eosctl.cli import PROGRAM, root_command
from eosctl.shell.command_tree import walk
from eosctl.shell.completion import complete
from eosctl.shell.ready import ready_text
from eosctl.version import __version__


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("eosctl fe", ["fence"]),
        ("eosctl connector ", ["show", "list"]),
        ("eosctl -o json insp", ["inspect-config"]),
        ("eosctl fence --trans", ["--transactional-id", "--transaction-timeout-ms"]),
        ("eosctl fence --bootstrap-server", ["--bootstrap-server", "--bootstrap-servers"]),
        ("eosctl fence -o js", ["json", "jsonl"]),
        ("eosctl fence --output=js", ["json", "jsonl"]),
        ("eosctl fence --ids-file ", []),
        ("eosctl explain EOS08", [f"EOS08{digit}" for digit in range(10)]),
        ("eosctl explain shadow", ["shadowed-offset"]),
        ("eosctl fence 'unfinished", []),
    ],
)
def test_a_tab_offers_what_fits(line, wanted):
    assert offers(line) == wanted


def test_offers_that_are_ready_are_those_of_the_tree_of_commands():
    """For each command and group, with nothing, part of a name, options and their values before it, and other words."""
    root, ready = root_command(), set()
    for each in walk(root, PROGRAM):
        options = [name for parameter in each.parameters for name in parameter.names[:1]]
        before = ("", f"{options[0]} ", "-b here:1 --timeout 1 ", "word ")
        for words, typed in product(before, ("", "-", "--b", "--co", "l")):
            line = f"{each.path} {words}{typed}"
            if (text := ready_text([], {"_EOSCTL_COMPLETE": line})) is not None:
                assert text.splitlines() == complete(root, line), line
                ready.add((each.path, words == "", typed))
    assert {("eosctl", True, ""), ("eosctl fence", True, "--co"), ("eosctl fence", False, "--co")} <= ready
    assert {
        ("eosctl transactions", True, "l"),
        ("eosctl offsets show", False, "--b"),
        ("eosctl offsets", True, "-"),
    } <= ready


@pytest.mark.parametrize(
    "line", ["eosctl fence --connector ", "eosctl explain ", "eosctl 'fence' --", "eosctl nobody -"]
)
def test_offers_of_names_and_of_quoted_words_are_not_ready(line):
    assert ready_text([], {"_EOSCTL_COMPLETE": line}) is None


@pytest.mark.parametrize(
    ("args", "environ", "begins"),
    [
        (["--help"], {}, "Usage: eosctl [OPTIONS]"),
        (["-h"], {"EOSCTL_OUTPUT": "json"}, "Usage: eosctl [OPTIONS]"),
        (["-V"], {}, f"{PROGRAM} {__version__}\n"),
        (["--help"], {"NO_COLOR": "1"}, None),
        (["--help"], {"COLUMNS": "60"}, None),
        (["fence", "--help"], {}, None),
        ([], {}, None),
    ],
)
def test_help_of_all_is_ready_for_a_plain_terminal(args, environ, begins, monkeypatch):
    monkeypatch.setattr("os.isatty", lambda _: False)
    text = ready_text(args, environ)
    assert begins is None or text.startswith(begins)
    assert begins is not None or text is None


@pytest.mark.parametrize(("columns", "widest"), [(80, 80), (100, 100), (200, 100), (90, None), (0, None)])
def test_help_of_all_is_ready_for_the_usual_widths(columns, widest, monkeypatch):
    monkeypatch.setattr("os.isatty", lambda _: True)
    monkeypatch.setattr("os.get_terminal_size", lambda _: os.terminal_size((columns, 24)))
    made = widest and typer.Context(root_command(), info_name=PROGRAM, terminal_width=widest).get_help()
    assert ready_text(["--help"], {}) == (f"{made}\n" if made else None)


def test_a_tab_after_nothing_offers_every_command():
    assert {"sandbox", "demo", "snapshot", "inspect-config", "fence"} <= set(offers("eosctl "))


def test_apply_and_undo_are_offered_plan_files_and_nothing_else(tmp_path, monkeypatch):
    kept, here = tmp_path / "state" / "eosctl" / "plans", tmp_path / "here"
    for directory in (kept, here / "changes"):
        directory.mkdir(parents=True)
    for path in (kept / "1-a.plan", kept / "1-a.plan.undo", kept / "1-a.plan.journal", here / "b.plan", here / "b.txt"):
        path.touch()
    (here / "changes" / "c.plan").touch()
    monkeypatch.chdir(here)
    user = {**home(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}
    assert offers("eosctl apply ", **user) == ["1-a.plan", "b.plan"]
    assert offers("eosctl apply b", **user) == ["b.plan"]
    assert offers("eosctl apply changes/", **user) == ["changes/c.plan"]
    assert offers(f"eosctl apply {here}/", **user) == [f"{here}/b.plan"]
    assert offers("eosctl undo ", **user) == ["1-a.plan.undo"]


def test_profiles_are_offered_wherever_one_is_named(tmp_path):
    user = home(tmp_path)
    for line in ("eosctl fence --profile ", "eosctl --profile ", "eosctl profile use ", "eosctl profile show "):
        assert offers(line, **user) == ["production", "staging"]
    assert offers("eosctl fence --profile st", **user) == ["staging"]


def test_connectors_come_from_the_worker_and_then_from_the_cache(tmp_path):
    with worker("orders", "orders-eu", "payments") as connect:
        user = home(tmp_path, connect.url)
        assert offers("eosctl fence --profile staging --connector ord", **user) == ["orders", "orders-eu"]
        assert offers(f"eosctl inspect-config --connect-url {connect.url} pay", **user) == ["payments"]
        asked = connect.asked
        assert offers("eosctl --profile staging offsets show --connector=pay", **user) == ["payments"]
        assert connect.asked == asked
    kept = list((tmp_path / "cache" / "eosctl" / "completion").glob("*.json"))
    assert [path.stat().st_mode & 0o777 for path in kept] == [0o600, 0o600]


def test_old_names_are_read_again_and_offered_while_the_cluster_does_not_answer(tmp_path):
    with worker("orders") as connect:
        user = home(tmp_path, connect.url)
        line = "eosctl fence --profile staging --connector "
        assert offers(line, **user) == ["orders"]
        connect.connectors = ["refunds"]
        assert offers(line, **user) == ["orders"]
        [kept] = (tmp_path / "cache" / "eosctl" / "completion").glob("*.json")
        age(kept, minutes=6)
        assert offers(line, **user) == ["refunds"]
    age(kept, minutes=6)
    assert offers(line, **user) == ["refunds"]
    age(kept, minutes=25 * 60)
    assert offers(line, **user) == []


def test_a_tab_waits_no_longer_than_its_timeout(tmp_path):
    with worker("orders") as connect:
        user = home(tmp_path, connect.url)
        line = "eosctl fence --profile staging --connector "
        assert offers(line, **{**user, "EOSCTL_COMPLETION_TIMEOUT": "0"}) == []
        [kept] = (tmp_path / "cache" / "eosctl" / "completion").glob("*.json")
        kept.unlink()
        assert offers(line, **{**user, "EOSCTL_COMPLETION_TIMEOUT": "60"}) == ["orders"]


def age(kept: Path, minutes: int) -> None:
    fields = json.loads(kept.read_text())
    fields |= {name: fields[name] - minutes * 60_000 for name in ("read_at", "asked_at")}
    kept.write_text(json.dumps(fields))


def test_a_cluster_that_does_not_answer_is_asked_once_and_not_at_every_tab(tmp_path):
    user = home(tmp_path)
    line = "eosctl fence --profile production --connector "
    assert offers(line, **user) == []
    [kept] = (tmp_path / "cache" / "eosctl" / "completion").glob("*.json")
    first = json.loads(kept.read_text())
    assert first["names"] == []
    assert first["read_at"] == 0
    assert offers(line, **user) == []
    assert json.loads(kept.read_text()) == first


@pytest.mark.parametrize("text", ["{", '{"version": 1, "names": [1]}', "[" * 100_000])
def test_a_damaged_cache_is_read_again_from_the_cluster(tmp_path, text):
    with worker("orders") as connect:
        user = home(tmp_path, connect.url)
        line = "eosctl fence --profile staging --connector "
        assert offers(line, **user) == ["orders"]
        [kept] = (tmp_path / "cache" / "eosctl" / "completion").glob("*.json")
        kept.write_text(text)
        assert offers(line, **user) == ["orders"]


def test_completion_is_silent_if_no_source_can_be_read(tmp_path):
    user = home(tmp_path)
    (tmp_path / "config" / "eosctl" / "config.yaml").write_text("profiles: [")
    (tmp_path / "cache").write_text("in the way")
    for line in (
        "eosctl fence --profile ",
        "eosctl fence -b localhost:1 --connector ",
        "eosctl transactions lso -b x:1 ",
    ):
        assert offers(line, **user) == []


def test_a_name_with_control_characters_is_not_offered(tmp_path):
    with worker("fine", "clear\x1b[2J", "two\nlines") as connect:
        user = home(tmp_path, connect.url)
        assert offers("eosctl fence --profile staging --connector ", **user) == ["fine"]


HOSTILE = "$(touch pwned) `touch pwned`; \\$(touch pwned) 'x' \"y\" *"


def test_bash_completes_the_offered_names_and_runs_none_of_them(tmp_path):
    with worker("orders-all", "billing:eu", HOSTILE) as connect:
        user = home(tmp_path, connect.url)
        with keyboard("bash", tmp_path, **user) as bash:
            assert bash.line_after("eosctl inspect-c\t") == "eosctl inspect-config "
            assert bash.line_after("eosctl fence --profile sta\t") == "eosctl fence --profile staging "
            by_url = f"eosctl fence --connect-url {connect.url} --connector"
            assert bash.line_after(f"{by_url} ord\t") == f"{by_url} orders-all "
            line = "eosctl fence --profile staging --connector"
            assert bash.line_after(f"{line}=ord\t") == f"{line}=orders-all "
            assert bash.line_after(f"{line} billing:e\t") == f"{line} billing:eu "
            assert bash.line_after("true; eosctl profile use prod\t") == "true; eosctl profile use production "
            completed = bash.line_after("eosctl fence --profile staging --connector \\$\t")
            assert completed.endswith("\\* ")
            assert bash.line_after("eosctl fence --ids-file tol\t") != ""
    assert not (tmp_path / "pwned").exists()


def test_a_tab_sends_no_request_and_loads_no_client_once_the_names_are_known(tmp_path):
    line = "eosctl fence --profile staging --connector "
    with worker("orders") as connect:
        user = home(tmp_path, connect.url)
        assert {"httpcore"} <= loaded_for(line, **user)
        asked = connect.asked
        assert loaded_for(line, **user) & {"httpcore", "kafka", "confluent_kafka", "rich", "pyspark"} == set()
        assert connect.asked == asked

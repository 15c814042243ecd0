"""Each command in a terminal of 80 and of 200 columns, without colours, in a pipe; and valid JSON in any case."""

import json
import re
import shlex
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path

import pytest

from tests.commands.tree import commands
from tests.integration.terminal import in_terminal

ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
DUMP = '{"offset": 1, "timestamp": 1, "key": "connector-orders", "value": {"properties": {"connector.class": "X"}}}\n'
STARTS_KAFKA = ("eosctl sandbox up", "eosctl sandbox down", "eosctl demo")
"""Their examples start or stop what others may be using."""


@pytest.fixture
def home(tmp_path) -> Path:
    (tmp_path / "dump.jsonl").write_text(DUMP)
    return tmp_path


@pytest.mark.parametrize("columns", [80, 200])
@pytest.mark.parametrize("args", [["--help"], ["inspect-config", "--records", "dump.jsonl"], ["explain", "EOS001"]])
def test_a_terminal_s_width_is_kept_and_used(home, columns, args):
    code, screen = in_terminal(args, columns, home)
    assert code == 0, screen
    lines = [ESCAPE.sub("", line) for line in screen.splitlines()]
    wrapped = [line for line in lines if not line.startswith("  eosctl ")]  # an example stays a line
    assert max(map(len, wrapped)) <= columns
    assert "orders" in screen or "eosctl" in screen.lower() or "EOS001" in screen


@pytest.mark.parametrize("args", [["--help"], ["inspect-config", "--records", "dump.jsonl"], ["explain", "nonsense"]])
def test_colours_are_for_those_who_want_them(home, args):
    _, plain = in_terminal(args, 100, home, {"NO_COLOR": "1"})
    assert not re.search(r"\x1b\[[0-9;]*m", plain)
    if args == ["--help"]:
        _, coloured = in_terminal(args, 100, home)
        assert re.search(r"\x1b\[[0-9;]*m", coloured)


def offline_examples() -> Iterator[str]:
    """Every example of every command, with brokers and workers that nobody answers for."""
    for each in commands():
        if each.is_group or each.path.startswith(STARTS_KAFKA):
            continue
        for line in each.blocks["Examples"].splitlines():
            yield re.sub(r"(worker|broker|old|new):\d+", "127.0.0.1:1", line.strip().partition(" < ")[0])


@pytest.mark.parametrize("line", sorted(set(offline_examples())))
def test_json_is_one_document_also_after_an_error(line, home, eosctl: Callable, monkeypatch):
    monkeypatch.chdir(home)
    monkeypatch.setattr("sys.stdin", StringIO("nothing that is known"))
    words = [word for word in shlex.split(line)[1:] if word not in {"--watch", "--wait"}]
    if "local[4]" in words:  # it would start Spark only to find that nobody answers
        words[words.index("spark")] = "local"
        words[words.index("--master") : words.index("--master") + 2] = []
    if words[0] == "watch" and "--emit" not in words:  # otherwise it would serve until somebody ends it
        words.append("--once")
    timeout = ["--timeout", "0.3"] if "-b" in words or "--connect-url" in words else []
    ran = eosctl(*_without_output(words), *timeout, "-o", "json")
    document = json.loads(ran.stdout)
    assert {"kind", "version"} <= set(document), document
    assert ran.exit_code != 70, ran.stderr
    assert (document["kind"] == "error") is (ran.exit_code not in {0, 1, 3})
    assert ran.exit_code != 3 or document["kind"] == "error" or document["data"]["unread"], document
    if document["kind"] == "error":
        assert document["error"]["exit_code"] == ran.exit_code


def _without_output(words: list[str]) -> list[str]:
    if "-o" not in words:
        return words
    place = words.index("-o")
    return words[:place] + words[place + 2 :]

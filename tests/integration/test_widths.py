"""The tables of a real cluster at a terminal of 80 and of 200 columns, and piped."""

import json
import re

import pytest

from tests.integration.file_connectors import FileConnectors

pytestmark = pytest.mark.kafka

ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
FINDING = re.compile(r"(error|warning|info) EOS\d+ [a-z-]+ \S+")
LABEL = 18
"""Columns before a name that has a line of its own."""
LONG = "a-connector-with-a-name-that-is-rather-long-as-those-of-data-platforms-tend-to-be"
LINES = [
    "profile check",
    "inspect-config",
    "inspect-config --history",
    "offsets show",
    "transactions list",
    f"transactions describe connect-cluster-{LONG}-0",
    f"transactions producers {LONG}",
    "transactions hanging",
    "transactions lso",
    "transactions log",
    "doctor",
    "upgrade-check --to enabled",
    f"audit --connector {LONG}",
    f"fence --connector {LONG} --force --dry-run",
    f"migrate-offsets --connector {LONG} --to-topic own-offsets --stop --set-config --resume --dry-run",
]


@pytest.fixture(scope="module")
def site(connect_sandbox, tmp_path_factory):
    files = FileConnectors(
        connect_sandbox.connect_url(1), connect_sandbox.bootstrap_servers, tmp_path_factory.mktemp("in")
    )
    files.file(LONG).write_text("one\ntwo\n")
    files.create(LONG)
    files.await_last(LONG, "two")
    yield ["-b", connect_sandbox.bootstrap_servers, "--connect-url", connect_sandbox.connect_url(1)]
    files.delete(LONG)


@pytest.mark.parametrize("columns", [80, pytest.param(200, marks=pytest.mark.variation)])
@pytest.mark.parametrize("line", LINES)
def test_no_line_is_wider_than_the_terminal(at_terminal, site, line, columns):
    ran = at_terminal(columns).run(*line.split(), *site, "--group-id", "connect-cluster")
    assert ran.exit_code in {0, 1}, ran.stderr
    shown = [ESCAPE.sub("", each) for each in ran.stdout.splitlines()]
    # A name that is longer than the terminal is wide stays whole to be copied, and has a line of its own.
    wide = [
        each
        for each in shown
        if len(each) > columns and len(each) - len(max(each.split(), key=len)) > LABEL and not FINDING.fullmatch(each)
    ]
    assert wide == []


@pytest.mark.parametrize("line", LINES)
def test_a_pipe_gets_json_without_colours_and_whole_names(eosctl, site, line):
    ran = eosctl(*line.split(), *site, "--group-id", "connect-cluster", "-o", "json")
    assert json.loads(ran.stdout)["version"] >= 1
    plain = eosctl(*line.split(), *site, "--group-id", "connect-cluster")
    assert "\x1b" not in plain.stdout + plain.stderr
    if LONG in ran.stdout and line != "doctor":
        assert LONG in plain.stdout

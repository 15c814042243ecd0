"""The question that `eosctl fence` asks a person, on a real terminal and on one of the test's own."""

import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.commands.conftest import Typed
from tests.faulty_sandbox import Sandbox
from tests.integration.coordinators import describe
from tests.integration.producers import create_topic, open_transaction, refused_as_fenced

pytestmark = pytest.mark.kafka

FreshName = Callable[[str], str]
Terminal = Callable[..., Typed]


@pytest.fixture
def topic(sandbox: Sandbox, fresh_name: FreshName) -> str:
    name = fresh_name("asked")
    create_topic(sandbox.bootstrap_servers, name)
    return name


@pytest.mark.parametrize("answer", ["\n", "n\n", "no\n", "", "yesterday\n"], ids=repr)
def test_whatever_is_not_a_yes_is_a_no(
    answer: str, sandbox: Sandbox, at_terminal: Terminal, fresh_name: FreshName, topic: str
) -> None:
    name = fresh_name("refused")
    producer = open_transaction(sandbox.bootstrap_servers, name, topic)
    ran = at_terminal(answer=answer).run("fence", "-b", sandbox.bootstrap_servers, "--transactional-id", name)
    assert (ran.exit_code, ran.stdout) == (8, "")
    assert re.search(r"Fence 1 transactional ID \(cluster [\w-]+\)\? \[y/N\]", ran.stderr)
    assert "aborts the open transaction" in " ".join(ran.stderr.split()), "the plan is shown before"
    assert "nothing was changed" in ran.stderr
    producer.commit_transaction(30)


@pytest.mark.parametrize("answer", ["y\n", "YES\n"], ids=repr)
def test_a_yes_fences(answer: str, sandbox: Sandbox, at_terminal: Terminal, fresh_name: FreshName, topic: str) -> None:
    name = fresh_name("agreed")
    producer = open_transaction(sandbox.bootstrap_servers, name, topic)
    ran = at_terminal(answer=answer).run("fence", "-b", sandbox.bootstrap_servers, "--transactional-id", name)
    assert ran.exit_code == 0, ran.stderr
    assert "1 fenced" in ran.stdout
    with refused_as_fenced():
        producer.commit_transaction(30)


def test_on_a_real_terminal_it_asks_and_takes_a_y(sandbox: Sandbox, fresh_name: FreshName) -> None:
    name = fresh_name("typed")
    command = [sys.executable, "-m", "eosctl", "fence", "-b", sandbox.bootstrap_servers, "--transactional-id", name]
    ours, theirs = pty.openpty()
    process = subprocess.Popen([*command, "--create-missing"], stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    while b"[y/N]" not in shown:
        shown += os.read(ours, 4096)
    assert describe(sandbox.bootstrap_servers, [name])[name] is None, "nothing is done before the answer"
    os.write(ours, b"y\n")
    assert process.wait(60) == 0
    os.close(ours)
    assert describe(sandbox.bootstrap_servers, [name])[name] is not None

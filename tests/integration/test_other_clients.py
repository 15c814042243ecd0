"""Real clients of others on one cluster: whose an ID is, who took it, what is left behind, how far a group reads."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from eosctl.model.versions import KafkaVersion
from eosctl.sandbox.cache import cache_directory, exclusive
from eosctl.sandbox.jars import resolve_plugin
from eosctl.sandbox.java import QUICK_START, compile_java, find_java
from tests.commands.conftest import Eosctl, Ran
from tests.conftest import FreshName
from tests.faulty_sandbox import Sandbox
from tests.integration.coordinators import state_of
from tests.integration.producers import create_topic
from tests.jvm import jars_of

pytestmark = [pytest.mark.kafka, pytest.mark.variation]
HERE: Final = Path(__file__).parent / "other_clients"
SPRING: Final = "org.springframework.kafka:spring-kafka:4.1.2"


class Library(NamedTuple):
    """A client library. suffix is what it puts behind the name that it is given, to get a transactional ID; version is
    the transaction.version that it uses where brokers have 2."""

    name: str
    suffix: str = ""
    shape: str = "unknown"
    version: int = 0


LIBRARIES: Final = (
    Library("librdkafka"),
    Library("aiokafka"),
    Library("franz-go", version=2),
    Library("sarama"),
    Library("spring", "0", "unknown, shape of pool {}*, as of Spring", version=2),
)


class Client:
    """A client in a process of its own, which does one thing after the other."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self._answer() == "ok"

    def does(self, *words: str) -> str:
        assert self._process.stdin is not None
        self._process.stdin.write(" ".join(words) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(("ok", "refused")):  # libraries log, too
                return line.strip()
        raise AssertionError(f"the client ended with {self._process.wait(30)}")


Start = Callable[..., Client]


def command_of(library: str, sandbox: Sandbox) -> list[str]:
    """The command that starts a client of this library, without its arguments."""
    if library in {"librdkafka", "aiokafka"}:
        return [sys.executable, str(HERE / "python_client.py"), library]
    if library == "spring":
        jars = resolve_plugin(SPRING, lambda _: None)
        classes = compile_java(jars_of(sandbox).compiler, HERE / "SpringClient.java", f"{jars}/*")
        return [str(find_java()), *QUICK_START, "-cp", f"{classes}:{jars}/*", "SpringClient"]
    return [str(built_of_go()), library]


def built_of_go() -> Path:
    """The clients in Go, built once."""
    go = shutil.which("go")
    assert go is not None, "franz-go and Sarama need the Go toolchain on the PATH"
    program = cache_directory() / "go-clients" / "client"
    with exclusive(program.with_suffix(".lock")):
        subprocess.run([go, "build", "-o", program, "."], cwd=HERE / "go", check=True, timeout=600)
    return program


@pytest.fixture
def topic(broker: Sandbox, fresh_name: FreshName) -> str:
    name = fresh_name("clients")
    create_topic(broker.bootstrap_servers, name)
    return name


@pytest.fixture
def start(broker: Sandbox, topic: str) -> Iterator[Start]:
    with ExitStack() as stack:

        def started(library: Library, name: str = "", timeout_ms: int = 60_000) -> Client:
            command = command_of(library.name, broker)
            client = Client([*command, broker.bootstrap_servers, topic, name, str(timeout_ms)])
            stack.callback(client.kill)
            return client

        yield started


@pytest.fixture
def asked(broker: Sandbox, eosctl: Eosctl) -> Callable[..., dict[str, Any]]:
    def ask(command: str, *more: str) -> dict[str, Any]:
        ran: Ran = eosctl("transactions", command, *more, "-b", broker.bootstrap_servers, "-o", "json")
        assert ran.exit_code in {0, 1, 3}, ran.stderr
        return dict(json.loads(ran.stdout)["data"])

    return ask


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda each: each.name)
def test_a_killed_client_is_seen_counted_and_fenced(
    library: Library, start: Start, asked: Callable[..., dict[str, Any]], broker: Sandbox, fresh_name: FreshName
) -> None:
    name, group = f"{fresh_name(library.name)}-x", fresh_name("readers")
    transactional_id = f"{name}{library.suffix}"
    writer = start(library, name)
    for words in (("write", "3"), ("commit",), ("write", "2"), ("abort",), ("write", "4"), ("commit",)):
        assert writer.does(*words) == "ok", words
    reader = start(library)
    assert reader.does("read", group, "2") == "ok"
    assert writer.does("write", "5") == "ok"
    owners = {row["transactional_id"]: row["owner"] for row in asked("list")["transactions"]}
    assert owners[transactional_id] == library.shape.format(name)
    (epoch,) = asked("history", transactional_id)["epochs"]
    assert (epoch["committed"], epoch["aborted"], epoch["ended_by"]) == (2, 1, None)
    used = library.version if broker.spec.version >= KafkaVersion(4, 0) else None
    assert epoch["client_transaction_version"] == used
    (lag,) = asked("lso", "--group", group)["partitions"]
    assert lag["lag_records"]["readable"] == 1 + 4
    assert lag["lag_records"]["aborted"] == 2
    assert lag["held_back"] == 5
    writer.kill()
    (left,) = asked("leftovers", "--prefix", name)["leftovers"]
    assert (left["transactional_id"], left["kind"]) == (transactional_id, "open")
    asked("leftovers", "--prefix", name, "--fence-rest", "--watch-client", "0.1", "--yes")
    assert state_of(broker.bootstrap_servers, transactional_id) == "Empty"
    assert asked("leftovers", "--prefix", name)["leftovers"] == []
    assert start(library, name).does("last") == "ok"
    assert reader.does("rest") == f"ok {lag['lag_records']['readable']}"


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda each: each.name)
def test_two_applications_with_one_id_are_found_with_their_times(
    library: Library, start: Start, asked: Callable[..., dict[str, Any]], fresh_name: FreshName
) -> None:
    name = f"{fresh_name(library.name)}-x"
    transactional_id = f"{name}{library.suffix}"
    applications = []
    for number in range(4):
        applications.append(start(library, name, 60_000 if number % 2 else 30_000))
        assert applications[-1].does("write", "1") == "ok"
    assert [each.does("commit").split()[0] for each in applications] == ["refused"] * 3 + ["ok"]
    found = asked("history", transactional_id)
    (finding,) = found["findings"]
    assert (finding["id"], finding["severity"], finding["subject"]) == ("EOS306", "error", transactional_id)
    *_, older, newer = found["epochs"]
    assert f" at {older['from']}, then " in finding["message"]
    assert f" at {newer['from']}. " in finding["message"]

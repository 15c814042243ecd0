"""`eosctl fence` towards brokers that are not there, or that are and do not answer."""

import json
import socket
import time
from collections.abc import Callable, Iterator

import pytest

from eosctl.clients.wire import Wire
from eosctl.executors.fencing import FencingRun
from eosctl.model.fencing import FencingOutcome
from tests.commands.conftest import Ran
from tests.faulty_sandbox import Sandbox
from tests.integration.coordinators import describe
from tests.integration.producers import transactional_producer

pytestmark = pytest.mark.kafka

Eosctl = Callable[..., Ran]
FLAGS = ("--transactional-id", "x", "--create-missing", "--yes", "-o", "json")


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a listener that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture
def closed() -> str:
    """An address that refuses connections."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"127.0.0.1:{listener.getsockname()[1]}"


def test_a_closed_port_is_told_at_once(eosctl: Eosctl, closed: str) -> None:
    began = time.monotonic()
    ran = eosctl("fence", "-b", closed, *FLAGS, "--timeout", "60")
    assert ran.exit_code == 4
    assert closed in ran.stderr
    assert json.loads(ran.stdout)["error"]["exit_code"] == 4
    assert time.monotonic() - began < 20, "well within --timeout"


def test_a_listener_that_says_nothing_is_given_up_within_the_timeout(eosctl: Eosctl, silent: str) -> None:
    began = time.monotonic()
    ran = eosctl("fence", "-b", silent, *FLAGS, "--timeout", "8")
    assert ran.exit_code == 4
    assert silent in ran.stderr
    assert "did not answer" in ran.stderr
    assert 6 < time.monotonic() - began < 16, "the time is not spent twice"


def test_one_live_bootstrap_server_is_enough(
    sandbox: Sandbox, eosctl: Eosctl, closed: str, silent: str, fresh_name: Callable[[str], str]
) -> None:
    name = fresh_name("alive")
    servers = ",".join([closed, silent, sandbox.bootstrap_servers])
    flags = ("--create-missing", "--yes", "-o", "json", "--timeout", "6")
    ran = eosctl("fence", "-b", servers, "--transactional-id", name, *flags)
    assert ran.exit_code == 0, ran.stderr


def test_a_broker_that_freezes_before_the_requests_leaves_its_ids_failed_within_the_timeout(
    make_sandbox: Callable[..., Sandbox], eosctl: Eosctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox = make_sandbox()
    servers = sandbox.bootstrap_servers
    names = [f"frozen-{number}" for number in range(5)]
    for name in names:
        transactional_producer(servers, name)
    run = FencingRun.run

    def frozen(fencing: FencingRun) -> FencingOutcome:
        sandbox.pause_broker(1)
        return run(fencing)

    monkeypatch.setattr(FencingRun, "run", frozen)
    began = time.monotonic()
    try:
        ran = eosctl("fence", "-b", servers, "--prefix", "frozen-", "--yes", "-o", "json", "--timeout", "8")
    finally:
        sandbox.resume_broker(1)
    assert ran.exit_code == 4, ran.stderr
    results = json.loads(ran.stdout)["data"]["results"]
    assert [(each["transactional_id"], each["outcome"]) for each in results] == [(name, "failed") for name in names]
    assert all("whether it was fenced is not known" in each["error"] for each in results)
    assert time.monotonic() - began < 24, "fencing, and what is asked after it, have a --timeout each"


def test_a_broker_that_freezes_while_the_user_is_asked_leaves_nothing_fenced_and_it_is_said(
    make_sandbox: Callable[..., Sandbox], eosctl: Eosctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox = make_sandbox()
    servers = sandbox.bootstrap_servers
    producer = transactional_producer(servers, "frozen")
    ask = Wire.ask_cluster_id

    def frozen(wire: Wire) -> str:
        sandbox.pause_broker(1)
        return ask(wire)

    monkeypatch.setattr(Wire, "ask_cluster_id", frozen)
    try:
        ran = eosctl("fence", "-b", servers, "--transactional-id", "frozen", "--yes", "-o", "json", "--timeout", "3")
    finally:
        sandbox.resume_broker(1)
    assert ran.exit_code == 4, ran.stderr
    assert "nothing was fenced" in json.loads(ran.stdout)["error"]["hint"]
    producer.begin_transaction()
    producer.commit_transaction(30)
    described = describe(servers, ["frozen"])["frozen"]
    assert described is not None
    assert described.producer.producer_epoch == 0

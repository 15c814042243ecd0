"""Whole audits, killed at named points and at any moment while the topics grow: the ledger ends as one audit would say.

Each schedule is one job on a real broker, audited by real processes of the command, on either engine.
"""

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import sleep

import pytest
from confluent_kafka import Producer

from eosctl.ledger.ledger import open_ledger
from tests.executors.crashes import COMMIT_FAILPOINTS, contiguous
from tests.faulty_sandbox import Sandbox
from tests.integration.audit_site import Eosctl
from tests.integration.producers import create_topic, transactional_producer

pytestmark = pytest.mark.kafka

FreshName = Callable[[str], str]
PATIENCE_S = 180
PARTS = ("connectors", "findings", "ranges", "transactions", "epochs", "growth")


class GrowingTopics:
    """An offsets topic and an output topic that two tasks of one connector write to in transactions."""

    def __init__(self, servers: str, name: str) -> None:
        self.servers, self.name, self.offsets, self.output = servers, name, f"{name}-offsets", f"{name}-output"
        create_topic(servers, self.offsets, 3)
        create_topic(servers, self.output, 2)
        self._tasks = [transactional_producer(servers, f"{name}-{task}") for task in range(2)]
        self._written = 0

    def grow(self, chance: random.Random) -> None:
        """Some transactions more; a few are aborted, and now and then somebody writes outside of them."""
        for _ in range(chance.randint(1, 20)):
            task = chance.randrange(2)
            producer = self._tasks[task]
            producer.begin_transaction()
            for _ in range(chance.randint(1, 30)):
                producer.produce(self.output, b"record", partition=task)
                self._written += 1
            producer.produce(
                self.offsets, b'{"n":%d}' % self._written, b'["%s",{"t":%d}]' % (self.name.encode(), task), task
            )
            if chance.random() < 0.1:
                producer.flush(30)  # a broker that saw nothing of it may refuse its end
                producer.abort_transaction(30)
            else:
                producer.commit_transaction(30)
        if chance.random() < 0.2:
            plain = Producer({"bootstrap.servers": self.servers})
            plain.produce(self.output, b"plain", partition=0)
            assert plain.flush(30) == 0

    def arguments(self) -> list[str]:
        """What tells `eosctl audit` of these topics."""
        named = ["--worker-offsets-topic", self.offsets, "--topic", self.output, "--config-topic", f"{self.name}-none"]
        return ["audit", "-b", self.servers, *named, "--connector", self.name, "-o", "json"]


def start(topics: GrowingTopics, store: str, engine: str, failpoint: str | None = None) -> "subprocess.Popen[str]":
    """An audit that is killed at the failpoint, if there is one."""
    environment = {**os.environ, **({} if failpoint is None else {"EOSCTL_FAILPOINT": failpoint})}
    command = [sys.executable, "-m", "eosctl", *topics.arguments(), "--store", store, "--engine", engine]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment)


def ended(process: "subprocess.Popen[str]") -> int:
    """0, 1 or 3 (the topics have no config topic), or killed; whatever else a process ends with is a failure."""
    _, error = process.communicate(timeout=PATIENCE_S)
    assert process.returncode in {0, 1, 3, -9}, error
    return process.returncode


def endure(topics: GrowingTopics, store: str, engine: str, chance: random.Random, longest_s: float) -> int:
    """Kills and growth, then one audit to the end. How many audits were killed."""
    killed = 0
    for _ in range(chance.randint(1, 3)):
        topics.grow(chance)
        if chance.random() < 0.6:
            killed += ended(start(topics, store, engine, f"{chance.choice(COMMIT_FAILPOINTS)}:1")) == -9
        else:
            process = start(topics, store, engine)
            sleep(chance.uniform(0, longest_s))  # not waiting for anything: the moment is the point
            process.kill()
            killed += ended(process) == -9
    topics.grow(chance)
    assert ended(start(topics, store, engine)) in {0, 1, 3}
    return killed


def check(topics: GrowingTopics, store: str, eosctl: Eosctl) -> None:
    """The ledger has every offset once, and the report of one audit of everything."""
    ledger = open_ledger(store)
    contiguous(ledger.ranges("audit"))
    kept = json.loads(ledger.report("audit") or "")["data"]
    whole = json.loads(eosctl(*topics.arguments()).stdout)["data"]
    for part in PARTS:
        assert kept[part] == whole[part], part


def survive(sandbox: Sandbox, name: str, eosctl: Eosctl, directory: Path, engine: str, seed: int) -> int:
    """One schedule. How many audits were killed."""
    topics = GrowingTopics(sandbox.bootstrap_servers, name)
    store = f"sqlite:///{directory}/{name}.db"
    killed = endure(topics, store, engine, random.Random(seed), 1.5 if engine == "local" else 12.0)
    check(topics, store, eosctl)
    return killed


@pytest.mark.parametrize("seed", range(3))
def test_an_audit_that_is_killed_is_finished_by_the_next(
    sandbox: Sandbox, eosctl: Eosctl, tmp_path: Path, fresh_name: FreshName, seed: int
):
    survive(sandbox, fresh_name("killed"), eosctl, tmp_path, "local", seed)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("engine", ["local", "spark"])
def test_crash_schedules_of_whole_audits(
    sandbox: Sandbox, eosctl: Eosctl, tmp_path: Path, fresh_name: FreshName, engine: str
):
    schedules, killed = (60 if engine == "local" else 20), 0
    for seed in range(schedules):
        killed += survive(sandbox, fresh_name(f"killed-{engine}"), eosctl, tmp_path, engine, seed)
    assert killed >= schedules // 2

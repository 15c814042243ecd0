"""Whole rolling upgrades with a source connector running: upgrade-check is right at every state in between.

tests/analysis/test_upgrade.py holds its decisions with evidence made by hand.
"""

import json
from collections import Counter
from pathlib import Path

import httpx
import pytest

from tests.faulty_sandbox import Sandbox
from tests.waiting import eventually

pytestmark = pytest.mark.kafka
SUPPORT = "exactly.once.source.support"
RANK = {"disabled": 0, "preparing": 1, "enabled": 2}
CONNECTOR = "rolled"
TOPIC = "rolled-out"


class Roll:
    """Workers of a sandbox, the phase of each, and the lines given to the connector."""

    def __init__(self, sandbox: Sandbox, eosctl, lines: Path) -> None:
        self.sandbox, self.eosctl, self.lines = sandbox, eosctl, lines
        self.phases = dict.fromkeys(range(1, len(sandbox.connect_urls) + 1), sandbox.spec.exactly_once)
        self.written = 0

    def start_connector(self) -> None:
        self.write()
        config = {
            "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
            "file": str(self.lines),
            "topic": TOPIC,
            "tasks.max": "1",
        }
        url = f"{self.sandbox.connect_urls[0]}/connectors/{CONNECTOR}/config"
        eventually(
            lambda: httpx.put(url, json=config, timeout=60, verify=False).is_success,
            "the connector is made",
            deadline_s=60,
        )

    def write(self) -> None:
        with self.lines.open("a") as file:
            file.writelines(f"line {number}\n" for number in range(self.written, self.written + 10))
        self.written += 10

    def check(self, target: str, wait_s: float = 0) -> dict[str, object]:
        urls = [part for url in self.sandbox.connect_urls for part in ("--connect-url", url)]
        files = sorted(self.sandbox.directory.glob("worker-*/worker.properties"))
        given = [part for file in files for part in ("--worker-config", file)]
        where = ["-b", self.sandbox.bootstrap_servers, *urls, *given]
        ran = self.eosctl("upgrade-check", "--to", target, *where, "--wait", wait_s, "-o", "json")
        data = json.loads(ran.stdout)["data"]
        assert ran.exit_code == (0 if data["verdict"] == "yes" else 1), ran.stderr
        return data

    def every_verdict_is_right(self) -> None:
        for target, rank in RANK.items():
            near = all(abs(RANK[phase] - rank) <= 1 for phase in self.phases.values())
            data = self.check(target, wait_s=90 if near else 0)
            assert data["verdict"] == ("yes" if near else "no"), (
                self.phases,
                target,
                data["findings"],
                data["unknown"],
            )
            assert data["done"] is (set(self.phases.values()) == {target})
            assert {each["phase"] for each in data["workers"]} == set(self.phases.values())
            assert near or "EOS018" in data["blockers"]

    def to(self, target: str, *, every_state: bool = True) -> None:
        """Follow the printed steps, one worker after the other; all verdicts are checked while phases are mixed."""
        by_url = {self.sandbox.connect_url(number): number for number in self.phases}
        while steps := self.check(target, wait_s=90)["steps"]:
            number = by_url[steps[0]["url"]]
            self.sandbox.stop_worker(number)
            self.sandbox.start_worker(number, {SUPPORT: target})
            self.phases[number] = target
            self.write()
            if every_state or len(set(self.phases.values())) > 1:
                self.every_verdict_is_right()

    def records(self) -> Counter[str]:
        from confluent_kafka import Consumer, TopicPartition

        settings = {
            "bootstrap.servers": self.sandbox.bootstrap_servers,
            "group.id": "count",
            "enable.auto.commit": False,
        }
        consumer = Consumer(settings | {"isolation.level": "read_committed"})
        try:
            _, end = consumer.get_watermark_offsets(TopicPartition(TOPIC, 0), timeout=30)
            consumer.assign([TopicPartition(TOPIC, 0, 0)])
            found: Counter[str] = Counter()
            while consumer.position([TopicPartition(TOPIC, 0)])[0].offset < end:
                message = consumer.poll(1)
                found.update([message.value().decode()] if message is not None and not message.error() else [])
            return found
        finally:
            consumer.close()

    def nothing_was_lost_or_doubled(self) -> None:
        wanted = Counter(f"line {number}" for number in range(self.written))
        eventually(lambda: set(self.records()) == set(wanted), "every line arrives", deadline_s=60, every_s=0.5)
        assert self.records() == wanted


def rolled(make_sandbox, eosctl, tmp_path: Path, workers: int, exactly_once: str = "disabled") -> Roll:
    sandbox = make_sandbox(workers=workers, exactly_once=exactly_once)
    roll = Roll(sandbox, eosctl, tmp_path / "lines")
    roll.start_connector()
    return roll


@pytest.mark.variation
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("before", "after"), [("disabled", "preparing"), ("preparing", "enabled")])
def test_two_workers_are_rolled_one_phase_on_by_the_printed_steps(
    make_sandbox, eosctl, tmp_path: Path, before: str, after: str
) -> None:
    """The short form, which asks for all verdicts only while the workers are at two phases."""
    roll = rolled(make_sandbox, eosctl, tmp_path, workers=2, exactly_once=before)
    roll.to(after, every_state=False)
    roll.nothing_was_lost_or_doubled()


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_three_workers_are_rolled_to_enabled_and_back(make_sandbox, eosctl, tmp_path: Path) -> None:
    roll = rolled(make_sandbox, eosctl, tmp_path, workers=3)
    roll.every_verdict_is_right()
    for target in ("preparing", "enabled", "preparing", "disabled"):
        roll.to(target)
    roll.nothing_was_lost_or_doubled()

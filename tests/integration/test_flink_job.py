"""Flink's real sink, killed between a checkpoint and the commit of its transactions, ended, and restored."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition

from eosctl.model.leftovers import FlinkCheckpoint
from eosctl.model.versions import KafkaVersion
from eosctl.operations.leftovers import read_checkpoint
from tests.commands.conftest import Eosctl, Ran
from tests.conftest import FreshName
from tests.faulty_sandbox import Sandbox
from tests.integration.flink import PATIENCE_S, Job, Said
from tests.integration.producers import create_topic
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.variation, pytest.mark.timeout(1200)]
NUMBERS: Final = 2000
FENCED: Final = "ProducerFencedException"
SLOW, FAST = 10, 2000
"""Numbers a second: the first run must not reach the end, and the second is to reach it soon."""
OPEN_WHEN_KILLED: Final = 5
"""Of subtask 1 those of the completed, the pending and the next checkpoint; of subtask 0 the last two of these."""


class Site:
    """A job, and what eosctl and a read_committed consumer say of it."""

    def __init__(self, broker: Sandbox, eosctl: Eosctl, fresh_name: FreshName, naming: str, directory: Path) -> None:
        self.servers, self.eosctl = broker.bootstrap_servers, eosctl
        self.job = Job(broker, fresh_name("numbers"), f"{fresh_name('job')}-sink", naming, directory, NUMBERS)
        self.topic, self.prefix = self.job.topic, f"{self.job.prefix}-"
        self.is_version_2 = broker.spec.version >= KafkaVersion(4, 0)
        create_topic(self.servers, self.topic, 2)

    def asked(self, command: str, *more: str | Path) -> Ran:
        return self.eosctl("transactions", command, *map(str, more), "-b", self.servers, "-o", "json")

    def data(self, command: str, *more: str | Path) -> dict[str, Any]:
        ran = self.asked(command, *more)
        assert ran.exit_code in {0, 1, 3}, ran.stdout + ran.stderr
        return dict(json.loads(ran.stdout)["data"])

    def leftovers(self) -> list[dict[str, Any]]:
        return list(self.data("leftovers", "--prefix", self.prefix)["leftovers"])

    def committed(self) -> Counter[str]:
        """The commits of each ID, by its history."""
        rows = self.data("history", "--prefix", self.prefix)["epochs"]
        return +sum((Counter({row["transactional_id"]: row["committed"]}) for row in rows), Counter())

    def killed(self) -> list[Said]:
        """Kills the job between a checkpoint and its commit in subtask 1; what it had committed, and what it held."""
        with self.job.runs("first", commits=2, rate=SLOW) as running:
            running.holds()
            eventually(lambda: len(self.leftovers()) == OPEN_WHEN_KILLED, deadline_s=PATIENCE_S)
            return running.said("commits", "holds")

    def read(self) -> list[int]:
        """The numbers that a read_committed consumer gets from the beginning on."""
        settings: dict[str, Any] = {
            "group.id": f"{self.topic}-readers",
            "isolation.level": "read_committed",
            "log_level": 0,
        }
        settings |= {"enable.auto.commit": False, "enable.partition.eof": True}
        reader = Consumer({**settings, "bootstrap.servers": self.servers})
        beginning = [TopicPartition(self.topic, partition, 0) for partition in range(2)]
        eventually(lambda: is_committed(reader, beginning), "a commit of the group's offsets")
        reader.assign(beginning)
        found, left = [], len(beginning)
        while left:
            message = reader.poll(30)
            assert message is not None
            if message.error():
                left -= 1
            else:
                found.append(int(message.value()))
        reader.close()
        return found

    def lag(self) -> int:
        """The records that this consumer can get, by eosctl."""
        rows = self.data("lso", "--group", f"{self.topic}-readers")["partitions"]
        return sum(row["lag_records"]["readable"] for row in rows)


@pytest.fixture
def site_of(broker: Sandbox, eosctl: Eosctl, fresh_name: FreshName, tmp_path: Path) -> Callable[[str], Site]:
    return lambda naming: Site(broker, eosctl, fresh_name, naming, tmp_path)


@pytest.mark.parametrize("naming", ["INCREMENTING", "POOLING"])
def test_a_killed_job_s_checkpoint_is_committed_and_restored_without_loss_or_repetition(
    naming: str, site_of: Callable[[str], Site]
) -> None:
    site = site_of(naming)
    said = site.killed()
    (held,) = [each for each in said if each.word == "holds"]
    left = site.leftovers()
    assert all(row["owner"].endswith(f" or Flink sink {site.job.prefix}") for row in left), left
    assert {(row["kind"], row["later_commit"]) for row in left if naming == "INCREMENTING"} <= {("open", None)}
    assert site.committed() == Counter(each.transactional_id for each in said if each.word == "commits")
    before = site.read()
    assert site.lag() == len(before) > 0

    refused = site.asked("leftovers", "--prefix", site.prefix, "--fence-rest", "--watch-client", "0", "--yes")
    assert (refused.exit_code, "a checkpoint of a Flink job may hold" in refused.stderr) == (8, True), refused.stderr
    assert len(site.leftovers()) == OPEN_WHEN_KILLED

    checkpoint = site.job.checkpoint()
    kept = listed(read_checkpoint(checkpoint, site.prefix))
    assert kept == {each.line for each in last_of_each_subtask(said)}
    ended = (
        "--prefix",
        site.prefix,
        "--flink-checkpoint",
        checkpoint,
        "--fence-rest",
        "--watch-client",
        "0.1",
        "--yes",
    )
    done = site.data("leftovers", *ended)["results"]
    assert [each["kind"] for each in done] == ["commit-transaction"] + ["fence-transaction"] * (OPEN_WHEN_KILLED - 1)
    assert site.leftovers() == []
    assert site.committed()[held.transactional_id] >= 1
    after = site.read()
    assert site.lag() == len(after) > len(before)

    with site.job.runs("second", commits=NUMBERS, rate=FAST, restored=checkpoint) as running:
        running.ends()
        again, ignored = running.said("commits"), running.said("fails")
    assert held.line in {each.line for each in again}, "Flink commits again what eosctl has committed"
    # A commit of transaction.version 2 raises the epoch, and a restored sink asks with the request of version 1.
    assert {(each.line, each.why) for each in ignored} <= {(each, FENCED) for each in kept if site.is_version_2}
    numbers = site.read()
    assert sorted(numbers) == list(range(NUMBERS))
    assert site.lag() == NUMBERS


def is_committed(reader: Consumer, places: list[TopicPartition]) -> bool:
    """False while the group's coordinator is not ready: the first group of a cluster creates its topic."""
    try:
        reader.commit(offsets=places, asynchronous=False)
    except KafkaException as error:
        if error.args[0].name() not in {"NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS"}:
            raise
        return False
    return True


def last_of_each_subtask(said: list[Said]) -> list[Said]:
    """The transactions of the last completed checkpoint."""
    return list({each.transactional_id.rsplit("-", 2)[1]: each for each in said}.values())


def listed(found: FlinkCheckpoint) -> set[str]:
    """The transactions to commit, each as the job says them."""
    of = ((each.transactional_id, each.producer) for each in found.transactions)
    return {f"{name} {producer.producer_id} {producer.producer_epoch}" for name, producer in of}


def test_a_job_whose_checkpoint_was_aborted_loses_records_and_does_not_fail(
    site_of: Callable[[str], Site], tmp_path: Path
) -> None:
    site = site_of("INCREMENTING")
    (held,) = [each for each in site.killed() if each.word == "holds"]
    nothing = tmp_path / "nothing.txt"
    nothing.write_text("")
    ended = ("--prefix", site.prefix, "--commit-listed", nothing, "--fence-rest", "--watch-client", "0.1", "--yes")
    assert site.data("leftovers", *ended)["results"]
    with site.job.runs("second", commits=NUMBERS, rate=FAST, restored=site.job.checkpoint()) as running:
        running.ends()
        assert (held.line, FENCED) in {(each.line, each.why) for each in running.said("fails")}
    numbers = site.read()
    assert len(numbers) == len(set(numbers)) < NUMBERS


@pytest.mark.parametrize("naming", ["INCREMENTING", "POOLING"])
def test_a_job_that_is_restored_at_once_commits_its_checkpoint_and_aborts_the_rest_by_itself(
    naming: str, site_of: Callable[[str], Site]
) -> None:
    site = site_of(naming)
    (held,) = [each for each in site.killed() if each.word == "holds"]
    with site.job.runs("second", commits=NUMBERS, rate=FAST, restored=site.job.checkpoint()) as running:
        running.ends()
        assert held.line not in {each.line for each in running.said("fails")}
    assert sorted(site.read()) == list(range(NUMBERS))
    assert site.leftovers() == []

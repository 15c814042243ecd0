"""What `migrate-offsets` and `apply` do not do, on a real broker: exit code, words, and nothing written."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from eosctl.analysis.offsets import OffsetsFold
from eosctl.clients.access import ClusterAccess
from eosctl.clients.wire import Wire
from eosctl.model.client_properties import ClientProperties
from eosctl.model.partitioner import java_partition
from eosctl.sandbox.sandbox import Sandbox
from eosctl.sources.plan_facts import read_offsets_topic
from tests.commands.conftest import Ran
from tests.conftest import MakeSandbox
from tests.integration.access import allowed
from tests.integration.producers import open_transaction
from tests.topics import make_topic

pytestmark = pytest.mark.kafka

Eosctl = Callable[..., Ran]


class Ground:
    """Topics of one test: a config topic with connectors, an offsets topic, and a target that may not exist."""

    def __init__(self, sandbox: Sandbox, name: str, eosctl: Eosctl) -> None:
        self.servers, self.name, self._eosctl = sandbox.bootstrap_servers, name, eosctl
        self.configs, self.offsets, self.target = f"{name}-configs", f"{name}-offsets", f"{name}-target"
        self.create(self.configs, 1)
        self.create(self.offsets, 3)
        self.connector("stopped", "STOPPED", 0)
        self.connector("running", "STARTED", 1)
        for connector in ("stopped", "running"):
            self.put(self.offsets, b'["%s",{"f":1}]' % connector.encode(), b'{"p":1}')

    def create(self, topic: str, partitions: int, policy: str = "compact") -> None:
        """Creates the topic."""
        wanted = NewTopic(topic, partitions, 1, config={"cleanup.policy": policy})
        admin = AdminClient({"bootstrap.servers": self.servers})
        make_topic(admin, wanted)

    def connector(self, name: str, state: str, tasks: int) -> None:
        """Writes what a worker would have written about it."""
        self.put(self.configs, f"connector-{name}".encode(), b'{"properties":{"name":"%s"}}' % name.encode(), 0)
        if tasks:
            self.put(self.configs, f"task-{name}-0".encode(), b'{"properties":{"task.class":"x"}}', 0)
        self.put(self.configs, f"commit-{name}".encode(), b'{"tasks":%d}' % tasks, 0)
        value = {"state": "PAUSED" if state == "STOPPED" else state, "state.v2": state}
        self.put(self.configs, f"target-state-{name}".encode(), json.dumps(value).encode(), 0)

    def put(self, topic: str, key: bytes, value: bytes | None, partition: int | None = None) -> None:
        """Writes one record, where Java would."""
        producer = Producer({"bootstrap.servers": self.servers})
        producer.produce(topic, value, key, partition=java_partition(key, 3) if partition is None else partition)
        assert producer.flush(30) == 0

    def migrate(self, connector: str = "stopped", *more: object, to: str | None = None) -> Ran:
        """`migrate-offsets --connector C --to-topic T` with these topics."""
        return self._eosctl(
            "migrate-offsets", "-b", self.servers, "--group-id", self.name, "--connector", connector,
            "--config-topic", self.configs, "--worker-offsets-topic", self.offsets, "--to-topic", to or self.target,
            "--partitions", "3", "--replication-factor", "1", *more,
        )  # fmt: skip

    def apply(self, plan: Path, *more: object) -> Ran:
        """`apply` without a question."""
        return self._eosctl("apply", plan, "-b", self.servers, "--config-topic", self.configs, "--yes", *more)

    def held(self) -> dict[bytes, bytes | None]:
        """Committed values in the target."""
        with Wire(ClientProperties((self.servers,))) as wire:
            topic = read_offsets_topic(ClusterAccess(wire, (), None, 30), self.target, OffsetsFold)
        return {
            key: each.committed.value
            for part in topic.partitions
            for key, each in part.keys.items()
            if key is not None and each.committed is not None
        }


@pytest.fixture
def ground(
    sandbox: Sandbox, fresh_name: Callable[[str], str], eosctl: Eosctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Ground:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return Ground(sandbox, fresh_name("refused"), eosctl)


def refused(ran: Ran, exit_code: int, *told: str) -> None:
    assert ran.exit_code == exit_code, ran.stderr
    for each in told:
        assert each in ran.stderr


def test_a_connector_that_nobody_knows(ground: Ground):
    refused(ground.migrate("nobody", "--yes"), 2, "knows a connector nobody", "known are: running, stopped")


def test_a_connector_of_other_workers(ground: Ground):
    """Its offsets are there, and the config topic that was named never held it: it may run."""
    ground.put(ground.offsets, b'["theirs",{"f":1}]', b'{"p":1}')
    told = f"whether connector theirs is stopped is unknown: config topic {ground.configs} never held it"
    refused(ground.migrate("theirs", "--yes"), 8, told, "--config-topic")
    assert ground.held() == {}


def test_a_connector_that_runs(ground: Ground):
    refused(ground.migrate("running", "--yes"), 8, "running is STARTED with 1 task, not STOPPED", "--stop")
    assert ground.held() == {}


def test_a_connector_that_was_paused(ground: Ground):
    ground.connector("running", "PAUSED", 1)
    refused(ground.migrate("running", "--yes"), 8, "running is PAUSED with 1 task, not STOPPED")


def test_a_target_that_deletes(ground: Ground):
    ground.create(ground.target, 3, "delete")
    refused(ground.migrate("stopped", "--yes"), 8, "cleanup.policy delete", "which Connect refuses")


def test_a_target_with_foreign_keys(ground: Ground):
    ground.create(ground.target, 3)
    ground.put(ground.target, b"not an offset", b"1")
    refused(ground.migrate("stopped", "--yes"), 8, "holds 1 key that is not of source offsets")


def test_a_target_with_other_offsets_until_it_is_said_which_are_right(ground: Ground):
    key = b'["stopped",{"f":1}]'
    ground.create(ground.target, 3)
    ground.put(ground.target, key, b'{"p":9}')
    refused(ground.migrate("stopped", "--yes"), 8, '{"p":1} in', '{"p":9} in', "--merge")
    assert ground.held() == {key: b'{"p":9}'}
    assert ground.migrate("stopped", "--yes", "--merge", "keep-target").exit_code == 0
    assert ground.held() == {key: b'{"p":9}'}
    assert ground.migrate("stopped", "--yes", "--merge", "keep-source").exit_code == 0
    assert ground.held() == {key: b'{"p":1}'}


def test_without_a_terminal_and_without_yes(ground: Ground):
    refused(ground.migrate("stopped"), 8, "not confirmed")
    assert ground.held() == {}


def test_a_dry_run_writes_nothing_and_does_not_ask(ground: Ground):
    ran = ground.migrate("stopped", "--dry-run", "-o", "json")
    data = json.loads(ran.stdout)["data"]
    assert ran.exit_code == 0
    assert [step["kind"] for step in data["steps"]][:3] == ["create-topic", "write-offsets", "verify-offsets"]
    assert ground.held() == {}


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("--to-worker-topic",), "contradict each other"),
        (("--resume",), "--resume without --set-config"),
        (("--to-connect-url", "http://x:1"), "is for a move to another Connect cluster"),
        (("--connector", "running", "--rename-to", "x"), "--rename-to is for one connector"),
    ],
)
def test_flags_that_contradict_one_another(ground: Ground, flags: tuple[str, ...], told: str):
    refused(ground.migrate("stopped", "--yes", *flags), 2, told)


def test_a_rename_map_that_gives_two_connectors_one_name(ground: Ground, eosctl: Eosctl, tmp_path: Path):
    names = tmp_path / "names.json"
    names.write_text('{"stopped": "x", "running": "x"}')
    ran = eosctl("migrate-offsets", "-b", ground.servers, "--group-id", "g", "--rename-map", names, "--yes")
    refused(ran, 2, "gives two connectors the name x")


@pytest.mark.parametrize(
    "names", ['{"stopped": "running", "running": "x"}', '{"stopped": "running", "running": "stopped"}']
)
def test_a_rename_map_with_a_name_that_is_given_away_and_taken(
    ground: Ground, eosctl: Eosctl, tmp_path: Path, names: str
):
    """What the name stands for would depend on the order of the moves."""
    path = tmp_path / "names.json"
    path.write_text(names)
    ran = eosctl("migrate-offsets", "-b", ground.servers, "--group-id", "g", "--rename-map", path, "--yes")
    refused(ran, 2, "has running as an old name and as a new one", "rename in two runs")


class TestMissingAcls:
    """User `tool` may do all but one thing."""

    def grants(self, ground: Ground) -> dict[str, tuple[str, str, str]]:
        return {
            "neighbours": ("DESCRIBE", "BROKER", "kafka-cluster"),
            "coordinators": ("DESCRIBE", "TOPIC", "__consumer_offsets"),
            "configs": ("READ", "TOPIC", ground.configs),
            "source": ("READ", "TOPIC", ground.offsets),
            "read": ("READ", "TOPIC", ground.target),
            "write": ("WRITE", "TOPIC", ground.target),
            "id": ("WRITE", "TRANSACTIONAL_ID", f"{ground.name}-stopped-*"),
        }

    @pytest.mark.parametrize(
        ("missing", "told"),
        [
            ("write", "User:tool lacks Write on topic {0}-target"),
            ("id", "User:tool lacks Write on transactional ID {0}-stopped-0"),
            ("source", "User:tool lacks"),
        ],
    )
    def test_it_is_named(
        self, ground: Ground, sandbox: Sandbox, eosctl: Eosctl, tmp_path: Path, missing: str, told: str
    ):
        ground.create(ground.target, 3)
        config = tmp_path / "tool.properties"
        config.write_text(sandbox.client_properties("tool"))
        grants = [grant for name, grant in self.grants(ground).items() if name != missing]
        plain, ground.servers = ground.servers, sandbox.sasl_bootstrap_servers
        with allowed(sandbox, "tool", *grants):
            ran = ground.migrate("stopped", "--yes", "--command-config", config)
        ground.servers = plain
        refused(ran, 5, told.format(ground.name))
        assert ground.held() == {}

    def test_with_all_of_them_it_is_moved(self, ground: Ground, sandbox: Sandbox, tmp_path: Path):
        ground.create(ground.target, 3)
        config = tmp_path / "tool.properties"
        config.write_text(sandbox.client_properties("tool"))
        plain, ground.servers = ground.servers, sandbox.sasl_bootstrap_servers
        with allowed(sandbox, "tool", *self.grants(ground).values()):
            ran = ground.migrate("stopped", "--yes", "--command-config", config)
        ground.servers = plain
        assert ran.exit_code == 0, ran.stderr
        assert len(ground.held()) == 1


class TestPlansThatWereMadeBefore:
    """A plan file, and what changed since."""

    @pytest.fixture
    def plan(self, ground: Ground, tmp_path: Path) -> Path:
        path = tmp_path / "move.plan"
        ran = ground.migrate("stopped", "--plan-file", path)
        assert ran.exit_code == 0, ran.stderr
        return path

    def test_it_is_applied_as_it_was_shown(self, ground: Ground, plan: Path):
        assert ground.held() == {}
        assert ground.apply(plan).exit_code == 0
        assert ground.held() == {b'["stopped",{"f":1}]': b'{"p":1}'}

    def test_the_connector_committed_meanwhile(self, ground: Ground, plan: Path):
        ground.put(ground.offsets, b'["stopped",{"f":1}]', b'{"p":2}')
        refused(ground.apply(plan), 8, "the offsets of connector stopped in topic", "changed since the plan was made")

    def test_another_connector_committed_meanwhile(self, ground: Ground, plan: Path):
        ground.put(ground.offsets, b'["running",{"f":1}]', b'{"p":2}')
        assert ground.apply(plan).exit_code == 0

    def test_the_connector_was_started_meanwhile(self, ground: Ground, plan: Path):
        ground.connector("stopped", "STARTED", 1)
        refused(ground.apply(plan), 8, "stopped is STARTED with 1 task")

    def test_the_config_topic_is_not_said_again(self, ground: Ground, plan: Path, eosctl: Eosctl):
        """Another one was never told of the connector: it may run."""
        ground.create(f"{ground.name}-others", 1)
        ran = eosctl("apply", plan, "-b", ground.servers, "--config-topic", f"{ground.name}-others", "--yes")
        refused(ran, 8, f"config topic {ground.name}-others never held it")

    def test_the_target_was_made_meanwhile_and_deletes(self, ground: Ground, plan: Path):
        ground.create(ground.target, 3, "delete")
        refused(ground.apply(plan), 8, "cleanup.policy delete")

    def test_somebody_wrote_to_the_target_meanwhile(self, ground: Ground, plan: Path):
        ground.create(ground.target, 3)
        ground.put(ground.target, b'["stopped",{"f":1}]', b'{"p":7}')
        refused(ground.apply(plan), 8, "changed since the plan was made")

    def test_it_is_another_cluster(self, plan: Path, make_sandbox: MakeSandbox, eosctl: Eosctl):
        refused(
            eosctl("apply", plan, "-b", make_sandbox().bootstrap_servers, "--yes"), 8, "the plan is for source cluster"
        )

    def test_it_was_edited(self, ground: Ground, plan: Path):
        plan.write_text(plan.read_text().replace('"partitions": 3', '"partitions": 4'))
        refused(ground.apply(plan), 8, "the plan was changed after it was made")

    def test_its_file_is_not_overwritten(self, ground: Ground, plan: Path):
        refused(ground.migrate("stopped", "--plan-file", plan), 2, "exists already")

    def test_another_connector_is_moved_to_the_same_topic(self, ground: Ground, plan: Path, tmp_path: Path):
        """Both plans were made before the topic was there; neither disturbs what the other wrote."""
        ground.connector("second", "STOPPED", 0)
        ground.put(ground.offsets, b'["second",{"f":1}]', b'{"p":2}')
        other = tmp_path / "other.plan"
        assert ground.migrate("second", "--plan-file", other).exit_code == 0
        assert ground.apply(plan).exit_code == 0
        assert ground.apply(other).exit_code == 0
        assert ground.held() == {b'["stopped",{"f":1}]': b'{"p":1}', b'["second",{"f":1}]': b'{"p":2}'}

    def test_the_same_connector_was_moved_to_the_same_topic_by_another_plan(
        self, ground: Ground, plan: Path, tmp_path: Path
    ):
        """What is there already is not written again; with another value it would be refused."""
        other = tmp_path / "other.plan"
        assert ground.migrate("stopped", "--plan-file", other).exit_code == 0
        assert ground.apply(plan).exit_code == 0
        assert ground.apply(other).exit_code == 0
        assert ground.held() == {b'["stopped",{"f":1}]': b'{"p":1}'}

    def test_a_transaction_is_open_in_the_source(self, ground: Ground, plan: Path, fresh_name: Callable[[str], str]):
        """One that fencing does not reach, because nobody knows whose it is: refused, whatever becomes of it."""
        producer = open_transaction(ground.servers, fresh_name("stranger"), ground.offsets)
        producer.produce(ground.offsets, b'{"p":5}', b'["stopped",{"f":1}]', partition=1)
        producer.flush(30)
        refused(
            ground.apply(plan),
            9,
            "an open transaction of producer",
            "wrote offsets of stopped",
            f"eosctl transactions hanging --topic {ground.offsets}",
            "then run the plan again",
        )
        producer.abort_transaction(30)
        assert ground.apply(plan).exit_code == 0
        assert ground.held() == {b'["stopped",{"f":1}]': b'{"p":1}'}

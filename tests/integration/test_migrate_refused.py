"""Refusals of `migrate-offsets` and `apply` on a real broker: exit code, words, and nothing written."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from eosctl.sandbox.properties import SandboxSpec
from tests.commands.conftest import Ran
from tests.conftest import FreshName, MakeSandbox
from tests.faulty_sandbox import Sandbox
from tests.integration.access import allowed
from tests.integration.file_connectors import FileConnectors
from tests.integration.migrate_ground import Ground, refused
from tests.integration.moves import SETTING, Eosctl, Home, Lines, delete_copies
from tests.integration.producers import open_transaction

pytestmark = pytest.mark.kafka


def test_a_connector_of_an_unknown_name(ground: Ground):
    refused(
        ground.migrate("nobody", "--yes"), 2, "connector nobody is unknown to Connect", "known are: running, stopped"
    )


def test_a_connector_of_other_workers(ground: Ground):
    """Its offsets are there, and the config topic that was named never held it: it may run."""
    ground.put(ground.offsets, b'["theirs",{"f":1}]', b'{"p":1}')
    message = f"whether connector theirs is stopped is unknown: config topic {ground.configs} never held it"
    refused(ground.migrate("theirs", "--yes"), 8, message, "--config-topic")
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


def test_a_target_with_other_offsets_is_refused_until_the_user_names_the_right_ones(ground: Ground):
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
    ("flags", "message"),
    [
        (("--to-worker-topic",), "contradict each other"),
        (("--to-topic", "two words"), "cannot be the name of a topic"),
        (("--resume",), "--resume without --set-config"),
        (("--to-connect-url", "http://x:1"), "is for a move to another Connect cluster"),
        (("--connector", "running", "--rename-to", "x"), "--rename-to is for one connector"),
    ],
)
def test_flags_that_contradict_one_another(ground: Ground, flags: tuple[str, ...], message: str):
    refused(ground.migrate("stopped", "--yes", *flags), 2, message)


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
    """The meaning of the name would depend on the order of the moves."""
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
        ("missing", "message"),
        [
            ("write", "User:tool lacks Write on topic {0}-target"),
            ("id", "User:tool lacks Write on transactional ID {0}-stopped-0"),
            ("source", "User:tool lacks"),
        ],
    )
    def test_it_is_named(
        self, ground: Ground, sandbox: Sandbox, eosctl: Eosctl, tmp_path: Path, missing: str, message: str
    ):
        ground.create(ground.target, 3)
        config = tmp_path / "tool.properties"
        config.write_text(sandbox.client_properties("tool"))
        grants = [grant for name, grant in self.grants(ground).items() if name != missing]
        plain, ground.servers = ground.servers, sandbox.sasl_bootstrap_servers
        with allowed(sandbox, "tool", *grants):
            ran = ground.migrate("stopped", "--yes", "--command-config", config)
        ground.servers = plain
        refused(ran, 5, message.format(ground.name))
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


# `apply` with an earlier plan: as it was shown, or not at all, and nothing written.


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

    def test_the_config_topic_need_not_be_named_again(self, ground: Ground, plan: Path, eosctl: Eosctl):
        """Another one was never told of the connector: it may run."""
        ground.create(f"{ground.name}-others", 1)
        ran = eosctl("apply", plan, "-b", ground.servers, "--config-topic", f"{ground.name}-others", "--yes")
        refused(ran, 8, f"config topic {ground.name}-others never held it")

    def test_the_target_was_made_meanwhile_and_deletes(self, ground: Ground, plan: Path):
        ground.create(ground.target, 3, "delete")
        refused(ground.apply(plan), 8, "cleanup.policy delete")

    def test_another_writer_wrote_to_the_target_meanwhile(self, ground: Ground, plan: Path):
        ground.create(ground.target, 3)
        ground.put(ground.target, b'["stopped",{"f":1}]', b'{"p":7}')
        refused(ground.apply(plan), 8, "changed since the plan was made")

    @pytest.mark.variation
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
        """Both plans were made before the topic existed; neither disturbs the other's records."""
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
        """Existing values are not written again; another value would be refused."""
        other = tmp_path / "other.plan"
        assert ground.migrate("stopped", "--plan-file", other).exit_code == 0
        assert ground.apply(plan).exit_code == 0
        assert ground.apply(other).exit_code == 0
        assert ground.held() == {b'["stopped",{"f":1}]': b'{"p":1}'}

    def test_a_transaction_is_open_in_the_source(self, ground: Ground, plan: Path, fresh_name: FreshName):
        """A transaction of an unknown owner, which fencing does not reach: refused, with any outcome."""
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


# Workers whose offsets topic, group and cluster differ from eosctl's options: nothing begins from nothing.


OURS = {
    "group.id": "ours",
    "config.storage.topic": "our-configs",
    "offset.storage.topic": "our-offsets",
    "status.storage.topic": "our-status",
}
Migrate = Callable[..., Ran]


@pytest.fixture(scope="module")
def homes() -> Iterator[tuple[Home, Home]]:
    """Our Connect cluster, and one beside it whose topics have the names that eosctl assumes."""
    with Sandbox(SandboxSpec(workers=1)) as sandbox:
        sandbox.start_worker(2, OURS)
        yield Home(sandbox, 2, "ours", "our-configs", "our-offsets"), Home(sandbox)


@pytest.fixture
def migrate(homes: tuple[Home, Home], eosctl: Eosctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Migrate:
    """Move a connector of ours, all over REST, without a word about our topics unless `more` says it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    ours, _ = homes

    def run(name: str, *more: str, group_id: str = "ours") -> Ran:
        return eosctl(
            "migrate-offsets", "-b", ours.servers, "--group-id", group_id, "--connect-url", ours.url,
            "--connector", name, "--stop", "--set-config", "--resume", "--yes", "--timeout", "60", *more,
        )  # fmt: skip

    return run


@pytest.mark.variation
def test_a_topic_of_other_workers_is_not_taken_for_ours(homes: tuple[Home, Home], migrate: Migrate, tmp_path: Path):
    """They have a connector of the same name; ours would begin where theirs is."""
    ours, others = homes
    mine = Lines(ours, "twin", tmp_path)
    connectors = FileConnectors(others.url, others.servers, tmp_path)
    connectors.file("theirs").write_text("line 0\n")
    connectors.create("twin", {"file": str(connectors.file("theirs")), "topic": "theirs"})
    connectors.await_last("theirs", "line 0")
    refused(
        migrate("twin", "--to-topic", "twin-own"),
        9,
        "was stopped",
        "of topic connect-offsets the workers of connector twin answer 1 offset that is not there",
    )
    assert ours.ask("PUT", "/connectors/twin/resume") < 400
    mine.check_exactly_once()
    assert migrate("twin", "--to-topic", "twin-own", "--worker-offsets-topic", "our-offsets").exit_code == 0
    mine.check_exactly_once()
    for home in homes:
        home.delete("twin")


@pytest.mark.variation
def test_a_topic_that_workers_do_not_use_is_noticed_before_the_connector_is_resumed(
    homes: tuple[Home, Home], migrate: Migrate, eosctl: Eosctl, tmp_path: Path
):
    ours, _ = homes
    lines = Lines(ours, "back", tmp_path, {SETTING: "back-own"})
    delete_copies(ours, "back")
    refused(migrate("back", "--to-worker-topic"), 9, "answers none for 1 source partition")
    lines.more.clear()
    refused(
        migrate("back", "--to-worker-topic", "--worker-offsets-topic", "our-none", "--offsets-topic", "back-own"), 8,
        "topic our-none does not exist: it is not the workers' offsets topic",
    )  # fmt: skip
    back = ("--to-worker-topic", "--worker-offsets-topic", "our-offsets", "--offsets-topic", "back-own")
    ran = migrate("back", *back, "--merge", "keep-source")
    assert ran.exit_code == 0, ran.stderr
    lines.check_exactly_once()
    ours.delete("back")


@pytest.mark.variation
def test_a_group_without_workers_is_not_theirs(homes: tuple[Home, Home], migrate: Migrate, tmp_path: Path):
    ours, _ = homes
    lines = Lines(ours, "grouped", tmp_path)
    ran = migrate("grouped", "--to-topic", "x", "--worker-offsets-topic", "our-offsets", group_id="hours")
    refused(ran, 2, "hours: the group has no member (state Dead), though workers answer (EOS020)")
    lines.check_exactly_once()
    ours.delete("grouped")

"""What `migrate-offsets` and `apply` do not do, on a real broker: exit code, words, and nothing written."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.commands.conftest import Ran
from tests.faulty_sandbox import Sandbox
from tests.integration.access import allowed
from tests.integration.migrate_ground import Ground, refused

pytestmark = pytest.mark.kafka

Eosctl = Callable[..., Ran]


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

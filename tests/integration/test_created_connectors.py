"""`offsets create-connector` on real workers: the connector copies from where it was told to, and nothing before."""

import json
from pathlib import Path

import pytest

from tests.commands.conftest import Eosctl, Ran
from tests.conftest import FreshName
from tests.faulty_sandbox import Sandbox
from tests.integration.file_connectors import values_in
from tests.integration.moves import CREATES_STOPPED, SETTING, Home
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.workers, pytest.mark.matrix, pytest.mark.variation]

LINES = [f"line {number}\n" for number in range(40)]
BEGIN = len("".join(LINES[:25]))


class Ground:
    """A file to copy, its connector's config, and where to begin."""

    def __init__(self, sandbox: Sandbox, name: str, directory: Path, eosctl: Eosctl) -> None:
        self.home, self.name, self._eosctl = Home(sandbox), name, eosctl
        self.source = directory / "lines.txt"
        self.source.write_text("".join(LINES))
        self.config, self.begin = directory / "config.json", directory / "begin.json"
        self.configure()
        offset = {"partition": {"filename": str(self.source)}, "offset": {"position": BEGIN}}
        self.begin.write_text(json.dumps({"offsets": [offset]}))

    def configure(self, **more: str) -> None:
        connector = {"connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector", "tasks.max": "1"}
        settings = {**connector, "file": str(self.source), "topic": self.name, **more}
        self.config.write_text(json.dumps({"name": self.name, "config": settings}))

    def create(self, *more: object) -> Ran:
        return self.run("offsets", "create-connector", self.begin, "--config", self.config, *more)

    def run(self, *command: object) -> Ran:
        home = self.home
        at = ("-b", home.servers, "--group-id", home.group_id, "--connect-url", home.url, "--yes", "-o", "json")
        return self._eosctl(*command, *at)

    def exists(self) -> bool:
        return self.home.ask("GET", f"/connectors/{self.name}/config") == 200

    def copied(self) -> list[str]:
        return [value.decode() for value in values_in(self.home.servers, self.name) if value is not None]


@pytest.fixture
def ground(
    moves_home: Sandbox,
    fresh_name: FreshName,
    tmp_path: Path,
    eosctl: Eosctl,
    monkeypatch: pytest.MonkeyPatch,
) -> Ground:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return Ground(moves_home, fresh_name("created"), tmp_path, eosctl)


@pytest.mark.parametrize("own", [False, True])
def test_a_new_connector_copies_from_the_given_position(ground: Ground, own: bool):
    if own:
        ground.configure(**{SETTING: f"{ground.name}-own"})
    ran = ground.create("--resume")
    if ground.home.version < CREATES_STOPPED:
        assert ran.exit_code == 8
        assert "cannot create a connector STOPPED (KIP-980, since 3.7.0)" in ran.stderr
        assert not ground.exists()
        return
    assert ran.exit_code == 0, ran.stderr
    expected = [line.rstrip() for line in LINES[25:]]
    eventually(lambda: len(ground.copied()) >= len(expected), "the lines from there on")
    assert ground.copied() == expected
    again = ground.create("--resume")
    assert (again.exit_code, f"connector {ground.name} exists: it is RUNNING" in again.stderr) == (8, True)
    undo = ground.run("undo", json.loads(ran.stdout)["data"]["undo_file"])
    assert undo.exit_code == 8, undo.stderr
    assert "changed since the plan was made" in undo.stderr
    ground.home.delete(ground.name)
    left = ground.create("--resume")
    assert left.exit_code == 8
    assert "left 1 offset in topic" in left.stderr


def test_one_that_did_not_continue_is_undone_and_leaves_nothing(ground: Ground):
    ran = ground.create()
    if ground.home.version < CREATES_STOPPED:
        assert ran.exit_code == 8
        return
    assert ran.exit_code == 0, ran.stderr
    assert ground.exists()
    undo = ground.run("undo", json.loads(ran.stdout)["data"]["undo_file"])
    assert undo.exit_code == 0, undo.stderr
    assert not ground.exists()
    assert ground.create("--dry-run").exit_code == 0


def test_a_sink_and_a_config_that_is_invalid_leave_nothing(ground: Ground):
    if ground.home.version < CREATES_STOPPED:
        assert ground.create().exit_code == 8
        return
    ground.configure(topic="")
    invalid = ground.create()
    assert (invalid.exit_code, ground.exists()) == (8, False), invalid.stderr
    ground.config.write_text(
        json.dumps(
            {
                "name": ground.name,
                "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
                "topics": ground.name,
            }
        )
    )
    sink = ground.create()
    assert "is a sink, which has no source offsets: it was deleted again" in sink.stderr
    assert (sink.exit_code, ground.exists()) == (8, False)

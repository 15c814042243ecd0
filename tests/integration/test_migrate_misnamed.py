"""Workers whose offsets topic, group and cluster are not those that eosctl was told: nothing begins from nothing."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from eosctl.sandbox.properties import SandboxSpec
from tests.commands.conftest import Ran
from tests.faulty_sandbox import Sandbox
from tests.integration.file_connectors import FileConnectors
from tests.integration.moves import SETTING, Eosctl, Home, Lines, delete_copies

pytestmark = [pytest.mark.kafka, pytest.mark.variation]

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


def refused(ran: Ran, exit_code: int, *told: str) -> None:
    assert ran.exit_code == exit_code, ran.stderr
    for each in told:
        assert each in ran.stderr


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


def test_a_group_without_workers_is_not_theirs(homes: tuple[Home, Home], migrate: Migrate, tmp_path: Path):
    ours, _ = homes
    lines = Lines(ours, "grouped", tmp_path)
    ran = migrate("grouped", "--to-topic", "x", "--worker-offsets-topic", "our-offsets", group_id="hours")
    refused(ran, 8, "no worker is in group hours: their group.id is another one")
    lines.check_exactly_once()
    ours.delete("grouped")

"""The move on every version of Connect: over REST where it can stop a connector (3.5), by hand where it cannot."""

from pathlib import Path

import pytest

from tests.commands.conftest import Eosctl, Ran
from tests.faulty_sandbox import Sandbox
from tests.integration.file_connectors import values_in
from tests.integration.moves import Home, Lines
from tests.kafka_versions import workers_of

pytestmark = [pytest.mark.kafka, pytest.mark.workers, pytest.mark.matrix, pytest.mark.usefixtures("own_state")]


def migrate(eosctl: Eosctl, sandbox: Sandbox, *more: str) -> Ran:
    return eosctl("migrate-offsets", "-b", sandbox.bootstrap_servers, "--group-id", "connect-cluster", "--yes", *more)


def test_by_hand(moves_home: Sandbox, kafka_version: str, eosctl: Eosctl, tmp_path: Path) -> None:
    """Delete, migrate, create again: the config topic alone tells that the connector is gone."""
    lines = Lines(Home(moves_home), "by-hand", tmp_path)
    assert migrate(eosctl, moves_home, "--connector", "by-hand", "--to-topic", "by-hand-own").exit_code == 8
    lines.place.home.delete("by-hand")
    ran = migrate(eosctl, moves_home, "--connector", "by-hand", "--to-topic", "by-hand-own", "-o", "json")
    assert ran.exit_code == 0, ran.stderr
    assert "create connector by-hand with offsets.storage.topic=by-hand-own" in ran.stdout
    lines.place.home.create("by-hand", {**lines.config(lines.place.home), "offsets.storage.topic": "by-hand-own"})
    lines.check_exactly_once()


def test_over_rest(moves_home: Sandbox, kafka_version: str, eosctl: Eosctl, tmp_path: Path) -> None:
    lines = Lines(Home(moves_home), "over-rest", tmp_path)
    ran = migrate(
        eosctl, moves_home, "--connector", "over-rest", "--to-topic", "over-rest-own",
        "--connect-url", moves_home.connect_url(1), "--stop", "--set-config", "--resume",
    )  # fmt: skip
    if workers_of(kafka_version) < "3.5":
        assert ran.exit_code == 6, ran.stderr
        assert "this needs Connect 3.5.0" in ran.stderr
        assert "delete connector over-rest" in ran.stderr
        assert values_in(moves_home.bootstrap_servers, "over-rest") == lines.copied()
    else:
        assert ran.exit_code == 0, ran.stderr
    lines.check_exactly_once()

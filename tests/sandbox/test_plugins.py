"""Plugins that a sandbox's workers get: which directories, fetched when, and where a worker sees them."""

from pathlib import Path

import pytest

from eosctl.errors import ConfigError, UsageError
from eosctl.sandbox import jars, sandbox
from eosctl.sandbox.jars import link_plugins, resolve_plugin
from eosctl.sandbox.properties import SandboxSpec
from eosctl.sandbox.sandbox import find_postgresql

DEBEZIUM = "io.debezium:debezium-connector-postgres:3.3.1.Final"


def test_an_artifact_is_fetched_once_into_a_directory_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    asked: list[tuple[str, ...]] = []

    def retrieve(coordinates: tuple[str, ...], into: Path, narrate: object) -> None:
        asked.append(coordinates)
        (into / "connector.jar").touch()

    monkeypatch.setattr(jars, "retrieve_artifacts", retrieve)
    said: list[str] = []
    first, again = resolve_plugin(DEBEZIUM, said.append), resolve_plugin(DEBEZIUM, said.append)
    assert first == again == tmp_path / "eosctl/plugins/io.debezium-debezium-connector-postgres-3.3.1.Final"
    assert (first / "connector.jar").exists()
    assert (asked, said) == ([(DEBEZIUM,)], [f"fetching {DEBEZIUM} (once)"])


def test_a_fetch_that_fails_leaves_nothing_that_is_taken_for_a_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def fail(*_: object) -> None:
        raise ConfigError("no network")

    monkeypatch.setattr(jars, "retrieve_artifacts", fail)
    for _ in range(2):
        with pytest.raises(ConfigError, match="no network"):
            resolve_plugin(DEBEZIUM, lambda _: None)


def test_each_plugin_is_a_directory_of_its_own_on_the_workers_path(tmp_path: Path):
    """Two directories of one name are two plugins; those of an earlier start are gone."""
    for name in ("a/jars", "b/jars"):
        (tmp_path / name).mkdir(parents=True)
    link_plugins(tmp_path / "plugins", [tmp_path / "a/jars"])
    link_plugins(tmp_path / "plugins", [tmp_path / "b/jars", tmp_path / "a/jars"])
    found = {link.name: link.resolve() for link in (tmp_path / "plugins").iterdir()}
    assert found == {"1-jars": tmp_path / "b/jars", "2-jars": tmp_path / "a/jars"}


@pytest.mark.parametrize("plugin", ["no/such/directory", "group:artifact", "a:b:c:d"])
def test_what_is_neither_a_directory_nor_an_artifact_is_refused_before_anything_starts(plugin: str):
    with pytest.raises(UsageError, match="is no directory"):
        SandboxSpec(plugins=(plugin,))


def test_without_a_postgresql_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sandbox, "DEBIAN", tmp_path)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match="no PostgreSQL") as caught:
        find_postgresql()
    assert "apt install postgresql" in str(caught.value.hint)

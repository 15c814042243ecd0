"""Group ID, topics, files and the ledger: from the command line, a worker's file or the profile, in this order."""

import json
import os
from pathlib import Path

import pytest
from test_cli import probe  # noqa: F401  # the fixture

WORKER = """group.id=from-file
config.storage.topic=configs-of-file
offset.storage.topic=offsets-of-file
sasl.jaas.config=a secret
"""
FILE = """profiles:
  staging: {worker-config: w1.properties, group-id: of-profile}
  several: {worker-config: [w1.properties, w2.properties], audit-store: "sqlite:///audit.db"}
"""


@pytest.fixture
def home(eosctl, tmp_path, monkeypatch) -> Path:
    home = Path(os.environ["XDG_CONFIG_HOME"], "eosctl")
    home.mkdir()
    (home / "config.yaml").write_text(FILE)
    (home / "w1.properties").write_text(WORKER)
    (home / "w2.properties").write_text(WORKER.replace("from-file", "other"))
    monkeypatch.chdir(tmp_path)
    return home


def seen(eosctl, *args) -> dict:
    ran = eosctl("probe", *args, "-o", "json")
    assert ran.exit_code == 0, ran.stderr
    return json.loads(ran.stdout)["data"]


def test_a_worker_s_file_names_group_and_topics(eosctl, home):
    assert seen(eosctl, "places", "--worker-config", home / "w1.properties") == {
        "group_id": "from-file",
        "config_topic": "configs-of-file",
        "worker_offsets_topic": "offsets-of-file",
        "store": None,
        "worker_configs": ["w1.properties"],
    }


def test_options_and_variables_win_over_the_file(eosctl, home, monkeypatch):
    monkeypatch.setenv("EOSCTL_WORKER_OFFSETS_TOPIC", "set")
    monkeypatch.setenv("EOSCTL_WORKER_CONFIG", str(home / "w1.properties"))
    places = seen(eosctl, "places", "--group-id", "typed", "--config-topic", "connect-configs")
    assert (places["group_id"], places["config_topic"]) == ("typed", "connect-configs")
    assert places["worker_offsets_topic"] == "set"


@pytest.mark.usefixtures("home")
def test_a_profile_s_files_count_as_if_they_were_typed_and_its_group_wins_over_them(eosctl):
    places = seen(eosctl, "places", "--profile", "staging")
    assert (places["group_id"], places["config_topic"]) == ("of-profile", "configs-of-file")
    places = seen(eosctl, "places", "--profile", "several")
    assert places["worker_configs"] == ["w1.properties", "w2.properties"]
    assert (places["group_id"], places["store"]) == ("from-file", "sqlite:///audit.db")


def test_a_command_with_an_option_of_its_own_gets_the_profile_s_file_there(eosctl, home):
    assert seen(eosctl, "own-file", "--profile", "several") == {"file": "w1.properties"}
    assert seen(eosctl, "own-file", "--profile", "several", "--worker-config", home / "w2.properties") == {
        "file": "w2.properties"
    }


@pytest.mark.usefixtures("home")
def test_a_file_that_is_not_there_is_named(eosctl):
    ran = eosctl("probe", "places", "--worker-config", "nowhere.properties")
    assert ran.exit_code == 2
    assert "cannot read --worker-config nowhere.properties: No such file or directory" in ran.stderr

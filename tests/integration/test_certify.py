"""`eosctl certify` on real brokers and workers: a lying connector fails with the right witness."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eosctl.operations.certified_site import SiteSpec, discoverable
from tests.commands.conftest import Ran
from tests.connector_plugin import plugin_path

pytestmark = pytest.mark.kafka
variation = pytest.mark.variation

SOURCE = Path(__file__).with_name("LyingSource.java")
SOURCES = "META-INF/services/org.apache.kafka.connect.source.SourceConnector"
LOAD = ("--load", "file:${certify:directory}/lines.txt", "--source-partition", "header:lane")
Eosctl = Callable[..., Ran]


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a plugin with connectors that lie."""
    directory = tmp_path_factory.mktemp("lying")
    plugin_path("4.3.1", SOURCE, directory)
    return directory / SOURCE.stem


@pytest.fixture
def bare(plugin: Path, tmp_path: Path) -> Path:
    """The same without a manifest."""
    return shutil.copytree(plugin, tmp_path / "bare", ignore=shutil.ignore_patterns("META-INF"))


def lying(directory: Path, lie: str, **more: str) -> Path:
    """The file of its config."""
    file = directory / f"{lie}.json"
    settings = {"file": "${certify:directory}/lines.txt", "topic": "lines", "lie": lie, **more}
    file.write_text(json.dumps({"name": lie, "connector.class": "LyingSource", "tasks.max": "1", **settings}))
    return file


def certified(eosctl: Eosctl, *arguments: object) -> tuple[int, Any]:
    """The exit code and the data of its answer."""
    ran = eosctl("certify", *arguments, "-o", "json")
    assert ran.exit_code in {0, 1, 3}, ran.stderr
    return ran.exit_code, json.loads(ran.stdout)["data"]


def test_offsets_one_behind_repeat_a_record_when_the_connector_restarts(
    eosctl: Eosctl, plugin: Path, tmp_path: Path
) -> None:
    config = lying(tmp_path, "behind", **{"transaction.boundary": "poll"})  # or the change of it is the first restart
    waits_least = 614
    faults = ("--faults", "restart-connector", "--rounds", 1, "--workers", 1, "--seed", waits_least)
    code, data = certified(eosctl, "--plugin", plugin, "--config", config, *LOAD, *faults)
    assert (code, data["verdict"]) == (1, "failed")
    calm, broken = data["rounds"]
    assert (calm["verdict"], calm["doubled"]) == ("held", 0)
    assert (broken["fault"], broken["verdict"]) == ("restart-connector", "failed")
    assert (broken["lost"], broken["reordered"]) == (0, 0)
    witness = data["witness"]
    assert (witness["harm"], witness["fault_act"]) == ("doubled", "restart the connector and its tasks")
    assert witness["before"]["identity"] == witness["after"]["identity"] == witness["identity"]
    assert witness["before"]["offset"] < witness["after"]["offset"]
    assert data["claim"]["exactly_once_support"] == "supported"


@variation
def test_offsets_one_behind_repeat_a_record_where_tasks_start_while_the_coordinator_moves(
    eosctl: Eosctl, plugin: Path, tmp_path: Path
) -> None:
    """Running tasks send their requests to the new coordinator, and no lie is seen."""
    config = lying(tmp_path, "behind", **{"transaction.boundary": "poll"})
    tasks_start = 2
    faults = ("--brokers", 3, "--faults", "move-coordinator", "--rounds", 1, "--seed", tasks_start)
    code, data = certified(eosctl, "--plugin", plugin, "--config", config, *LOAD, *faults)
    assert (code, data["verdict"]) == (1, "failed")
    assert [(each["fault"], each["verdict"]) for each in data["rounds"]] == [
        ("none", "held"),
        ("move-coordinator", "failed"),
    ]
    assert data["witness"]["harm"] == "doubled"


@variation
def test_lines_that_a_connector_leaves_out_are_lost_without_any_fault(
    eosctl: Eosctl, plugin: Path, tmp_path: Path
) -> None:
    """Probes are left out as well: others of each source partition come."""
    config = lying(tmp_path, "gap", **{"transaction.boundary": "poll"})
    faults = ("--faults", "restart-connector", "--rounds", 1, "--workers", 1, "--seed", 1)
    code, data = certified(eosctl, "--plugin", plugin, "--config", config, *LOAD, *faults)
    assert (code, data["verdict"]) == (1, "failed")
    assert [each["fault"] for each in data["rounds"]] == ["none"]
    assert {int(each["identity"]) % 10 for each in data["witnesses"]} == {4}
    assert {each["harm"] for each in data["witnesses"]} == {"lost"}


@variation
def test_records_that_a_connector_aborts_by_its_own_choice_are_not_lost(
    eosctl: Eosctl, plugin: Path, tmp_path: Path
) -> None:
    """Tasks abort a transaction whose last line ends with 7, so that no line of it arrives."""
    config = lying(tmp_path, "none", boundary="true", **{"transaction.boundary": "connector"})
    faults = ("--faults", "restart-connector", "--rounds", 1, "--workers", 1, "--seed", 1)
    code, data = certified(eosctl, "--plugin", plugin, "--config", config, *LOAD, *faults)
    assert (code, data["verdict"]) == (3, "cannot-tell")
    assert sum(each["aborted"] for each in data["rounds"]) > 0
    assert [each["lost"] + each["doubled"] + each["reordered"] for each in data["rounds"]] == [0, 0]
    assert data["claim"]["transaction_boundaries"] == "supported"


@variation
def test_a_connector_without_a_claim_fails_at_once_and_the_answer_names_undeclared_and_hides_passwords(
    eosctl: Eosctl, bare: Path, tmp_path: Path
) -> None:
    config = lying(tmp_path, "undeclared", password="hunter2")
    plugin = Path(shutil.make_archive(str(tmp_path / "lying"), "zip", bare)).rename(tmp_path / "lying.jar")
    dsn = ("--source-dsn", "postgresql://shop:hunter2@127.0.0.1/shop")
    ran = eosctl("certify", "--plugin", plugin, "--config", config, *LOAD, *dsn, "--workers", 1, "--faults", "fence")
    assert ran.exit_code == 1
    assert "failed: exactly-once is undeclared by LyingSource." in ran.stdout
    assert "does not implement exactlyOnceSupport" in ran.stdout
    assert "--undeclared runs the rounds" in ran.stdout
    assert "hunter2" not in ran.stdout
    assert "looks through all classes" not in ran.stderr


def test_a_plugin_without_a_manifest_gets_one_for_its_connector_and_its_files_stay_as_they_are(
    bare: Path, plugin: Path, tmp_path: Path
) -> None:
    spec = SiteSpec(plugins=(), kafka_version="4.3.1", connector_class="LyingSource")
    assert discoverable(spec, [plugin], tmp_path) == [plugin]
    [found] = discoverable(spec, [bare], tmp_path / "classes") or ()
    assert (found / SOURCES).read_text().split() == ["LyingSource"]
    assert (found / "LyingSource.class").read_bytes() == (bare / "LyingSource.class").read_bytes()
    assert not (bare / "META-INF").exists()
    archived = tmp_path / "archived"
    archived.mkdir()
    Path(shutil.make_archive(str(tmp_path / "lying"), "zip", bare)).rename(archived / "lying.jar")
    [found] = discoverable(spec, [archived], tmp_path / "jars") or ()
    assert {each.name for each in found.iterdir()} == {"lying.jar", "eosctl-manifest.jar"}
    assert discoverable(spec, [found], tmp_path / "again") == [found]


@pytest.mark.parametrize(
    ("others", "connector_class"), [(("LyingSource$Lane",), "LyingSource"), ((), "LyingTask"), ((), "Missing")]
)
def test_workers_look_through_all_classes_if_the_manifest_would_not_name_all_that_the_config_needs(
    bare: Path, tmp_path: Path, others: tuple[str, ...], connector_class: str
) -> None:
    spec = SiteSpec(plugins=(), kafka_version="4.3.1", connector_class=connector_class, others=others)
    assert discoverable(spec, [bare], tmp_path) is None


def test_a_disk_that_others_share_is_not_filled(eosctl: Eosctl, plugin: Path, tmp_path: Path) -> None:
    config = lying(tmp_path, "none", state="${certify:state}")
    ran = eosctl("certify", "--plugin", plugin, "--config", config, *LOAD, "--state", tmp_path)
    assert ran.exit_code == 2
    assert f"--state {tmp_path} is not a separate file system" in ran.stderr

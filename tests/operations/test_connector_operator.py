"""Who operates connectors, by files and options, and the resources that are written for a plan and its undo."""

from pathlib import Path

import pytest
import yaml

from eosctl.errors import UsageError
from eosctl.model.plan import ClusterIs, Plan, PlannedStep, ResumeConnector, SetConnectorConfig, Side, StopConnector
from eosctl.model.planned import Planned
from eosctl.operations.connector_operator import connector_operator
from tests.strimzi_shapes import MIRROR_MAKER_2_V1, PLAIN, THREE_PRINCIPALS

SOURCE = Side.SOURCE
OWN = {"offsets.storage.topic": "own"}


@pytest.fixture
def connector(tmp_path: Path) -> Path:
    file = tmp_path / "connector.yaml"
    file.write_text(PLAIN.connectors_yaml)
    return file


def plan(name: str, side: Side = SOURCE, copied_from: str | None = None) -> Planned:
    """Stop it, configure it and resume it."""
    steps = (
        StopConnector(SOURCE, copied_from or name),
        SetConnectorConfig(side, name, OWN, {"offsets.storage.topic": None}, copied_from),
        ResumeConnector(side, name, "own"),
    )
    planned = tuple(PlannedStep(each, (ClusterIs(each.side, "k"),)) for each in steps)
    return Planned(plan=Plan("migrate-offsets", 0, planned), cluster_id="k")


def written(directory: Path) -> dict[str, dict]:
    return {each.name: yaml.safe_load(each.read_text()) for each in directory.iterdir()}


def test_a_plan_has_the_files_that_it_and_its_undo_wait_for(connector: Path, tmp_path: Path):
    operator = connector_operator([connector], is_strimzis=False, emits=True, directory=tmp_path / "out")
    said: list[str] = []
    operator.write(operator.planned(plan("orders")).plan, said.append)
    specs = {name: each["spec"] for name, each in written(tmp_path / "out").items()}
    config = {"file": "/data/orders", "topic": "orders", "batch.size": 100}
    assert {name: (each["state"], each["config"]) for name, each in specs.items()} == {
        "orders.before.yaml": ("running", config),
        "orders.stopped.yaml": ("stopped", config),
        "orders.configured.yaml": ("stopped", config | OWN),
        "orders.running.yaml": ("running", config | OWN),
    }
    assert f"wrote {tmp_path}/out/orders.before.yaml" in said


def test_a_connector_that_moves_is_labelled_in_its_new_resources_only(connector: Path, tmp_path: Path):
    options = {"emits": True, "directory": tmp_path / "out", "to_cluster": "other"}
    operator = connector_operator([connector], is_strimzis=False, **options)
    operator.write(operator.planned(plan("orders", Side.TARGET, "orders")).plan, print)
    labels = {name: each["metadata"]["labels"] for name, each in written(tmp_path / "out").items()}
    assert labels == {
        f"orders.{change}.yaml": {"strimzi.io/cluster": cluster}
        for change, cluster in {
            "before": "my-connect", "stopped": "my-connect", "created": "other", "running": "other",
        }.items()
    }  # fmt: skip


def test_a_mirror_makers_connectors_have_files_without_arrows(tmp_path: Path):
    file = tmp_path / "mirror.yaml"
    file.write_text(MIRROR_MAKER_2_V1.worker_yaml)
    operator = connector_operator([file], [file], is_strimzis=False, emits=True, directory=tmp_path / "out")
    operator.write(operator.planned(plan("west->east.MirrorSourceConnector")).plan, print)
    files = written(tmp_path / "out")
    assert sorted(files) == [
        f"west--east.MirrorSourceConnector.{each}.yaml" for each in ("before", "configured", "running", "stopped")
    ]
    [mirror] = files["west--east.MirrorSourceConnector.running.yaml"]["spec"]["mirrors"]
    assert mirror["sourceConnector"] == {"tasksMax": 3, "state": "running", "config": OWN}
    assert mirror["checkpointConnector"] == {}


@pytest.mark.parametrize(
    ("text", "every"),
    [
        (PLAIN.worker_yaml, True),
        (PLAIN.worker_yaml.replace('use-connector-resources: "true"', 'use-connector-resources: "false"'), False),
        (THREE_PRINCIPALS.worker_yaml, True),
        (MIRROR_MAKER_2_V1.worker_yaml, True),
        ("group.id=g\n", False),
    ],
)
def test_a_workers_file_says_whether_every_connector_has_an_operator(tmp_path: Path, text: str, every: bool):
    (tmp_path / "worker").write_text(text)
    assert connector_operator([], [tmp_path / "worker"], is_strimzis=False).operated.every is every


def test_resources_that_nothing_would_carry_out_are_not_emitted(connector: Path, tmp_path: Path):
    (tmp_path / "worker").write_text(PLAIN.worker_yaml.replace("strimzi.io/use-connector-resources", "x/y"))
    with pytest.raises(UsageError, match=r"lacks the annotation strimzi\.io/use-connector-resources") as refused:
        connector_operator([connector], [tmp_path / "worker"], is_strimzis=False, emits=True)
    assert str(refused.value.hint).startswith("leave out --emit strimzi")
    with pytest.raises(UsageError, match="--to-kafka-connect is for --emit strimzi"):
        connector_operator([connector], is_strimzis=False, to_cluster="other")

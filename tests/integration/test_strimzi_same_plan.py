"""The same cluster as properties and as Strimzi's resources: the same plan of a move, on a real broker."""

import json
import re
from pathlib import Path

import pytest

from tests.conftest import FreshName
from tests.faulty_sandbox import Sandbox
from tests.integration.migrate_ground import Ground
from tests.integration.moves import SETTING, Eosctl
from tests.strimzi_shapes import MIRROR_MAKER_2, MIRROR_MAKER_2_V1, PLAIN, THREE_PRINCIPALS, Shape

pytestmark = pytest.mark.kafka


class ShapedGround(Ground):
    """The topics of a shape's workers, with its first connector, which is STOPPED."""

    def __init__(self, shape: Shape, sandbox: Sandbox, name: str, eosctl: Eosctl) -> None:
        self.config = shape.connectors[0]
        super().__init__(
            sandbox, name, eosctl, (shape.worker["config.storage.topic"], shape.worker["offset.storage.topic"])
        )
        self.own = self.config.get(SETTING)
        if self.own:
            self.create(self.own, 3)
        name_now = self.config["name"].encode()
        self.put(self.configs, b"connector-%s" % name_now, json.dumps({"properties": self.config}).encode(), 0)
        self.put(self.configs, b"commit-%s" % name_now, b'{"tasks":0}', 0)
        self.put(self.configs, b"target-state-%s" % name_now, b'{"state":"PAUSED","state.v2":"STOPPED"}', 0)
        self.put(self.own or self.offsets, b'["%s",{"f":1}]' % name_now, b'{"p":1}')


def stopped(text: str) -> str:
    """The resources; the operator would not resume the connectors."""
    text = re.sub(r"^( *)tasksMax: (\d+)$", r"\1tasksMax: \2\n\1state: stopped", text, flags=re.MULTILINE)
    return text.replace("{tasksMax: 3}", "{tasksMax: 3, state: stopped}")


def steps(eosctl: Eosctl, ground: Ground, connector: str, *options: object) -> list[dict[str, object]]:
    """The steps of a move to its own topic."""
    ran = eosctl(
        "migrate-offsets", "-b", ground.servers, "--connector", connector, "--to-topic", ground.target,
        "--partitions", "3", "--replication-factor", "1", *options, "--dry-run", "-o", "json",
    )  # fmt: skip
    assert ran.exit_code == 0, ran.stderr
    return json.loads(ran.stdout)["data"]["steps"]


@pytest.mark.parametrize(
    "forms",
    [
        pytest.param([PLAIN], marks=pytest.mark.variation, id="plain"),
        pytest.param([THREE_PRINCIPALS], id="three-principals"),
        pytest.param([MIRROR_MAKER_2, MIRROR_MAKER_2_V1], marks=pytest.mark.variation, id="mirror-maker-2"),
    ],
)
def test_each_form_of_a_cluster_gives_the_same_plan(
    forms: list[Shape], sandbox: Sandbox, fresh_name: FreshName, eosctl: Eosctl, tmp_path: Path
) -> None:
    """Steps for people are in terms of the resources."""
    first = forms[0]
    ground = ShapedGround(first, sandbox, fresh_name("forms"), eosctl)
    first.as_properties(tmp_path)
    name = first.connectors[0]["name"]
    plan = steps(eosctl, ground, name, "--worker-config", tmp_path / "worker.properties")
    assert [each["kind"] for each in plan][:3] == ["create-topic", "write-offsets", "verify-offsets"]
    by_hand = [each["kind"] for each in plan[3:]]
    assert by_hand == ["manual-step"] * 2
    for each in forms:
        (tmp_path / "connect.yaml").write_text(stopped(each.worker_yaml))
        (tmp_path / "connectors.yaml").write_text(stopped(each.connectors_yaml or each.worker_yaml))
        files = ("--worker-config", tmp_path / "connect.yaml", "--connector-config", tmp_path / "connectors.yaml")
        by_resources = steps(eosctl, ground, name, *files)
        assert by_resources[:3] == plan[:3]
        assert [each["kind"] for each in by_resources[3:]] == by_hand
        assert "(config in its resource)" in str(by_resources[3])

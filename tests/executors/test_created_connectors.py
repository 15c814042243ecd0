"""Creating a connector at given offsets, killed at each point: it never runs without them, and there is a way back."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from eosctl.clients.rest import NotFound, RestResponse
from eosctl.codecs.connector_files import config_digest, decode_connector
from eosctl.codecs.offsets_topic import offsets_now
from eosctl.codecs.plan import plan_digest
from eosctl.errors import ConfigError, Refused, Unsupported
from eosctl.executors.apply import ApplyRun, Journal
from eosctl.executors.connectors import create_connector, delete_connector, stop_connector
from eosctl.model.migration import MigrationFacts
from eosctl.model.offsets import ConnectorOffset
from eosctl.model.plan import (
    CreateConnector,
    DeleteConnector,
    Plan,
    Precondition,
    ResumeConnector,
    Side,
    StopConnector,
    VerifyOffsets,
    WriteOffsets,
)
from eosctl.model.preconditions import ConnectorFacts, OffsetsNow, PlanFacts, TopicNow
from eosctl.model.topics import TopicFacts
from eosctl.model.workers import LiveOwners
from eosctl.planning.restore import NewConnector, RestoreRequest, plan_restore
from eosctl.planning.undo import undo_plan
from tests.planning.offsets_topics import topic_of

S = Side.SOURCE
FILE = "/etc/orders.json"
CONFIG = {"name": "orders", "connector.class": "Shop", "password": "secret"}
TOPIC = TopicNow(TopicFacts("offsets", 3, 1), "id")
NOTHING = offsets_now(()).values
POINTS = ["opened", "checked", *(f"{step}:{at}" for step in (1, 2, 3, 4) for at in ("begun", "performed", "done"))]


class Killed(BaseException):
    """The process is gone."""


@dataclass
class Connect:
    """A worker with its connectors, and what the offsets topic holds of one of them."""

    version: str = "4.3.1"
    type: str = "source"
    configs: dict[str, dict[str, str]] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)
    offsets: str = NOTHING
    begun_at: list[str] = field(default_factory=list)
    url: str = "http://worker:8083"
    timeout_s: float = 1.0

    def ask_worker(self, ask: Callable[[Any], str]) -> str:
        return ask(self)

    def get(self, path: str) -> object:
        return self.request("GET", path).body

    def request(self, method: str, path: str, body: dict[str, Any] | None = None) -> RestResponse:  # noqa: PLR0911
        match method, path:
            case "GET", "/":
                return RestResponse(200, {"version": self.version})
            case "GET", "/connectors":
                return RestResponse(200, list(self.configs))
            case "GET", "/connectors?expand=status":
                status = {name: {"connector": {"state": state}, "tasks": []} for name, state in self.states.items()}
                return RestResponse(200, {name: {"status": each} for name, each in status.items()})
            case "GET", "/connectors/orders/config":
                return RestResponse(200, self.configs["orders"])
            case "POST", "/connectors":
                assert body is not None
                self.configs[body["name"]] = body["config"]
                self.states[body["name"]] = body["initial_state"]
                return RestResponse(201, {"type": self.type})
            case "DELETE", "/connectors/orders":
                del self.configs["orders"], self.states["orders"]
                return RestResponse(204, None)
            case "PUT", "/connectors/orders/stop":
                if "orders" not in self.configs:
                    raise NotFound("unknown connector")
                self.states["orders"] = "STOPPED"
                return RestResponse(204, None)
        raise AssertionError((method, path))

    def resume(self) -> str:
        self.states["orders"] = "RUNNING"
        self.begun_at.append(self.offsets)
        return "it runs"

    def write(self, step: WriteOffsets) -> str:
        self.offsets = step.after
        return "written"

    def facts(self, _: Sequence[Precondition]) -> PlanFacts:
        state = self.states.get("orders")
        config = self.configs.get("orders")
        return PlanFacts(
            {S: "k"},
            {(S, "orders"): ConnectorFacts(state, 1 if state == "RUNNING" else 0)},
            {(S, "offsets"): TOPIC},
            {
                (S, "offsets", "orders"): OffsetsNow(
                    offsets_now(()).records if self.offsets == NOTHING else "", self.offsets
                )
            },
            live_owners={S: LiveOwners()},
            config_digests={(S, "orders"): None if config is None else config_digest(config)},
        )


def plan() -> Plan:
    new = NewConnector("orders", FILE, config_digest(CONFIG))
    begin = (ConnectorOffset({"server": "shop"}, {"lsn": 7}),)
    facts = MigrationFacts(
        as_of=1,
        cluster_ids={S: "k"},
        connectors={(S, "orders"): ConnectorFacts(None)},
        topics={(S, "offsets"): TOPIC},
        offsets={(S, "offsets"): topic_of("offsets", 3, [])},
        live_owners={S: LiveOwners()},
    )
    return plan_restore(RestoreRequest("orders", "g", ("offsets",), begin, resume=True, new=new), facts).plan


def apply(connect: Connect, what: Plan, journal: Path, killed_at: str = "never", text: str = json.dumps(CONFIG)) -> Any:
    def failpoint(name: str) -> None:
        if name == killed_at:
            raise Killed

    performers = {
        CreateConnector: lambda step, again: create_connector(step, again, access=connect, read_config=lambda _: text),
        DeleteConnector: lambda step, again: delete_connector(step, again, access=connect),
        StopConnector: lambda step, again: stop_connector(step, again, access=connect),
        WriteOffsets: lambda step, _: connect.write(step),
        VerifyOffsets: lambda _, __: "verified",
        ResumeConnector: lambda _, __: connect.resume(),
    }
    with Journal(journal, plan_digest(what)) as kept:
        return ApplyRun(what, kept, connect.facts, performers, failpoint=failpoint).run()[1]


@pytest.mark.parametrize("point", POINTS)
def test_a_run_that_is_killed_is_finished_by_the_next_and_the_connector_runs_only_with_its_offsets(
    point: str, tmp_path: Path
):
    connect, made = Connect(), plan()
    with pytest.raises(Killed):
        apply(connect, made, tmp_path / "journal", point)
    assert apply(connect, made, tmp_path / "journal") is None
    assert connect.configs == {"orders": CONFIG}
    assert connect.states == {"orders": "RUNNING"}
    [after] = [each.step.after for each in made.steps if isinstance(each.step, WriteOffsets)]
    assert set(connect.begun_at) == {after} != {NOTHING}


@pytest.mark.parametrize("point", [*POINTS, "never"])
def test_what_was_done_until_then_is_rolled_back(point: str, tmp_path: Path):
    connect, made = Connect(), plan()
    if point == "never":
        assert apply(connect, made, tmp_path / "journal") is None
    else:
        with pytest.raises(Killed):
            apply(connect, made, tmp_path / "journal", point)
    assert apply(connect, undo_plan(made), tmp_path / "undo") is None
    assert (connect.configs, connect.states, connect.offsets) == ({}, {}, NOTHING)


@pytest.mark.parametrize("point", POINTS[:-1])
def test_an_undo_that_is_killed_is_finished_by_the_next(point: str, tmp_path: Path):
    connect, undo = Connect(), undo_plan(plan())
    assert apply(connect, plan(), tmp_path / "journal") is None
    with pytest.raises(Killed):
        apply(connect, undo, tmp_path / "undo", point)
    assert apply(connect, undo, tmp_path / "undo") is None
    assert (connect.configs, connect.offsets) == ({}, NOTHING)


def test_an_undo_is_refused_whole_where_the_connector_went_on_or_was_configured_anew(tmp_path: Path):
    connect = Connect()
    assert apply(connect, plan(), tmp_path / "journal") is None
    there = connect.offsets
    connect.offsets = "sha256:later"
    refused = apply(connect, undo_plan(plan()), tmp_path / "undo")
    assert refused.message == "the offsets of connector orders in topic offsets changed since the plan was made"
    connect.offsets, connect.configs["orders"] = there, {**CONFIG, "tasks.max": "2"}
    refused = apply(connect, undo_plan(plan()), tmp_path / "undo")
    assert refused.message == "connector orders exists with a config other than the plan's"
    assert connect.states == {"orders": "RUNNING"}


def test_a_connector_that_somebody_created_meanwhile_is_left_alone(tmp_path: Path):
    connect = Connect(configs={"orders": {"name": "orders"}}, states={"orders": "STOPPED"})
    refused = apply(connect, plan(), tmp_path / "journal")
    assert refused.message == "connector orders exists with a config other than the plan's"
    assert connect.offsets == NOTHING


def test_a_config_file_that_changed_is_refused_before_anything_is_created(tmp_path: Path):
    connect = Connect()
    refused = apply(connect, plan(), tmp_path / "journal", text=json.dumps({**CONFIG, "password": "other"}))
    assert refused.message == f"the config in {FILE} changed since the plan was made"
    assert connect.configs == {}


def step() -> CreateConnector:
    return CreateConnector(S, "orders", FILE, config_digest(CONFIG))


def created(connect: Connect) -> str:
    access: Any = connect
    return create_connector(step(), lambda: None, access=access, read_config=lambda _: json.dumps(CONFIG))


def test_a_worker_that_would_start_it_at_once_is_not_asked():
    connect = Connect(version="3.6.2")
    with pytest.raises(Unsupported, match=r"needs Connect 3\.7\.0, the worker at http://worker:8083 has 3\.6\.2"):
        created(connect)
    assert connect.configs == {}


def test_a_sink_is_deleted_again():
    connect = Connect(type="sink")
    with pytest.raises(Refused, match="connector orders is a sink, which has no source offsets: it was deleted again"):
        created(connect)
    assert connect.configs == {}


def test_a_file_of_several_connectors_is_not_the_config_of_one():
    with pytest.raises(ConfigError, match="two holds 2 connectors, not one"):
        decode_connector(json.dumps([CONFIG, {**CONFIG, "name": "bills"}]), "two")


def test_a_plan_holds_no_setting_of_the_config():
    assert "secret" not in repr(plan())
    reordered = decode_connector("password=secret\nconnector.class=Shop\nname=orders\n", "a file")
    assert config_digest(reordered) == step().digest

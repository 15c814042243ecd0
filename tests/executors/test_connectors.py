"""Connectors: stopped, created, resumed."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from eosctl.analysis.errors import is_overtaken
from eosctl.clients.access import ClusterAccess
from eosctl.clients.deadline import Deadline
from eosctl.clients.rest import NotFound, RestResponse
from eosctl.clients.wire import Wire
from eosctl.codecs.connector_files import config_digest, decode_connector
from eosctl.codecs.offsets_topic import offsets_now
from eosctl.codecs.plan import plan_digest
from eosctl.errors import ConfigError, Refused, TimedOut, Unsupported, WaitTimedOut
from eosctl.executors import connectors
from eosctl.executors.apply import ApplyRun, Journal
from eosctl.executors.connectors import (
    ResumeChecks,
    await_operator,
    create_connector,
    delete_connector,
    is_running,
    resume_connector,
    set_connector_config,
    stop_connector,
)
from eosctl.model.migration import MigrationFacts
from eosctl.model.names import Side
from eosctl.model.offsets import ConnectorOffset
from eosctl.model.plan import (
    AwaitOperator,
    CreateConnector,
    DeleteConnector,
    Plan,
    ResumeConnector,
    SetConnectorConfig,
    StopConnector,
    VerifyOffsets,
    WriteOffsets,
)
from eosctl.model.preconditions import ConnectorFacts, OffsetsNow, PlanFacts, Precondition, TopicNow
from eosctl.model.topics import TopicFacts
from eosctl.model.workers import LiveOwners
from eosctl.planning.restore import NewConnector, RestoreRequest, plan_restore
from eosctl.planning.undo import undo_plan
from tests.planning.offsets_topics import topic_of
from tests.sources.fake_connect import FakeWorker, entry_of, recorded, serve

SETTING = "offsets.storage.topic"
RUNNING = (0, "RUNNING", "")
CANNOT = (
    "org.apache.kafka.connect.errors.ConnectException: Cannot start source task orders-1 with exactly-once support "
)


@pytest.mark.parametrize(
    ("state", "tasks", "running"),
    [
        ("RUNNING", (RUNNING,), True),
        ("RUNNING", (RUNNING, (1, "RUNNING", "")), True),
        ("RUNNING", (), False),
        ("PAUSED", (RUNNING,), False),
        ("RUNNING", (RUNNING, (1, "UNASSIGNED", "")), False),
        (
            "RUNNING",
            (RUNNING, (1, "FAILED", CANNOT + "as the connector has already generated a new set of task configs")),
            False,
        ),
        ("RUNNING", (RUNNING, (1, "FAILED", "x as it has already been revoked from this worker")), False),
    ],
)
def test_a_connector_runs_when_all_its_tasks_do(state: str, tasks: tuple[tuple[int, str, str], ...], running: bool):
    assert is_running("orders", state, tasks, is_restarted=is_overtaken) is running


@pytest.mark.parametrize(
    ("trace", "message"), [("java.lang.Exception: no\n\tat x", "java.lang.Exception: no"), ("", "no trace")]
)
def test_a_task_that_failed_permanently_is_reported(trace: str, message: str):
    with pytest.raises(Refused, match=f"^task 1 of connector orders FAILED: {message}$"):
        is_running("orders", "RUNNING", (RUNNING, (1, "FAILED", trace)), is_restarted=is_overtaken)


@dataclass
class StoppingWorker(FakeWorker):
    """One whose connector `orders` shows the next of these tasks with each stop."""

    shown: Sequence[str] = ()
    config: Mapping[str, str] = field(default_factory=dict)

    @property
    def stops(self) -> int:
        return self.requests.count(("PUT", "/connectors/orders/stop", None))

    def _entry(self, _: str) -> object:
        state = self.shown[min(self.stops, len(self.shown)) - 1]
        return entry_of("orders", "STOPPED", *([state] if state else []))

    def _answer(self, path: str, body: dict[str, object] | None) -> object:
        if path.endswith(("/stop", "/config")):
            return dict(self.config)
        return super()._answer(path, body)


def stopped(worker: StoppingWorker, timeout_s: float, *others: StoppingWorker) -> str:
    with serve(worker, *others) as urls:
        access = ClusterAccess(cast("Wire", None), tuple(urls), timeout_s)
        return stop_connector(StopConnector(Side.SOURCE, "orders"), lambda: None, access=access)


def test_a_connector_that_keeps_a_task_is_stopped_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connectors, "AGAIN_S", 0.1)
    worker = StoppingWorker(connectors={"orders": None}, shown=("RUNNING", "UNASSIGNED", ""))
    assert stopped(worker, 30) == "connector orders is STOPPED and has no tasks"
    assert worker.stops == 3


def test_a_connector_that_keeps_a_task_until_the_time_is_up_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connectors, "AGAIN_S", 0.1)
    worker = StoppingWorker(connectors={"orders": None}, shown=("UNASSIGNED",))
    with pytest.raises(TimedOut, match=r"^waited 1 s for connector orders to be STOPPED .* it is STOPPED with 1 task$"):
        stopped(worker, 1)
    assert worker.stops > 1


def test_a_wait_without_success_is_not_begun_again_with_the_next_worker() -> None:
    first, second = (StoppingWorker(connectors={"orders": None}, shown=("RUNNING",)) for _ in range(2))
    with pytest.raises(TimedOut, match=r"^waited 0\.5 s for connector orders"):
        stopped(first, 0.5, second)
    assert (first.stops, second.stops) == (1, 0)


@pytest.mark.parametrize(("topic", "file"), [("own", "configured.yaml"), (None, "stopped.yaml")])
def test_an_operators_connector_is_stopped_with_the_config_it_has_and_again_while_it_keeps_a_task(
    topic: str | None, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connectors, "AGAIN_S", 0.1)
    worker = StoppingWorker(
        connectors={"orders": None}, shown=("", "RUNNING"), config={SETTING: topic} if topic else {}
    )
    step = AwaitOperator(
        Side.SOURCE, "orders", "stopped.yaml", "STOPPED", changed={SETTING: "own"}, changed_file="configured.yaml"
    )
    said: list[str] = []
    with serve(worker) as urls:
        access = ClusterAccess(cast("Wire", None), tuple(urls), 30)
        message = await_operator(step, lambda: None, access=access, checks=cast("ResumeChecks", None), say=said.append)
    assert said == [f"apply {file} now, if it is not: waiting for the operator of connector orders"]
    assert message == f"connector orders is STOPPED without tasks, as in {file}"
    assert worker.stops == 1


def test_a_connector_without_tasks_is_stopped_once() -> None:
    worker = StoppingWorker(connectors={"orders": None}, shown=("",))
    stopped(worker, 30)
    assert worker.stops == 1


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
    """A worker with its connectors, and the offsets topic's entries of one of them."""

    version: str = "4.3.1"
    type: str = "source"
    configs: dict[str, dict[str, str]] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)
    offsets: str = NOTHING
    begun_at: list[str] = field(default_factory=list)
    answers: list[list[dict[str, Any]]] = field(default_factory=list)
    after_resume: str = "RUNNING"
    url: str = "http://worker:8083"
    timeout_s: float = 1.0

    def ask_worker(self, ask: Callable[[Any], str]) -> str:
        return ask(self)

    def get(self, path: str) -> object:
        return self.request("GET", path).body

    def request(self, method: str, path: str, body: dict[str, Any] | None = None) -> RestResponse:  # noqa: PLR0911
        match method, path:
            case "GET", "/":
                return RestResponse(200, recorded(method, path) | {"version": self.version})
            case "GET", "/connectors":
                return RestResponse(200, list(self.configs))
            case "GET", "/connectors?expand=status":
                entries = {name: entry_of(name, state) for name, state in self.states.items()}
                return RestResponse(200, {name: {"status": each["status"]} for name, each in entries.items()})
            case "GET", "/connectors/orders/config" | "/connectors/pattern/config":
                return RestResponse(200, self.configs[path.split("/")[2]])
            case "POST", "/connectors":
                assert body is not None
                self.configs[body["name"]] = body["config"]
                self.states[body["name"]] = body["initial_state"]
                return RestResponse(201, recorded(method, path, 201) | {"type": self.type})
            case "DELETE", "/connectors/orders":
                del self.configs["orders"], self.states["orders"]
                return RestResponse(204, None)
            case "PUT", "/connectors/orders/stop":
                if "orders" not in self.configs:
                    raise NotFound(recorded(method, path, 404)["message"])
                self.states["orders"] = "STOPPED"
                return RestResponse(204, None)
        return self._of_existing(method, path, body)

    def _of_existing(self, method: str, path: str, body: dict[str, Any] | None) -> RestResponse:
        match method, path:
            case "PUT", "/connectors/orders/config":
                assert body is not None
                self.configs["orders"] = body
                return RestResponse(200, None)
            case "GET", "/connectors/orders/offsets":
                return RestResponse(
                    200,
                    recorded(method, path)
                    | {"offsets": self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]},
                )
            case "PUT", "/connectors/orders/resume":
                self.states["orders"] = self.after_resume
                return RestResponse(202, None)
            case "PUT", "/connectors/orders/pause":
                self.states["orders"] = "PAUSED"
                return RestResponse(202, None)
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
def test_the_completed_steps_are_rolled_back(point: str, tmp_path: Path):
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


def test_an_undo_is_refused_whole_where_the_connector_continued_or_was_configured_again(tmp_path: Path):
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


def test_a_connector_that_another_user_created_meanwhile_is_left_alone(tmp_path: Path):
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


CHANGES = {"offsets.storage.topic": "own", "tasks.max": None}
CHANGED = {**CONFIG, "offsets.storage.topic": "own"}


def configured(connect: Connect, copied_from: str | None = None) -> str:
    access: Any = connect
    return set_connector_config(
        SetConnectorConfig(S, "orders", CHANGES, {}, copied_from), lambda: None, access=lambda _: access
    )


def test_a_connector_is_configured_with_the_changes_and_with_nothing_else():
    connect = Connect(configs={"orders": {**CONFIG, "tasks.max": "2"}})
    assert configured(connect) == "connector orders: offsets.storage.topic=own, tasks.max removed"
    assert connect.configs == {"orders": CHANGED}
    assert configured(connect) == "connector orders is configured so already", "so a run that was killed is finished"


def test_a_connector_that_does_not_exist_is_not_created_unless_the_plan_copies_one():
    with pytest.raises(Refused, match="connector orders does not exist"):
        configured(Connect())
    with pytest.raises(Refused, match=r"connector pattern, .*, does not exist"):
        configured(Connect(), "pattern")
    old = Connect(version="3.6.2", configs={"pattern": CONFIG})
    with pytest.raises(Unsupported, match=r"needs Connect 3\.7\.0"):
        configured(old, "pattern")
    assert old.configs.keys() == {"pattern"}


def test_a_copied_connector_begins_stopped_under_its_own_name():
    connect = Connect(configs={"pattern": {**CONFIG, "name": "pattern", "tasks.max": "2"}})
    assert configured(connect, "pattern") == "connector orders created STOPPED, with the config of pattern"
    assert (connect.configs["orders"], connect.states) == (CHANGED, {"orders": "STOPPED"})


RIGHT, WRONG = ([{"partition": {"server": "shop"}, "offset": {"lsn": each}}] for each in (7, 9))


def resumed(connect: Connect, topic: str | None = "own", *, paused: bool = False) -> str:
    access: Any = connect

    def contradiction(answer: Sequence[ConnectorOffset], _: object) -> str | None:
        return None if [each.offset for each in answer] == [{"lsn": 7}] else "another position"

    checks = ResumeChecks(lambda *_: (), contradiction, is_overtaken)
    step = ResumeConnector(S, "orders", topic, paused=paused)
    return resume_connector(step, lambda: None, access=access, checks=checks)


def test_a_connector_is_resumed_once_its_worker_answers_the_offsets_that_were_written():
    """A worker may have to read its topics first; one without an answer, before Connect 3.5, is not waited for."""
    connect = Connect(answers=[WRONG, WRONG, RIGHT], states={"orders": "STOPPED"})
    with pytest.raises(TimedOut):
        resumed(connect)
    assert (connect.answers, connect.states) == ([RIGHT], {"orders": "RUNNING"}), "it has no tasks here, and is awaited"


def test_a_connector_that_was_paused_is_paused_again_and_begins_nothing():
    connect = Connect(states={"orders": "STOPPED"})
    assert resumed(connect, None, paused=True) == "connector orders is PAUSED"
    assert connect.states == {"orders": "PAUSED"}


def test_a_connector_whose_worker_keeps_its_offsets_elsewhere_is_not_resumed():
    connect = Connect(answers=[WRONG], states={"orders": "STOPPED"}, timeout_s=0.1)
    with pytest.raises(Refused, match="of topic own the worker at http://worker:8083 answers another position for"):
        resumed(connect)
    assert connect.states == {"orders": "STOPPED"}


def test_a_file_of_several_connectors_is_not_the_config_of_one():
    with pytest.raises(ConfigError, match="two holds 2 connectors, not one"):
        decode_connector(json.dumps([CONFIG, {**CONFIG, "name": "bills"}]), "two")


def test_a_plan_holds_no_setting_of_the_config():
    assert "secret" not in repr(plan())
    reordered = decode_connector("password=secret\nconnector.class=Shop\nname=orders\n", "a file")
    assert config_digest(reordered) == step().digest


@pytest.mark.parametrize(
    ("config", "lacking"),
    [
        ({"a": "1", "b": "2", "c": "3"}, None),
        ({"a": "1", "b": "9"}, "b is 9"),
        ({"a": "9", "b": "2"}, "a is 9"),
        ({"a": "1"}, "b is None"),
        (None, "it does not exist"),
    ],
)
def test_an_operators_connector_is_waited_for_until_it_has_every_setting_of_the_file(config, lacking) -> None:
    connect = Connect()
    connect.configs = {} if config is None else {"orders": config}
    step = AwaitOperator(S, "orders", "orders.yaml", "STOPPED", settings={"a": "1", "b": "2"})
    if lacking is None:
        connectors._await_settings(cast("Any", connect), step, Deadline(0))
        return
    message = rf"^waited for connector orders to have the config in orders\.yaml; {lacking}$"
    with pytest.raises(WaitTimedOut, match=message):
        connectors._await_settings(cast("Any", connect), step, Deadline(0))

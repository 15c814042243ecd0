"""Plans: agreement, what is unfinished, clusters and operators."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from eosctl.codecs.plan import JournalEvent, decode_plan, encode_plan, plan_digest
from eosctl.errors import Refused, UsageError
from eosctl.executors.apply import Journal, write_plan_file
from eosctl.model.names import Side
from eosctl.model.plan import (
    AwaitOperator,
    ManualStep,
    Plan,
    PlannedStep,
    PlanTarget,
    ResumeConnector,
    SetConnectorConfig,
    StopConnector,
)
from eosctl.model.planned import Planned
from eosctl.model.preconditions import ClusterIs
from eosctl.model.profile import Profile
from eosctl.model.report import exit_code
from eosctl.operations.connector_operator import connector_operator
from eosctl.operations.migration import known_or_former_configs
from eosctl.operations.migration_request import MigrationOptions, migration_request
from eosctl.operations.plan_files import PlanFile, PlanPlaces, keep_plan, read_plan, unfinished_plan
from eosctl.operations.plan_flow import plan_and_apply, run_plan, undo_file
from eosctl.operations.session import Session
from eosctl.operations.session_options import SessionOptions
from eosctl.operations.two_clusters import SourceAndTarget, TargetOptions
from tests.fake_cluster import FakeCluster
from tests.operations.conversation import Conversation, session_on
from tests.sources.fake_connect import FakeWorker, serve
from tests.strimzi_shapes import MIRROR_MAKER_2_V1, PLAIN, THREE_PRINCIPALS

HERE = (PlanTarget(Side.SOURCE, ("b:9092",), ("http://w:8083",), "connect-configs"),)
PLAN = Plan("migrate-offsets", 1, (PlannedStep(ManualStep("restart it")),), HERE)
STOPPING = Plan("migrate-offsets", 1, (PlannedStep(StopConnector(Side.SOURCE, "orders")),), HERE)
AT = {"bootstrap_servers": "b:9092", "connect_urls": ("http://me:secret@w:8083/",)}
FINE = Planned(plan=PLAN, cluster_id="c")
DOUBTFUL = Planned(plan=PLAN, cluster_id="c", objections=("it runs", "it is a sink"), hint="stop it")


def unkept(shown: list[object]) -> list[object]:
    """The shown answers, without their files."""
    return [replace(each, digest="") if isinstance(each, Planned) else each for each in shown]


@pytest.fixture(autouse=True)
def state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder of plans that no file was given for."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "eosctl" / "plans"


def ran(session: Session, conversation: Conversation, planned: Planned, plan_file: Path | None = None) -> Planned:
    clusters = SourceAndTarget(session, "connect-configs", TargetOptions())
    answer = plan_and_apply(session, clusters, lambda _: planned, conversation.show, plan_file=plan_file)
    assert isinstance(answer, Planned)
    return answer


def test_a_dry_run_answers_the_plan_and_asks_nothing(state: Path) -> None:
    said = Conversation()
    answer = ran(session_on(FakeCluster(), said, dry_run=True, **AT), said, FINE)
    assert (answer.plan, exit_code(answer)) == (PLAN, 0)
    assert (said.said, said.shown, state.exists()) == ([], [], False)


def test_a_dry_run_of_a_plan_that_something_objects_to_ends_as_refused() -> None:
    said = Conversation()
    answer = ran(session_on(FakeCluster(), said, dry_run=True, **AT), said, DOUBTFUL)
    assert isinstance(answer.failure, Refused)
    assert (answer.failure.message, answer.failure.hint) == ("it runs; it is a sink", "stop it")
    assert exit_code(answer) == 8


@pytest.mark.parametrize("yes", [True, False])
def test_objections_to_a_plan_are_shown_and_no_question_is_asked(yes: bool, state: Path) -> None:
    said = Conversation()
    with pytest.raises(Refused, match=r"^it runs; it is a sink$"):
        ran(session_on(FakeCluster(), said, yes=yes, **AT), said, DOUBTFUL)
    assert (unkept(said.shown), said.said, state.exists()) == ([DOUBTFUL], [], False)


def test_a_plan_is_shown_before_the_question_and_nothing_is_kept_without_a_yes(state: Path) -> None:
    said = Conversation(agrees=False)
    with pytest.raises(Refused, match="not confirmed"):
        ran(session_on(FakeCluster(), said, **AT), said, FINE)
    assert (unkept(said.shown), said.said, state.exists()) == ([FINE], ["Apply 1 step (cluster fake)?"], False)


def test_a_plan_file_is_written_and_named_without_a_question(tmp_path: Path) -> None:
    said, path = Conversation(), tmp_path / "orders.plan"
    answer = ran(session_on(FakeCluster(), said, **AT), said, FINE, path)
    assert exit_code(answer) == 0
    assert decode_plan(path.read_text()) == PLAN
    command = f"eosctl apply {path} -b b:9092 --connect-url 'http://[hidden]@w:8083'"
    assert said.said == [f"plan written to {path}; `{command}` carries it out"]


def test_a_printed_command_names_what_the_user_typed_and_no_secret(tmp_path: Path) -> None:
    options = SessionOptions(
        Conversation(),
        bootstrap_servers="b:9092",
        command_config=tmp_path / "my client.properties",
        properties={"sasl.jaas.config": "canary", "security.protocol": "SSL"},
        connect_urls=("http://w:8083",),
        profile=Profile("prod", "profiles.yaml"),
        sources={"bootstrap_server": "EOSCTL_BOOTSTRAP_SERVER", "profile": "current", "connect_url": "profile prod"},
    )
    target = TargetOptions("t:9092", None, ("http://ops:canary@v:8083",))
    printed = SourceAndTarget(Session(options), "connect-configs", target).command("apply", Path("a.plan"))
    assert printed == (
        f"eosctl apply a.plan --command-config '{tmp_path}/my client.properties' -X 'sasl.jaas.config=[hidden]' "
        "-X security.protocol=SSL --to-bootstrap-server t:9092 --to-connect-url 'http://[hidden]@v:8083'"
    )


def test_a_plan_that_something_objects_to_gets_no_file(tmp_path: Path) -> None:
    said, path = Conversation(), tmp_path / "orders.plan"
    assert exit_code(ran(session_on(FakeCluster(), said, **AT), said, DOUBTFUL, path)) == 8
    assert not path.exists()


def test_a_plan_of_a_running_connector_gets_no_file(tmp_path: Path) -> None:
    said, path = Conversation(), tmp_path / "orders.plan"
    answer = ran(session_on(FakeCluster(), said, **AT), said, Planned(plan=STOPPING, cluster_id="c"), path)
    assert isinstance(answer.failure, Refused)
    assert "would be stale at once" in answer.failure.message
    assert not path.exists()


def test_a_plan_file_is_not_overwritten(tmp_path: Path) -> None:
    said, path = Conversation(), tmp_path / "orders.plan"
    path.write_text("mine")
    answer = ran(session_on(FakeCluster(), said, **AT), said, FINE, path)
    assert isinstance(answer.failure, UsageError)
    assert (exit_code(answer), path.read_text()) == (2, "mine")


def test_undo_takes_undo_files_only(tmp_path: Path) -> None:
    said, path = Conversation(), tmp_path / "orders.plan"
    write_plan_file(path, PLAN)
    session = session_on(FakeCluster(), said, **AT)
    with pytest.raises(UsageError, match="is a plan of kind migrate-offsets"):
        undo_file(session, SourceAndTarget(session, "connect-configs", TargetOptions()), read_plan(path), said.show)


def test_a_plan_that_needs_a_worker_is_refused_before_anything_is_done() -> None:
    said = Conversation()
    answer = ran(session_on(FakeCluster(), said, dry_run=True), said, Planned(plan=STOPPING, cluster_id="c"))
    assert isinstance(answer.failure, Refused)
    assert answer.failure.message == (
        "to stop connector orders and wait until it has no tasks, the Connect workers of the source are needed"
    )
    assert answer.failure.hint == "give --connect-url"


def test_a_plan_is_carried_out_where_it_was_made() -> None:
    there = PlanTarget(Side.TARGET, ("far:9092",), ("http://v:8083",), "far-configs")
    plan = replace(PLAN, places=(*HERE, there))
    file = PlanFile(plan, Path("a.plan"))
    with PlanPlaces(SessionOptions(Conversation()), file, None, TargetOptions()) as (session, clusters):
        assert session.client_properties.bootstrap_servers == ("b:9092",)
        assert clusters.places == plan.places


def test_the_user_s_options_win_over_the_plan() -> None:
    options = SessionOptions(Conversation(), bootstrap_servers="mine:9092", connect_urls=("http://x:1",))
    with PlanPlaces(options, PlanFile(PLAN, Path("a.plan")), "my-configs", TargetOptions()) as (_, clusters):
        assert clusters.places == (PlanTarget(Side.SOURCE, ("mine:9092",), ("http://x:1",), "my-configs"),)


def test_an_undo_file_of_another_plan_is_refused_and_stays_as_it_is(tmp_path: Path) -> None:
    said, path = Conversation(), tmp_path / "orders.plan"
    session = session_on(FakeCluster(), said, **AT)
    file = keep_plan(PLAN, path)
    other = encode_plan(Plan("undo", 1, (PlannedStep(ManualStep("delete it")),)))
    file.undo.write_text(other)
    with pytest.raises(Refused, match="does not lead back from this plan; nothing was changed"):
        run_plan(session, SourceAndTarget(session, "connect-configs", TargetOptions()), file)
    assert file.undo.read_text() == other


def test_an_undo_file_that_an_earlier_run_left_is_the_one(tmp_path: Path) -> None:
    said, path = Conversation(), tmp_path / "orders.plan"
    session = session_on(FakeCluster(), said, **AT)
    file = keep_plan(PLAN, path)
    for _ in range(2):
        _, failure = run_plan(session, SourceAndTarget(session, "connect-configs", TargetOptions()), file)
        assert failure is None
    assert decode_plan(file.undo.read_text()).kind == "undo"


class AtTerminal(Conversation):
    """At a terminal without -v, whose table repeats the results."""

    def narrate(self, text: str, *, verbosity: int = 0) -> None:
        if not verbosity:
            super().narrate(text)

    @contextmanager
    def results(self, label: str, total: int, *, unit: str = "") -> Iterator[Callable[[str], None]]:
        yield lambda _: None


class RunningWorker(FakeWorker):
    """One whose connectors run, with an empty config."""

    def _answer(self, path: str, body: dict[str, object] | None) -> object:
        return {} if path.endswith("/config") else super()._answer(path, body)


@pytest.mark.parametrize("narrated", [True, False])
def test_a_file_that_a_person_must_apply_is_named_although_results_are_not_printed(
    narrated: bool, tmp_path: Path
) -> None:
    said, step = AtTerminal(), AwaitOperator(Side.SOURCE, "orders", "running.yaml", "RUNNING")
    file = keep_plan(Plan("migrate-offsets", 1, (PlannedStep(step),), HERE), tmp_path / "orders.plan")
    with serve(RunningWorker(connectors={"orders": None})) as urls:
        session = session_on(FakeCluster(), said, bootstrap_servers="b:9092", connect_urls=tuple(urls), timeout_s=5)
        clusters = SourceAndTarget(session, "connect-configs", TargetOptions())
        _, failure = run_plan(session, clusters, file, narrated=narrated)
    assert failure is None
    assert said.said == ["apply running.yaml now, if it is not: waiting for the operator of connector orders"]


def test_a_plan_is_not_kept_where_a_journal_lies(tmp_path: Path) -> None:
    """The journal would be taken for this plan's."""
    path = tmp_path / "orders.plan"
    path.with_name("orders.plan.journal").touch()
    with pytest.raises(UsageError, match="exists already"):
        keep_plan(PLAN, path)
    assert not path.exists()


SET = SetConnectorConfig(Side.SOURCE, "new", {}, {}, copied_from="old")
IS_HERE = (ClusterIs(Side.SOURCE, "here"),)
STEPS = (
    PlannedStep(SET, IS_HERE),
    PlannedStep(ResumeConnector(Side.SOURCE, "new"), IS_HERE),
    PlannedStep(ManualStep("delete connector old")),
)


def begun(directory: Path, name: str, done: Iterable[int], as_of: int = 1, kind: str = "migrate-offsets") -> Path:
    plan, path = Plan(kind, as_of, STEPS), directory / name
    write_plan_file(path, plan)
    with Journal(path.with_name(f"{name}.journal"), plan_digest(plan)) as journal:
        for step in done:
            journal.write(step, JournalEvent.BEGUN)
            journal.write(step, JournalEvent.DONE)
    return path


@pytest.mark.parametrize(("done", "unfinished"), [([], False), ([1], True), ([1, 2], False)])
def test_a_plan_is_unfinished_from_its_first_step_to_its_last(tmp_path: Path, done: list[int], unfinished: bool):
    """Steps left to a person are nothing that `apply` could finish."""
    path = begun(tmp_path, "a.plan", done)
    found = path if unfinished else None
    assert unfinished_plan(tmp_path, "migrate-offsets", "here", ["new"]) == found
    assert unfinished_plan(tmp_path, "migrate-offsets", "here", ["old"]) == found


def test_only_the_newest_plan_of_the_connector_in_this_cluster_counts(tmp_path: Path):
    begun(tmp_path, "1.plan", [1])
    assert unfinished_plan(tmp_path, "migrate-offsets", "elsewhere", ["new"]) is None
    assert unfinished_plan(tmp_path, "migrate-offsets", "here", ["another"]) is None
    assert unfinished_plan(tmp_path, "undo", "here", ["new"]) is None
    begun(tmp_path, "2.plan", [1, 2], as_of=2)
    assert unfinished_plan(tmp_path, "migrate-offsets", "here", ["new"]) is None


def test_files_that_are_no_plan_or_have_no_journal_are_skipped(tmp_path: Path):
    path = begun(tmp_path, "1.plan", [1])
    (tmp_path / "2.plan").write_text("something else")
    write_plan_file(tmp_path / "3.plan", Plan("migrate-offsets", 3, STEPS))
    assert unfinished_plan(tmp_path, "migrate-offsets", "here", ["new"]) == path
    assert unfinished_plan(tmp_path / "nothing", "migrate-offsets", "here", ["new"]) is None


CONFIGS = {"orders": {"name": "orders"}}
NO_TOPIC: Any = SimpleNamespace(reading=lambda _: SimpleNamespace(config_topic=None))
"""Clusters without a config topic: nothing is known of connectors that were deleted."""


def warned(*wanted: str) -> list[str]:
    said: list[str] = []
    assert known_or_former_configs(NO_TOPIC, wanted, CONFIGS, said.append) == CONFIGS
    return said


def test_a_name_like_that_of_a_connector_is_asked_about():
    assert warned("ordrs") == ["connector ordrs does not exist; did you mean orders?"]


def test_names_that_exist_or_are_like_no_other_are_not():
    assert warned("orders", "inventory") == []


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
def test_a_workers_file_shows_whether_every_connector_has_an_operator(tmp_path: Path, text: str, every: bool):
    (tmp_path / "worker").write_text(text)
    assert connector_operator([], [tmp_path / "worker"], is_strimzis=False).operated.every is every


def test_resources_that_nothing_would_carry_out_are_not_emitted(connector: Path, tmp_path: Path):
    (tmp_path / "worker").write_text(PLAIN.worker_yaml.replace("strimzi.io/use-connector-resources", "x/y"))
    with pytest.raises(UsageError, match=r"has no annotation strimzi\.io/use-connector-resources") as refused:
        connector_operator([connector], [tmp_path / "worker"], is_strimzis=False, emits=True)
    assert str(refused.value.hint).startswith("omit --emit strimzi")
    with pytest.raises(UsageError, match="--to-kafka-connect is for --emit strimzi"):
        connector_operator([connector], is_strimzis=False, to_cluster="other")


@pytest.mark.parametrize("name", ["two words", "..", "o" * 250, ""])
def test_a_move_to_a_name_that_no_topic_can_have_is_refused_before_its_plan(name: str) -> None:
    """The broker would refuse it only after the producers are fenced."""
    with pytest.raises(UsageError, match="cannot be the name of a topic"):
        migration_request(MigrationOptions(("orders",), to_topic=name), "connect-cluster", {})


def test_a_move_to_the_own_connect_cluster_is_refused_unless_it_names_a_topic_too() -> None:
    own = MigrationOptions(("orders",), to_group_id="connect-cluster")
    with pytest.raises(UsageError, match="connector orders is in Connect group connect-cluster already"):
        migration_request(own, "connect-cluster", {})
    assert not migration_request(replace(own, to_topic="new"), "connect-cluster", {}).elsewhere

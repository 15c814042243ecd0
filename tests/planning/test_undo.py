"""Undo plans, performed on a small model of a cluster: afterwards the cluster is as it was before the plan."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosctl.model.acls import AclBinding, Operation, topic
from eosctl.model.names import Side
from eosctl.model.plan import (
    AwaitOperator,
    CreateAcls,
    CreateConnector,
    CreateTopic,
    DeleteAcls,
    DeleteConnector,
    FenceProducers,
    ManualStep,
    OffsetsWrite,
    Plan,
    PlannedStep,
    ResumeConnector,
    SetConnectorConfig,
    StopConnector,
    VerifyOffsets,
    WriteOffsets,
)
from eosctl.model.planned import Planned
from eosctl.model.preconditions import AclsPresent, ClusterIs, ConnectorStopped, NoOpenTransaction, OffsetsUnchanged
from eosctl.model.strimzi import OperatedConnectors
from eosctl.planning.operated import for_operator
from eosctl.planning.undo import undo_plan

HERE = (ClusterIs(Side.SOURCE, "k"),)
KEYS = (b"one", b"two")
SETTING = "offsets.storage.topic"
BINDINGS = tuple(AclBinding("User:c", operation, topic("t")) for operation in (Operation.READ, Operation.WRITE))
RUNNING, PAUSED, STOPPED = "RUNNING", "PAUSED", "STOPPED"


@dataclass
class Cluster:
    """The objects that plans change; resources are the files that a person applies for Strimzi's operator."""

    states: dict[str, str]
    configs: dict[str, dict[str, str | None]]
    offsets: dict[tuple[str, str], dict[bytes, bytes | None]] = field(default_factory=dict)
    acls: set[AclBinding] = field(default_factory=set)
    resources: dict[str, tuple[str, dict[str, str | None]]] = field(default_factory=dict)

    def seen(self) -> tuple[dict[str, str], object, object, object]:
        """The whole visible state; a tombstone and no record are alike to a worker."""
        offsets = {place: {k: v for k, v in each.items() if v is not None} for place, each in self.offsets.items()}
        configs = {name: {k: v for k, v in each.items() if v is not None} for name, each in self.configs.items()}
        return (
            self.states,
            configs,
            {place: each for place, each in offsets.items() if each},
            sorted(map(repr, self.acls)),
        )

    def digest(self, of: tuple[str, str]) -> str:
        return repr(sorted(item for item in self.offsets.get(of, {}).items() if item[1] is not None))

    def perform(self, plan: Plan) -> list[ManualStep]:
        """Performs all steps, each only if its preconditions hold; returns the steps for a person."""
        for planned in plan.steps:
            for each in planned.preconditions:
                self._require(each)
            self._do(planned.step)
        return [each.step for each in plan.steps if isinstance(each.step, ManualStep)]

    def _require(self, precondition: object) -> None:
        match precondition:
            case ConnectorStopped(_, name):
                assert self.states.get(name, STOPPED) == STOPPED
            case OffsetsUnchanged(_, where, name, digest, allowed):
                assert self.digest((where, name)) in {digest, allowed}
            case AclsPresent(_, bindings):
                assert self.acls >= set(bindings)

    def _do(self, step: object) -> None:
        match step:
            case StopConnector(_, name):
                self.states[name] = STOPPED
            case ResumeConnector(_, name):
                self.states[name] = PAUSED if step.paused else RUNNING
            case SetConnectorConfig(_, name, changes, before):
                assert {key: self.configs[name].get(key) for key in changes} == before
                self.configs[name] |= changes
            case WriteOffsets():
                now = self.offsets.setdefault((step.topic, step.connector), {})
                assert self.states.get(step.connector, STOPPED) == STOPPED
                now |= {each.key: each.value for each in step.records}
                assert self.digest((step.topic, step.connector)) == step.after or step.after == step.before
            case VerifyOffsets(_, where, name, digest):
                assert self.digest((where, name)) == digest
            case CreateAcls() | DeleteAcls():
                self.acls = self.acls.symmetric_difference(step.bindings)
            case CreateConnector(_, name):
                self.states[name], self.configs[name] = STOPPED, {}
            case DeleteConnector(_, name):
                del self.states[name], self.configs[name]
            case AwaitOperator():
                self._reconcile(step)

    def _reconcile(self, step: AwaitOperator) -> None:
        """A person applies the file, and the operator changes the connector to match its resource."""
        is_changed = step.changed and step.changed.items() <= self.configs[step.connector].items()
        state, config = self.resources[step.changed_file if is_changed and step.changed_file else step.file]
        self.states[step.connector], self.configs[step.connector] = state, dict(config)
        assert state == step.state
        assert all(config.get(key) == value for key, value in step.settings.items())


def steps_of(cluster: Cluster, name: str, chosen: frozenset[str]) -> list[PlannedStep]:
    """The steps that a plan has for one connector, in their order, with the preconditions that planners give them."""
    stopped = (*HERE, ConnectorStopped(Side.SOURCE, name))
    steps = []
    if "create" in chosen:
        steps.append(PlannedStep(CreateConnector(Side.SOURCE, name, "/c.json", "digest"), HERE))
    elif "stop" in chosen:
        steps.append(PlannedStep(StopConnector(Side.SOURCE, name, cluster.states[name] == PAUSED), HERE))
    if "fence" in chosen:
        steps.append(PlannedStep(FenceProducers(Side.SOURCE, (f"g-{name}-0",), 1), stopped))
    if "write" in chosen:
        before = cluster.offsets.get(("t", name), {})
        after = Cluster({}, {}, {("t", name): before | {KEYS[0]: b"new", KEYS[1]: None}})
        digests = cluster.digest(("t", name)), after.digest(("t", name))
        unchanged = OffsetsUnchanged(Side.SOURCE, "t", name, *digests)
        records = tuple(
            OffsetsWrite(0, key, value, before.get(key)) for key, value in zip(KEYS, (b"new", None), strict=True)
        )
        write = WriteOffsets(Side.SOURCE, "t", name, f"g-{name}-0", 1, records, digests[0], digests[0], digests[1])
        steps.append(PlannedStep(write, (*stopped, unchanged, NoOpenTransaction(Side.SOURCE, "t", name))))
        steps.append(PlannedStep(VerifyOffsets(Side.SOURCE, "t", name, digests[1]), stopped))
    if "configure" in chosen:
        now = {} if "create" in chosen else cluster.configs[name]
        change = SetConnectorConfig(Side.SOURCE, name, {SETTING: "t"}, {SETTING: now.get(SETTING)})
        steps.append(PlannedStep(change, stopped))
    if "resume" in chosen:
        steps.append(PlannedStep(ResumeConnector(Side.SOURCE, name, "t"), HERE))
    return steps


@st.composite
def clusters_and_plans(draw: st.DrawFn) -> tuple[Cluster, Plan]:
    """A cluster with connectors a and b, and a plan for them and for c, which it creates."""
    cluster = Cluster({}, {}, {}, set(draw(st.sets(st.sampled_from(BINDINGS)))))
    steps: list[PlannedStep] = []
    if given_away := tuple(cluster.acls):
        steps.append(PlannedStep(DeleteAcls(Side.SOURCE, given_away[:1]), HERE))
    if missing := tuple(each for each in BINDINGS if each not in cluster.acls):
        steps.append(PlannedStep(CreateAcls(Side.SOURCE, missing), HERE))
    for name in "abc":
        chosen = draw(st.frozensets(st.sampled_from(["stop", "fence", "write", "configure", "resume"])))
        if name == "c":
            chosen = chosen - {"configure"} | {"create"}
        else:
            cluster.states[name] = draw(st.sampled_from([RUNNING, PAUSED, STOPPED]))
            cluster.configs[name] = draw(st.sampled_from([{}, {SETTING: "before"}]))
            cluster.offsets["t", name] = draw(st.dictionaries(st.sampled_from(KEYS), st.binary(max_size=2)))
            if cluster.states[name] == STOPPED:
                chosen -= {"stop"}
            elif "stop" not in chosen:
                chosen = frozenset()
        steps += steps_of(cluster, name, chosen)
    return cluster, Plan("migrate-offsets", 0, tuple(steps))


def resumed_by_hand(left: list[ManualStep]) -> set[str]:
    return {name for name in "abc" for each in left if each.instruction.startswith(f"resume connector {name} ")}


@given(clusters_and_plans())
def test_a_plan_and_its_undo_leave_the_cluster_as_it_was(drawn: tuple[Cluster, Plan]):
    """Otherwise a connector would continue from other offsets, with other settings or rights, after the undo."""
    cluster, plan = drawn
    before = repr(cluster.seen())
    cluster.perform(plan)
    left = cluster.perform(undo_plan(plan))
    assert repr(cluster.seen()) == before
    stopped = {each.step.connector for each in plan.steps if isinstance(each.step, StopConnector)}
    needs = {
        each.connector
        for planned in plan.steps
        for each in (planned.step, *planned.preconditions)
        if isinstance(each, ConnectorStopped | ResumeConnector) and not isinstance(planned.step, SetConnectorConfig)
    }
    # c goes with the undo; a connector that the plan stopped is resumed.
    assert resumed_by_hand(left) == needs - stopped - {"c"}


@given(clusters_and_plans())
def test_undoing_an_undo_leads_forth_again(drawn: tuple[Cluster, Plan]):
    cluster, plan = drawn
    cluster.perform(plan)
    states, *there = cluster.seen()
    states, there = dict(states), repr(there)
    back = undo_plan(plan)
    cluster.perform(back)
    left = resumed_by_hand(cluster.perform(undo_plan(back)))
    now, *rest = cluster.seen()
    assert repr(rest) == there
    assert {name: state for name, state in now.items() if name not in left} == {
        name: state for name, state in states.items() if name not in left
    }


@given(st.sampled_from([RUNNING, STOPPED]), st.frozensets(st.sampled_from(["write", "configure", "resume"])))
def test_by_resources_too_the_way_back_leads_where_the_plan_began(state: str, chosen: frozenset[str]):
    """An operator applies whole resources: one that is out of place would let a connector run with other settings."""
    config: dict[str, str | None] = {SETTING: "before"}
    cluster = Cluster({"a": state}, {"a": dict(config)}, {("t", "a"): {KEYS[0]: b"old"}})
    steps = steps_of(cluster, "a", chosen | ({"stop"} if state == RUNNING else set()))
    after = config | ({SETTING: "t"} if "configure" in chosen else {})
    cluster.resources = {
        "/out/a.before.yaml": (state, config),
        "/out/a.stopped.yaml": (STOPPED, config),
        "/out/a.configured.yaml": (STOPPED, after),
        "/out/a.running.yaml": (RUNNING, after),
    }
    operated = OperatedConnectors(states={"a": state.lower()}, directory="/out")
    made = for_operator(Planned(plan=Plan("migrate-offsets", 0, tuple(steps)), cluster_id="k"), operated)
    assert made.objections == ()
    before = repr(cluster.seen())
    cluster.perform(made.plan)
    left = cluster.perform(undo_plan(made.plan))
    assert repr(cluster.seen()) == before
    assert resumed_by_hand(left) == ({"a"} if state == STOPPED and chosen & {"write", "resume"} else set())


@pytest.mark.parametrize("allowed", [None, "after"])
def test_offsets_are_taken_back_only_where_they_are_as_the_plan_left_them(allowed: str | None):
    """The plan's own precondition would let the undo write over what a connector has committed since."""
    unchanged = OffsetsUnchanged(Side.SOURCE, "t", "a", "before", allowed)
    stopped = ConnectorStopped(Side.SOURCE, "a")
    write = WriteOffsets(Side.SOURCE, "t", "a", "g-a-0", 1, (), "before", "values", "after")
    back, verified = undo_plan(Plan("migrate-offsets", 0, (PlannedStep(write, (*HERE, stopped, unchanged)),))).steps[:2]
    assert back.preconditions == (*HERE, stopped, OffsetsUnchanged(Side.SOURCE, "t", "a", "after", "values"))
    assert verified == PlannedStep(VerifyOffsets(Side.SOURCE, "t", "a", "values"), (stopped,))


def test_topics_stay_and_the_undo_names_them():
    [left] = undo_plan(Plan("migrate-offsets", 0, (PlannedStep(CreateTopic(Side.SOURCE, "t", 1, 1)),))).steps
    assert left.step == ManualStep("topic t, which the plan created, stays: delete it if nothing uses it")


def awaited(state: str, *, undo_file: str | None = None, before: dict[str, str | None] | None = None) -> PlannedStep:
    return PlannedStep(
        AwaitOperator(Side.SOURCE, "a", "/a.yaml", state, undo_file=undo_file, before=before or {}), HERE
    )


@pytest.mark.parametrize("step", [awaited(STOPPED), awaited(STOPPED, before={SETTING: None})])
def test_without_a_resource_that_leads_back_nothing_is_awaited(step: PlannedStep):
    """A wait for a file that was never written would never end."""
    assert undo_plan(Plan("migrate-offsets", 0, (step,))).steps == ()


def test_a_connector_that_the_plan_resumed_by_its_resource_is_left_stopped_with_a_note():
    back = undo_plan(Plan("migrate-offsets", 0, (awaited(RUNNING, undo_file="/stopped.yaml"),)))
    assert [each.step for each in back.steps[:1]] == [AwaitOperator(Side.SOURCE, "a", "/stopped.yaml", STOPPED)]
    assert resumed_by_hand([each.step for each in back.steps if isinstance(each.step, ManualStep)]) == {"a"}


def test_a_connector_that_was_stopped_by_its_resource_and_has_no_way_back_is_not_called_resumed():
    """The undo of a plan that stopped it, wrote its offsets and lost the resource from before: a person resumes it."""
    stopped = ConnectorStopped(Side.SOURCE, "a")
    fence = PlannedStep(FenceProducers(Side.SOURCE, ("g-a-0",), 1), (stopped,))
    back = undo_plan(Plan("migrate-offsets", 0, (awaited(STOPPED), fence)))
    assert resumed_by_hand([each.step for each in back.steps if isinstance(each.step, ManualStep)]) == {"a"}

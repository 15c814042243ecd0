"""ACLs: inputs, phases, and the check."""

import json
from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import PurePath
from typing import NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from eosctl.analysis.phases import possible_phases
from eosctl.codecs.connector_files import connector_of
from eosctl.errors import UsageError
from eosctl.model.acl_plan import PlannedBinding
from eosctl.model.acls import AclBinding, ClusterAcls, Operation, ResourceType, topic
from eosctl.model.client_properties import Property
from eosctl.model.client_roles import ConnectCluster, ConnectorConfig
from eosctl.model.config_topic import ConfigTopicLog, ConnectorConfigRecord, Origin
from eosctl.model.evidence import Evidence, InternalTopic, WorkerEvidence
from eosctl.model.report import Outcome, Triage, Waiver, exit_code, gate_of
from eosctl.model.skipped import Cause, Skipped, not_asked
from eosctl.model.topics import ClusterFacts
from eosctl.model.workers import SourceSupport
from eosctl.operations.acls import (
    AclInputs,
    AclOptions,
    internal_topics,
    named_principals,
    plan_cluster_acls,
    read_connect_clusters,
)
from eosctl.operations.evidence import EvidenceRequest, read_acl_differences
from eosctl.render.gates import sarif
from tests.analysis.evidence import answer, but, worker
from tests.fake_cluster import FakeCluster
from tests.operations.conversation import Conversation, session_on
from tests.operations.quiet import session_with
from tests.planning.test_acls import NAMES, sasl
from tests.render.gate_formats import sarif_run

ORDERS = {"name": "orders", "config": {"connector.class": "FileStreamSource", "topic": "rows"}}
ROWS = AclBinding("User:p", Operation.WRITE, topic("rows"))


@pytest.fixture
def check(tmp_path):
    """`check(*bindings)`: the report of a check against a cluster that has these ACLs."""
    worker, connector = tmp_path / "worker.properties", tmp_path / "orders.json"
    settings = NAMES | sasl("", "worker") | sasl("producer.", "p") | sasl("consumer.", "c")
    worker.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))

    def checked(*bindings, is_check=True, **config):
        connector.write_text(json.dumps({**ORDERS, "config": ORDERS["config"] | config}))
        servers = frozenset(settings["bootstrap.servers"].split(","))
        acls = ClusterAcls(frozenset(bindings), "K", {"rows": True}, addresses=servers)
        cluster = FakeCluster(acls=acls, cluster=Skipped("no cluster", Cause.NOT_ASKED), client_configs=None)
        inputs = AclInputs((worker,), (f"g={connector}",))
        request = AclOptions(inputs, SourceSupport.DISABLED, check=is_check)
        return plan_cluster_acls(session_with(cluster), request)

    return checked


def test_a_check_finds_what_each_connector_and_the_workers_miss(check):
    report = check()
    assert exit_code(report) == 1
    found = {each.subject: (each.id, each.evidence["count"]) for each in report.reported}
    assert found == {"orders": ("EOS143", 1), "workers": ("EOS143", 7)}
    [orders, workers] = report.reported
    assert orders.message == "1 required ACL is missing: Write on Topic rows for User:p"
    assert workers.message.endswith("; and 4 more")
    assert len(workers.evidence["bindings"]) == 7


def test_the_sarif_file_names_the_files_to_change(check):
    results = sarif_run(sarif(gate_of("acl-plan", check())))["results"]
    places = {each["partialFingerprints"]["primaryLocationLineHash"]: each["locations"][0] for each in results}
    files = [PurePath(each["physicalLocation"]["artifactLocation"]["uri"]).name for each in places.values()]
    assert files == ["orders.json", "worker.properties"]


def test_a_check_of_a_cluster_that_has_them_passes(check):
    allowed = [each.planned.binding for each in check().difference.compared]
    report = check(*allowed)
    assert (exit_code(report), report.reported) == (0, ())
    made = gate_of("acl-plan", report)
    assert {each.kind.id: each.outcome for each in made.questions}["EOS143"] is Outcome.PASSED
    assert {each.outcome for each in made.questions} == {Outcome.PASSED}


def test_a_waiver_may_accept_what_one_connector_misses(check):
    allowed = [each.planned.binding for each in check().difference.compared if each.planned.binding != ROWS]
    assert [each.subject for each in check(*allowed).reported] == ["orders"]
    accepted = Waiver("required-acl-missing", "orders", "team", "granted tonight", date.max)
    assert exit_code(check(*allowed).under(Triage(waivers=(accepted,)))) == 0


def test_bindings_of_another_cluster_are_skipped_and_not_passed(check):
    elsewhere = {"producer.override.bootstrap.servers": "other:9092"}
    allowed = [each.planned.binding for each in check(**elsewhere).difference.compared]
    made = gate_of("acl-plan", check(*allowed, **elsewhere))
    [asked] = [each for each in made.questions if each.kind.id == "EOS143"]
    assert (asked.outcome, asked.reported, len(asked.untold)) == (Outcome.SKIPPED, (), 1)
    assert "other:9092" in asked.untold[0]


def test_a_plan_without_check_looks_for_no_missing_binding(check):
    report = check(is_check=False)
    assert "EOS143" not in {kind.id for kind in (*report.kinds, *(each.kind for each in report.reported))}
    assert exit_code(report) == 0


def test_a_text_for_another_tool_is_not_kept_back_by_what_was_found(check):
    for_tools = replace(check(), is_for_tools=True)
    assert exit_code(for_tools) == 0
    assert {each.outcome for each in gate_of("acl-plan", for_tools).questions} == {Outcome.PASSED}


INPUTS = AclInputs(internal_topics=internal_topics("configs", "offsets", "status"))
HERE = ClusterFacts("fake", {1: "b:9092"}, 60_000)
CONFIG = {"connector.class": "FileStreamSource", "topic": "out"}


def configs(*names: str) -> ConfigTopicLog:
    records = [ConnectorConfigRecord(Origin(0, 0), name, CONFIG) for name in names]
    return ConfigTopicLog("configs", Skipped("no"), Skipped("no"), records)


def known(cluster: FakeCluster, said: Conversation | None = None, **options: object) -> ConnectCluster:
    (found,) = read_connect_clusters(session_on(cluster, said or Conversation(), group_id="g", **options), INPUTS)
    return found


def test_connectors_are_those_of_the_config_topic() -> None:
    found = known(FakeCluster(cluster=HERE, client_configs=None, config_topic=configs("orders", "bills")))
    assert [each.name for each in found.connectors] == ["bills", "orders"]
    assert found.all_known


def test_workers_answers_win_and_only_they_list_the_connectors() -> None:
    running = {"orders": ConnectorConfig("orders", {"topic": Property("other", "REST")})}
    found = known(FakeCluster(cluster=HERE, client_configs=running, config_topic=configs("orders", "deleted")))
    assert [(each.name, each.get("topic")) for each in found.connectors] == [("orders", "other")]


def test_no_worker_has_started_where_the_config_topic_does_not_exist() -> None:
    said, absent = Conversation(), UsageError("topic configs does not exist")
    cluster = FakeCluster(
        cluster=HERE,
        client_configs=None,
        config_topic=absent,
        internal_topic=InternalTopic("config", "configs", None),
    )
    found = known(cluster, said)
    assert (found.connectors, found.all_known) == ((), True)
    assert said.said == ["no connector is known from the config topic: topic configs does not exist"]


def test_a_snapshot_without_the_config_topic_does_not_pass_for_a_cluster_without_connectors() -> None:
    unsaved = InternalTopic("config", "configs", Skipped("not saved", Cause.NOT_SAVED))
    missing = UsageError("the snapshot holds no config topic: denied")
    with pytest.raises(UsageError, match="the snapshot holds no config topic: denied"):
        known(FakeCluster(cluster=HERE, client_configs=None, config_topic=missing, internal_topic=unsaved))


def test_nothing_is_known_of_connectors_where_no_cluster_was_named() -> None:
    found = known(FakeCluster(cluster=not_asked("no -b was given"), client_configs=None))
    assert (found.connectors, found.all_known) == ((), False)


TOPICS = {"config": "configs", "offsets": "offsets", "status": "status"}
PRINCIPALS = ("connector=User:c", *(f"{role}=User:{role}" for role in ("worker", "producer", "consumer", "admin")))
RULES = ("EOS130", "EOS131", "EOS132")


class World(NamedTuple):
    """Each worker's answer (whether it is enabled; None: none), the connectors, and the allowed bindings.

    allowed are numbers: the binding of each is allowed, counted over all that any phase needs.
    """

    answers: tuple[bool | None, ...]
    connectors: tuple[ConnectorConfig, ...]
    allowed: frozenset[int]


def source(number: int, own: bool, tasks: int) -> ConnectorConfig:
    config = {"name": f"c{number}", "connector.class": "FileStreamSource", "topic": "out", "tasks.max": str(tasks)}
    return connector_of(config | ({"offsets.storage.topic": f"own-{number}"} if own else {}), "the test")


def sink(number: int) -> ConnectorConfig:
    return connector_of({"name": f"s{number}", "connector.class": "FileStreamSink", "topics": "in"}, "the test")


NUMBERS = st.integers(0, 3)
WORLDS = st.builds(
    World,
    st.lists(st.sampled_from([True, False, None]), max_size=3).map(tuple),
    st.lists(st.builds(source, NUMBERS, st.booleans(), st.integers(1, 3)) | st.builds(sink, NUMBERS), max_size=4).map(
        lambda found: tuple({each.name: each for each in found}.values())
    ),
    st.frozensets(st.integers(0, 60)),
)


def workers_of(world: World) -> Mapping[str, WorkerEvidence | Skipped]:
    return {
        f"http://{number}:8083": Skipped("it is gone", Cause.UNREACHABLE)
        if enabled is None
        else worker(f"http://{number}:8083", enabled=enabled)
        for number, enabled in enumerate(world.answers)
    }


def session_in(world: World, allowed: frozenset[AclBinding]):
    cluster = FakeCluster(
        group_id="g",
        acls=ClusterAcls(allowed, "K", {"out": True}),
        client_configs={each.name: each for each in world.connectors},
        worker_evidence=workers_of(world),
        active_topics={},
    )
    return session_on(cluster, Conversation(), group_id="g")


def planned(
    world: World, allowed: frozenset[AclBinding] = frozenset(), phase: SourceSupport | None = None
) -> tuple[PlannedBinding, ...] | None:
    """The required bindings that `acl-plan` finds missing; None if it refuses."""
    names = {"config": "configs", "offsets": "offsets", "status": "status"}
    options = AclOptions(AclInputs(internal_topics=internal_topics(**names)), phase, principals=PRINCIPALS)
    try:
        return plan_cluster_acls(session_in(world, allowed), options).difference.missing_required
    except UsageError:
        return None


def evidence_of(world: World, allowed: frozenset[AclBinding]) -> Evidence:
    """The evidence of `doctor` about ACLs."""
    session, workers = session_in(world, allowed), workers_of(world)
    found = read_acl_differences(session, EvidenceRequest({}), named_principals(PRINCIPALS), TOPICS, workers)
    return but(workers=workers, worker_files={}, acl_differences=found.by_phase, acl_in_force=found.in_force)


def demanded(evidence: Evidence) -> set[tuple[str, str, str]]:
    """Principal, operation and resource of each finding; of tasks every ID."""
    found = set()
    for rule in RULES:
        for each in answer(rule, evidence).findings:
            ids = each.evidence.get("transactional_ids")
            names = [f"TransactionalId {name}" for name in ids] if isinstance(ids, list) else [each.subject]
            names = [f"TransactionalId {each.subject}"] if rule == "EOS130" else names
            operation = each.message.partition(" has no ")[2].partition(" on ")[0]
            found |= {(str(each.evidence["principal"]), operation, name) for name in names}
    return found


def named(missing: Iterable[AclBinding]) -> set[tuple[str, str, str]]:
    return {(each.principal, str(each.operation), str(each.pattern)) for each in missing}


def allowed_in(world: World) -> frozenset[AclBinding]:
    every = sorted({each.binding for phase in SourceSupport for each in planned(world, phase=phase) or ()})
    return frozenset(each for number, each in enumerate(every) if number in world.allowed)


@given(WORLDS)
@example(World((True,), (source(0, False, 2),), frozenset()))
@example(World((False,), (source(0, True, 1),), frozenset()))
@example(World((True, False), (source(0, False, 1), sink(1)), frozenset({1, 4})))
@example(World((), (), frozenset()))
@example(World((), (), frozenset({2, 7})))
@settings(deadline=None)
def test_doctor_demands_what_acl_plan_plans(world: World) -> None:
    allowed = allowed_in(world)
    wanted, evidence = planned(world, allowed), evidence_of(world, allowed)
    if wanted is not None:
        assert demanded(evidence) == named(each.binding for each in wanted)
        granted = allowed | {each.binding for each in wanted}
        assert demanded(evidence_of(world, granted)) == set()
        assert all(answer(rule, evidence_of(world, granted)).outcome == "fine" for rule in RULES)
        return
    assert True not in world.answers, "it refuses only where no worker is enabled"
    missing = [planned(world, allowed, phase) or () for phase in possible_phases(workers_of(world))]
    possible = [{each.binding for each in bindings} for bindings in missing]
    surely = set.intersection(*possible)
    assert demanded(evidence) == named(surely)
    unsure = any(answer(rule, evidence).cannot_tell for rule in RULES)
    assert unsure is any(each != surely for each in possible)


@given(WORLDS)
@settings(deadline=None)
def test_each_phase_needs_all_that_those_before_it_need(world: World) -> None:
    by_phase = evidence_of(world, frozenset()).acl_differences
    assert not isinstance(by_phase, Skipped)
    needed = [{each.planned.binding for each in by_phase[phase].compared} for phase in SourceSupport]
    assert needed[0] <= needed[1] <= needed[2]
    leader = {each for each in needed[1] - needed[0] if each.pattern.resource_type is ResourceType.TRANSACTIONAL_ID}
    assert {each.pattern.name for each in leader} == {"connect-cluster-g"}

"""What `doctor` demands is what `acl-plan` plans, whatever the workers answer and the cluster allows."""

from collections.abc import Mapping
from typing import NamedTuple

from hypothesis import example, given, settings
from hypothesis import strategies as st

from eosctl.analysis.phases import possible_phases
from eosctl.codecs.connector_files import connector_of
from eosctl.errors import UsageError
from eosctl.model.acl_plan import ClusterAcls, PlannedBinding
from eosctl.model.acls import AclBinding, ResourceType
from eosctl.model.client_roles import ConnectorConfig
from eosctl.model.evidence import Evidence, WorkerEvidence
from eosctl.model.offsets import SourceSupport
from eosctl.model.skipped import Cause, Skipped
from eosctl.operations.acls import AclInputs, AclOptions, internal_topics, named_principals, plan_cluster_acls
from eosctl.operations.evidence import read_acl_differences
from eosctl.operations.evidence_request import EvidenceRequest
from tests.analysis.evidence import answer, but, worker
from tests.fake_cluster import FakeCluster
from tests.operations.conversation import Conversation, session_on

TOPICS = {"config": "configs", "offsets": "offsets", "status": "status"}
PRINCIPALS = ("connector=User:c", *(f"{role}=User:{role}" for role in ("worker", "producer", "consumer", "admin")))
RULES = ("EOS130", "EOS131", "EOS132")


class World(NamedTuple):
    """What each worker answers (whether it is enabled; None: nothing), the connectors, and what is allowed.

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
    """What `acl-plan` finds missing and required; None where it refuses."""
    names = {"config": "configs", "offsets": "offsets", "status": "status"}
    options = AclOptions(AclInputs(internal_topics=internal_topics(**names)), phase, principals=PRINCIPALS)
    try:
        return plan_cluster_acls(session_in(world, allowed), options).difference.missing_required
    except UsageError:
        return None


def evidence_of(world: World, allowed: frozenset[AclBinding]) -> Evidence:
    """What `doctor` reads of ACLs."""
    session, workers = session_in(world, allowed), workers_of(world)
    found = read_acl_differences(session, EvidenceRequest({}), named_principals(PRINCIPALS), TOPICS, workers)
    return but(workers=workers, worker_files={}, acl_differences=found.by_phase, acl_in_force=found.in_force)


def demanded(evidence: Evidence) -> set[tuple[str, str]]:
    """Principal and subject of each finding; of tasks every ID."""
    found = set()
    for rule in RULES:
        for each in answer(rule, evidence).findings:
            ids = each.evidence.get("transactional_ids")
            names = [f"TransactionalId {name}" for name in ids] if isinstance(ids, list) else [each.subject]
            names = [f"TransactionalId {each.subject}"] if rule == "EOS130" else names
            found |= {(str(each.evidence["principal"]), name) for name in names}
    return found


def named(missing: tuple[PlannedBinding, ...]) -> set[tuple[str, str]]:
    return {(each.binding.principal, str(each.binding.pattern)) for each in missing}


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
        assert demanded(evidence) == named(wanted)
        granted = allowed | {each.binding for each in wanted}
        assert demanded(evidence_of(world, granted)) == set()
        assert all(answer(rule, evidence_of(world, granted)).outcome == "fine" for rule in RULES)
        return
    assert True not in world.answers, "it refuses only where no worker is enabled"
    missing = [planned(world, allowed, phase) or () for phase in possible_phases(workers_of(world))]
    possible = [{each.binding for each in bindings} for bindings in missing]
    surely = set.intersection(*possible)
    assert demanded(evidence) == {(each.principal, str(each.pattern)) for each in surely}
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

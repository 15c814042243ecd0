"""Our authorizer decides as StandardAuthorizer on a real broker does."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eosctl.analysis.authorizer import Authorizer
from eosctl.model.acls import (
    CLUSTER,
    CLUSTER_NAME,
    AclBinding,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
    topic,
)
from tests.faulty_sandbox import Sandbox
from tests.integration.acl_broker import TOLD, AclBroker, Prober, warm_up, wire_of
from tests.integration.producers import create_topic

pytestmark = [pytest.mark.kafka, pytest.mark.matrix]

HOST = "127.0.0.1"
USERS = ("worker", "connector", "admin")
# Each is the beginning of another, or nearly: patterns of any of them meet several.
NAMES = ("acl", "acl-", "acl-1", "acl-10", "acl-1-0", "aclx", "b")
STARRED = ("*", "*acl", "*acl-1")
RESOURCES = {
    ResourceType.TOPIC: NAMES,
    ResourceType.GROUP: (*NAMES, *STARRED),
    ResourceType.TRANSACTIONAL_ID: (*NAMES, *STARRED),
}
OPERATIONS = {
    **{kind: (Operation.ALL, *told) for kind, told in TOLD.items()},
    ResourceType.TRANSACTIONAL_ID: (Operation.ALL, Operation.WRITE, Operation.DESCRIBE),
}


def patterns(kind: ResourceType) -> st.SearchStrategy[ResourcePattern]:
    if kind is ResourceType.CLUSTER:
        return st.just(CLUSTER)  # brokers refuse any other
    names = st.sampled_from((*RESOURCES[kind], "*", "*a", "a"))
    return st.builds(ResourcePattern, st.just(kind), names, st.sampled_from(PatternType))


@st.composite
def bindings(draw: st.DrawFn) -> AclBinding:
    kind = draw(st.sampled_from((*RESOURCES, ResourceType.CLUSTER)))
    return AclBinding(
        draw(st.sampled_from((*(f"User:{user}" for user in USERS), "User:*"))),
        draw(st.sampled_from(OPERATIONS[kind])),
        draw(patterns(kind)),
        # Two in three allow: where all is denied nothing else is known apart.
        draw(st.sampled_from((Permission.ALLOW, Permission.ALLOW, Permission.DENY))),
        draw(st.sampled_from(("*", "*", HOST, "10.1.2.3"))),
    )


SETS = st.sets(bindings(), max_size=24)


@pytest.fixture(scope="module")
def probers(broker: Sandbox) -> Iterator[dict[str, Prober]]:
    for name in NAMES:
        create_topic(broker.bootstrap_servers, name)
    wires = {user: wire_of(broker, user) for user in USERS}
    with wire_of(broker) as root:
        warm_up(root, NAMES[0], NAMES[0])
    yield {user: Prober(wire) for user, wire in wires.items()}
    for wire in wires.values():
        wire.close()


@pytest.fixture(scope="module")
def acls(broker: Sandbox) -> Iterator[AclBroker]:
    with AclBroker(broker) as acls:
        yield acls


def compare(acls: AclBroker, probers: dict[str, Prober], granted: set[AclBinding]) -> int:
    """The number of requests on which broker and authorizer were compared, and agreed."""
    acls.set(granted)
    authorizer, compared = Authorizer(granted), 0
    for user, prober in probers.items():
        for (kind, name, operation), allowed in prober.ask(RESOURCES).items():
            ours = authorizer.decide(f"User:{user}", operation, kind, name, HOST)
            assert ours.allowed == allowed, f"{user} {operation} {kind} {name}: the broker says {allowed}, we {ours}"
            compared += 1
    return compared


def test_every_decision_is_the_brokers(acls, probers):
    compared = 0

    @settings(max_examples=50, database=None, suppress_health_check=list(HealthCheck))
    @given(SETS)
    def agree(granted: set[AclBinding]) -> None:
        nonlocal compared
        compared += compare(acls, probers, granted)

    agree()
    assert compared >= 1000


@pytest.mark.long
def test_a_thousand_sets_of_bindings_are_decided_as_the_broker_decides(acls, probers):
    @settings(max_examples=1000, database=None, suppress_health_check=list(HealthCheck))
    @given(SETS)
    def agree(granted: set[AclBinding]) -> None:
        compare(acls, probers, granted)

    agree()


def test_a_super_user_needs_no_binding(broker, acls):
    acls.set({AclBinding("User:ANONYMOUS", Operation.ALL, topic("*"), Permission.DENY)})
    with wire_of(broker) as root:
        answers = Prober(root).ask({kind: names[:1] for kind, names in RESOURCES.items()})
    authorizer = Authorizer((), super_users={"User:ANONYMOUS"})
    assert set(answers.values()) == {True}
    assert authorizer.decide("User:ANONYMOUS", Operation.WRITE, ResourceType.CLUSTER, CLUSTER_NAME).allowed

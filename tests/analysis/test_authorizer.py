"""The authorizer's rules, one by one; tests/integration holds it against a broker."""

import pytest

from eosctl.analysis.authorizer import Authorizer
from eosctl.model.acls import (
    CLUSTER,
    AclBinding,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
    topic,
    transactional_id,
)

ALICE, BOB = "User:alice", "User:bob"
PREFIXED = PatternType.PREFIXED


def may(operation: Operation, pattern: ResourcePattern, principal: str = ALICE, **more: object) -> AclBinding:
    return AclBinding(principal, operation, pattern, **more)  # type: ignore[arg-type]


def deny(operation: Operation, pattern: ResourcePattern, principal: str = ALICE) -> AclBinding:
    return AclBinding(principal, operation, pattern, Permission.DENY)


def decide(*bindings: AclBinding, operation: Operation, name: str, principal: str = ALICE, host: str = "10.0.0.1"):
    return Authorizer(bindings).decide(principal, operation, ResourceType.TOPIC, name, host).allowed


@pytest.mark.parametrize("granted", [Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER])
def test_reading_writing_deleting_and_altering_imply_describing(granted):
    assert decide(may(granted, topic("t")), operation=Operation.DESCRIBE, name="t")


def test_creating_implies_nothing():
    assert not decide(may(Operation.CREATE, topic("t")), operation=Operation.DESCRIBE, name="t")


def test_altering_configs_implies_describing_them_and_not_the_topic():
    binding = may(Operation.ALTER_CONFIGS, topic("t"))
    assert decide(binding, operation=Operation.DESCRIBE_CONFIGS, name="t")
    assert not decide(binding, operation=Operation.DESCRIBE, name="t")


def test_a_denial_wins_over_any_allowance():
    bindings = (may(Operation.ALL, topic("*")), may(Operation.WRITE, topic("t")), deny(Operation.WRITE, topic("t")))
    assert not decide(*bindings, operation=Operation.WRITE, name="t")
    assert decide(*bindings, operation=Operation.READ, name="t")


def test_a_denial_implies_nothing():
    bindings = (may(Operation.ALL, topic("t")), deny(Operation.READ, topic("t")))
    assert decide(*bindings, operation=Operation.DESCRIBE, name="t")


def test_a_prefix_matches_what_begins_so_and_a_literal_name_does_not():
    assert decide(may(Operation.READ, topic("or", PREFIXED)), operation=Operation.READ, name="orders")
    assert not decide(may(Operation.READ, topic("or")), operation=Operation.READ, name="orders")


def test_a_literal_star_matches_every_name_and_a_prefixed_one_only_names_that_begin_with_a_star():
    assert decide(may(Operation.READ, topic("*")), operation=Operation.READ, name="orders")
    assert not decide(may(Operation.READ, topic("*", PREFIXED)), operation=Operation.READ, name="orders")


def test_a_literal_star_does_not_cover_names_that_begin_with_a_star():
    everything = ResourcePattern(ResourceType.GROUP, "*")
    starred, beginning = (
        ResourcePattern(ResourceType.GROUP, "*x"),
        ResourcePattern(ResourceType.GROUP, "*x", PREFIXED),
    )
    assert not everything.matches("*x")
    assert everything.matches("*")
    assert not everything.covers(starred)
    assert not everything.covers(beginning)
    assert everything.covers(everything)
    authorizer = Authorizer([may(Operation.READ, everything)])
    assert not authorizer.decide(ALICE, Operation.READ, ResourceType.GROUP, "*x").allowed
    assert authorizer.decide(ALICE, Operation.READ, ResourceType.GROUP, "*").allowed
    assert not authorizer.permits(may(Operation.READ, beginning)).allowed


def test_a_prefix_of_a_star_covers_the_resource_called_star_and_not_the_pattern_of_all():
    begins_so = ResourcePattern(ResourceType.GROUP, "*", PREFIXED)
    authorizer = Authorizer([may(Operation.READ, begins_so)])
    assert authorizer.decide(ALICE, Operation.READ, ResourceType.GROUP, "*").allowed
    assert not authorizer.permits(may(Operation.READ, ResourcePattern(ResourceType.GROUP, "*"))).allowed


def test_a_binding_for_another_host_or_principal_does_not_count():
    assert not decide(may(Operation.READ, topic("t"), host="10.0.0.2"), operation=Operation.READ, name="t")
    assert not decide(may(Operation.READ, topic("t"), BOB), operation=Operation.READ, name="t")
    assert decide(may(Operation.READ, topic("t"), "User:*"), operation=Operation.READ, name="t")


def test_a_super_user_may_do_what_is_denied():
    authorizer = Authorizer([deny(Operation.ALL, CLUSTER)], super_users={ALICE})
    assert authorizer.decide(ALICE, Operation.ALTER, ResourceType.CLUSTER, "kafka-cluster").allowed


def test_a_resource_without_acls_is_open_to_all_principals_if_the_brokers_allow_it():
    authorizer = Authorizer([may(Operation.READ, topic("t"), BOB)], allow_everyone_if_no_acl_found=True)
    assert authorizer.decide(ALICE, Operation.READ, ResourceType.TOPIC, "u").allowed
    assert not authorizer.decide(ALICE, Operation.READ, ResourceType.TOPIC, "t").allowed


def test_a_prefix_is_permitted_by_a_shorter_prefix_and_not_by_single_names():
    wanted = may(Operation.WRITE, transactional_id("g-orders-", PREFIXED))
    wide = may(Operation.WRITE, transactional_id("g-", PREFIXED))
    single = may(Operation.WRITE, transactional_id("g-orders-0"))
    assert Authorizer([wide]).permits(wanted).by == wide
    assert not Authorizer([single]).permits(wanted).allowed


def test_the_exact_binding_is_named_before_one_that_implies_it():
    exact, implying = may(Operation.DESCRIBE, topic("t")), may(Operation.READ, topic("t"))
    for bindings in ([implying, exact], [exact, implying], [may(Operation.ALL, topic("t")), exact], [exact, exact]):
        assert Authorizer(bindings).permits(exact).by == exact
    both = [implying, may(Operation.WRITE, topic("t"))]
    assert Authorizer(both).permits(exact).by == implying, "the first of two that imply it"


@pytest.mark.parametrize(
    ("one", "other", "overlap"),
    [
        (topic("a"), topic("a"), True),
        (topic("a"), topic("ab"), False),
        (topic("a", PREFIXED), topic("ab"), True),
        (topic("ab", PREFIXED), topic("a", PREFIXED), True),
        (topic("ab", PREFIXED), topic("ac", PREFIXED), False),
        (topic("*"), topic("a", PREFIXED), True),
        (topic("a"), transactional_id("a"), False),
    ],
)
def test_patterns_overlap_where_a_name_could_match_both(one, other, overlap):
    assert one.overlaps(other) is overlap
    assert other.overlaps(one) is overlap

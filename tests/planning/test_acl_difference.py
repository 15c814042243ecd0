"""A plan against the ACLs that there are, and the steps from one to the other."""

from hypothesis import given, settings
from hypothesis import strategies as st

from eosctl.analysis.authorizer import Authorizer
from eosctl.codecs.plan import decode_plan, encode_plan
from eosctl.model.acl_plan import AclDifference, AclRequest, BindingStatus
from eosctl.model.acls import (
    AclBinding,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
    topic,
    transactional_id,
)
from eosctl.model.client_roles import ConnectCluster
from eosctl.model.offsets import SourceSupport
from eosctl.model.plan import AclsPresent, CreateAcls, DeleteAcls, Side
from eosctl.model.preconditions import PlanFacts, needed_first, violation
from eosctl.model.skipped import Skipped
from eosctl.planning.acl_difference import compare_acls, plan_acl_changes
from eosctl.planning.acls import plan_acls
from eosctl.planning.undo import undo_plan
from tests.planning.test_acls import SOURCE, WORKER

WISH = AclRequest((ConnectCluster((WORKER,), (SOURCE,)),), SourceSupport.ENABLED)
PLAN = plan_acls(WISH, lambda _: "")
NEEDED = frozenset(each.binding for each in PLAN.bindings)
HERE = frozenset({"broker:9092"})
PREFIXED = PatternType.PREFIXED


def compare(existing: object, **more: object) -> AclDifference:
    return compare_acls(WISH, PLAN, existing, HERE, **more)  # type: ignore[arg-type]


def changes(existing: frozenset[AclBinding], *, prune: bool):
    return plan_acl_changes(compare(existing), PLAN, existing, "cluster-1", 1, prune=prune)


def status_of(difference: AclDifference, binding: AclBinding) -> object:
    [found] = [each.status for each in difference.compared if each.planned.binding == binding]
    return found


def test_an_empty_cluster_lacks_everything_and_a_full_one_nothing():
    assert len(compare(frozenset()).missing) == len(PLAN.bindings)
    full = compare(NEEDED)
    assert (full.missing, full.extra, full.findings) == ((), (), ())


def test_a_wider_binding_makes_the_planned_one_present_and_is_named():
    written = AclBinding("User:producer", Operation.WRITE, transactional_id("g-c-0"))
    wide = AclBinding("User:producer", Operation.ALL, transactional_id("g-", PREFIXED))
    [found] = [each for each in compare((NEEDED - {written}) | {wide}).compared if each.planned.binding == written]
    assert (found.status, found.by) == (BindingStatus.PRESENT, wide)


def test_a_denied_binding_is_missing_and_is_not_created():
    written = AclBinding("User:producer", Operation.WRITE, topic("out"))
    denial = AclBinding("User:*", Operation.WRITE, topic("out"), Permission.DENY)
    existing = (NEEDED - {written}) | {denial}
    assert status_of(compare(existing), written) is BindingStatus.MISSING
    assert [each.name for each in compare(existing).findings] == ["acl-denied"]
    assert changes(existing, prune=True).steps == ()


def test_a_denial_of_describing_is_told_though_writing_stays_allowed():
    denial = AclBinding("User:producer", Operation.DESCRIBE, topic("out"), Permission.DENY)
    [finding] = compare(NEEDED | {denial}).findings
    assert (finding.name, finding.subject) == ("acl-partly-denied", "Topic out")


def test_a_super_user_lacks_nothing():
    assert all(
        each.binding.principal != "User:worker" for each in compare(frozenset(), super_users={"User:worker"}).missing
    )


def test_bindings_of_another_cluster_are_not_known():
    difference = compare_acls(WISH, PLAN, NEEDED, frozenset({"other:9092"}))
    assert all(isinstance(each.status, Skipped) for each in difference.compared)


def test_extras_are_those_of_the_plans_own_kinds_only():
    def extra(principal: str, operation: Operation, pattern: ResourcePattern) -> AclBinding:
        return AclBinding(f"User:{principal}", operation, pattern)

    ours = {
        extra("producer", Operation.WRITE, transactional_id("g-gone-0")),
        extra("worker", Operation.ALTER, topic("configs")),
        extra("worker", Operation.DELETE, ResourcePattern(ResourceType.GROUP, "g")),
        # Write implies it, so nothing needs it.
        extra("admin", Operation.DESCRIBE, transactional_id("g-c-0")),
    }
    others = {
        extra("somebody", Operation.WRITE, transactional_id("g-gone-0")),
        extra("producer", Operation.WRITE, transactional_id("h-c-0")),
        extra("producer", Operation.READ, topic("business")),
        extra("worker", Operation.READ, topic("*")),
        extra("worker", Operation.ALL, ResourcePattern(ResourceType.CLUSTER, "kafka-cluster")),
    }
    assert {each.binding for each in compare(NEEDED | ours | others).extra} == ours


def test_bindings_are_added_before_others_are_removed():
    gone = AclBinding("User:producer", Operation.WRITE, transactional_id("g-gone-0"))
    lacking = AclBinding("User:producer", Operation.WRITE, topic("out"))
    plan = changes((NEEDED - {lacking}) | {gone}, prune=True)
    assert [(type(each.step), each.step.bindings) for each in plan.steps] == [  # type: ignore[union-attr]
        (CreateAcls, (lacking,)),
        (DeleteAcls, (gone,)),
    ]
    assert decode_plan(encode_plan(plan)) == plan


def test_without_prune_nothing_is_removed():
    gone = AclBinding("User:producer", Operation.WRITE, transactional_id("g-gone-0"))
    assert changes(NEEDED | {gone}, prune=False).steps == ()


def test_undoing_restores_what_was_removed_before_it_removes_what_was_created():
    gone = AclBinding("User:producer", Operation.WRITE, transactional_id("g-gone-0"))
    lacking = AclBinding("User:producer", Operation.WRITE, topic("out"))
    back = undo_plan(changes((NEEDED - {lacking}) | {gone}, prune=True))
    assert [(type(each.step), each.step.bindings) for each in back.steps] == [  # type: ignore[union-attr]
        (CreateAcls, (gone,)),
        (DeleteAcls, (lacking,)),
    ]


def test_a_removal_waits_for_what_replaces_it_and_no_later():
    gone = AclBinding("User:producer", Operation.WRITE, transactional_id("g-gone-0"))
    lacking = AclBinding("User:producer", Operation.WRITE, topic("out"))
    steps = changes((NEEDED - {lacking}) | {gone}, prune=True).steps
    assert AclsPresent(Side.SOURCE, (lacking,)) not in needed_first(steps), "the first step brings it about"
    [standing] = [each for each in needed_first(steps[1:]) if isinstance(each, AclsPresent)]
    assert violation(standing, PlanFacts(acls={Side.SOURCE: NEEDED})) is None
    told = violation(standing, PlanFacts(acls={Side.SOURCE: frozenset()}))
    assert told == f"1 ACLs that are needed are not there, the first: {lacking}"
    assert "unknown: off" in str(violation(standing, PlanFacts(acls={Side.SOURCE: Skipped("off")})))


def test_of_two_bindings_that_allow_the_same_the_same_one_is_named_in_any_order():
    described = AclBinding("User:admin", Operation.DESCRIBE, topic("offsets"))
    implying = [AclBinding("User:admin", each, topic("offsets")) for each in (Operation.READ, Operation.ALL)]
    told = [Authorizer(order).permits(described).by for order in (implying, implying[::-1])]
    assert told[0] == told[1]


PATTERNS = st.sampled_from(
    [each.binding.pattern for each in PLAN.bindings]
    + [transactional_id("g-", PREFIXED), transactional_id("g-c-", PREFIXED), transactional_id("g-gone-0"), topic("*")]
)
EXISTING = st.frozensets(
    st.builds(
        AclBinding,
        st.sampled_from(["User:worker", "User:producer", "User:consumer", "User:admin", "User:*"]),
        st.sampled_from([Operation.ALL, Operation.READ, Operation.WRITE, Operation.DESCRIBE]),
        PATTERNS,
        st.just(Permission.ALLOW),
    ),
    max_size=20,
)


@settings(max_examples=200)
@given(EXISTING, st.frozensets(st.sampled_from(sorted(NEEDED))))
def test_whatever_there_was_after_the_changes_everything_planned_is_allowed_and_the_rest_untouched(granted, some):
    existing = granted | some
    plan = changes(existing, prune=True)
    after = set(existing)
    for planned in plan.steps:
        match planned.step:
            case CreateAcls(_, bindings):
                after |= set(bindings)
            case DeleteAcls(_, bindings):
                after -= set(bindings)
        authorizer = Authorizer(after)
        lost = [
            each
            for each in NEEDED
            if Authorizer(existing).permits(each).allowed and not authorizer.permits(each).allowed
        ]
        assert lost == [], "allowed before, and not while the plan is applied"
    assert all(Authorizer(after).permits(each).allowed for each in NEEDED)
    assert {each for each in existing if each.principal == "User:*" or each.pattern.is_wildcard} <= after
    again = plan_acl_changes(compare(frozenset(after)), PLAN, frozenset(after), "cluster-1", 1, prune=True)
    assert again.steps == ()

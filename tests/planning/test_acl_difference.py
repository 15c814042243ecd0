"""ACLs that are needed against those that there are."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from eosctl.analysis.acl_findings import find_hidden
from eosctl.analysis.authorizer import Authorizer
from eosctl.codecs.connector_files import connector_of, worker_of
from eosctl.codecs.plan import decode_plan, encode_plan
from eosctl.errors import ConfigError
from eosctl.model.acl_plan import AclDifference, AclPlan, AclRequest, BindingStatus
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
from eosctl.model.client_roles import ClientRole, ConnectCluster, ConnectorConfig
from eosctl.model.names import Side
from eosctl.model.plan import CreateAcls, DeleteAcls, needed_first
from eosctl.model.preconditions import AclsPresent, PlanFacts
from eosctl.model.skipped import Skipped
from eosctl.model.workers import SourceSupport
from eosctl.planning.acl_difference import _partly_denies, compare_acls, plan_acl_changes, removable_extras
from eosctl.planning.acls import plan_acls
from eosctl.planning.undo import undo_plan
from tests.planning.test_acls import NAMES, SINK, SOURCE, WORKER, _no_certificate, lines, plan, sasl, with_settings

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


def test_in_an_empty_cluster_every_binding_is_missing_and_in_a_full_one_none():
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


def test_a_denial_of_describing_is_reported_though_writing_stays_allowed():
    denial = AclBinding("User:producer", Operation.DESCRIBE, topic("out"), Permission.DENY)
    [finding] = compare(NEEDED | {denial}).findings
    assert (finding.name, finding.subject) == ("acl-partly-denied", "Topic out")


def test_a_denial_from_one_host_is_reported_though_other_hosts_stay_allowed():
    """The worker on that host fails, and only that one."""
    denial = AclBinding("User:producer", Operation.WRITE, topic("out"), Permission.DENY, "10.0.0.7")
    [finding] = compare(NEEDED | {denial}).findings
    assert (finding.name, finding.subject) == ("acl-partly-denied", "Topic out")


def test_a_super_user_has_every_permission():
    assert all(
        each.binding.principal != "User:worker" for each in compare(frozenset(), super_users={"User:worker"}).missing
    )


def test_bindings_of_another_cluster_are_not_known():
    difference = compare_acls(WISH, PLAN, NEEDED, frozenset({"other:9092"}))
    assert all(isinstance(each.status, Skipped) for each in difference.compared)

    assert changes_elsewhere(difference).steps == (), "nothing of another cluster is created in this one"


def changes_elsewhere(difference: AclDifference):
    return plan_acl_changes(difference, PLAN, NEEDED, "cluster-2", 1, prune=False)


def test_a_client_whose_config_names_no_brokers_is_in_a_cluster_that_is_not_named():
    nameless = replace(PLAN, bindings=tuple(each._replace(cluster=frozenset()) for each in PLAN.bindings[:1]))
    [compared] = compare_acls(WISH, nameless, NEEDED, HERE).compared
    assert isinstance(compared.status, Skipped)
    assert "belongs to the cluster at a cluster that is not named" in compared.status.reason


def test_where_the_acls_could_not_be_read_none_is_known():
    unread = compare(Skipped("Describe on the cluster is missing"))
    assert {each.status for each in unread.compared} == {Skipped("Describe on the cluster is missing")}
    assert (len(unread.compared), unread.extra, unread.others) == (len(PLAN.bindings), (), ())


def test_only_an_extra_that_is_still_there_is_removed():
    gone = AclBinding("User:producer", Operation.WRITE, transactional_id("g-gone-0"))
    difference = compare(NEEDED | {gone})
    assert [each.binding for each in removable_extras(NEEDED | {gone}, PLAN, difference.extra)] == [gone]
    assert removable_extras(NEEDED, PLAN, difference.extra) == ()


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
    assert AclsPresent(Side.SOURCE, (gone,)) in back.steps[1].preconditions, "not before what it replaced stands again"


def test_a_removal_waits_for_what_replaces_it_and_no_later():
    gone = AclBinding("User:producer", Operation.WRITE, transactional_id("g-gone-0"))
    lacking = AclBinding("User:producer", Operation.WRITE, topic("out"))
    steps = changes((NEEDED - {lacking}) | {gone}, prune=True).steps
    assert AclsPresent(Side.SOURCE, (lacking,)) not in needed_first(steps), "the first step brings it about"
    [standing] = [each for each in needed_first(steps[1:]) if isinstance(each, AclsPresent)]
    assert standing.violation(PlanFacts(acls={Side.SOURCE: NEEDED})) is None
    told = standing.violation(PlanFacts(acls={Side.SOURCE: frozenset()}))
    assert told == f"1 ACLs that are needed are not there, the first: {lacking}"
    assert "unknown: off" in str(standing.violation(PlanFacts(acls={Side.SOURCE: Skipped("off")})))


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
def test_after_the_changes_all_planned_bindings_are_allowed_and_others_are_untouched(granted, some):
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


MIRROR = connector_of(
    {
        "name": "m",
        "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
        "source.cluster.alias": "up",
        "target.cluster.alias": "down",
        "topics": "orders",
        "source.cluster.bootstrap.servers": "up:9092",
        "target.cluster.bootstrap.servers": "broker:9092",
        "heartbeats.replication.enabled": "false",
        "sync.topic.acls.enabled": "false",
    },
    "m.json",
)


@pytest.mark.parametrize(
    ("connector", "resource"),
    [
        (with_settings(SOURCE, topic="${file:/etc/x:topic}"), "Topic ${file:/etc/x:topic}"),
        (with_settings(SOURCE, offsets_storage_topic="${env:OFFSETS}"), "Topic ${env:OFFSETS}"),
        (with_settings(SINK, topics="${file:/etc/x:in}"), "Topic ${file:/etc/x:in}"),
        (with_settings(SINK, consumer_override_group_id="eu-${env:G}"), "Group eu-${env:G}"),
        (with_settings(SINK, errors_deadletterqueue_topic_name="${dir:/x:dlq}"), "Topic ${dir:/x:dlq}"),
    ],
)
def test_no_acl_is_planned_on_a_reference_that_only_a_worker_resolves(connector: ConnectorConfig, resource: str):
    found = plan(connector)
    assert not [each for each in found.bindings if "${" in each.binding.pattern.name]
    assert [each.evidence["resource"] for each in found.findings if each.name == "reference-unresolved"] == [resource]


def test_a_connectors_own_name_is_no_reference():
    odd = connector_of({"name": "${a:b}", "connector.class": "FileStreamSource", "topic": "out"}, "c.json")
    found = plan(odd)
    assert found.findings == ()
    assert "producer Write TransactionalId g-${a:b}-0" in lines(found)


def test_the_names_of_a_worker_must_be_given():
    with pytest.raises(ConfigError, match=r"group\.id is \$\{env:GROUP\}, a reference"):
        worker_of(NAMES | {"group.id": "${env:GROUP}"}, "worker.properties")


def test_a_number_of_tasks_that_is_a_reference_is_planned_as_far_as_it_is_known():
    unknown = with_settings(SOURCE, tasks_max="${env:TASKS}")
    found = plan(unknown, headroom=2)
    assert [(each.name, each.subject) for each in found.findings] == [("tasks-unknown", "c")]
    assert "producer Write TransactionalId g-c-2" in lines(found)
    assert plan(unknown, pattern_type=PatternType.PREFIXED).findings == ()


def with_policy(policy: str, connector: ConnectorConfig) -> AclPlan:
    told = {key: each.value for key, each in WORKER.properties.items()}
    worker = worker_of(told | {"connector.client.config.override.policy": policy}, "w")
    return plan_acls(AclRequest((ConnectCluster((worker,), (connector,)),), SourceSupport.ENABLED), _no_certificate)


@pytest.mark.parametrize("policy", ["org.example.Own", "org.example.PrincipalConnectorClientConfigOverridePolicy"])
def test_a_policy_of_an_unknown_class_is_followed_and_reported(policy: str):
    overriding = with_settings(SOURCE, **{key.replace(".", "_"): text for key, text in _overrides().items()})
    found = with_policy(policy, overriding)
    assert "other Write Topic out" in lines(found)
    assert [each.name for each in found.findings] == ["override-policy-unknown"]
    assert policy in found.findings[0].message
    assert with_policy(policy, SOURCE).findings == (), "nothing is overridden"


@pytest.mark.parametrize(
    "policy", ["All", "org.apache.kafka.connect.connector.policy.PrincipalConnectorClientConfigOverridePolicy"]
)
def test_kafkas_own_policies_are_known(policy: str):
    overriding = with_settings(SOURCE, **{key.replace(".", "_"): text for key, text in _overrides().items()})
    assert with_policy(policy, overriding).findings == ()


def _overrides() -> dict[str, str]:
    return sasl("producer.override.", "other")


def test_a_replication_policy_of_an_unknown_class_needs_its_topics_named():
    own = with_settings(MIRROR, replication_policy_class="org.example.Own")
    found = plan(own)
    assert [(each.name, each.subject) for each in found.findings] == [("topics-unknown", "m")]
    assert "org.example.Own names them" in found.findings[0].message
    assert not any("up.orders" in each for each in lines(found) | lines(found, optional=True))


@pytest.mark.parametrize(
    ("policy", "mirrored"),
    [
        ("org.apache.kafka.connect.mirror.DefaultReplicationPolicy", "up.orders"),
        ("org.apache.kafka.connect.mirror.IdentityReplicationPolicy", "orders"),
    ],
)
def test_kafkas_replication_policies_name_the_mirrored_topics(policy: str, mirrored: str):
    assert f"producer Write Topic {mirrored}" in lines(plan(with_settings(MIRROR, replication_policy_class=policy)))


@pytest.mark.parametrize(
    ("kept", "syncs"), [("true", "mm2-offset-syncs_down_internal"), ("false", "mm2-offset-syncs.down.internal")]
)
def test_internal_topics_may_keep_their_dots(kept: str, syncs: str):
    separated = with_settings(
        MIRROR, replication_policy_separator="_", replication_policy_internal_topic_separator_enabled=kept
    )
    found = lines(plan(separated)) | lines(plan(separated), optional=True)
    assert f"ANONYMOUS Write Topic {syncs}" in found
    assert "producer Write Topic up_orders" in found


@pytest.mark.parametrize("regex", ["^orders", "orders$", "^orders$"])
def test_anchors_of_a_regular_expression_say_nothing(regex: str):
    mirror = with_settings(MIRROR, topics=regex)
    assert "producer Write Topic up.orders" in lines(plan(mirror))


@pytest.mark.parametrize(
    ("regex", "read"),
    [
        ("orders|payments-.*", {"orders", "prefixed payments-"}),
        (r"orders\.eu|c", {"orders.eu", "c"}),
        (r"orders\|eu", {"*"}),
        ("(a|b)c", {"*"}),
        ("orders|.*", {"orders", "*"}),
        ("ab?c", {"prefixed a"}),
    ],
)
def test_a_regular_expression_is_planned_by_what_its_branches_begin_with(regex: str, read: set[str]):
    sink = with_settings(SINK, topics_regex=regex, topics="")
    found = {each.removeprefix("consumer Read Topic ") for each in lines(plan(sink)) if "consumer Read Topic" in each}
    assert found == read


def test_settings_that_brokers_hide_are_reported_with_what_they_may_mean():
    found = list(find_hidden({"super.users", "allow.everyone.if.no.acl.found"}))
    assert [(each.subject, each.counts) for each in found] == [
        ("super.users", False),
        ("allow.everyone.if.no.acl.found", False),
    ]
    assert "takes it from all other principals" in found[1].message
    assert list(find_hidden(set())) == []


def test_a_name_that_no_topic_can_have_is_reported_where_only_the_connector_knows_what_it_makes_of_it():
    template = connector_of({"name": "c", "connector.class": "org.example.Jdbc", "topic": "rows of %t"}, "c.json")
    [told] = [each for each in plan(template).findings if each.id == "EOS136"]
    assert "'rows of %t' is not a topic's name" in told.message
    assert not any("rows" in each for each in lines(plan(template)))


# Other principals that may write resources of Connect alone.


@pytest.mark.parametrize(
    ("principal", "operation", "pattern", "guarded"),
    [
        ("eve", Operation.WRITE, topic("configs"), "Topic configs"),
        ("eve", Operation.ALL, topic("con", PREFIXED), "Topic configs"),
        ("producer", Operation.WRITE, topic("configs"), "Topic configs"),  # a connector's principal is another
        ("eve", Operation.WRITE, transactional_id("g-", PREFIXED), "TransactionalId g-c-0"),
        ("eve", Operation.WRITE, transactional_id("connect-cluster-g"), "TransactionalId connect-cluster-g"),
        ("*", Operation.WRITE, topic("*"), "Topic configs"),
        ("eve", Operation.READ, topic("configs"), None),
        ("eve", Operation.WRITE, topic("config"), None),
        ("worker", Operation.WRITE, topic("*"), None),
        ("eve", Operation.WRITE, topic("out"), None),
    ],
)
def test_who_else_may_write_the_config_topic_or_take_an_id_is_named(principal, operation, pattern, guarded):
    others = compare(NEEDED | {AclBinding(f"User:{principal}", operation, pattern)}).others
    assert [str(each.guarded) for each in others] == ([guarded] if guarded else [])


def test_a_principal_that_only_reads_the_config_topic_is_named_where_it_may_write_it():
    wish = replace(WISH, principals={(ClientRole.EOSCTL, None): "User:tool"})
    granted = AclBinding("User:tool", Operation.WRITE, topic("configs"))
    difference = compare_acls(wish, plan_acls(wish, lambda _: ""), NEEDED | {granted}, HERE)
    assert [(each.binding, each.expected) for each in difference.others] == [(granted, frozenset({"User:worker"}))]


@pytest.mark.parametrize("denied", [False, True])
def test_one_id_below_a_planned_prefix_is_named_whatever_is_denied_of_the_prefix(denied: bool):
    wish = replace(WISH, pattern_type=PREFIXED)
    planned = plan_acls(wish, lambda _: "")
    granted = AclBinding("User:eve", Operation.WRITE, transactional_id("g-c-0"))
    denial = AclBinding("User:eve", Operation.WRITE, transactional_id("g-c-", PREFIXED), Permission.DENY)
    existing = frozenset({granted, denial} if denied else {granted})
    [other] = compare_acls(wish, planned, existing, HERE).others
    assert (other.binding, str(other.guarded)) == (granted, "TransactionalId prefixed g-c-")


def test_denied_principals_and_super_users_are_not_listed_as_others():
    granted = AclBinding("User:eve", Operation.WRITE, topic("configs"))
    denied = AclBinding("User:eve", Operation.WRITE, topic("configs"), Permission.DENY)
    assert compare(NEEDED | {granted, denied}).others == ()
    assert compare(NEEDED | {granted}, super_users={"User:eve"}).others == ()


@pytest.mark.parametrize(
    ("operation", "host", "denied"),
    [
        (Operation.WRITE, "10.0.0.7", True),
        (Operation.ALL, "10.0.0.7", True),
        (Operation.DESCRIBE, "*", True),
        (Operation.READ, "*", False),
        (Operation.DELETE, "*", False),
    ],
)
def test_a_denial_is_reported_where_it_takes_a_part_of_what_is_needed(operation, host: str, denied: bool):
    """A permission to write implies Describe, and nothing else that can be denied."""
    denial = AclBinding("User:producer", operation, topic("out"), Permission.DENY, host)
    assert [each.name for each in compare(NEEDED | {denial}).findings] == (["acl-partly-denied"] if denied else [])


def test_a_denial_of_a_longer_name_takes_a_part_of_a_prefix_from_every_host():
    longer = AclBinding("User:producer", Operation.WRITE, topic("out"), Permission.DENY)
    wider = AclBinding("User:producer", Operation.WRITE, topic("o", PREFIXED), Permission.DENY)
    wanted = AclBinding("User:producer", Operation.WRITE, topic("o", PREFIXED))
    assert _partly_denies(longer, wanted)
    assert not _partly_denies(wider, wanted), "it is denied as a whole"

"""Findings about the ACLs of a request: owners that share IDs, and what a check lacks."""

from typing import Any

import pytest

from eosctl.analysis.acl_findings import (
    find_colliding,
    find_collisions,
    find_hidden,
    find_in_acls,
    find_missing,
    find_unchecked,
    kinds_looked_for,
)
from eosctl.analysis.catalogue import plans as kinds
from eosctl.model.acl_plan import (
    AclDifference,
    AclRequest,
    BindingStatus,
    ComparedBinding,
    PlannedBinding,
    Reason,
)
from eosctl.model.acls import ALLOW_EVERYONE, SUPER_USERS, AclBinding, Operation, PatternType, topic
from eosctl.model.client_roles import ClientRole, ConnectCluster, ConnectorConfig, WorkerConfig, as_properties
from eosctl.model.report import Finding
from eosctl.model.skipped import Skipped
from eosctl.model.workers import SourceSupport

LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED


def cluster(group_id: str, *asked: str, others: tuple[str, ...] = (), sinks: tuple[str, ...] = ()) -> ConnectCluster:
    worker = WorkerConfig(as_properties({"group.id": group_id}))
    sources = [ConnectorConfig(each, {}, type="source") for each in asked]
    return ConnectCluster(
        (worker,), (*sources, *(ConnectorConfig(each, {}, type="sink") for each in sinks)), others=others
    )


def colliding(*clusters: ConnectCluster, pattern_type: PatternType = LITERAL) -> list[tuple[str, str, str]]:
    request = AclRequest(clusters, SourceSupport.ENABLED, pattern_type=pattern_type)
    return [(each.name, each.subject, each.severity) for each in find_colliding(request)]


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        (cluster("a", "b-c"), cluster("a-b", "c"), True),
        (cluster("a", "b-c"), cluster("a-b", others=("c",)), True),
        (cluster("a", others=("b-c",)), cluster("a-b", "c"), True),
        (cluster("a", others=("b-c",)), cluster("a-b", others=("c",)), False),
        (cluster("a", "b-c"), cluster("a-b", sinks=("c",)), False),
        (cluster("a", "b-c"), cluster("a-b", "d"), False),
    ],
)
def test_two_owners_of_the_same_ids_collide_where_one_of_them_is_planned(first, second, found) -> None:
    equal = [each for each in colliding(first, second) if each[0] == kinds.COLLISION.name]
    assert [each[1] for each in equal] == (["a-b-c-"] if found else [])


@pytest.mark.parametrize(
    ("cluster", "pattern_type", "severity"),
    [
        (cluster("a", "b", "b-c"), PREFIXED, "warning"),
        (cluster("a", "b", "b-c"), LITERAL, "info"),
        (cluster("a", "b", others=("b-c",)), PREFIXED, "warning"),
        (cluster("a", "b-c", others=("b",)), PREFIXED, None),
        (cluster("a", "b", "c"), PREFIXED, None),
    ],
)
def test_a_prefix_of_a_planned_connector_that_covers_another_one_is_worse_where_acls_are_prefixed(
    cluster, pattern_type, severity
) -> None:
    found = colliding(cluster, pattern_type=pattern_type)
    assert [each[2] for each in found] == ([] if severity is None else [severity])
    assert all(each[0] != kinds.COLLISION.name for each in found)


def test_missing_bindings_are_looked_for_by_a_check_only() -> None:
    assert set(kinds_looked_for(check=True)) - set(kinds_looked_for(check=False)) == {kinds.REQUIRED_MISSING}
    assert kinds_looked_for(check=False)


def planned(number: int, *connectors: str | None) -> PlannedBinding:
    reasons = tuple(Reason(ClientRole.PRODUCER, each, "why", "source", "symptom", None) for each in connectors)
    return PlannedBinding(AclBinding("User:p", Operation.WRITE, topic(f"t{number}")), frozenset(), reasons)


@pytest.mark.parametrize(("count", "more"), [(1, ""), (3, ""), (4, "; and 1 more"), (21, "; and 18 more")])
def test_a_connector_lacks_its_bindings_by_number_and_three_of_them_by_name(count, more) -> None:
    [found] = find_missing([planned(number, "c") for number in range(count)])
    assert found.subject == "c"
    assert found.message.startswith(f"{count} required ")
    assert found.message.endswith(more)
    assert ("more" in found.message) == bool(more)
    assert "t3" not in found.message
    assert (found.evidence["count"], len(found.evidence["bindings"])) == (count, min(count, 20))


def test_a_binding_that_several_need_is_missing_for_each_of_them_once() -> None:
    found = find_missing([planned(0, "c", None, "c"), planned(1, None)])
    assert [(each.subject, each.evidence["count"]) for each in found] == [("c", 1), ("workers", 2)]


FILE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
MIRROR = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
DEBEZIUM = "io.debezium.connector.postgresql.PostgresConnector"
POLICY = "connector.client.config.override.policy"


def found_of(
    settings: dict[str, str],
    *policies: str,
    type_: str = "source",
    topics: tuple[str, ...] = (),
    used: tuple[str, ...] = (),
    **request: Any,
) -> list[Finding]:
    """Findings about one connector, of workers with these override policies."""
    named = {"connector.class": "org.example.C"} | settings
    connector = ConnectorConfig("c", as_properties(named), type=type_, topics=topics, active_topics=used)
    workers = [WorkerConfig(as_properties({"group.id": "g", POLICY: each})) for each in policies or ("All",)]
    return list(find_in_acls(AclRequest((ConnectCluster(tuple(workers), (connector,)),), **request)))


UNKNOWN_TOPICS, UNKNOWN_TASKS = kinds.TOPICS_UNKNOWN, kinds.TASKS_UNKNOWN
BOTH = ["consumer.override.sasl.jaas.config", "producer.override.acks"]
OVERRIDES = {"topic": "t", "producer.override.acks": "all", "consumer.override.sasl.jaas.config": "j"}


@pytest.mark.parametrize(
    ("settings", "more", "found"),
    [
        ({"topic": "t"}, {}, []),
        # Topics of a source.
        ({}, {}, [UNKNOWN_TOPICS]),
        ({}, {"topics": ("t",)}, []),
        ({}, {"used": ("t",)}, [UNKNOWN_TOPICS]),
        ({"topic": "t,a b"}, {}, [UNKNOWN_TOPICS]),
        ({"topic": "."}, {}, []),
        ({"topic": "*"}, {}, []),
        ({"connector.class": MIRROR, "topics": "t", "replication.policy.class": "own.Policy"}, {}, [UNKNOWN_TOPICS]),
        ({"connector.class": MIRROR, "topics": "t"}, {}, []),
        # Topics of a sink.
        ({"topics": "t"}, {"type_": "sink"}, []),
        ({}, {"type_": "sink"}, []),
        ({"topics.regex": " "}, {"type_": "sink"}, []),
        ({"topics.regex": ".*"}, {"type_": "sink"}, [UNKNOWN_TOPICS]),
        ({"topics.regex": "t.*"}, {"type_": "sink"}, []),
        ({"topics.regex": "t.*|.*"}, {"type_": "sink"}, [UNKNOWN_TOPICS]),
        ({"topics.regex": ".*"}, {"type_": "sink", "topics": ("t",)}, []),
        # Tasks.
        ({"topic": "t", "tasks.max": "3"}, {}, []),
        ({"topic": "t", "tasks.max": " ${env:T} "}, {}, [UNKNOWN_TASKS]),
        ({"topic": "t", "tasks.max": "${env:T}"}, {"pattern_type": PREFIXED}, []),
        ({"topics": "t", "tasks.max": "${env:T}"}, {"type_": "sink"}, []),
        # Clients of its own.
        ({"topic": "t", "history.bootstrap.servers": "h:1"}, {}, [kinds.OWN_KAFKA_CLIENT]),
        ({"topic": "t", "bootstrap.servers": "h:1"}, {}, [kinds.OWN_KAFKA_CLIENT]),
        ({"topic": "t", "producer.override.bootstrap.servers": "h:1"}, {}, []),
        ({"topic": "t", "source.cluster.bootstrap.servers": "h:1"}, {}, []),
        ({"topic": "t", "signal.kafka.bootstrap.servers": "h:1"}, {}, [kinds.OWN_KAFKA_CLIENT]),
        (
            {"connector.class": DEBEZIUM, "topic.prefix": "t", "signal.kafka.bootstrap.servers": "h:1"},
            {},
            [kinds.OWN_KAFKA_CLIENT],
        ),
        (
            {
                "connector.class": DEBEZIUM,
                "topic.prefix": "t",
                "signal.enabled.channels": "kafka",
                "signal.kafka.bootstrap.servers": "h:1",
                "signal.consumer.bootstrap.servers": "h:1",
            },
            {},
            [],
        ),
    ],
)
def test_each_part_of_a_plan_that_a_config_leaves_open_is_found_alone(settings, more, found) -> None:
    assert [each.kind for each in found_of(settings, **more)] == found


@pytest.mark.parametrize(
    ("policies", "settings", "found"),
    [
        (("All",), OVERRIDES, []),
        (("None",), OVERRIDES, [(kinds.OVERRIDE_REFUSED, BOTH)]),
        (("Principal",), OVERRIDES, [(kinds.OVERRIDE_REFUSED, ["producer.override.acks"])]),
        (("None",), {"topic": "t"}, []),
        (("own.Policy",), {"topic": "t"}, []),
        (
            ("own.Policy",),
            OVERRIDES,
            [(kinds.OVERRIDE_POLICY_UNKNOWN, BOTH)],
        ),
        (("All", "Principal"), OVERRIDES, [(kinds.OVERRIDE_REFUSED, ["producer.override.acks"])]),
        (("Principal", "None"), OVERRIDES, [(kinds.OVERRIDE_REFUSED, ["producer.override.acks"])]),
        (
            ("own.Policy", "None"),
            OVERRIDES,
            [(kinds.OVERRIDE_POLICY_UNKNOWN, BOTH)],
        ),
    ],
)  # fmt: skip
def test_an_override_is_judged_by_the_first_worker_that_does_not_allow_it_for_certain(
    policies, settings, found
) -> None:
    said = found_of(settings, *policies)
    assert [(each.kind, each.evidence["properties"]) for each in said] == found


@pytest.mark.parametrize(
    ("settings", "used", "said"),
    [
        ({}, (), "writes is not known (its config does not name them), so it gets no ACL on them"),
        ({}, ("a", "b"), "(its config does not name them), so it gets ACLs only on those that it used: a, b"),
        ({"topic": "t", "transforms": "r", "transforms.r.type": "x.RegexRouter"}, (), "(a transformation renames "),
        ({"connector.class": MIRROR, "replication.policy.class": "own.Policy"}, (), "(own.Policy names them)"),
        ({"topic": "a b"}, (), "('a b' is not a topic's name), so it gets no ACL on that"),
    ],
)  # fmt: skip
def test_topics_that_are_not_known_have_their_reason(settings, used, said) -> None:
    assert said in next(each for each in found_of(settings, used=used) if each.kind == UNKNOWN_TOPICS).message


def test_the_name_of_a_file_source_s_topic_is_judged_once() -> None:
    found = found_of({"connector.class": FILE, "topic": "a b"})
    assert UNKNOWN_TOPICS not in {each.kind for each in found}
    assert len(found) == 1


@pytest.mark.parametrize(("headroom", "planned_for"), [(0, 1), (3, 4)])
def test_ids_of_an_unknown_number_of_tasks_are_planned_with_the_headroom(headroom: int, planned_for: int) -> None:
    [found] = found_of({"topic": "t", "tasks.max": "${env:T}"}, headroom=headroom)
    assert found.message.endswith(f"IDs are planned for {planned_for}")


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ((), []),
        ((SUPER_USERS,), [SUPER_USERS]),
        ((ALLOW_EVERYONE,), [ALLOW_EVERYONE]),
        ((ALLOW_EVERYONE, SUPER_USERS), [SUPER_USERS, ALLOW_EVERYONE]),
        (("other",), []),
    ],
)
def test_a_hidden_setting_of_the_authorizer_is_found_where_it_is_hidden(settings, found) -> None:
    assert [each.subject for each in find_hidden(settings)] == found


def test_each_reason_why_a_binding_was_not_checked_is_given_once() -> None:
    status = (Skipped("o:1 is not asked"), BindingStatus.MISSING, Skipped("o:1 is not asked"), Skipped("o:2"))
    compared = tuple(ComparedBinding(planned(0, "c"), each) for each in status)
    found = list(find_unchecked(AclDifference(compared, (), ())))
    assert [(each.reason, each.needed) for each in found] == [("o:1 is not asked", False), ("o:2", False)]


@pytest.mark.parametrize(
    ("groups", "found"),
    [
        ({}, []),
        ({"a": ["b", "b"]}, []),
        ({"a": ["b-c"], "a-b": ["c"]}, [("a-b-c-", True)]),
        ({"connect-cluster": ["x"], "x-3": []}, [("connect-cluster-x-3", True), ("connect-cluster-x-", False)]),
        ({"connect-cluster": ["x"], "x-a": []}, [("connect-cluster-x-", False)]),
        ({"connect-cluster": ["y"], "x-3": []}, []),
        ({"g": [], "g-1": []}, []),
        ({"g": ["b", "b-c", "b-c-d"]}, [("g-b-", False), ("g-b-c-", False)]),
        ({"g": ["b", "b-c", "b-d"]}, [("g-b-", False), ("g-b-", False)]),
        ({"g": ["b", "bc", "c"]}, []),
    ],
)
def test_owners_collide_where_one_text_is_another_one_or_begins_it(groups, found) -> None:
    assert [(each.shared, each.equal) for each in find_collisions(groups)] == found

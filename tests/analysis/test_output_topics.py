"""The topics that a connector writes to, as far as its config shows: each setting that decides, alone."""

from typing import Any

import pytest

from eosctl.analysis.output_topics import (
    bootstrap_addresses,
    checkpoints_topic,
    debezium_topics,
    has_own_policy,
    heartbeats_topics,
    mirrored_topics,
    named_pattern,
    offset_syncs_topic,
    output_topics,
    regex_patterns,
    renames_topics,
    signals_group,
    signals_topic,
    topics_of,
)
from eosctl.model.acls import PatternType, ResourcePattern
from eosctl.model.client_roles import ConnectCluster, ConnectorConfig, WorkerConfig, as_properties

POSTGRES = "io.debezium.connector.postgresql.PostgresConnector"
MYSQL = "io.debezium.connector.mysql.MySqlConnector"
MIRROR = "org.apache.kafka.connect.mirror.MirrorSourceConnector"


def connector(kind: str = POSTGRES, *, topics: tuple[str, ...] = (), used: tuple[str, ...] = (), **more: str):
    properties = {key.replace("_", "."): value for key, value in more.items()}
    return ConnectorConfig(
        "c", as_properties({"connector.class": kind, **properties}), topics=topics, active_topics=used
    )


def shown(patterns: Any) -> list[str]:
    """A prefix with a `*`."""
    assert not isinstance(patterns, ResourcePattern)
    return [each.name + "*" * (each.pattern_type is PatternType.PREFIXED) for each in patterns]


@pytest.mark.parametrize(
    ("kind", "settings", "topics"),
    [
        (POSTGRES, {"topic_prefix": "s"}, ["s.*"]),
        (POSTGRES, {"topic_prefix": "s", "topic_delimiter": "-"}, ["s-*"]),
        (POSTGRES, {}, []),
        (MYSQL, {"topic_prefix": "s"}, ["s.*", "s"]),
        (MYSQL, {"topic_prefix": "s", "include_schema_changes": " TRUE "}, ["s.*", "s"]),
        (MYSQL, {"topic_prefix": "s", "include_schema_changes": "false"}, ["s.*"]),
        (POSTGRES, {"topic_prefix": "s", "include_schema_changes": "true"}, ["s.*"]),
        (POSTGRES, {"topic_prefix": "s", "heartbeat_interval_ms": "5"}, ["s.*", "__debezium-heartbeat.s"]),
        (POSTGRES, {"topic_prefix": "s", "heartbeat_interval_ms": " 0 "}, ["s.*"]),
        (POSTGRES, {"topic_prefix": "s", "heartbeat_interval_ms": ""}, ["s.*"]),
        (POSTGRES, {"topic_prefix": "s", "heartbeat_interval_ms": "5", "topic_heartbeat_prefix": "h"}, ["s.*", "h.s"]),
        (POSTGRES, {"topic_prefix": "s", "topic_naming_strategy": "own.Strategy"}, []),
        (
            POSTGRES,
            {"topic_prefix": "s", "topic_naming_strategy": "io.debezium.schema.SchemaTopicNamingStrategy"},
            ["s.*"],
        ),
        (
            POSTGRES,
            {"topic_prefix": "s", "topic_naming_strategy": "io.debezium.schema.DefaultRegexTopicNamingStrategy"},
            [],
        ),
        (POSTGRES, {"notification_enabled_channels": "log,sink", "notification_sink_topic_name": "n"}, ["n"]),
        (POSTGRES, {"notification_enabled_channels": "log", "notification_sink_topic_name": "n"}, []),
        (POSTGRES, {"notification_enabled_channels": "sink"}, []),
    ],
)
def test_debezium_writes_to_the_topics_that_each_of_its_settings_names(kind, settings, topics) -> None:
    assert shown(debezium_topics(connector(kind, **settings))) == topics


@pytest.mark.parametrize(
    ("kind", "settings", "topic"),
    [
        (POSTGRES, {"topic_prefix": "s", "signal_enabled_channels": "source,kafka"}, "s-signal"),
        (POSTGRES, {"signal_enabled_channels": "kafka", "signal_kafka_topic": "own"}, "own"),
        (POSTGRES, {"signal_enabled_channels": "source", "signal_kafka_topic": "own"}, None),
        (POSTGRES, {"signal_kafka_topic": "own"}, None),
        ("some.Source", {"signal_enabled_channels": "kafka", "signal_kafka_topic": "own"}, None),
    ],
)
def test_signals_are_read_only_where_the_channel_is_enabled(kind, settings, topic) -> None:
    assert signals_topic(connector(kind, **settings)) == topic


def test_the_group_of_the_signals_is_the_consumer_s_then_the_connector_s_then_the_usual_one() -> None:
    both = {"signal_kafka_groupId": "theirs", "signal_consumer_group_id": "own"}
    assert signals_group(connector(**both)) == "own"
    assert signals_group(connector(signal_kafka_groupId="theirs")) == "theirs"
    assert signals_group(connector()) == "kafka-signal"


ROUTER = "org.apache.kafka.connect.transforms.RegexRouter"


@pytest.mark.parametrize(
    ("settings", "renames"),
    [
        ({"transforms": "a, b", "transforms_b_type": ROUTER}, True),
        ({"transforms": "a", "transforms_a_type": "io.debezium.transforms.ByLogicalTableRouter"}, True),
        ({"transforms": "a", "transforms_a_type": "org.apache.kafka.connect.transforms.InsertField$Value"}, False),
        ({"transforms": "a", "transforms_a_type": f"{ROUTER}$Value"}, True),
        ({"transforms_b_type": ROUTER}, False),
        ({}, False),
    ],
)
def test_only_a_transformation_that_is_named_and_routes_renames_topics(settings, renames) -> None:
    assert renames_topics(connector(**settings)) == renames
    found_topics = output_topics(connector("some.Source", topic="t", used=("seen",), **settings))
    assert shown(found_topics) == (["seen"] if renames else ["t"])


@pytest.mark.parametrize(
    ("kind", "policy", "own"),
    [
        (MIRROR, "", False),
        (MIRROR, "org.apache.kafka.connect.mirror.IdentityReplicationPolicy", False),
        (MIRROR, "own.Policy", True),
        ("some.Source", "own.Policy", False),
    ],
)
def test_only_the_class_of_another_replication_policy_knows_its_names(kind, policy, own) -> None:
    asked = connector(kind, topic="t", topics=(), used=("seen",), replication_policy_class=policy)
    assert has_own_policy(asked) == own
    assert (shown(output_topics(asked)) == ["seen"]) == own


@pytest.mark.parametrize(
    ("kind", "settings", "topics"),
    [
        ("some.Source", {"topic": "a"}, ["a"]),
        ("some.Source", {"kafka_topic": "a", "topic_prefix": "p"}, ["a", "p*"]),
        ("some.Source", {}, ["seen"]),
        (POSTGRES, {"topic_prefix": "s"}, ["s.*"]),
        ("org.apache.kafka.connect.mirror.MirrorHeartbeatConnector", {}, ["heartbeats"]),
    ],
)
def test_what_connect_saw_counts_only_where_the_config_names_nothing(kind, settings, topics) -> None:
    assert shown(output_topics(connector(kind, used=("seen",), **settings))) == topics


def test_topics_that_the_user_named_count_alone() -> None:
    asked = connector("some.Source", topic="t", topics=("a", "b*", "*"), used=("seen",))
    assert shown(output_topics(asked)) == ["a", "b*", "*"]
    assert named_pattern("*").is_wildcard
    assert named_pattern("b*").pattern_type is PatternType.PREFIXED


@pytest.mark.parametrize(
    ("settings", "topics"),
    [
        ({"topics": "orders", "source_cluster_alias": "a"}, ["a.orders"]),
        (
            {
                "topics": "orders",
                "source_cluster_alias": "a",
                "replication_policy_class": "x.IdentityReplicationPolicy",
            },
            ["orders"],
        ),
        ({"topics": "orders.*", "source_cluster_alias": "a"}, ["a.orders*"]),
        ({"source_cluster_alias": "a"}, ["a.*"]),
        ({"replication_policy_class": "x.IdentityReplicationPolicy"}, ["*"]),
    ],
)
def test_a_mirror_s_topics_get_the_names_that_kafka_s_policies_give_them(settings, topics) -> None:
    properties = {key.replace("_", "."): value for key, value in settings.items()}
    asked = ConnectorConfig("c", as_properties({"connector.class": MIRROR, **properties}))
    assert shown(mirrored_topics(asked)) == topics


def test_a_mirror_with_a_policy_of_its_own_writes_to_the_topics_that_the_user_named() -> None:
    asked = connector(MIRROR, topics=("a*",), replication_policy_class="own.Policy", source_cluster_alias="x")
    assert shown(mirrored_topics(asked)) == ["a*"]


@pytest.mark.parametrize(
    ("regex", "patterns"),
    [
        ("orders", ["orders"]),
        ("orders.eu", ["orders.eu"]),
        ("orders\\.eu", ["orders.eu"]),
        ("^orders$", ["orders"]),
        ("orders.*", ["orders*"]),
        ("orders-.+", ["orders-*"]),
        ("ab*", ["a*"]),
        ("ab?", ["a*"]),
        ("ab{2}", ["a*"]),
        ("ab+", ["ab*"]),
        ("ab[cd]", ["ab*"]),
        ("a|b", ["a", "b"]),
        ("a|b.*", ["a", "b*"]),
        ("(a|b)c", ["*"]),
        ("[a|b]c", ["*"]),
        ("x(a|b)", ["*"]),
        (".*", ["*"]),
        ("a*", ["*"]),
        ("", [""]),
    ],
)
def test_a_regular_expression_has_the_literal_start_of_each_branch(regex, patterns) -> None:
    assert shown(regex_patterns(regex)) == patterns


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({}, "a.checkpoints.internal"),
        ({"replication_policy_separator": "_"}, "a_checkpoints_internal"),
        (
            {"replication_policy_separator": "_", "replication_policy_internal_topic_separator_enabled": " FALSE "},
            "a.checkpoints.internal",
        ),
        (
            {"replication_policy_separator": "_", "replication_policy_internal_topic_separator_enabled": "True"},
            "a_checkpoints_internal",
        ),
    ],
)
def test_an_internal_topic_of_a_mirror_has_the_policy_s_separator_unless_it_is_turned_off(settings, name) -> None:
    asked = connector("x.MirrorCheckpointConnector", source_cluster_alias="a", **settings)
    assert checkpoints_topic(asked) == name
    assert shown(output_topics(asked)) == [name]


@pytest.mark.parametrize(
    ("location", "name"),
    [("", "mm2-offset-syncs.b.internal"), ("source", "mm2-offset-syncs.b.internal"),
     ("target", "mm2-offset-syncs.a.internal")],
)  # fmt: skip
def test_the_topic_of_offset_syncs_names_the_other_cluster_than_the_one_it_is_in(location, name) -> None:
    more = {"offset-syncs.topic.location": location} if location else {}
    settings = as_properties({"source.cluster.alias": "a", "target.cluster.alias": "b", **more})
    assert offset_syncs_topic(ConnectorConfig("c", settings)) == name


def flow(source: str, target: str, **more: str) -> ConnectorConfig:
    aliases = {"connector.class": MIRROR, "source.cluster.alias": source, "target.cluster.alias": target}
    return ConnectorConfig("c", as_properties(aliases | {key.replace("_", "."): each for key, each in more.items()}))


@pytest.mark.parametrize(
    ("flows", "topics"),
    [
        ([], ["heartbeats"]),
        ([flow("a", "b")], ["heartbeats", "a.heartbeats"]),
        ([flow("a", "c")], ["heartbeats"]),
        ([flow("b", "b")], ["heartbeats", "b.heartbeats"]),
        ([flow("a", "b", heartbeats_replication_enabled="false", topics="t")], ["heartbeats"]),
        ([flow("a", "b", heartbeats_replication_enabled="false")], ["heartbeats", "a.heartbeats"]),
        ([flow("a", "b", heartbeats_replication_enabled="no", topics="t")], ["heartbeats", "a.heartbeats"]),
        ([flow("a", "b", replication_policy_separator="-")], ["heartbeats", "a-heartbeats"]),
        ([flow("a", "b"), flow("c", "a")], ["heartbeats", "a.heartbeats", "a.c.heartbeats"]),
        ([flow("a", "b"), flow("b", "a")], ["heartbeats", "a.heartbeats"]),
    ],
)
def test_heartbeats_come_through_each_flow_that_mirrors_them_and_never_in_a_circle(flows, topics) -> None:
    passed = frozenset[str]() if flows == [flow("b", "b")] else frozenset({"b"})
    assert list(heartbeats_topics("b", flows, passed)) == topics


def workers_at(*servers: str) -> ConnectCluster:
    return ConnectCluster(tuple(WorkerConfig(as_properties({"bootstrap.servers": each})) for each in servers), ())


@pytest.mark.parametrize(
    ("servers", "addresses", "given", "found"),
    [
        (["a:1,b:1"], {"b:1"}, None, {"a:1", "b:1"}),
        (["a:1", "b:1"], {"b:1"}, None, {"b:1"}),
        (["a:1", "b:1"], {"c:1"}, None, {"a:1"}),
        (["a:1"], {"a:1"}, "c:1,d:1", {"c:1", "d:1"}),
    ],
)
def test_the_cluster_is_the_given_one_or_that_of_the_first_worker_with_such_an_address(
    servers, addresses, given, found
):
    assert bootstrap_addresses([workers_at(*servers)], frozenset(addresses), given) == found


INTERNAL = {"config.storage.topic": "cs", "offset.storage.topic": "os", "status.storage.topic": "ss"}


@pytest.mark.parametrize(
    ("settings", "type_", "names"),
    [
        ({"topic": "t"}, "source", {"t"}),
        ({"topic": "t", "topic.prefix": "p"}, "source", {"t"}),
        ({"topic": "*"}, "source", set()),
        ({"topic": "t", "offsets.storage.topic": "own"}, "source", {"t", "own"}),
        ({"topic": "t", "offsets.storage.topic": ""}, "source", {"t"}),
        ({"topics": "t"}, "sink", set()),
        ({"topics": "t", "errors.deadletterqueue.topic.name": " dlq "}, "sink", {"dlq"}),
        ({"topics": "t", "errors.deadletterqueue.topic.name": " "}, "sink", set()),
        ({"topics": "t", "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
          "iceberg.control.topic": "control"}, "sink", {"control"}),
    ],
)  # fmt: skip
def test_a_plan_may_name_the_topics_of_workers_and_connectors_that_are_no_patterns(settings, type_, names) -> None:
    workers = (WorkerConfig(as_properties(INTERNAL)),)
    cluster = ConnectCluster(workers, (ConnectorConfig("c", as_properties(settings), type=type_),))
    assert topics_of([cluster]) == {"cs", "os", "ss"} | names

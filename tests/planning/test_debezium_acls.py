"""What the ACL plan has for Debezium's connectors, and for those whose topics only Connect has seen."""

import pytest
from msgspec.structs import replace

from eosctl.codecs.connector_files import connector_of
from eosctl.model.client_roles import ConnectorConfig
from tests.planning.test_acls import SOURCE, lines, plan, sasl

POSTGRESQL = "io.debezium.connector.postgresql.PostgresConnector"
MYSQL = "io.debezium.connector.mysql.MySqlConnector"
CREATED = {"topic.creation.default.partitions": "1"}
HEARTBEATS = {"heartbeat.interval.ms": "500"}
NOTICES = {"notification.enabled.channels": "log,sink", "notification.sink.topic.name": "notices"}
SIGNALS = {
    "signal.enabled.channels": "source,kafka",
    "signal.kafka.bootstrap.servers": "broker:9092",
    **sasl("signal.consumer.", "signals"),
}


def debezium(kind: str = POSTGRESQL, **settings: str) -> ConnectorConfig:
    told = {"name": "c", "connector.class": kind, "topic.prefix": "shop"}
    return connector_of(told | settings, "c.json")


def topics(connector: ConnectorConfig, *, optional: bool = False) -> set[str]:
    """What its producer and admin client may do with its output topics."""
    found = plan(connector, topics_known=dict.fromkeys(("__debezium-heartbeat.shop", "notices", "shop"), False))
    own = [each for each in lines(found, "producer", "admin", optional=optional) if " Topic offsets" not in each]
    return {each for each in own if " Topic " in each}


def test_change_events_are_written_to_topics_that_begin_with_the_prefix_and_a_dot():
    """Not to those of a connector whose prefix only begins so; a broker may create them."""
    assert topics(debezium()) == {"producer Write Topic prefixed shop."}
    assert topics(debezium(), optional=True) == {"producer Create Topic prefixed shop."}
    assert topics(debezium(**{"topic.delimiter": "-"})) == {"producer Write Topic prefixed shop-"}


def test_with_topic_creation_settings_connect_creates_them():
    found = topics(debezium(**CREATED)) | topics(debezium(**CREATED), optional=True)
    assert found == {
        "producer Write Topic prefixed shop.",
        "producer Create Topic prefixed shop.",
        "admin Describe Topic prefixed shop.",
        "admin Create Topic prefixed shop.",
    }


def test_heartbeats_have_a_topic_of_their_own():
    named = {**HEARTBEATS, "topic.heartbeat.prefix": "beat"}
    assert "producer Write Topic __debezium-heartbeat.shop" in topics(debezium(**HEARTBEATS))
    assert "producer Create Topic __debezium-heartbeat.shop" in topics(debezium(**HEARTBEATS), optional=True)
    assert "producer Write Topic beat.shop" in topics(debezium(**named))
    assert topics(debezium(**{"heartbeat.interval.ms": "0"})) == topics(debezium())


def test_notifications_have_the_topic_that_is_named_for_the_sink():
    assert "producer Write Topic notices" in topics(debezium(**NOTICES))
    assert topics(debezium(**{**NOTICES, "notification.enabled.channels": "log"})) == topics(debezium())


def test_schema_changes_go_to_the_topic_that_is_called_like_the_prefix():
    assert "producer Write Topic shop" in topics(debezium(MYSQL))
    assert "producer Write Topic shop" not in topics(debezium(MYSQL, **{"include.schema.changes": "false"}))


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, {"signals Read Topic shop-signal", "signals Read Group kafka-signal"}),
        (
            {"signal.kafka.topic": "orders", "signal.kafka.groupId": "g"},
            {"signals Read Topic orders", "signals Read Group g"},
        ),
    ],
)
def test_signals_are_read_by_a_consumer_of_its_own(settings: dict[str, str], expected: set[str]):
    found = plan(debezium(**SIGNALS, **settings))
    assert lines(found, "signals") == expected
    assert found.findings == ()


def test_a_schema_history_has_clients_that_are_not_planned_and_named():
    history = {"schema.history.internal.kafka.bootstrap.servers": "broker:9092"}
    assert [each.name for each in plan(debezium(MYSQL, **history)).findings] == ["own-kafka-client"]


ROUTER = {"transforms": "r", "transforms.r.type": "org.apache.kafka.connect.transforms.RegexRouter"}


@pytest.mark.parametrize("settings", [ROUTER, {"topic.naming.strategy": "com.example.Names"}])
def test_where_the_config_does_not_tell_the_topics_that_connect_saw_are_planned_and_that_is_said(
    settings: dict[str, str],
):
    untold = debezium(**settings)
    assert topics(untold) == set()
    seen = replace(untold, active_topics=("eu.orders", "eu.items"))
    assert topics(seen) == {"producer Write Topic eu.orders", "producer Write Topic eu.items"}
    (finding,) = plan(seen).findings
    assert (finding.name, "only on those that it used: eu.orders, eu.items" in finding.message) == (
        "topics-unknown",
        True,
    )


def test_what_the_config_tells_counts_more_than_what_connect_saw():
    assert topics(replace(SOURCE, active_topics=("once",))) == {"producer Write Topic out"}

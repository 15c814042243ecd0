"""What a Debezium connector's config shows about the topics that it uses, and its clients.

1. Change events go to topics that begin with `topic.prefix` and the delimiter, and so do transaction metadata
   (AbstractTopicNamingStrategy). Which tables there will be, nobody knows: it is a prefix.
2. Connectors that keep a schema history write schema changes to the topic `topic.prefix` itself, unless
   include.schema.changes is false.
3. With heartbeat.interval.ms the heartbeats go to `topic.heartbeat.prefix`, the delimiter and `topic.prefix`.
4. Notifications go to notification.sink.topic.name, where `sink` is among notification.enabled.channels.
5. A topic.naming.strategy of somebody else's class names the topics of 1 to 3 as only that class knows.
6. With `kafka` among signal.enabled.channels a consumer of its own reads signals: from partition 0 of
   signal.kafka.topic, assigned; when it is closed it commits offsets for signal.kafka.groupId (KafkaSignalChannel).
"""

from collections.abc import Iterator
from typing import Final

from eosctl.model.acls import PatternType, ResourcePattern, topic
from eosctl.model.client_properties import listed
from eosctl.model.client_roles import ConnectorConfig

PACKAGE: Final = "io.debezium."
KEEPS_SCHEMA_HISTORY: Final = frozenset({"MySql", "MariaDb", "SqlServer", "Oracle", "Db2", "Informix"})
STRATEGIES: Final = "io.debezium.schema."
RENAMING_STRATEGY: Final = "DefaultRegexTopicNamingStrategy"


def is_debezium_source(connector: ConnectorConfig) -> bool:
    """Whether it is one of Debezium's source connectors."""
    return connector.get("connector.class").startswith(PACKAGE) and not connector.is_sink


def debezium_topics(connector: ConnectorConfig) -> Iterator[ResourcePattern]:
    """The topics that it writes to, as far as its config shows (rules 1 to 5)."""
    prefix, delimiter = connector.get("topic.prefix"), connector.get("topic.delimiter") or "."
    if prefix and not _names_otherwise(connector):
        yield topic(prefix + delimiter, PatternType.PREFIXED)
        if connector.class_name in KEEPS_SCHEMA_HISTORY and _is_true(connector, "include.schema.changes", "true"):
            yield topic(prefix)
        if connector.get("heartbeat.interval.ms", "0").strip() not in {"", "0"}:
            beginning = connector.get("topic.heartbeat.prefix") or "__debezium-heartbeat"
            yield topic(f"{beginning}{delimiter}{prefix}")
    if "sink" in listed(connector.get("notification.enabled.channels")) and connector.get(
        "notification.sink.topic.name"
    ):
        yield topic(connector.get("notification.sink.topic.name"))


def signals_topic(connector: ConnectorConfig) -> str | None:
    """The topic from which it reads signals; None where it reads none from Kafka (rule 6)."""
    if not is_debezium_source(connector) or "kafka" not in listed(connector.get("signal.enabled.channels")):
        return None
    return connector.get("signal.kafka.topic") or f"{connector.get('topic.prefix')}-signal"


def signals_group(connector: ConnectorConfig) -> str:
    """The group for which it commits how far it has read signals."""
    return connector.get("signal.consumer.group.id") or connector.get("signal.kafka.groupId") or "kafka-signal"


def _names_otherwise(connector: ConnectorConfig) -> bool:
    strategy = connector.get("topic.naming.strategy").strip()
    own = bool(strategy) and not strategy.startswith(STRATEGIES)
    return own or strategy.endswith(RENAMING_STRATEGY)


def _is_true(connector: ConnectorConfig, key: str, default: str) -> bool:
    return connector.get(key, default).strip().lower() == "true"

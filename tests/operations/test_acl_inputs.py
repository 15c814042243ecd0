"""Which connectors acl-plan knows of, and from where."""

import pytest

from eosctl.errors import UsageError
from eosctl.model.client_properties import Property
from eosctl.model.client_roles import ConnectCluster, ConnectorConfig
from eosctl.model.config_topic import ClusterFacts, ConfigTopicLog, ConnectorConfigRecord, Origin
from eosctl.model.evidence import InternalTopic
from eosctl.model.skipped import Cause, Skipped, not_asked
from eosctl.operations.acls import AclInputs, internal_topics, read_connect_clusters
from tests.fake_cluster import FakeCluster
from tests.operations.conversation import Conversation, session_on

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


def test_what_workers_answer_wins_and_only_they_say_which_connectors_there_are() -> None:
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

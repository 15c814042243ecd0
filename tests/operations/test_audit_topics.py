"""Which connectors an audit may be asked about: a name that nobody has or had is refused before anything is read."""

from typing import Any

import pytest

from eosctl.errors import Unreachable, UsageError
from eosctl.operations.audit_request import AuditRequest
from eosctl.operations.audit_topics import FoundTopics
from eosctl.operations.offset_stores import OffsetsRequest
from tests.fake_cluster import FakeCluster
from tests.operations.test_offsets import cluster, config_topic

OWN = {"offsets.storage.topic": "own"}


def site(**facts: Any) -> FakeCluster:
    """Connector orders runs; returns was deleted."""
    known: dict[str, Any] = {
        "config_topic": config_topic(orders=OWN, returns=None),
        "topic_names": frozenset({"configs", "global", "own", "rows"}),
        "active_topics": {"orders": ("rows",)},
        "first_keys": (),
    }
    return cluster(**known | facts)


def found(reader: FakeCluster, *connectors: str, topics: tuple[str, ...] = ()) -> FoundTopics:
    return FoundTopics(reader, AuditRequest(OffsetsRequest(connectors, config_topic="configs"), topics=topics))


def test_a_connector_that_never_was_is_refused_before_its_topics_are_asked_for():
    reader = site(topic_names=AssertionError)
    with pytest.raises(UsageError) as caught:
        found(reader, "ordrs")
    assert caught.value.message == "connector ordrs does not exist, and the config topic does not mention it"
    assert caught.value.hint == "did you mean orders?"


@pytest.mark.parametrize(("name", "more"), [("orders", {"own", "rows"}), ("returns", set())])
def test_connectors_that_exist_or_were_deleted_can_be_audited_by_their_topics_alone(name, more):
    assert {each.name for each in found(site(), name).topics} == {"configs", "global"} | more


def test_topics_of_a_connector_that_were_not_asked_for_are_named():
    both = site(
        active_topics={"orders": ("rows", "more")}, topic_names=frozenset({"configs", "global", "rows", "more"})
    )
    asked = found(both, topics=("rows",))
    assert {each.name for each in asked.topics} >= {"configs", "global", "rows"}
    assert asked.left_out == {"orders": ("more",)}


def test_what_only_connectors_use_that_nobody_asked_for_is_no_gap():
    configs = {"orders": OWN, "bills": {"offsets.storage.topic": "hidden"}}
    two = site(
        config_topic=config_topic(**configs),
        connector_configs=configs,
        active_topics={"orders": ("rows",), "bills": ("paid",)},
    )
    assert "topic hidden" in found(two).unread
    assert found(two, topics=("rows",)).unread == {}
    assert found(two, "orders").unread == {}


def test_no_name_is_refused_where_deleted_connectors_are_unknown():
    reader = site(config_topic=Unreachable("no leader"))
    assert found(reader, "returns").connectors == ("orders",)


def test_a_topic_that_does_not_exist_leads_to_the_one_like_it():
    with pytest.raises(UsageError, match="topic row does not exist") as caught:
        found(site(), topics=("row",))
    assert caught.value.hint == "did you mean rows?"

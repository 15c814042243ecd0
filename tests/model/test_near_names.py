"""Which name was meant: the hints about names that do not exist."""

import pytest

from eosctl.model.groups import NO_SUCH_GROUP, no_such_group
from eosctl.model.names import did_you_mean, no_such_topic, not_in_config_topic


@pytest.mark.parametrize("typed", ["ordrs", "Orders", "orders ", "oredrs"])
def test_the_name_that_is_spelled_most_like_it_is_asked_for(typed):
    assert did_you_mean(typed, ["payments", "orders", "order-archive"]) == "did you mean orders?"


def test_where_no_name_is_alike_the_other_hint_is_given():
    assert did_you_mean("inventory", ["orders"], "list them") == "list them"
    assert did_you_mean("inventory", []) is None


def test_the_errors_name_what_does_not_exist_and_what_may_be_meant():
    topic = no_such_topic("order", ["orders", "payments"])
    assert (topic.message, topic.hint) == ("topic order does not exist", "did you mean orders?")
    assert no_such_topic("order", []).hint == "is this the right cluster?"
    connector = not_in_config_topic(["ordrs"], ["orders"])
    assert connector.message == "the config topic does not mention connector ordrs"
    assert connector.hint == "did you mean orders?"


def test_a_group_that_does_not_exist_leads_to_the_connect_group_like_it():
    assert no_such_group("conect-cluster", ["connect-cluster"]).reason == (
        "no such group exists: none of its workers runs, or --group-id is wrong; did you mean connect-cluster?"
    )
    assert no_such_group("conect-cluster", []) is NO_SUCH_GROUP

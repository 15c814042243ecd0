"""Words and numbers of an answer: counts, near names, histograms."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosctl.model.audit_states import bucket_bounds, quantile
from eosctl.model.groups import NO_SUCH_GROUP, no_such_group
from eosctl.model.names import did_you_mean, no_such_topic, not_in_config_topic
from eosctl.model.text import pluralize


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0 connectors"), (1, "1 connector"), (2, "2 connectors"), (2000, "2,000 connectors")]
)
def test_one_is_no_plural(count: int, words: str) -> None:
    assert pluralize(count, "connector") == words


def test_a_verb_agrees_with_the_count() -> None:
    assert [pluralize(each, "key lies", "keys lie") for each in (1, 2)] == ["1 key lies", "2 keys lie"]


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


@pytest.mark.parametrize(("bucket", "bounds"), [(0, (0, 0)), (1, (1, 1)), (2, (2, 3)), (3, (4, 7)), (11, (1024, 2047))])
def test_a_bucket_holds_figures_up_to_the_double(bucket, bounds):
    assert bucket_bounds(bucket) == bounds


@given(st.integers(0, 2**63))
def test_every_figure_lies_in_the_bucket_of_its_bit_length(figure):
    low, high = bucket_bounds(figure.bit_length())
    assert low <= figure <= high


@pytest.mark.parametrize(
    ("histogram", "share", "expected"),
    [
        ({}, 0.5, None),
        ({0: 0}, 0.5, None),
        ({0: 3}, 0.99, 0),
        ({3: 50, 4: 49, 9: 1}, 0.5, 7),
        ({3: 50, 4: 49, 9: 1}, 0.51, 15),
        ({3: 50, 4: 49, 9: 1}, 0.99, 15),
        ({3: 50, 4: 49, 9: 1}, 1.0, 511),
    ],
)
def test_a_quantile_is_the_highest_figure_of_its_bucket(histogram, share, expected):
    assert quantile(histogram, share) == expected


@given(st.lists(st.integers(0, 2**40), min_size=1), st.floats(0.01, 1))
def test_no_fewer_than_that_share_lie_below_a_quantile(figures, share):
    histogram = {figure.bit_length(): 0 for figure in figures}
    for figure in figures:
        histogram[figure.bit_length()] += 1
    found = quantile(histogram, share)
    assert sum(figure <= found for figure in figures) >= share * len(figures) - 1e-9

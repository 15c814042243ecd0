"""Words and numbers of an answer: counts, near names, histograms."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosctl.errors import Undecodable
from eosctl.model.audit_states import bucket_bounds, quantile
from eosctl.model.groups import NO_SUCH_GROUP, no_such_group
from eosctl.model.names import did_you_mean, no_such_topic, not_in_config_topic
from eosctl.model.text import (
    SHOWN,
    escaped_in_json,
    escaped_in_lines,
    escaped_in_yaml,
    first_few,
    pluralize,
    shell_word,
)
from eosctl.model.times import rfc3339
from eosctl.model.versions import KafkaVersion
from eosctl.model.whole_numbers import MOST_TASKS, task_numbers


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


@pytest.mark.parametrize(
    ("count", "most", "words"),
    [
        (0, SHOWN, ""),
        (1, SHOWN, "0"),
        (5, SHOWN, "0, 1, 2, 3, 4"),
        (6, SHOWN, "0, 1, 2, 3, 4 and 1 more"),
        (2, 2, "0, 1"),
        (3, 2, "0, 1 and 1 more"),
    ],
)
def test_as_many_are_named_as_are_shown_and_the_rest_counted(count: int, most: int, words: str) -> None:
    assert first_few(range(count), most=most) == words
    assert first_few(range(count), "; ", most) == words.replace(",", ";")


@pytest.mark.parametrize(
    ("text", "json", "yaml", "lines"),
    [
        ("a", "a", "a", "a"),
        ("a\x1b", "a\x1b", "a\x1b", "a\\u001b"),  # JSON has it escaped already
        ("a\x7f", "a\\u007f", "a\\u007f", "a\\u007f"),
        ("ü\x1b", "ü\\u001b", "ü\\u001b", "ü\\u001b"),
        ("\u2028", "\\u2028", "\\u2028", "\\u2028"),
        ("\uffff\U0001d173", "\uffff\\ud834\\udd73", "\uffff\\U0001d173", "\uffff\\U0001d173"),
        ("😀", "😀", "😀", "😀"),
        ("é\n\t", "é\n\\u0009", "é\n\\u0009", "é\n\t"),
        ("\ud800", "\\ud800", "\\ud800", "\\ud800"),
    ],
)
def test_a_character_that_is_not_seen_is_written_as_each_format_reads_it(text, json, yaml, lines) -> None:
    assert (escaped_in_json(text), escaped_in_yaml(text), escaped_in_lines(text)) == (json, yaml, lines)


@pytest.mark.parametrize(
    ("word", "quoted"),
    [
        ("a", "a"),
        ("", "''"),
        ("a b", "'a b'"),
        ("a\x1b", "\"$(printf %b 'a\\0033')\""),
        ("\u202e", "\"$(printf %b '\\0342\\0200\\0256')\""),
        ("'\\\x1b", "\"$(printf %b '\\0047\\\\\\0033')\""),
        ("a\n\n", "\"$(printf %b 'a')\n\n\""),
    ],
)
def test_a_word_is_quoted_for_any_shell(word: str, quoted: str) -> None:
    assert shell_word(word) == quoted


@pytest.mark.parametrize(
    ("timestamp", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1, "1970-01-01T00:00:00.001Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (999, "1970-01-01T00:00:00.999Z"),
        (1000, "1970-01-01T00:00:01.000Z"),
        (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        (253_402_300_800_000, "invalid:253402300800000"),
        (2**63 - 1, "invalid:9223372036854775807"),
    ],
)
def test_a_time_that_no_calendar_has_is_told_as_it_is(timestamp: int, text: str) -> None:
    assert rfc3339(timestamp) == text


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("3.9", "3.9.0"),
        ("3.9.2", "3.9.2"),
        ("3.9.2-rc1", "3.9.2"),
        ("3.9-SNAPSHOT", "3.9.0"),
        ("3.9.x", "3.9.0"),
        ("10.11.12", "10.11.12"),
        ("3", None),
        ("v3.9", None),
        ("", None),
    ],
)
def test_a_version_is_what_the_text_begins_with(text: str, version: str | None) -> None:
    if version is None:
        with pytest.raises(ValueError, match="is not a Kafka version"):
            KafkaVersion.parse(text)
    else:
        assert str(KafkaVersion.parse(text)) == version
        assert KafkaVersion.parse(text).next_patch > KafkaVersion.parse(text)


@pytest.mark.parametrize(("count", "listed"), [(0, True), (1, True), (MOST_TASKS, True), (MOST_TASKS + 1, False)])
def test_more_tasks_than_any_cluster_runs_are_not_listed(count: int, listed: bool) -> None:
    if listed:
        assert len(task_numbers(count, "c")) == count
    else:
        with pytest.raises(Undecodable, match="connector c has 100001 tasks, and more than 100000 are not listed"):
            task_numbers(count, "c")

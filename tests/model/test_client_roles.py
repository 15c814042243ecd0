"""Settings of connectors as Connect reads them: how many tasks, and whether it is a sink."""

import pytest

from eosctl.model.client_properties import Property
from eosctl.model.client_roles import ConnectorConfig, WorkerConfig, as_properties, known_number
from eosctl.model.skipped import Skipped
from eosctl.model.workers import SOURCE_SUPPORT, SourceSupport


def config(**settings: str) -> ConnectorConfig:
    return ConnectorConfig("c", as_properties({key.replace("_", "."): value for key, value in settings.items()}))


@pytest.mark.parametrize(
    ("found", "is_sink"),
    [
        (config(topics="t"), True),
        (config(topics_regex="t.*"), True),
        (config(), False),
        (config(topics="t", connector_class="org.apache.kafka.connect.mirror.MirrorSourceConnector"), False),
        (config(topics="t", connector_class="org.example.Mirror.Sink"), True),
        (ConnectorConfig("c", config(topics="t").properties, "source"), False),
        (ConnectorConfig("c", {}, "sink"), True),
    ],
)
def test_a_sink_is_known_by_its_type_or_by_the_topics_that_it_reads(found: ConnectorConfig, is_sink: bool):
    assert found.is_sink is is_sink


@pytest.mark.parametrize(
    ("text", "tasks"),
    [
        (None, 1),
        ("3", 3),
        (" 3 ", 3),
        ("9999999999", 9_999_999_999),
        ("10000000000", 1),
        ("\u0663", 1),
        ("\u00b2", 1),
        ("+3", 1),
        ("", 1),
        ("${env:T}", 1),
    ],
)
def test_a_number_of_tasks_that_is_none_is_the_default(text: str | None, tasks: int):
    assert config(**({} if text is None else {"tasks_max": text})).tasks_max == tasks


@pytest.mark.parametrize(
    ("text", "count", "record", "most"),
    [("2", None, None, 2), ("0", None, None, 1), ("2", 5, None, 5), ("2", 3, 7, 7), ("9", 3, 7, 9), ("0", 0, 0, 1)],
)
def test_the_most_tasks_are_those_of_the_settings_the_tasks_and_their_last_record(text, count, record, most):
    given = ConnectorConfig("c", as_properties({"tasks.max": text}), task_count=count, task_count_record=record)
    assert given.most_tasks == most


@pytest.mark.parametrize(
    ("value", "origin", "number"),
    [
        (" 7 ", "f a", 7),
        ("x", "f a", "f a is 'x', not a whole number"),
        ("x", "", "key is 'x', not a whole number"),
        ("${env:A}", "", "key is ${env:A}, a reference that only the worker resolves"),
    ],
)
def test_a_number_is_known_where_its_text_is_one(value: str, origin: str, number):
    found = known_number("key", Property(value, origin))
    assert (found.reason if isinstance(found, Skipped) else found) == number


@pytest.mark.parametrize(
    ("settings", "unread", "phase"),
    [
        ({}, None, SourceSupport.DISABLED),
        ({}, Skipped("no file"), None),
        ({SOURCE_SUPPORT: " Preparing "}, Skipped("no file"), SourceSupport.PREPARING),
        ({SOURCE_SUPPORT: "ENABLED"}, None, SourceSupport.ENABLED),
    ],
)
def test_a_phase_that_no_setting_names_is_the_default_where_all_settings_are_known(settings, unread, phase):
    assert WorkerConfig(as_properties(settings), unread=unread).phase is phase


@pytest.mark.parametrize(
    ("dedicated", "policy", "found"), [(True, "None", "All"), (False, " None ", "None"), (False, None, "All")]
)
def test_a_dedicated_mirror_accepts_every_override(dedicated: bool, policy: str | None, found: str):
    settings = {} if policy is None else {"connector.client.config.override.policy": policy}
    assert WorkerConfig(as_properties(settings), dedicated=dedicated).override_policy == found


@pytest.mark.parametrize(("text", "creates"), [(None, True), ("true", True), (" TRUE", True), ("false", False)])
def test_workers_create_topics_unless_it_is_turned_off(text: str | None, creates: bool):
    assert WorkerConfig(as_properties({"topic.creation.enable": text})).creates_topics is creates


def test_a_setting_without_a_value_is_left_out_and_the_file_of_the_others_is_named():
    assert as_properties({"a": 1, "b": None}) == {"a": Property("1", "a")}
    assert as_properties({"a": 1}, "f") == {"a": Property("1", "a of f")}

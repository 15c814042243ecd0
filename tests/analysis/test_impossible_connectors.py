"""Connectors that can never run: each is named with its reasons, and nothing is said of those that may run."""

import pytest

from eosctl.analysis.impossible_connectors import why_impossible
from eosctl.analysis.inspection import connector_findings
from eosctl.codecs.connector_files import known_connector
from eosctl.model.versions import NEWEST
from tests.analysis.config_records import Log
from tests.analysis.evidence import inspection

SOURCE = {"connector.class": "FileStreamSource", "topic": "out"}


def reasons(name: str = "c", **config: object) -> list[str]:
    named = {key.replace("_", "."): value for key, value in config.items()}
    return list(why_impossible(known_connector(SOURCE | named, "the test", name)))


def test_nothing_speaks_against_a_connector_that_may_run() -> None:
    accepted = {"exactly_once_support": "REQUIRED", "transaction_boundary": "Interval", "tasks_max": " +3 "}
    assert reasons(**accepted, transaction_boundary_interval_ms="1000", offsets_storage_topic="o" * 249) == []
    assert reasons(tasks_max="${env:TASKS}", offsets_storage_topic="${env:TOPIC}", topic="${file:/x:topic}") == []
    assert reasons(connector_class="FileStreamSink", topics="a, b", tasks_max=2) == []
    assert reasons(producer_override_bootstrap_servers="SASL_SSL://a:9092, [::1]:9093") == []


@pytest.mark.parametrize(
    ("name", "config", "reason"),
    [
        ("", {}, "its name is empty"),
        ("a\nb", {}, "its name has control characters"),
        ("ä" * 20_000, {}, "its name has 40000 bytes, and no worker of the group survives one of more than 32767"),
        ("c", {"topic": "a topic"}, "topic 'a topic' is not a topic's name"),
        ("c", {"topic": ".."}, "topic '..' is not a topic's name"),
        ("c", {"offsets_storage_topic": "ö"}, "offsets.storage.topic 'ö' is not a topic's name"),
        ("c", {"offsets_storage_topic": ""}, "offsets.storage.topic '' is not a topic's name"),
        ("c", {"offsets_storage_topic": "o" * 250}, "offsets.storage.topic 'ooo"),
        ("c", {"connector_class": "FileStreamSink", "topics": "a,b c"}, "topics 'b c' is not a topic's name"),
        ("c", {"tasks_max": "0"}, "tasks.max is '0', not a whole number from 1 on"),
        ("c", {"tasks_max": "2147483648"}, "tasks.max is '2147483648', not a whole number from 1 on"),
        ("c", {"exactly_once_support": "maybe"}, "exactly.once.support is 'maybe', not requested or required"),
        ("c", {"transaction_boundary": "often"}, "transaction.boundary is 'often', not poll, interval or connector"),
        ("c", {"transaction_boundary_interval_ms": "1s"}, "transaction.boundary.interval.ms is '1s', not a whole"),
        (
            "c",
            {"producer_override_bootstrap_servers": "::::"},
            "producer.override.bootstrap.servers '::::' is not HOST",
        ),
    ],
)
def test_what_no_worker_can_run_is_said_of_it(name: str, config: dict[str, str], reason: str) -> None:
    [said] = reasons(name, **config)
    assert said.startswith(reason)


def test_a_setting_that_is_no_text_counts_as_not_set_where_it_is_known_from_a_worker() -> None:
    assert reasons(tasks_max={"a": 1}, offsets_storage_topic=["x"], topic=None) == []


def test_the_config_topic_shows_it_beside_the_other_connectors() -> None:
    log = Log().writer(7).config("x").tasks("x", 0).commit("x", 1).fencing("x", 1)
    log = log.put("connector-odd", {"properties": {"connector.class": ["X"], "tasks.max": [1]}}).fencing("odd", 200_000)
    found = inspection(log)
    [odd] = [each for each in found.findings if each.id == "EOS074"]
    assert odd.subject == "odd"
    assert "its connector.class is no text, and workers answer 500" in odd.message
    assert "tasks.max is no text, not a whole number from 1 on" in odd.message
    assert "claims 200000 tasks" in odd.message
    [healthy] = [each for each in found.connectors if each.state.name == "x"]
    assert [each.id for each in connector_findings(healthy, True, NEWEST)] == []


def test_what_others_make_of_a_setting_only_they_know() -> None:
    for kind in ("org.example.JdbcSource", "io.debezium.connector.mysql.MySqlConnector", "MirrorSource"):
        odd = {"topic": "rows of %{table}", "topics": "[a b]", "topic.prefix": "a b"}
        assert list(why_impossible(known_connector({"connector.class": kind, **odd}, "the test", "c"))) == []

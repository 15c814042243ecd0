"""`eosctl offsets` on a real broker: what lies in the topics, what is wrong with it, and what cannot be read."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from eosctl.model.records import java_partition
from tests.commands.conftest import Ran
from tests.faulty_sandbox import Sandbox
from tests.integration.producers import transactional_producer
from tests.topics import make_topic

pytestmark = pytest.mark.kafka

Eosctl = Callable[..., Ran]
FreshName = Callable[[str], str]
KEY_OF_GONE = '["gone",{"f":1}]'
PARTITIONS = 5


class OffsetsTopics:
    """Offsets topics of the shared broker, and records in them."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap

    def create(self, name: str, policy: str = "compact") -> str:
        new = NewTopic(name, PARTITIONS, 1, config={"cleanup.policy": policy})
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        make_topic(admin, new)
        return name

    def write(self, topic: str, *records: tuple[str, str | None], partition: int | None = None) -> None:
        producer = Producer({"bootstrap.servers": self.bootstrap})
        for key, value in records:
            place = java_partition(key.encode(), PARTITIONS) if partition is None else partition
            producer.produce(topic, value, key, place)
        assert producer.flush(30) == 0


@pytest.fixture
def topics(sandbox: Sandbox) -> OffsetsTopics:
    return OffsetsTopics(sandbox.bootstrap_servers)


@pytest.fixture
def config_topic(topics: OffsetsTopics, fresh_name: FreshName) -> str:
    """A config topic in which no connector exists."""
    return topics.create(fresh_name("configs"))


@pytest.fixture
def show(sandbox: Sandbox, eosctl: Eosctl, config_topic: str) -> Callable[..., Ran]:
    basis = ("-b", sandbox.bootstrap_servers, "--config-topic", config_topic, "-o", "json")
    return lambda *args: eosctl("offsets", "show", *basis, *args)


def data(ran: Ran) -> dict[str, Any]:
    assert ran.exit_code in {0, 1, 3}, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)["data"]
    return found


def finding_names(ran: Ran) -> list[str]:
    return sorted(each["name"] for each in data(ran)["findings"])


def test_an_own_topic_is_named_by_a_flag_and_its_null_shadow_is_seen(
    topics: OffsetsTopics, show: Callable[..., Ran], fresh_name: FreshName
) -> None:
    worker, own = topics.create(fresh_name("global")), topics.create(fresh_name("own"))
    topics.write(worker, ('["c",{"f":"a"}]', '{"p":1}'), ('["c",{"f":"b"}]', '{"p":2}'), ('["d",{}]', '{"p":3}'))
    topics.write(own, ('["c",{"f":"a"}]', '{"p":9}'))
    ran = show(
        "--worker-offsets-topic", worker, "--connector", "c", "--offsets-topic", own, "--exactly-once", "enabled"
    )
    rows = {row["partition"]["f"]: row for row in data(ran)["offsets"]}
    assert rows["a"]["kafka_effective"]["value"] == rows["a"]["connector_specific"]["value"] == {"p": 9}
    assert rows["a"]["worker_global"]["value"] == {"p": 1}
    assert rows["b"]["kafka_effective"] is None
    assert rows["b"]["kip618_effective"]["value"] == {"p": 2}
    assert rows["b"]["shadowed"]
    assert rows["b"]["worker_global"]["topic_partition"] == java_partition(b'["c",{"f":"b"}]', PARTITIONS)


@pytest.mark.parametrize(("support", "kept"), [("enabled", "unknown"), ("disabled", "here")])
def test_servers_that_do_not_answer_are_said_and_the_rest_is_shown(
    topics: OffsetsTopics,
    show: Callable[..., Ran],
    config_topic: str,
    fresh_name: FreshName,
    sandbox: Sandbox,
    support: str,
    kept: str,
) -> None:
    worker, away = topics.create(fresh_name("global")), "127.0.0.1:1"
    topics.write(worker, ('["c",{"f":"a"}]', '{"p":1}'), ('["d",{}]', '{"p":3}'))
    sent = {f"{client}.override.bootstrap.servers": away for client in ("producer", "consumer")}
    config = {"properties": {"name": "c", "connector.class": "X", **sent}}
    topics.write(config_topic, ("connector-c", json.dumps(config)), partition=0)
    ran = show(
        "--worker-offsets-topic", worker, "--exactly-once", support, "--worker-bootstrap-servers",
        sandbox.bootstrap_servers, "--timeout", "1",
    )  # fmt: skip
    [finding] = [each for each in data(ran)["findings"] if each["name"] == "produces-elsewhere"]
    assert f"producer.override.bootstrap.servers={away}: whether that is another Kafka cluster" in finding["message"]
    rows = {row["connector"]: row for row in data(ran)["offsets"]}
    assert rows["d"]["kafka_effective"]["value"] == {"p": 3}
    assert ("skipped" in rows["c"]["kafka_effective"]) is (kept == "unknown")
    assert rows["c"]["worker_global"]["value"] == {"p": 1}


def test_a_key_that_another_partitioner_put_elsewhere_is_found(
    topics: OffsetsTopics, show: Callable[..., Ran], fresh_name: FreshName
) -> None:
    worker = topics.create(fresh_name("global"))
    key = '["c",{"f":"a"}]'
    home = java_partition(key.encode(), PARTITIONS)
    topics.write(worker, (key, '{"p":1}'), partition=(home + 1) % PARTITIONS)
    topics.write(worker, (key, '{"p":2}'))
    ran = show("--worker-offsets-topic", worker, "--exactly-once", "enabled")
    assert ran.exit_code == 1
    [found] = [each for each in data(ran)["findings"] if each["name"] == "key-in-two-partitions"]
    assert sorted(found["evidence"]["examples"][0]["partitions"]) == sorted([home, (home + 1) % PARTITIONS])
    [row] = data(ran)["offsets"]
    assert "read last wins" in row["provenance"]


def test_an_open_transaction_hides_its_offsets_and_an_aborted_one_is_not_used(
    sandbox: Sandbox, topics: OffsetsTopics, show: Callable[..., Ran], fresh_name: FreshName
) -> None:
    worker, transactional_id = topics.create(fresh_name("global")), fresh_name("connect-cluster-c-0")
    key = '["c",{"f":"a"}]'
    topics.write(worker, (key, '{"p":1}'))
    producer = transactional_producer(sandbox.bootstrap_servers, transactional_id)

    def write_in_transaction(value: str) -> None:
        producer.begin_transaction()
        producer.produce(worker, value, key, java_partition(key.encode(), PARTITIONS))
        assert producer.flush(30) == 0

    write_in_transaction('{"p":2}')
    producer.abort_transaction(30)
    write_in_transaction('{"p":3}')
    ask = ("--worker-offsets-topic", worker)
    [row] = data(show(*ask, "--exactly-once", "enabled", "--offsets-topic", worker))["offsets"]
    assert row["kafka_effective"]["value"] == {"p": 1}
    assert "an open transaction may replace it" in row["provenance"]
    ran = show(*ask, "--exactly-once", "disabled")
    [plain] = data(ran)["offsets"]
    assert (plain["connector"], plain["kafka_effective"]["value"]) == ("c", {"p": 3})
    assert {phase: each["value"] for phase, each in plain["by_phase"].items()} == {
        "enabled": {"p": 1},
        "not_enabled": {"p": 3},
    }
    ran = show(*ask, "--exactly-once", "enabled")
    assert "open-transaction" in finding_names(ran)
    producer.commit_transaction(30)
    [after] = data(show(*ask, "--exactly-once", "enabled", "--offsets-topic", worker))["offsets"]
    assert (after["kafka_effective"]["value"], after["kafka_effective"]["state"]) == ({"p": 3}, "committed")


def test_what_is_wrong_with_a_topic_is_found(
    topics: OffsetsTopics, show: Callable[..., Ran], fresh_name: FreshName
) -> None:
    worker = topics.create(fresh_name("global"), policy="delete")
    topics.write(worker, ("foreign", "x"), ('["c",{"f":1}]', '{"p":1}'), ('["c", {"f":1}]', '{"p":1}'))
    ran = show("--worker-offsets-topic", worker, "--exactly-once", "enabled", "--offsets-topic", worker)
    assert ran.exit_code == 1
    assert {"malformed-offsets-key", "logical-duplicates", "wrong-cleanup-policy"} <= set(finding_names(ran))


def test_tombstones_are_counted_and_shown_when_asked_for(
    topics: OffsetsTopics, show: Callable[..., Ran], fresh_name: FreshName
) -> None:
    worker = topics.create(fresh_name("global"))
    topics.write(worker, ('["c",{"f":1}]', '{"p":1}'), ('["c",{"f":1}]', None))
    ask = ("--worker-offsets-topic", worker, "--exactly-once", "enabled")
    assert (data(show(*ask))["offsets"], data(show(*ask))["tombstones_left_out"]) == ([], 1)
    [row] = data(show(*ask, "--tombstones"))["offsets"]
    assert row["worker_global"]["value"] is None


def test_an_unknown_connector_is_a_usage_error_that_names_a_likely_one(
    topics: OffsetsTopics, show: Callable[..., Ran], fresh_name: FreshName
) -> None:
    worker = topics.create(fresh_name("global"))
    topics.write(worker, ('["orders",{"f":1}]', '{"p":1}'))
    ran = show("--worker-offsets-topic", worker, "--connector", "order", "--exactly-once", "enabled")
    assert ran.exit_code == 2
    assert json.loads(ran.stdout)["error"]["hint"] == "did you mean orders?"


def test_a_topic_that_does_not_exist_is_a_usage_error(show: Callable[..., Ran]) -> None:
    ran = show("--worker-offsets-topic", "no-such-topic")
    assert ran.exit_code == 2
    assert json.loads(ran.stdout)["error"]["message"] == "topic no-such-topic does not exist"


def test_a_missing_acl_names_principal_operation_and_topic(
    sandbox: Sandbox, topics: OffsetsTopics, eosctl: Eosctl, fresh_name: FreshName, tmp_path: Path
) -> None:
    worker = topics.create(fresh_name("global"))
    config = tmp_path / "tool.properties"
    config.write_text(sandbox.client_properties("tool"))
    ran = eosctl("offsets", "show", "--command-config", str(config), "--worker-offsets-topic", worker)
    assert ran.exit_code == 5
    assert f"User:tool lacks Describe on topic {worker}" in ran.stderr


def test_a_snapshot_shows_what_the_cluster_showed(
    sandbox: Sandbox, topics: OffsetsTopics, config_topic: str, eosctl: Eosctl, fresh_name: FreshName, tmp_path: Path
) -> None:
    worker = topics.create(fresh_name("global"))
    topics.write(worker, ('["c",{"f":1}]', '{"p":1}'), ("foreign", "x"), ('["d",null]', '{"p":2}'))
    file, properties = tmp_path / "s.snapshot", tmp_path / "worker.properties"
    properties.write_text(
        f"offset.storage.topic={worker}\nexactly.once.source.support=enabled\n"
        f"bootstrap.servers={sandbox.bootstrap_servers}\nproducer.sasl.jaas.config=password-of-the-worker\n"
    )
    ask = ("-b", sandbox.bootstrap_servers, "--config-topic", config_topic, "--worker-config", str(properties))
    eosctl("snapshot", "save", str(file), *ask)
    live = eosctl("offsets", "show", *ask, "-o", "json")
    saved = eosctl("offsets", "show", "--snapshot", str(file), "-o", "json")
    assert data(saved)["offsets"] == data(live)["offsets"]
    assert data(saved)["worker"] == data(live)["worker"]
    assert data(saved)["offsets"][0]["kafka_effective"]["value"] == {"p": 1}
    assert "password-of-the-worker" not in file.read_text() + live.stdout


def test_an_export_is_compared_with_the_cluster_it_came_from(
    sandbox: Sandbox, topics: OffsetsTopics, eosctl: Eosctl, fresh_name: FreshName, tmp_path: Path
) -> None:
    worker = topics.create(fresh_name("global"))
    topics.write(worker, ('["a/b",{"f":1}]', '{"p":1}'), ('["c",{"f":1.5}]', '{"p":"ü"}'), ('["c",null]', '{"p":3}'))
    ask = (
        "-b", sandbox.bootstrap_servers, "--worker-offsets-topic", worker, "--offsets-topic", worker,
        "--exactly-once", "enabled", "--config-topic", fresh_name("no-configs"), "-o", "json",
    )  # fmt: skip
    ran = eosctl("offsets", "export", str(tmp_path / "before"), *ask)
    assert ran.exit_code == 1, "a null source partition has no place in KIP-875's body"
    assert data(ran)["left_out"] == [{"connector": "c", "what": '["c",null]: its source partition is null'}]
    body = json.loads((tmp_path / "before" / "a%2Fb.json").read_text())
    assert body == {"offsets": [{"partition": {"f": 1}, "offset": {"p": 1}}]}

    topics.write(worker, ('["c",null]', None))
    # Without a config topic nobody knows which connectors exist.
    assert eosctl("offsets", "diff", str(tmp_path / "before"), "live", *ask).exit_code == 3
    topics.write(worker, ('["c",{"f":1.5}]', '{"p":"y"}'), ('["a/b",{"f":1}]', None), ('["e",{}]', '{"p":0}'))
    changed = eosctl("offsets", "diff", str(tmp_path / "before"), "live", *ask)
    assert changed.exit_code == 1
    assert {(each["connector"], each["change"]) for each in data(changed)["changes"]} == {
        ("a/b", "only-in-a"),
        ("c", "different"),
        ("e", "only-in-b"),
    }
    single = eosctl("offsets", "diff", str(tmp_path / "before" / "a%2Fb.json"), "live", "--connector", "a/b", *ask)
    assert [each["change"] for each in data(single)["changes"]] == ["only-in-a"]


def test_an_export_file_with_an_error_is_an_error_of_input(sandbox: Sandbox, eosctl: Eosctl, tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    file.write_text('{"offsets": [\n{"partition": [], "offset": {}}]}')
    ran = eosctl("offsets", "diff", str(file), str(file))
    assert ran.exit_code == 2
    assert f"{file} line 2: offsets[0].partition is not an object" in ran.stderr


def test_a_connector_that_was_deleted_has_its_offsets_where_it_had_them(
    topics: OffsetsTopics, config_topic: str, show: Callable[..., Ran], fresh_name: FreshName
) -> None:
    """Nobody runs; its last config names the topic, as long as the config topic holds it."""
    worker, own = topics.create(fresh_name("global")), topics.create(fresh_name("own"))
    properties = {"properties": {"name": "gone", "offsets.storage.topic": own}}
    topics.write(config_topic, ("connector-gone", json.dumps(properties)), ("connector-gone", None), partition=0)
    topics.write(worker, (KEY_OF_GONE, '{"p":1}'))
    topics.write(own, (KEY_OF_GONE, '{"p":2}'))
    [row] = data(show("--worker-offsets-topic", worker, "--exactly-once", "enabled"))["offsets"]
    assert (row["worker_global"]["value"], row["connector_specific"]["value"]) == ({"p": 1}, {"p": 2})
    assert row["kafka_effective"]["topic"] == own

"""`eosctl offsets` on a real broker: the contents of the topics, their faults, and unreadable parts."""

import json
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from eosctl.errors import EosctlError
from eosctl.model.offsets import OffsetsTopic, StorePlace
from eosctl.model.records import java_partition
from eosctl.model.skipped import Cause, Skipped
from eosctl.model.versions import KafkaVersion
from eosctl.operations.offsets import read_offsets_topics
from eosctl.operations.session import Session
from eosctl.render.console import Console, OutputOptions, Stream, Terminal
from eosctl.shell.options import GlobalOptions
from eosctl.sources.cluster_reader import ClusterReader
from tests.campaign.connector import Kind, NumberedConnector
from tests.campaign.site import SOURCE
from tests.commands.conftest import Eosctl, Ran
from tests.conftest import FreshName
from tests.connector_plugin import plugin_path
from tests.faulty_sandbox import Sandbox
from tests.integration.file_connectors import FileConnectors, values_in, wait_for
from tests.integration.migrate_ground import Ground
from tests.integration.moves import STOPPABLE, Home
from tests.integration.producers import create_topic, transactional_producer
from tests.kafka_versions import spec_of, workers_of
from tests.topics import make_topic
from tests.waiting import eventually

pytestmark = pytest.mark.kafka
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
def test_silent_servers_are_reported_and_the_other_offsets_are_shown(
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
    assert "the last record read wins" in row["provenance"]


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


def test_each_fault_of_a_topic_is_found(topics: OffsetsTopics, show: Callable[..., Ran], fresh_name: FreshName) -> None:
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
    """No worker runs; its last config names the topic, as long as the config topic holds it."""
    worker, own = topics.create(fresh_name("global")), topics.create(fresh_name("own"))
    properties = {"properties": {"name": "gone", "offsets.storage.topic": own}}
    topics.write(config_topic, ("connector-gone", json.dumps(properties)), ("connector-gone", None), partition=0)
    topics.write(worker, (KEY_OF_GONE, '{"p":1}'))
    topics.write(own, (KEY_OF_GONE, '{"p":2}'))
    [row] = data(show("--worker-offsets-topic", worker, "--exactly-once", "enabled"))["offsets"]
    assert (row["worker_global"]["value"], row["connector_specific"]["value"]) == ({"p": 1}, {"p": 2})
    assert row["kafka_effective"]["topic"] == own


# An offsets topic is read once, under any names of its brokers.


NOWHERE = frozenset({"127.0.0.1:1"})


@pytest.fixture
def reader(sandbox: Sandbox):
    streams = [Stream(StringIO(), None) for _ in range(3)]
    console = Console(Terminal(streams[0], streams[1], streams[2]), OutputOptions())
    with Session(GlobalOptions(console, bootstrap_servers=sandbox.bootstrap_servers, timeout_s=5)) as session:
        yield session.reader


def test_two_names_of_one_cluster_lead_to_one_reading(reader: ClusterReader, sandbox: Sandbox, fresh_name: FreshName):
    topic = fresh_name("read-once")
    create_topic(sandbox.bootstrap_servers, topic, 3)
    producer = Producer({"bootstrap.servers": sandbox.bootstrap_servers})
    producer.produce(topic, b'{"p":1}', b'["c",{}]')
    assert producer.flush(30) == 0
    alias = frozenset({sandbox.bootstrap_servers.replace("127.0.0.1", "localhost")})
    places = (StorePlace(topic), StorePlace(topic, alias))
    here, there = read_offsets_topics(reader, places, reader.cluster_ids([alias, None]), required=True).values()
    assert isinstance(here, OffsetsTopic)
    assert (len(here.partitions), here.records) == (3, 1)
    assert there is here
    assert reader.coverage.asked.count(f"offsets topic {topic}") == 1


def test_brokers_that_do_not_answer_are_asked_once(reader: ClusterReader, fresh_name: FreshName):
    cluster_ids = reader.cluster_ids([NOWHERE])
    known, away = StorePlace(fresh_name("absent")), StorePlace("t", NOWHERE)
    unread = cluster_ids[NOWHERE]
    assert isinstance(unread, Skipped)
    assert unread.cause is Cause.UNREACHABLE
    assert read_offsets_topics(reader, [known, away], cluster_ids, required=False) == {known: None, away: unread}
    with pytest.raises(EosctlError) as first:
        reader.offsets_topic(away)
    with pytest.raises(EosctlError) as again:
        read_offsets_topics(reader, [away], cluster_ids, required=True)
    assert again.value is first.value
    assert {each.what for each in reader.coverage.unread} == {"the cluster at 127.0.0.1:1", f"offsets topic {away}"}


# A connector whose producer is sent to another cluster: its offsets go there, and are read where they always were.


LINES = [f"line {number}".encode() for number in range(10)]


def test_with_only_the_producer_elsewhere_every_start_begins_from_nothing(
    connect_sandbox: Sandbox,
    sandbox: Sandbox,
    eosctl: Eosctl,
    fresh_name: FreshName,
    tmp_path: Path,
) -> None:
    other = sandbox.bootstrap_servers
    servers, url = connect_sandbox.bootstrap_servers, connect_sandbox.connect_urls[0]
    connectors, name = FileConnectors(url, servers, tmp_path), fresh_name("elsewhere")
    config = {"offsets.storage.topic": f"{name}-own", "producer.override.bootstrap.servers": other}

    def copied(count: int) -> list[bytes | None]:
        return wait_for(lambda: values_in(other, name), lambda values: len(values) >= count, f"{count} records")

    file = connectors.file(name)
    file.write_bytes(b"".join(line + b"\n" for line in LINES))
    connectors.create(name, config)
    assert copied(len(LINES)) == LINES
    connectors.delete(name)
    away = file.rename(file.with_suffix(".away"))
    connectors.create(name, config)
    connectors.await_running(name)

    ran = eosctl(
        "offsets", "show", "-b", servers, "--connect-url", url, "--worker-bootstrap-servers", servers,
        "--connector", name, "-o", "json",
    )  # fmt: skip
    data = json.loads(ran.stdout)["data"]
    [finding] = [each for each in data["findings"] if each["name"] == "offsets-written-elsewhere"]
    assert finding["evidence"] == {"written_to": f"{name}-own on {other}", "read_from": f"{name}-own"}
    assert [row["kafka_effective"] for row in data["offsets"]] == [None]

    away.rename(file)
    assert copied(2 * len(LINES)) == LINES + LINES
    connectors.delete(name)


# A null offset beside others in one commit (KAFKA-15018): docs/dev/lab.md has the observations.  Of two source
# partitions of one task the second has null offsets, so a restarted task rightly reads that one again.


TOMBSTONES_FIRST = KafkaVersion(3, 8)
ALL = 100
FLUSHING = "ConnectException: OffsetStorageWriter is already flushing"


@pytest.fixture(scope="module")
def home(kafka_version: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    settings = {"plugin.path": plugin_path(workers_of(kafka_version), SOURCE, tmp_path_factory.mktemp("plugins"))}
    with Sandbox(spec_of(kafka_version, workers=1, worker_config=settings)) as sandbox:
        yield Home(sandbox)


@pytest.fixture
def connector(home: Home, own: bool, tmp_path: Path) -> Iterator[NumberedConnector]:
    """Exactly-once, with an offsets topic of its own and without; all numbers are there when it starts."""
    name = "own" if own else "shared"
    made = NumberedConnector(home, name, Kind(partitions=2, form="half"), tmp_path, "own-offsets" if own else None)
    made.grow(ALL)
    made.configure()
    yield made
    made.delete()
    made.close()


def came(connector: NumberedConnector) -> list[int]:
    """How many numbers of the first source partition read_committed consumers have: first sights, and repetitions.

    Only the numbers of this partition have offsets.
    """
    seen = [times for (partition, _), times in connector.reader.read().items() if partition == 0]
    return [len(seen), sum(seen) - len(seen)]


def came_again(connector: NumberedConnector) -> bool:
    """True if numbers were repeated; a FAILED task is started again."""
    if connector.tasks() == ["FAILED"]:
        connector.ask("POST", "tasks/0/restart")
    return came(connector)[1] > 0


@pytest.mark.workers
@pytest.mark.variation
@pytest.mark.timeout(600)
@pytest.mark.parametrize("own", [False, True])
def test_records_are_committed_without_their_offsets_where_tombstones_go_first(
    home: Home, connector: NumberedConnector, own: bool
) -> None:
    if own and home.version >= TOMBSTONES_FIRST:
        eventually(lambda: FLUSHING in home.sandbox.worker_log(1).read_text(), "the commit that fails", deadline_s=180)
        eventually(lambda: came(connector)[0] > 0, "the first records", deadline_s=90)
        assert sum(each["offset"]["position"] for each in connector.offsets()) < came(connector)[0] < ALL
        eventually(lambda: connector.tasks() == ["FAILED"], "its status to say so", deadline_s=180)
        # A task that is started again may fail before its first commit, too.
        eventually(lambda: came_again(connector), "records that are written again", deadline_s=180, every_s=1)
        return
    eventually(lambda: came(connector) == [ALL, 0], "all records", deadline_s=90)
    assert home.version < STOPPABLE or connector.offsets() == [{"partition": {"p": 0}, "offset": {"position": ALL}}]
    connector.ask("POST", "tasks/0/restart")
    second = lambda: {times for (index, _), times in connector.reader.read().items() if index == 1}  # noqa: E731
    eventually(lambda: second() == {2}, "what has no offsets comes again", deadline_s=90)
    assert came(connector) == [ALL, 0]


# `offsets restore` on a real broker: the bytes of the keys that are there, one transaction, a way back.


A, B = b'["stopped",{"f":1}]', b'["stopped",{"z":"1" ,"a":2.0}]'


@pytest.fixture
def ground(
    sandbox: Sandbox, fresh_name: FreshName, eosctl: Eosctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Ground:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    made = Ground(sandbox, fresh_name("restored"), eosctl)
    made.put(made.offsets, B, b'{"p":2}')
    made.target = made.offsets
    return made


@pytest.fixture
def restore(ground: Ground, eosctl: Eosctl, tmp_path: Path) -> Callable[..., Ran]:
    def run(body: object, *more: object) -> Ran:
        file = tmp_path / "export.json"
        file.write_text(body if isinstance(body, str) else json.dumps(body))
        return eosctl(
            "offsets", "restore", file, "--connector", "stopped", "-b", ground.servers, "--group-id", ground.name,
            "--config-topic", ground.configs, "--worker-offsets-topic", ground.offsets, "--yes", "-o", "json", *more,
        )  # fmt: skip

    return run


def entry(partition: object, offset: object) -> dict[str, object]:
    return {"partition": partition, "offset": offset}


def test_values_go_under_the_very_keys_that_are_there(ground: Ground, restore: Callable[..., Ran], eosctl: Eosctl):
    before = ground.held()
    ran = restore({"offsets": [entry({"a": 2.0, "z": "1"}, {"p": 7}), entry({"f": 1}, None)]})
    assert ran.exit_code == 0, ran.stderr
    assert ground.held() == {**before, A: None, B: b'{"p":7}'}
    undo = json.loads(ran.stdout)["data"]["undo_file"]
    back = eosctl("undo", undo, "-b", ground.servers, "--config-topic", ground.configs, "--yes")
    assert back.exit_code == 0, back.stderr
    assert ground.held() == before


def test_deletions_go_to_the_workers_topic_first(ground: Ground, restore: Callable[..., Ran]):
    own = f"{ground.name}-own"
    ground.create(own, 3)
    ground.put(own, A, b'{"p":3}')
    ran = restore({"offsets": [entry({"f": 1}, None)]}, "--offsets-topic", own, "--dry-run")
    writes = [row["topic"] for row in json.loads(ran.stdout)["data"]["offsets"]]
    assert writes == [ground.offsets, own]


def test_a_new_key_is_written_only_if_there_is_one_way_to(ground: Ground, restore: Callable[..., Ran]):
    new = {"offsets": [entry({"g": "new"}, {"p": 1})]}
    before, ran = ground.held(), restore(new)
    assert (ran.exit_code, ground.held()) == (8, before)
    assert (
        '["stopped",{"g":"new"}] is not in the topic: the connector\'s keys have the members a, z; or f' in ran.stderr
    )
    ran = restore(new, "--create-keys")
    assert ran.exit_code == 0, ran.stderr
    [reason] = [each for each in json.loads(ran.stdout)["data"]["findings"] if each["id"] == "EOS409"]
    assert reason["severity"] == "warning"
    assert ground.held()[b'["stopped",{"g":"new"}]'] == b'{"p":1}'
    unknown = {"offsets": [entry({"g": "x", "h": "y"}, {"p": 1})]}
    ran = restore(unknown)
    assert ran.exit_code == 8
    assert "in which order the connector writes its members is unknown" in ran.stderr
    assert restore(unknown, "--create-keys").exit_code == 0
    assert ground.held()[b'["stopped",{"g":"x","h":"y"}]'] == b'{"p":1}'


def test_a_new_key_takes_the_order_of_the_connectors_other_keys(ground: Ground, restore: Callable[..., Ran]):
    assert restore({"offsets": [entry({"a": 3.0, "z": "2"}, {"p": 1})]}, "--create-keys").exit_code == 0
    assert ground.held()[b'["stopped",{"z":"2","a":3.0}]'] == b'{"p":1}'


def test_offsets_of_a_connector_that_was_deleted_go_where_it_had_them(ground: Ground, restore: Callable[..., Ran]):
    """Its last config names a topic of its own."""
    own = f"{ground.name}-own"
    ground.create(own, 3)
    config = {"properties": {"name": "stopped", "offsets.storage.topic": own}}
    ground.put(ground.configs, b"connector-stopped", json.dumps(config).encode(), 0)
    for key in (b"connector-stopped", b"target-state-stopped"):
        ground.put(ground.configs, key, None, 0)
    ran = restore({"offsets": [entry({"f": 1}, {"p": 3})]}, "--dry-run")
    assert [row["topic"] for row in json.loads(ran.stdout)["data"]["offsets"]] == [own]


@pytest.mark.parametrize(
    ("offset", "reason"),
    [
        ({"positon": 3893}, '{"filename": "f"}: the offset lacks position and has positon more'),
        ({"position": "3893"}, 'position is text ("3893"), and a whole number (4643) now'),
        ({"position": -5}, "position is -5: no source has a negative one"),
        (
            {"position": 99999999},
            "forward from FileStreamSource: byte 4643 of the file to FileStreamSource: byte 99999999 of the file; "
            "records between them are never copied",
        ),
    ],
)
def test_a_position_that_is_misspelt_impossible_or_skips_records_needs_force(
    ground: Ground, restore: Callable[..., Ran], offset: dict[str, object], reason: str
):
    key = b'["stopped",{"filename":"f"}]'
    ground.put(ground.offsets, key, b'{"position":4643}')
    body = {"offsets": [entry({"filename": "f"}, offset)]}
    ran = restore(body)
    assert (ran.exit_code, ground.held()[key]) == (8, b'{"position":4643}')
    assert reason in ran.stderr
    ran = restore(body, "--force")
    assert ran.exit_code == 0, ran.stderr
    assert json.loads(ground.held()[key]) == offset
    [found] = [each for each in json.loads(ran.stdout)["data"]["findings"] if each["id"] in {"EOS412", "EOS413"}]
    assert found["severity"] == "warning"


def test_an_offset_whose_schema_history_is_missing_is_refused(ground: Ground, restore: Callable[..., Ran]):
    history = f"{ground.name}-history"
    settings = {f"schema.history.internal.kafka.{key}": value for key, value in {
        "topic": history, "bootstrap.servers": ground.servers}.items()}  # fmt: skip
    mysql = {"name": "stopped", "connector.class": "io.debezium.connector.mysql.MySqlConnector", **settings}
    ground.put(ground.configs, b"connector-stopped", json.dumps({"properties": mysql}).encode(), 0)
    key, body = b'["stopped",{"server":"db"}]', {"offsets": [entry({"server": "db"}, {"file": "b.1", "pos": 4})]}
    ground.put(ground.offsets, key, b'{"file":"b.2","pos":9}')
    ran = restore(body)
    assert (ran.exit_code, ground.held()[key]) == (8, b'{"file":"b.2","pos":9}')
    assert f"its schema history, topic {history}, does not exist" in ran.stderr
    create_topic(ground.servers, history)
    assert restore(body).exit_code == 8, "it is empty"
    ground.put(history, b"", b"{}", 0)
    ran = restore(body)
    assert (ran.exit_code, ground.held()[key]) == (0, b'{"file":"b.1","pos":4}'), ran.stderr


def test_an_earlier_position_of_a_known_shape_is_restored(ground: Ground, restore: Callable[..., Ran]):
    ground.put(ground.offsets, b'["stopped",{"filename":"f"}]', b'{"position":4643}')
    ran = restore({"offsets": [entry({"filename": "f"}, {"position": 3893})]})
    assert ran.exit_code == 0, ran.stderr
    assert {"EOS412", "EOS413"}.isdisjoint(each["id"] for each in json.loads(ran.stdout)["data"]["findings"])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('{"offsets": [\n{"partition": {"f": 1}, "offset": [1]}]}', "line 2: offsets[0].offset is not an object"),
        ("{", "line 1: not JSON"),
    ],
)
def test_a_file_with_an_error_is_reported_by_line_and_field(restore: Callable[..., Ran], body: str, message: str):
    ran = restore(body)
    assert ran.exit_code == 2
    assert message in ran.stderr


def test_a_connector_that_runs_is_left_alone(ground: Ground, restore: Callable[..., Ran]):
    ground.connector("stopped", "STARTED", 1)
    before = ground.held()
    assert restore({"offsets": [entry({"f": 1}, {"p": 9})]}).exit_code == 8
    assert ground.held() == before


def test_a_value_that_an_aborted_one_hides_from_workers_without_exactly_once_is_written_again(
    ground: Ground, restore: Callable[..., Ran], eosctl: Eosctl
):
    producer = transactional_producer(ground.servers, f"{ground.name}-stopped-0")
    producer.begin_transaction()
    producer.produce(ground.offsets, b'{"p":99}', A, java_partition(A, 3))
    assert producer.flush(30) == 0
    producer.abort_transaction(30)
    topics = ("--worker-offsets-topic", ground.offsets, "--config-topic", ground.configs)
    show = ("offsets", "show", "-b", ground.servers, "--group-id", ground.name, *topics, "--connector", "stopped")

    def hidden() -> list[object]:
        rows = json.loads(eosctl(*show, "--exactly-once", "disabled", "-o", "json").stdout)["data"]["offsets"]
        return [each["by_phase"]["not_enabled"]["value"] for each in rows if each["by_phase"] is not None]

    assert hidden() == [{"p": 99}]
    before = ground.held()
    committed = json.loads(before[A])
    assert restore({"offsets": [entry({"f": 1}, committed)]}).exit_code == 0
    assert (hidden(), ground.held()) == ([], before)

"""Rules about records of the config and offsets topics, on a worker whose topics are compacted within a second.

A record that is cured by a newer one is found until compaction has removed it; here that is soon.
"""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from eosctl.model.records import java_partition
from eosctl.sandbox.properties import SandboxSpec
from tests.faulty_sandbox import Sandbox
from tests.integration.config_topic import read_topic
from tests.integration.doctoring import Doctor, Eosctl, Rest, alter_topic, file_source, write
from tests.integration.producers import create_topic, transactional_producer
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.variation]
QUICK_CLEANER = {"log.cleaner.backoff.ms": "100", "log.initial.task.delay.ms": "0"}
AT_ONCE = {"segment_ms": "100", "min_cleanable_dirty_ratio": "0.0", "delete_retention_ms": "0"}
CONFIGS, OFFSETS = "connect-configs", "connect-offsets"
PARTITIONS = 3
NULL_PARTITION = b'["unusable",null]'


@pytest.fixture(scope="module")
def cluster() -> Iterator[Sandbox]:
    """A worker with exactly-once over topics that are compacted at once, with few partitions of the offsets topic."""
    spec = SandboxSpec(workers=1, broker_config=QUICK_CLEANER, worker_config={"offset.storage.partitions": "3"})
    with Sandbox(spec) as started:
        for topic in (CONFIGS, OFFSETS):
            eventually(lambda topic=topic: _exists(started, topic), f"{topic} is there")
            alter_topic(started, topic, **AT_ONCE)
        yield started


def _exists(cluster: Sandbox, topic: str) -> bool:
    return topic in AdminClient({"bootstrap.servers": cluster.bootstrap_servers}).list_topics(timeout=30).topics


@pytest.fixture
def rest(cluster: Sandbox) -> Rest:
    return Rest(cluster.connect_url(1))


@pytest.fixture
def doctor(cluster: Sandbox, eosctl: Eosctl) -> Doctor:
    file = cluster.directory / "worker-1" / "worker.properties"
    where = ("-b", cluster.bootstrap_servers, "--connect-url", cluster.connect_url(1))
    return Doctor(eosctl, (*where, "--worker-config", file))


def key_of(name: str, directory: Path, *, spaced: bool = False) -> bytes:
    """The offsets key of a FileStreamSource, as Connect writes it or with blanks."""
    separators = (", ", ": ") if spaced else (",", ":")
    return json.dumps([name, {"filename": str(directory / f"{name}.txt")}], separators=separators).encode()


def started(rest: Rest, directory: Path, name: str, **more: str) -> None:
    """The connector runs and has committed its offset."""
    rest.put(name, file_source(directory, name, **more))
    rest.await_tasks(name)
    eventually(lambda: rest.ask("GET", f"/connectors/{name}/offsets")["offsets"], "its offset is committed")


def one_more(rest: Rest, name: str) -> None:
    """Two more records of the config topic: only what lies before the last segment is compacted."""
    for action in ("pause", "resume"):
        rest.ask("PUT", f"/connectors/{name}/{action}")


@pytest.mark.proves("EOS062")
def test_two_groups_that_share_a_config_topic_are_found_until_one_has_its_own(
    cluster: Sandbox, rest: Rest, doctor: Doctor, tmp_path: Path
) -> None:
    """First, while there are no other connectors, which the other group would run and write down too."""
    own = {"group.id": "other", "offset.storage.topic": "other-offsets", "status.storage.topic": "other-status"}
    other = Rest(cluster.start_worker(2, own))
    for each, name in ((other, "there"), (rest, "here"), (other, "there"), (rest, "here")):
        each.put(name, file_source(tmp_path, name))
    condition = ("EOS062", CONFIGS)
    doctor.tells({condition: "give each its own config.storage.topic"})
    cluster.stop_worker(2)
    cluster.start_worker(2, {**own, "config.storage.topic": "other-own-configs"})
    rest.put("there", file_source(tmp_path, "there", **{"batch.size": "100"}))
    cluster.stop_worker(1)
    cluster.start_worker(1)  # a leader that starts writes a session key, over which compaction removes the other's
    rest.await_tasks("here")
    doctor.sees_no_more(condition, meanwhile=lambda: one_more(rest, "here"))
    cluster.stop_worker(2)
    for name in ("here", "there"):
        rest.delete(name)


@pytest.mark.proves("EOS064", "EOS066", "EOS067", "EOS069", "EOS071")
def test_a_record_that_is_not_as_connect_writes_it_is_found_until_a_good_one_took_its_place(
    cluster: Sandbox, rest: Rest, doctor: Doctor, tmp_path: Path
) -> None:
    for name in ("poisoned", "malformed", "miscounted", "inconsistent"):
        started(rest, tmp_path, name)
    write(
        cluster,
        CONFIGS,
        (b"target-state-malformed", b"{not json"),
        (b"customer-7", b"{}"),
        (b"tasks-fencing-miscounted", b'{"task-count":5}'),
        (b"commit-inconsistent", b'{"tasks":2}'),
        (b"commit-poisoned", b'{"tasks":"two"}'),
    )
    cures = {
        ("EOS061", CONFIGS): "set exactly.once.source.support to preparing or enabled on every worker",
        ("EOS064", "commit-poisoned"): "change the connector, PUT /connectors/poisoned/config",
        ("EOS066", "target-state-malformed"): "PUT /connectors/malformed/pause or /resume",
        ("EOS067", CONFIGS): "find the client that writes to this topic",
        ("EOS069", "miscounted"): "then resume it (PUT /connectors/miscounted/resume)",
        ("EOS071", "inconsistent"): "POST /connectors/inconsistent/restart",
    }
    doctor.tells(cures)
    rest.put("poisoned", file_source(tmp_path, "poisoned", **{"batch.size": "100"}))
    rest.ask("PUT", "/connectors/miscounted/stop")
    rest.await_tasks("miscounted", 0)
    rest.ask("PUT", "/connectors/miscounted/resume")
    rest.ask("POST", "/connectors/inconsistent/restart")
    write(cluster, CONFIGS, (b"customer-7", None))
    doctor.sees_no_more(*cures, meanwhile=lambda: one_more(rest, "malformed"))


def offset(position: int) -> bytes:
    return json.dumps({"position": position}).encode()


@pytest.mark.proves("EOS081", "EOS082", "EOS083", "EOS085", "EOS086", "EOS087", "EOS090")
def test_an_offset_that_is_not_as_connect_writes_it_is_found_until_it_is_corrected(
    cluster: Sandbox, rest: Rest, doctor: Doctor, eosctl: Eosctl, tmp_path: Path
) -> None:
    names = ("unusable", "doubled", "spelt", "disagreeing", "elsewhere")
    for name in names[:3]:
        started(rest, tmp_path, name)
        rest.ask("PUT", f"/connectors/{name}/stop")
        rest.await_tasks(name, 0)
    started(rest, tmp_path, "disagreeing", **{"offsets.storage.topic": "disagreeing-offsets"})
    elsewhere = cluster.bootstrap_servers.replace("127.0.0.1", "localhost")
    rest.put("elsewhere", file_source(tmp_path, "elsewhere", **{"consumer.override.bootstrap.servers": elsewhere}))
    keys = {name: key_of(name, tmp_path) for name in names}
    spelt = key_of("spelt", tmp_path, spaced=True)
    wrong = (java_partition(keys["doubled"], PARTITIONS) + 1) % PARTITIONS
    for name, value in (("unusable", b"[1]"), ("disagreeing", offset(2))):
        write(cluster, OFFSETS, (keys[name], value), partition=java_partition(keys[name], PARTITIONS))
    write(cluster, OFFSETS, (keys["doubled"], offset(2)), partition=wrong)
    write(cluster, OFFSETS, (spelt, offset(4)), partition=java_partition(spelt, PARTITIONS))
    write(cluster, OFFSETS, (b"no offsets key", b"x"), (NULL_PARTITION, offset(2)))
    cures = {
        ("EOS081", "disagreeing"): "eosctl migrate-offsets --connector disagreeing --to-topic ",
        ("EOS082", "unusable"): "eosctl offsets restore <file> --connector unusable --stop",
        (
            "EOS083",
            "elsewhere",
        ): "override bootstrap.servers of the connector's producer, consumer and admin with one value",
        ("EOS085", OFFSETS): "write a tombstone for each key to every partition except the one that murmur2 selects",
        ("EOS086", OFFSETS): "write a tombstone for each other key",
        ("EOS087", OFFSETS): "write a tombstone for each such key",
        ("EOS090", "unusable"): "have the connector name its source partition",
    }
    doctor.tells(cures)
    file = tmp_path / "unusable.json"
    good = {"partition": json.loads(keys["unusable"])[1], "offset": {"position": 4}}
    file.write_text(json.dumps({"offsets": [good]}))
    where = ("-b", cluster.bootstrap_servers, "--connect-url", rest.url, "--group-id", "connect-cluster", "--yes")
    restored = eosctl("offsets", "restore", file, "--connector", "unusable", "--stop", *where)
    assert restored.exit_code == 0, restored.stderr
    same = {f"{client}.override.bootstrap.servers": elsewhere for client in ("producer", "consumer", "admin")}
    rest.put("elsewhere", file_source(tmp_path, "elsewhere", **same))
    write(cluster, OFFSETS, (keys["doubled"], None), partition=wrong)
    write(cluster, OFFSETS, (spelt, None), partition=java_partition(spelt, PARTITIONS))
    write(cluster, OFFSETS, (b"no offsets key", None), (NULL_PARTITION, None))
    own = ("--to-topic", "disagreeing-offsets", "--offsets-topic", OFFSETS, "--merge", "keep-source")
    moved = eosctl("migrate-offsets", "--connector", "disagreeing", *own, "--stop", "--set-config", *where)
    assert moved.exit_code == 0, moved.stderr
    doctor.sees_no_more(*cures, meanwhile=lambda: roll_offsets(cluster))


def roll_offsets(cluster: Sandbox) -> None:
    """Two more records in each partition of the offsets topic, which mean nothing."""
    for partition in range(PARTITIONS):
        write(cluster, OFFSETS, (b'["nobody",{"a":1}]', offset(1)), partition=partition)
        write(cluster, OFFSETS, (b'["nobody",{"a":1}]', None), partition=partition)


@pytest.mark.proves("EOS063", "EOS088")
def test_an_open_transaction_is_found_in_both_topics_until_it_is_fenced(
    cluster: Sandbox, doctor: Doctor, eosctl: Eosctl
) -> None:
    """The config topic is one that no worker uses: its leader would end the transaction by claiming its ID again."""
    create_topic(cluster.bootstrap_servers, "other-configs")
    write(cluster, "other-configs", (b"connector-x", b'{"properties":{}}'))
    producers = [transactional_producer(cluster.bootstrap_servers, f"stray-{topic}") for topic in (0, 1)]
    for producer, topic, key in zip(
        producers, ("other-configs", OFFSETS), (b"commit-x", b'["x",{"a":1}]'), strict=True
    ):
        producer.begin_transaction()
        # A transaction in an offsets topic counts when its first record is a minute old.
        producer.produce(topic, b'{"tasks":1}', key, partition=0, timestamp=time.time_ns() // 1_000_000 - 120_000)
        assert producer.flush(30) == 0
    cures = {("EOS063", "other-configs"): "eosctl fence --transactional-id", ("EOS088", OFFSETS): "eosctl fence"}
    elsewhere = ("--config-topic", "other-configs")
    found = doctor.tells(cures, more=elsewhere)
    assert {found[condition]["severity"] for condition in cures} == {"warning"}
    ids = [part for name in ("stray-0", "stray-1") for part in ("--transactional-id", name)]
    fenced = eosctl("fence", *ids, "-b", cluster.bootstrap_servers, "--yes")
    assert fenced.exit_code == 0, fenced.stderr
    doctor.sees_no_more(*cures, more=elsewhere)


@pytest.mark.proves("EOS065")
def test_a_record_without_a_key_is_found_until_compaction_has_removed_it(cluster: Sandbox, doctor: Doctor) -> None:
    create_topic(cluster.bootstrap_servers, "keyless-configs")
    write(cluster, "keyless-configs", (b"connector-x", b'{"properties":{}}'), (None, b"{}"))
    elsewhere = ("--config-topic", "keyless-configs")
    conditions = ("EOS065", "null"), ("EOS052", "keyless-configs")
    cure = doctor.sees(*conditions, more=elsewhere)["EOS065", "null"]["cure"]
    assert "set cleanup.policy=compact on the topic. The log cleaner removes records without a key" in cure
    alter_topic(cluster, "keyless-configs", cleanup_policy="compact", **AT_ONCE)
    more = (b"target-state-x", b'{"state":"STARTED"}')
    doctor.sees_no_more(*conditions, more=elsewhere, meanwhile=lambda: write(cluster, "keyless-configs", more))


@pytest.mark.proves("EOS060")
def test_a_topic_that_is_no_config_topic_is_found_until_the_right_one_is_named(
    cluster: Sandbox, doctor: Doctor
) -> None:
    create_topic(cluster.bootstrap_servers, "customers")
    write(cluster, "customers", (b"customer-7", b"{}"))
    condition = ("EOS060", "customers")
    assert "--config-topic TOPIC" in doctor.sees(condition, more=("--config-topic", "customers"))[condition]["cure"]
    doctor.sees_no_more(condition, more=("--config-topic", CONFIGS))


@pytest.mark.proves("EOS056", "EOS093")
def test_topics_with_data_are_found_until_those_of_the_workers_are_named(cluster: Sandbox, doctor: Doctor) -> None:
    create_topic(cluster.bootstrap_servers, "parcels")
    write(cluster, "parcels", (b"parcel-7", b"{}"))
    for rule, option, right in (
        ("EOS056", "--status-topic", "connect-status"),
        ("EOS093", "--worker-offsets-topic", OFFSETS),
    ):
        condition = (rule, "parcels")
        found = doctor.sees(condition, more=(option, "parcels"))
        assert found.keys() == {condition}
        assert f"{option} TOPIC" in found[condition]["cure"]
        doctor.sees_no_more(condition, more=(option, right))


@pytest.mark.proves("EOS072")
def test_a_commit_before_its_connector_is_found_until_the_connector_is_restarted(
    cluster: Sandbox, rest: Rest, eosctl: Eosctl, tmp_path: Path
) -> None:
    """The worker is down: a worker that starts restarts the connector by itself, as the cure says."""
    cluster.stop_worker(1)
    config = json.dumps({"properties": {"name": "late", **file_source(tmp_path, "late")}}).encode()
    write(cluster, CONFIGS, (b"commit-late", b'{"tasks":1}'), (b"connector-late", config))
    offline = Doctor(eosctl, ("-b", cluster.bootstrap_servers, "--group-id", "connect-cluster"))
    condition = ("EOS072", "late")
    offline.tells({condition: "POST /connectors/late/restart"})
    cluster.start_worker(1)
    eventually(lambda: rest.states("late") == ["RUNNING"], "the task of late runs", deadline_s=60)
    offline.sees_no_more(condition)


@pytest.mark.proves("EOS061", "EOS068", "EOS070")
def test_a_roll_back_to_disabled_is_found_until_exactly_once_is_enabled_again(
    cluster: Sandbox, rest: Rest, doctor: Doctor, tmp_path: Path
) -> None:
    """One connector from before, whose tasks were committed again, and a new one.

    A very recent commit may still have its round of fencing in progress: the rule decides by the time of its record.
    """
    started(rest, tmp_path, "before")
    cluster.stop_worker(1)
    same = next(each.value for each in reversed(read_topic(cluster.bootstrap_servers)) if each.key == "task-before-0")
    commit = ((b"task-before-0", same.encode()), (b"commit-before", b'{"tasks":1}'))
    write(cluster, CONFIGS, *commit, age_s=300)
    cluster.start_worker(1, {"exactly.once.source.support": "disabled"})
    rest.put("meanwhile", file_source(tmp_path, "meanwhile"))
    for name in ("before", "meanwhile"):
        rest.await_tasks(name)
    cures = {
        ("EOS013", "workers"): "`eosctl upgrade-check --to preparing`",
        ("EOS061", CONFIGS): "set exactly.once.source.support to preparing or enabled on every worker and restart",
        ("EOS068", "before"): "make sure that every worker has exactly.once.source.support=enabled",
        ("EOS070", "meanwhile"): "when every worker has exactly.once.source.support=enabled, restart the tasks",
    }
    found = doctor.tells(cures)
    assert found["EOS068", "before"]["severity"] == "error"
    write(cluster, CONFIGS, *commit)
    eventually(lambda: doctor.found().get(("EOS068", "before"), {}).get("severity") == "info", "a start may go on")
    cluster.stop_worker(1)
    cluster.start_worker(1)
    for name in ("before", "meanwhile"):
        eventually(lambda name=name: rest.states(name), f"the worker knows {name}", deadline_s=60)
    for condition in (("EOS068", "before"), ("EOS070", "meanwhile")):
        rest.restart_as_printed(found[condition]["cure"])
    history = ("EOS061", CONFIGS)
    doctor.sees_no_more(*(set(cures) - {history}))
    assert doctor.found()[history]["severity"] == "info", "the plain records are still there, and concern nobody"

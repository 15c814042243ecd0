"""Rules about workers, their group, brokers' settings and IDs: each made on one cluster, found, cured and gone."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from eosctl.errors import ConfigError
from eosctl.sandbox.properties import SandboxSpec
from tests.faulty_sandbox import Sandbox
from tests.integration.config_topic import read_topic
from tests.integration.doctoring import Doctor, Eosctl, Rest, arguments, file_source
from tests.integration.kafka_tools import run_kafka_tool
from tests.integration.producers import create_topic, transactional_producer
from tests.jvm import jars_of, java_with
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.variation]
SUPPORT = "exactly.once.source.support"
GROUP = "connect"
STRINGS = "org.apache.kafka.connect.storage.StringConverter"
STANDALONE = "org.apache.kafka.connect.cli.ConnectStandalone"
LINES = 2
"""Of the file that a file source begins with."""
BROKER = {
    "transaction.partition.verification.enable": "false",
    "producer.id.expiration.ms": "60000",
    "transactional.id.expiration.ms": "3600000",
    # Nobody looks for transactions that timed out, so one outlives its timeout.
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "3600000",
}
OTHER_GROUP = {
    "group.id": "o-0",
    **{f"{role}.storage.topic": f"other-{role}" for role in ("config", "offset", "status")},
}
OVERDUE_ID = f"{GROUP}-idle-0"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """Two workers of group `connect`, brokers with settings that rules warn of, and a transaction that gets overdue."""
    spec = SandboxSpec(
        workers=1, group_id=GROUP, broker_config=BROKER, worker_config={"scheduled.rebalance.max.delay.ms": "15000"}
    )
    with Sandbox(spec) as started:
        rest = Rest(started.connect_url(1))
        rest.ask("GET", "/connectors/none/status", expected=404)  # worker 1 leads before worker 2 joins
        started.start_worker(2)
        rest.put("idle", file_source(tmp_path_factory.mktemp("lines"), "idle"))
        rest.await_tasks("idle")
        rest.ask("PUT", "/connectors/idle/stop")
        rest.await_tasks("idle", 0)
        create_topic(started.bootstrap_servers, "overdue")
        zombie = transactional_producer(started.bootstrap_servers, OVERDUE_ID, **{"transaction.timeout.ms": 1000})
        zombie.begin_transaction()
        zombie.produce("overdue", b"value", b"key")
        assert zombie.flush(30) == 0
        yield started
        del zombie


@pytest.fixture
def rest(cluster: Sandbox) -> Rest:
    return Rest(cluster.connect_url(1))


@pytest.fixture
def doctor(cluster: Sandbox, eosctl: Eosctl) -> Doctor:
    return by_files(cluster, eosctl, *sorted(cluster.directory.glob("worker-[12]/worker.properties")))


@pytest.fixture
def files(cluster: Sandbox, tmp_path: Path) -> tuple[Path, Path]:
    """Copies of the two workers' files, to be changed."""
    found = []
    for number in (1, 2):
        found.append(tmp_path / f"worker-{number}.properties")
        found[-1].write_text((cluster.directory / f"worker-{number}" / "worker.properties").read_text())
    return found[0], found[1]


def changed(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def by_files(cluster: Sandbox, eosctl: Eosctl, *files: Path) -> Doctor:
    return Doctor(eosctl, (*own_workers(cluster), *[part for file in files for part in ("--worker-config", file)]))


def own_workers(cluster: Sandbox) -> tuple[object, ...]:
    """Brokers and the two workers of the group."""
    urls = [part for number in (1, 2) for part in ("--connect-url", cluster.connect_url(number))]
    return ("-b", cluster.bootstrap_servers, *urls)


@pytest.mark.proves("EOS010", "EOS024")
def test_a_worker_that_does_not_answer_and_tasks_that_wait_for_it(
    cluster: Sandbox, rest: Rest, doctor: Doctor, tmp_path: Path
) -> None:
    """First, while the group has not been moved yet: each worker has a task, which is held back when it leaves."""
    for name in ("left", "right"):
        rest.put(name, file_source(tmp_path, name))
        rest.await_tasks(name)
    url = cluster.connect_url(2)
    place = url.removeprefix("http://")
    eventually(lambda: place in workers_with_tasks(rest, "left", "right"), f"{place} is given a task")
    cluster.stop_worker(2)
    try:
        found = doctor.sees(("EOS010", url), ("EOS024", "tasks"))
    finally:
        cluster.start_worker(2)
    assert "start the worker or correct its address" in found["EOS010", url]["cure"]
    assert "wait: `eosctl upgrade-check --to <phase> --wait 300`" in found["EOS024", "tasks"]["cure"]
    doctor.sees_no_more(("EOS010", url), ("EOS024", "tasks"), ("EOS024", GROUP))
    for name in ("left", "right"):
        rest.delete(name)


def workers_with_tasks(rest: Rest, *names: str) -> set[str]:
    answers = [rest.ask("GET", f"/connectors/{name}/status")["tasks"] for name in names]
    return {task["worker_id"] for tasks in answers for task in tasks if task["state"] == "RUNNING"}


@pytest.mark.proves("EOS012", "EOS014")
def test_a_file_that_is_not_what_its_worker_runs_with(
    cluster: Sandbox, eosctl: Eosctl, files: tuple[Path, Path]
) -> None:
    """Its cure, a restart with that file, leaves the cluster between two phases; the cure of that ends it."""
    url, doctor = cluster.connect_url(2), by_files(cluster, eosctl, *files)
    changed(files[1], f"{SUPPORT}=enabled", f"{SUPPORT}=preparing")
    assert "restart the workers whose file was changed" in doctor.sees(("EOS014", url))["EOS014", url]["cure"]
    cluster.stop_worker(2)
    cluster.start_worker(2, {SUPPORT: "preparing"})
    doctor.sees_no_more(("EOS014", url))
    assert "`eosctl upgrade-check --to enabled`" in doctor.sees(("EOS012", "workers"))["EOS012", "workers"]["cure"]
    cluster.stop_worker(2)
    cluster.start_worker(2)
    changed(files[1], f"{SUPPORT}=preparing", f"{SUPPORT}=enabled")
    doctor.sees_no_more(("EOS012", "workers"), ("EOS014", url))


@pytest.mark.proves("EOS015", "EOS016", "EOS017")
def test_files_with_values_that_no_worker_takes_or_that_disagree(
    cluster: Sandbox, eosctl: Eosctl, files: tuple[Path, Path]
) -> None:
    doctor, (first, second) = by_files(cluster, eosctl, *files), map(cluster.connect_url, (1, 2))
    original = [file.read_text() for file in files]
    changed(files[0], f"{SUPPORT}=enabled", f"{SUPPORT}=on")
    changed(files[1], f"{SUPPORT}=enabled", "exactly.once.source.enabled=true")
    changed(files[1], "connect-status", "status")
    cures = {
        ("EOS015", first): f"set {SUPPORT} to disabled, preparing or enabled",
        ("EOS016", second): f"replace exactly.once.source.enabled=true by {SUPPORT}=preparing",
        ("EOS017", "status.storage.topic"): "the same values",
    }
    doctor.tells(cures)
    with pytest.raises(ConfigError, match="worker 3"):
        cluster.start_worker(3, {SUPPORT: "on"})
    for file, text in zip(files, original, strict=True):
        file.write_text(text)
    doctor.sees_no_more(*cures)


@pytest.mark.proves("EOS107")
def test_a_dedicated_mirror_maker_without_internal_rest(cluster: Sandbox, eosctl: Eosctl, tmp_path: Path) -> None:
    file = tmp_path / "mm2.properties"
    file.write_text("clusters=A,B\nA.exactly.once.source.support=enabled\nlisteners=http://localhost:0\n")
    doctor = by_files(cluster, eosctl, file)
    [condition] = {each for each in doctor.found() if each[0] == "EOS107"}
    cure = "set dedicated.mode.enable.internal.rest=true and listeners on every node"
    assert cure in doctor.found()[condition]["cure"]
    file.write_text(file.read_text() + "dedicated.mode.enable.internal.rest=true\n")
    doctor.sees_no_more(condition)


@pytest.mark.proves("EOS004", "EOS029")
def test_a_standalone_worker_writes_without_transactions_and_takes_no_empty_part_of_a_list(
    cluster: Sandbox, eosctl: Eosctl, tmp_path: Path
) -> None:
    settings = tmp_path / "standalone.properties"
    converters = "".join(f"{each}.converter={STRINGS}\n" for each in ("key", "value"))
    settings.write_text(
        f"bootstrap.servers={cluster.bootstrap_servers}\nlisteners=http://127.0.0.1:0\n{converters}{SUPPORT}=enabled\n"
        f"plugin.path={jars_of(cluster).plugin_path}\noffset.storage.file.filename={tmp_path / 'offsets'}\n"
    )
    connector = tmp_path / "alone.properties"
    config = {"name": "alone", **file_source(tmp_path, "alone")}
    connector.write_text("".join(f"{key}={value}\n" for key, value in config.items()))
    command = [*java_with(jars_of(cluster)), STANDALONE, settings, connector]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as worker:
        try:
            eventually(lambda: end_of(cluster, config["topic"]) >= LINES, "the lines of the file", deadline_s=120)
        finally:
            worker.kill()
    assert end_of(cluster, config["topic"]) == LINES, "no marker ends a transaction"
    doctor = by_files(cluster, eosctl, settings)
    standalone = ("EOS029", str(settings))
    answers = doctor.sees(standalone)[standalone]
    assert f"{SUPPORT}=enabled has no effect" in answers["message"]

    reporter = "metric.reporters=org.apache.kafka.common.metrics.JmxReporter"
    settings.write_text(f"{settings.read_text()}{reporter},\n")
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode != 0
    assert "values must not be empty" in ended.stdout + ended.stderr
    refused = ("EOS004", str(settings))
    assert "remove the empty part of metric.reporters" in doctor.sees(refused)[refused]["cure"]
    changed(settings, f"{reporter},", reporter)
    doctor.sees_no_more(refused)


def end_of(cluster: Sandbox, topic: str) -> int:
    """The high watermark of its first partition; 0 while there is no such topic."""
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": "ends"})
    try:
        return int(consumer.get_watermark_offsets(TopicPartition(topic, 0), 10)[1])
    except KafkaException:
        return 0
    finally:
        consumer.close()


@pytest.mark.proves("EOS123")
def test_long_transactions_on_the_offsets_topic_that_all_connectors_share(
    rest: Rest, doctor: Doctor, tmp_path: Path
) -> None:
    condition = ("EOS123", "long")
    rest.put("long", file_source(tmp_path, "long") | {"producer.override.transaction.timeout.ms": "600000"})
    rest.await_tasks("long")
    assert "migrate-offsets --connector long" in doctor.sees(condition)[condition]["cure"]
    rest.put("long", file_source(tmp_path, "long"))
    doctor.sees_no_more(condition)
    rest.delete("long")


@pytest.mark.proves("EOS011", "EOS020", "EOS021", "EOS050")
def test_names_that_are_given_wrong(cluster: Sandbox, sandbox: Sandbox, eosctl: Eosctl, doctor: Doctor) -> None:
    """Group, topic, workers and brokers: each rule says what to give instead. A wrong group is the only finding."""
    found = doctor.sees(("EOS020", "wrong"), more=("--group-id", "wrong"))
    assert found.keys() == {("EOS020", "wrong")}
    assert "give --group-id the workers' group.id" in found["EOS020", "wrong"]["cure"]
    doctor.sees_no_more(("EOS020", "wrong"), more=("--group-id", GROUP))

    nowhere = ("EOS050", "nowhere")
    assert "--status-topic" in doctor.sees(nowhere, more=("--status-topic", "nowhere"))[nowhere]["cure"]
    doctor.sees_no_more(nowhere, more=("--status-topic", "connect-status"))

    first, second = map(cluster.connect_url, (1, 2))
    alone = Doctor(eosctl, ("-b", cluster.bootstrap_servers, "--group-id", GROUP, "--connect-url", first))
    unnamed = ("EOS021", f"{second}/")
    cure = alone.sees(unnamed)[unnamed]["cure"]
    assert cure.startswith(f"add --connect-url {second}: ")
    alone.sees_no_more(unnamed, more=("--connect-url", second))

    elsewhere = Doctor(eosctl, ("-b", sandbox.bootstrap_servers, "--connect-url", first))
    assert (
        "-b the brokers that are their bootstrap.servers" in elsewhere.sees(("EOS011", first))["EOS011", first]["cure"]
    )
    Doctor(eosctl, ("-b", cluster.bootstrap_servers, "--connect-url", first)).sees_no_more(("EOS011", first))


@pytest.mark.proves("EOS022", "EOS113")
def test_two_groups_in_one_kafka_cluster(cluster: Sandbox, rest: Rest, eosctl: Eosctl, tmp_path: Path) -> None:
    """A worker of another group among those given, and a task that has the other leader's ID."""
    rest.put("cluster-o", file_source(tmp_path, "cluster-o"))
    rest.await_tasks("cluster-o")
    stranger = cluster.start_worker(3, OTHER_GROUP)
    own = sorted(cluster.directory.glob("worker-[12]/worker.properties"))
    doctor = Doctor(eosctl, tuple(arguments(cluster, own)))
    found = doctor.sees(("EOS022", stranger), ("EOS113", "cluster-o"))
    assert "give --connect-url only workers of one Connect cluster" in found["EOS022", stranger]["cure"]
    assert "give the connector or the other group another name" in found["EOS113", "cluster-o"]["cure"]
    rest.delete("cluster-o")
    doctor = Doctor(eosctl, (*own_workers(cluster), "--group-id", GROUP))
    doctor.sees_no_more(("EOS022", stranger), ("EOS113", "cluster-o"))
    cluster.stop_worker(3)


@pytest.mark.proves("EOS002", "EOS003")
def test_a_worker_of_another_version_and_its_bugs(cluster: Sandbox, eosctl: Eosctl) -> None:
    with Sandbox(SandboxSpec(kafka_version="3.6.2")) as older:
        url = older.start_worker(1, {"bootstrap.servers": cluster.bootstrap_servers, "group.id": GROUP})
        urls = [part for each in (cluster.connect_url(1), url) for part in ("--connect-url", each)]
        doctor = Doctor(eosctl, ("-b", cluster.bootstrap_servers, "--group-id", GROUP, *urls))
        found = doctor.sees(("EOS002", "workers"), ("EOS003", "3.6.2"))
        assert "finish the rolling upgrade of the workers" in found["EOS002", "workers"]["cure"]
        assert "upgrade the workers" in found["EOS003", "3.6.2"]["cure"]
        older.stop_worker(1)
    upgraded = Doctor(eosctl, (*own_workers(cluster), "--group-id", GROUP))
    upgraded.sees_no_more(("EOS002", "workers"), ("EOS003", "3.6.2"))


@pytest.mark.proves("EOS112")
def test_a_transaction_that_outlives_its_timeout(cluster: Sandbox, doctor: Doctor, eosctl: Eosctl) -> None:
    cure = doctor.sees(("EOS112", OVERDUE_ID))["EOS112", OVERDUE_ID]["cure"]
    program, *line = cure.split()
    assert program == "eosctl"
    fenced = eosctl(*line, "-b", cluster.bootstrap_servers, "--yes")
    assert fenced.exit_code == 0, fenced.stderr
    doctor.sees_no_more(("EOS112", OVERDUE_ID))


@pytest.mark.proves("EOS043", "EOS044", "EOS048")
def test_settings_of_brokers_that_endanger_transactions(cluster: Sandbox, doctor: Doctor) -> None:
    """Two are dynamic and fixed by the printed command, the other by a restart."""
    dynamic = (("EOS043", "broker 1"), ("EOS048", "broker 1"))
    found = doctor.sees(*dynamic, ("EOS044", "broker 1"))
    for each in dynamic:
        run_kafka_tool(cluster, found[each]["cure"])
    doctor.sees_no_more(*dynamic)
    assert "set transactional.id.expiration.ms=604800000" in found["EOS044", "broker 1"]["cure"]
    cluster.stop_broker(1)
    cluster.start_broker(1, {"transactional.id.expiration.ms": "604800000"})
    doctor.sees_no_more(("EOS044", "broker 1"))


@pytest.mark.proves("EOS051")
def test_a_config_topic_with_a_second_partition_is_left_for_a_new_one(cluster: Sandbox, eosctl: Eosctl) -> None:
    """Last: afterwards the workers use another config topic."""
    servers = cluster.bootstrap_servers
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_partitions([NewPartitions("connect-configs", 2)])["connect-configs"].result(30)
    doctor = Doctor(eosctl, (*own_workers(cluster), "--group-id", GROUP))
    condition = ("EOS051", "connect-configs")
    doctor.tells({condition: "create a topic with 1 partition and cleanup.policy=compact"})
    cluster.stop_worker(1)
    cluster.stop_worker(2)
    with pytest.raises(ConfigError, match="to have a single partition"):
        cluster.start_worker(1)
    cluster.kill_worker(1)
    new = NewTopic("new-configs", 1, 1, config={"cleanup.policy": "compact"})
    admin.create_topics([new])["new-configs"].result(30)
    producer = Producer({"bootstrap.servers": servers})
    for record in read_topic(servers):
        producer.produce("new-configs", record.value, record.key, partition=0, timestamp=record.timestamp)
    assert producer.flush(30) == 0
    for number in (1, 2):
        cluster.start_worker(number, {"config.storage.topic": "new-configs"})
    doctor.sees_no_more(condition, more=("--config-topic", "new-configs"))
    assert "idle" in Rest(cluster.connect_url(1)).ask("GET", "/connectors")

"""Rules about what surrounds a connector: each made on one cluster without automatic topics, found, fixed and gone."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from eosctl.model.names import coordinator_partition
from eosctl.sandbox.properties import SandboxSpec
from tests.connector_plugin import plugin_path
from tests.faulty_sandbox import Sandbox
from tests.integration.doctoring import Doctor, Eosctl, Rest, arguments, file_source
from tests.integration.producers import complete, create_topic
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.variation, pytest.mark.usefixtures("own_state")]
ODD = Path(__file__).with_name("OddPartitionsSource.java")
LOG = "__transaction_state"
PARTITIONS = "transaction.state.log.num.partitions"
POLICY = "connector.client.config.override.policy"
STRONGER = {
    "inter.worker.signature.algorithm": "HmacSHA512",
    "inter.worker.verification.algorithms": "HmacSHA512,HmacSHA256",
    POLICY: "None",
}
OTHER_GROUP = {"group.id": "a-b", **{f"{role}.storage.topic": f"b-{role}" for role in ("config", "offset", "status")}}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Sandbox]:
    """One worker of group `a`; topics exist only if a test creates them."""
    spec = SandboxSpec(workers=1, group_id="a", broker_config={"auto.create.topics.enable": "false"})
    with Sandbox(spec) as started:
        yield started


@pytest.fixture
def rest(cluster: Sandbox) -> Rest:
    return Rest(cluster.connect_url(1))


@pytest.fixture
def doctor(cluster: Sandbox, eosctl: Eosctl) -> Callable[[], Doctor]:
    """Of group `a`: of its workers that run now, each with its file."""

    def now() -> Doctor:
        return Doctor(eosctl, (*arguments(cluster), "--group-id", "a", "--timeout", 5))

    return now


def where(cluster: Sandbox) -> tuple[object, ...]:
    return ("-b", cluster.bootstrap_servers, "--group-id", "a", "--connect-url", cluster.connect_url(1), "--yes")


def running(cluster: Sandbox, rest: Rest, directory: Path, name: str, **more: str) -> None:
    create_topic(cluster.bootstrap_servers, f"{name}-out")
    rest.put(name, file_source(directory, name, **more))
    rest.await_tasks(name)


@pytest.mark.proves("EOS019", "EOS026", "EOS027")
def test_a_worker_that_is_set_up_unlike_the_others(
    cluster: Sandbox, doctor: Callable[[], Doctor], tmp_path: Path
) -> None:
    plugins = plugin_path(cluster.spec.workers_version, ODD, tmp_path)
    url = cluster.start_worker(2, STRONGER | {"plugin.path": plugins})
    cures = {
        ("EOS019", "OddPartitionsSource"): "install the same plugins in the same versions on every worker",
        ("EOS026", POLICY): f"set {POLICY}",
        ("EOS027", url): "add the inter.worker.signature.algorithm of all workers",
    }
    doctor().tells(cures)
    cluster.stop_worker(2)
    cluster.start_worker(2)
    doctor().sees_no_more(*cures)
    cluster.stop_worker(2)


def test_a_connector_that_asks_for_a_version_of_its_plugin(
    cluster: Sandbox, rest: Rest, doctor: Callable[[], Doctor], tmp_path: Path
) -> None:
    """KIP-891: both workers have both versions; then one has the newest only."""
    first, second, condition = *versions_of_the_plugin(cluster, tmp_path), ("EOS019", "OddPartitionsSource")
    cluster.stop_worker(1)
    for number in (1, 2):
        cluster.start_worker(number, {"plugin.path": f"{first},{second}"})
    create_topic(cluster.bootstrap_servers, "odd")
    asks = {"connector.class": "OddPartitionsSource", "topic": "odd", "connector.plugin.version": "1"}
    rest.put("asks", asks)
    rest.await_tasks("asks")
    doctor().sees_no_more(condition)
    cluster.stop_worker(2)
    cluster.start_worker(2, {"plugin.path": second})
    found = doctor().sees(condition)[condition]
    lacks = f"the plugin in version 1, which asks asks for, is missing on {cluster.connect_url(2)}"
    assert (found["message"], found["severity"]) == (lacks, "warning")
    assert "install the same plugins in the same versions on every worker" in found["cure"]
    cluster.stop_worker(2)
    cluster.start_worker(2, {"plugin.path": f"{first},{second}"})
    doctor().sees_no_more(condition)
    rest.delete("asks")
    cluster.stop_worker(2)


@pytest.mark.proves("EOS028")
def test_whether_exactly_once_is_supported_depends_on_the_worker_until_a_version_is_chosen(
    cluster: Sandbox, rest: Rest, doctor: Callable[[], Doctor], tmp_path: Path
) -> None:
    """KIP-891: the newest version, which one of the workers does not have, does not support it."""
    first, second = versions_of_the_plugin(cluster, tmp_path)
    cluster.stop_worker(1)
    cluster.start_worker(1, {"plugin.path": f"{first},{second}"})
    cluster.start_worker(2, {"plugin.path": first})
    create_topic(cluster.bootstrap_servers, "takes")
    takes = {"connector.class": "OddPartitionsSource", "topic": "takes"}
    rest.put("takes", takes)
    differs = ("EOS028", "takes")
    found = doctor().sees(differs)[differs]
    assert f"{cluster.connect_url(2)} accepts it" in found["message"]
    assert "set connector.plugin.version to a version that supports exactly-once" in found["cure"]
    rest.put("takes", takes | {"connector.plugin.version": "1"})
    doctor().sees_no_more(differs)
    rest.delete("takes")
    cluster.stop_worker(2)


def versions_of_the_plugin(cluster: Sandbox, directory: Path) -> tuple[str, str]:
    """The plugin.path of OddPartitionsSource 1, and that of 2, which does not support exactly-once."""
    source = directory / "2" / ODD.name
    source.parent.mkdir()
    text = ODD.read_text("utf-8").replace('return "1"', 'return "2"')
    text = text.replace("OnceSupport.SUPPORTED", "OnceSupport.UNSUPPORTED")
    source.write_text(text, "utf-8")
    places = ((ODD, directory / "first"), (source, directory / "second"))
    first, second = (plugin_path(cluster.spec.workers_version, each, place) for each, place in places)
    return first, second


@pytest.mark.proves("EOS109")
def test_a_connector_that_ends_its_transactions_itself(
    cluster: Sandbox, rest: Rest, doctor: Callable[[], Doctor], tmp_path: Path
) -> None:
    condition = ("EOS109", "bounds")
    cluster.stop_worker(1)
    cluster.start_worker(1, {"plugin.path": plugin_path(cluster.spec.workers_version, ODD, tmp_path)})
    create_topic(cluster.bootstrap_servers, "bounds-out")
    bounds = {"connector.class": "OddPartitionsSource", "topic": "bounds-out", "transaction.boundary": "connector"}
    rest.put("bounds", bounds)
    cure = doctor().sees(condition)[condition]["cure"]
    printed = "set producer.override.transaction.timeout.ms to more than its longest transaction takes (PUT "
    assert cure.startswith(f"{printed}/connectors/bounds/config")
    rest.put("bounds", bounds | {"producer.override.transaction.timeout.ms": "300000"})
    doctor().sees_no_more(condition)
    rest.delete("bounds")
    cluster.stop_worker(1)
    cluster.start_worker(1)


@pytest.mark.proves("EOS055")
def test_an_own_offsets_topic_that_was_deleted_is_restored(
    cluster: Sandbox, rest: Rest, doctor: Callable[[], Doctor], eosctl: Eosctl, tmp_path: Path
) -> None:
    file, condition = tmp_path / "own.json", ("EOS055", "own")
    running(cluster, rest, tmp_path, "own", **{"offsets.storage.topic": "own-offsets"})
    eventually(lambda: rest.ask("GET", "/connectors/own/offsets")["offsets"], "its offset is committed")
    before = rest.ask("GET", "/connectors/own/offsets")["offsets"]
    assert eosctl("offsets", "export", file, "--connector", "own", *where(cluster)[:-1]).exit_code == 0
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    admin.delete_topics(["own-offsets"])["own-offsets"].result(30)
    cure = doctor().sees(condition)[condition]["cure"]
    assert "Create the topic with cleanup.policy=compact, and run `eosctl offsets restore" in cure
    topic = NewTopic("own-offsets", 5, 1, config={"cleanup.policy": "compact"})
    admin.create_topics([topic])["own-offsets"].result(30)
    restored = eosctl("offsets", "restore", file, "--connector", "own", "--stop", "--resume", *where(cluster))
    assert restored.exit_code == 0, restored.stderr
    doctor().sees_no_more(condition)
    assert rest.ask("GET", "/connectors/own/offsets")["offsets"] == before
    rest.delete("own")


@pytest.mark.proves("EOS118")
def test_two_groups_whose_tasks_have_one_id(
    cluster: Sandbox, rest: Rest, eosctl: Eosctl, doctor: Callable[[], Doctor], tmp_path: Path
) -> None:
    own, condition = doctor(), ("EOS118", "b-c")
    running(cluster, rest, tmp_path, "b-c")
    other = Rest(cluster.start_worker(2, OTHER_GROUP))
    running(cluster, other, tmp_path, "c")
    found = own.sees(condition)[condition]
    assert "a-b-c-0 is also the ID of task 0 of connector c in Connect cluster a-b" in found["message"]
    assert "stop the other connector" in found["cure"]
    other.ask("PUT", "/connectors/c/stop")
    other.await_tasks("c", 0)
    create_topic(cluster.bootstrap_servers, "renamed-out")
    flags = ("--connector", "b-c", "--rename-to", "renamed", "--stop", "--set-config", "--resume")
    moved = eosctl("migrate-offsets", *flags, *where(cluster))
    assert moved.exit_code == 0, moved.stderr
    rest.delete("b-c")
    other.ask("PUT", "/connectors/c/resume")
    other.await_tasks("c")
    rest.await_tasks("renamed")
    own.sees_no_more(condition)
    cluster.stop_worker(2)
    rest.delete("renamed")


@pytest.mark.proves("EOS119")
def test_a_connector_that_writes_where_another_group_has_the_name_of_its_own(
    cluster: Sandbox, rest: Rest, doctor: Callable[[], Doctor], tmp_path: Path
) -> None:
    condition = ("EOS119", "elsewhere")
    with Sandbox(SandboxSpec(workers=1, group_id="a")) as there:
        servers = {"producer.override.bootstrap.servers": there.bootstrap_servers}
        servers |= {f"{role}.override.bootstrap.servers": there.bootstrap_servers for role in ("consumer", "admin")}
        rest.put("elsewhere", file_source(tmp_path, "elsewhere", **servers))
        rest.await_tasks("elsewhere")
        doctor().tells({condition: "another group.id"})
        there.stop_worker(1)
        there.start_worker(1, {"group.id": "z"})
        doctor().sees_no_more(condition)
        rest.delete("elsewhere")


@pytest.mark.proves("EOS045")
def test_a_transaction_log_that_was_given_more_partitions(
    cluster: Sandbox, doctor: Callable[[], Doctor], eosctl: Eosctl
) -> None:
    """Last: its fix restarts the brokers without any producer. An ID is misplaced (EOS300) until it is claimed."""
    admin, servers = AdminClient({"bootstrap.servers": cluster.bootstrap_servers}), cluster.bootstrap_servers
    count = len(admin.list_topics(LOG, timeout=30).topics[LOG].partitions) + 1
    ids = (f"moved-{number}" for number in range(100))
    moved = next(each for each in ids if coordinator_partition(each, count - 1) != coordinator_partition(each, count))
    create_topic(servers, "moved")
    complete(servers, moved, "moved", commit=True)
    assert moved not in misplaced(cluster, eosctl)
    admin.create_partitions([NewPartitions(LOG, count)])[LOG].result(30)
    eventually(lambda: moved in misplaced(cluster, eosctl), "EOS300 is found")
    own, condition = doctor(), ("EOS045", LOG)
    own.tells({condition: f"set {PARTITIONS} of every broker to the topic's number"})
    cluster.stop_worker(1)
    cluster.stop_broker(1)
    cluster.start_broker(1, {PARTITIONS: str(count)})
    cluster.start_worker(1)
    own.sees_no_more(condition)
    complete(servers, moved, "moved", commit=True)
    eventually(lambda: moved not in misplaced(cluster, eosctl), "EOS300 is gone")


def misplaced(cluster: Sandbox, eosctl: Eosctl) -> set[str]:
    """The transactional IDs with EOS300, whose fix is that of EOS045 and that producers claim their IDs again."""
    ran = eosctl("transactions", "log", "-b", cluster.bootstrap_servers, "-o", "json")
    found = [each for each in json.loads(ran.stdout)["data"]["findings"] if each["id"] == "EOS300"]
    assert all("start the producers, which initialize their IDs again" in each["cure"] for each in found)
    return {each["subject"] for each in found}

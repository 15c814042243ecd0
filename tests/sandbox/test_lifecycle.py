"""Brokers and workers of a sandbox that stop, pause, come back with other settings, and fail to start."""

import os
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from confluent_kafka.admin import AclBinding, AclOperation, AclPermissionType, ResourcePatternType, ResourceType

from eosctl.errors import ConfigError, TimedOut, UsageError
from eosctl.sandbox.jars import resolve_jars
from eosctl.sandbox.properties import SandboxSpec
from eosctl.sandbox.site import brokers_in_metadata, worker_has_joined
from tests.faulty_sandbox import Sandbox
from tests.integration.producers import open_transaction
from tests.jvm import jars_of, java_with
from tests.kafka_versions import spec_of, workers_of
from tests.sandbox.processes import is_alive
from tests.sandbox.test_sandbox import admin, create_topic, topics
from tests.waiting import eventually

pytestmark = pytest.mark.kafka


@pytest.mark.variation
def test_three_brokers_continue_when_one_is_killed_and_take_it_back(cluster3, fresh_name):
    ports = [int(server.rpartition(":")[2]) for server in cluster3.bootstrap_servers.split(",")]
    assert [brokers_in_metadata(port) for port in ports] == [{1, 2, 3}] * 3
    topic = fresh_name("replicated")
    create_topic(cluster3, topic, replication=3)
    cluster3.kill_broker(2)
    assert cluster3.broker_pid(2) is None
    eventually(lambda: brokers_in_metadata(ports[0]) == {1, 3})
    cluster3.start_broker(2)
    eventually(lambda: brokers_in_metadata(ports[0]) == {1, 2, 3})
    assert brokers_in_metadata(ports[1]) == {1, 2, 3}


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A broker whose tests stop, pause and restart the processes beside it. Each leaves it running, without workers."""
    home = tmp_path_factory.mktemp("own")
    with Sandbox(SandboxSpec(directory=home / "kept", features={"transaction.version": "1"})) as started:
        yield started


@pytest.mark.variation
def test_a_paused_broker_is_silent_and_answers_again_when_resumed(own):
    port = int(own.bootstrap_servers.rpartition(":")[2])
    own.pause_broker(1)
    assert brokers_in_metadata(port) == frozenset()
    own.resume_broker(1)
    eventually(lambda: brokers_in_metadata(port) == {1})


@pytest.mark.variation
def test_a_broker_that_is_stopped_comes_back_on_its_port_with_its_data_and_other_settings(own):
    before = own.bootstrap_servers
    create_topic(own, "kept")
    own.stop_broker(1)
    own.start_broker(1, {"transaction.max.timeout.ms": "60000"})
    assert own.bootstrap_servers == before
    assert "kept" in topics(own)
    assert "transaction.max.timeout.ms = 60000" in own.broker_log(1).read_text()
    with pytest.raises(UsageError, match="broker 1 runs already"):
        own.start_broker(1)


@pytest.mark.variation
def test_workers_come_and_go_with_settings_of_their_own(own):
    other = {"config.storage.topic": "other-configs", "group.id": "other-workers"}
    assert own.connect_urls == ()
    first = own.start_worker(1, other | {"exactly.once.source.support": "preparing"})
    second = own.start_worker(2, other)
    assert own.connect_urls == (first, second)
    assert "other-configs" in topics(own)
    assert "exactly.once.source.support = preparing" in own.worker_log(1).read_text()
    assert "exactly.once.source.support = enabled" in own.worker_log(2).read_text()
    own.stop_worker(1)
    assert own.worker_pid(1) is None
    eventually(lambda: httpx.get(f"{second}/connectors", timeout=30, verify=False).json() == [])
    own.stop_worker(2)


@pytest.mark.variation
def test_a_worker_that_cannot_read_its_config_topic_yet_is_not_ready_although_rest_answers(own):
    """An open transaction in the config topic keeps an exactly-once worker from reading to its end."""
    own.start_worker(1)
    own.stop_worker(1)
    writer = open_transaction(own.bootstrap_servers, "somebody", "connect-configs")
    with ThreadPoolExecutor(1) as pool:
        ready = pool.submit(own.start_worker, 1)
        eventually(lambda: lists_connectors(own.connect_url(1)), deadline_s=60)
        assert not worker_has_joined(httpx.URL(own.connect_url(1)).port)
        assert not ready.done()
        writer.abort_transaction(30)
        url = ready.result(120)
    file = {"connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector", "topic": "lines"}
    created = httpx.put(f"{url}/connectors/at-once/config", json=file | {"file": "/dev/null"}, timeout=90, verify=False)
    assert created.status_code == 201, created.text
    own.stop_worker(1)


def lists_connectors(url):
    """Whether `GET /connectors` is answered."""
    try:
        return httpx.get(f"{url}/connectors", timeout=2, trust_env=False, verify=False).status_code == 200
    except httpx.TransportError:
        return False


@pytest.mark.variation
def test_a_worker_can_be_a_sasl_user_with_the_rights_that_acls_give(own):
    allow_everything(own, "User:worker")
    url = own.start_worker(3, own.worker_sasl() | {"group.id": "sasl-workers", "config.storage.topic": "sasl-configs"})
    eventually(lambda: httpx.get(f"{url}/connectors", timeout=30, verify=False).json() == [])
    log = own.worker_log(3).read_text()
    assert "security.protocol = SASL_PLAINTEXT" in log
    assert "security.protocol = PLAINTEXT" not in log
    own.stop_worker(3)


def allow_everything(sandbox, principal):
    client = admin(sandbox)
    kinds = [ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID]
    bindings = [
        AclBinding(kind, "*", ResourcePatternType.LITERAL, principal, "*", AclOperation.ALL, AclPermissionType.ALLOW)
        for kind in kinds
    ]
    for created in client.create_acls(bindings).values():
        created.result(20)


@pytest.mark.variation
def test_a_named_directory_keeps_the_data_for_the_next_start_but_not_for_one_with_three_brokers(tmp_path):
    spec = SandboxSpec(directory=tmp_path / "kept", users=("audit",))
    with Sandbox(spec) as first:
        create_topic(first, "remembered")
        cluster, addresses, users = first.cluster_id, first.bootstrap_servers, dict(first.users)
    with Sandbox(spec) as second:
        assert "remembered" in topics(second)
        assert (second.cluster_id, second.bootstrap_servers, dict(second.users)) == (cluster, addresses, users)
    with pytest.raises(ConfigError, match=r"holds the data of 1 broker\(s\) of Kafka 4.3.1; it cannot continue with 3"):
        Sandbox(replace(spec, brokers=3)).start()


@pytest.mark.variation
def test_two_sandboxes_side_by_side_are_strangers(sandbox, own, fresh_name):
    topic = fresh_name("only-there")
    create_topic(own, topic)
    assert topic not in topics(sandbox)
    assert own.cluster_id != sandbox.cluster_id


@pytest.mark.variation
def test_a_temporary_directory_is_gone_after_the_stop(make_sandbox):
    started = make_sandbox()
    pid, directory = started.broker_pid(1), started.directory
    assert pid is not None
    assert is_alive(pid)
    started.stop()
    assert not is_alive(pid)
    assert not directory.exists()


def test_a_broker_that_cannot_start_shows_the_end_of_its_log(make_sandbox):
    with pytest.raises(ConfigError, match=r"broker 1 ended with code 1 before it was ready") as caught:
        make_sandbox(broker_config={"num.network.threads": "several"})
    assert "several for configuration num.network.threads" in caught.value.message
    log = Path(str(caught.value.hint).removeprefix("the whole log is "))
    assert "num.network.threads" in log.read_text()


def test_a_worker_that_cannot_start_shows_the_end_of_its_log(make_sandbox):
    with pytest.raises(ConfigError, match=r"(?s)worker 1 ended with code .*key.converter"):
        make_sandbox(workers=1, worker_config={"key.converter": "org.example.Missing"})


def test_a_start_that_takes_too_long_is_given_up_and_leaves_no_process(make_sandbox):
    started = []
    with pytest.raises(TimedOut, match="broker 1 was not ready in time"):
        started.append(make_sandbox(deadline_s=0.05))
    assert started == []


def test_a_named_port_that_is_taken_is_refused_and_leaves_nothing_behind(sandbox, make_sandbox, tmp_path):
    taken = int(sandbox.bootstrap_servers.rpartition(":")[2])
    with pytest.raises(ConfigError, match=f"port {taken} is in use"):
        make_sandbox(port=taken)
    assert list(tmp_path.iterdir()) == []


PARENT = """
import sys, threading, time
from eosctl.sandbox.sandbox import Sandbox
from eosctl.sandbox.properties import SandboxSpec
sandbox = Sandbox(SandboxSpec(workers=1))
starter = threading.Thread(target=sandbox.start)
starter.start(); starter.join()
print(sandbox.broker_pid(1), sandbox.worker_pid(1), flush=True)
sys.stdin.read()
"""


@pytest.mark.variation
def test_processes_die_with_a_killed_parent_but_not_with_the_thread_that_started_them(monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    with subprocess.Popen([sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        assert len(pids) == 2
        assert all(map(is_alive, pids))
        os.kill(parent.pid, signal.SIGKILL)
    eventually(lambda: not any(map(is_alive, pids)))


@pytest.mark.variation
def test_storage_can_be_formatted_with_older_features(own):
    tool = [*java_with(jars_of(own)), "org.apache.kafka.tools.FeatureCommand"]
    ran = subprocess.run(
        [*tool, "--bootstrap-server", own.bootstrap_servers, "describe"], capture_output=True, text=True, check=True
    )
    (line,) = [line for line in ran.stdout.splitlines() if "transaction.version" in line]
    assert "FinalizedVersionLevel: 1" in line


def test_a_feature_that_kafka_does_not_know_is_refused_with_its_words(make_sandbox):
    with pytest.raises(ConfigError, match=r"(?s)could not be formatted.*no\.such\.feature"):
        make_sandbox(features={"no.such.feature": "1"})


@pytest.mark.variation
def test_brokers_alone_start_from_their_own_jars_and_workers_can_come_later(kafka_version, tmp_path, monkeypatch):
    connect_version = workers_of(kafka_version)
    usual = resolve_jars(connect_version, lambda _: None).directory
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with Sandbox(spec_of(kafka_version)) as alone:
        create_topic(alone, "made")
        assert "made" in topics(alone)
        assert sorted(each.name for each in (tmp_path / "eosctl" / "kafka").iterdir() if each.is_dir()) == [
            f"{kafka_version}-brokers"
        ]
        (tmp_path / "eosctl" / "kafka" / connect_version).symlink_to(usual)
        alone.start_worker(1)
        assert httpx.get(alone.connect_url(1), verify=False).json()["version"] == connect_version

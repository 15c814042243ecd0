"""A sandbox's properties, ports and plugins."""

import multiprocessing
import socket
from pathlib import Path

import pytest

from eosctl.errors import ConfigError, UsageError
from eosctl.model.versions import KafkaVersion
from eosctl.sandbox import jars, sandbox
from eosctl.sandbox.jars import TESTED_KAFKA_VERSIONS, link_plugins, parse_kafka_version, resolve_plugin
from eosctl.sandbox.properties import (
    BrokerPorts,
    SandboxSpec,
    broker_properties,
    client_properties,
    logging_configuration,
    properties_text,
    worker_properties,
)
from eosctl.sandbox.sandbox import find_postgresql
from eosctl.sandbox.site import FIRST, LAST, PortLeases

PORTS = tuple(BrokerPorts(plaintext=9000 + n, sasl=9100 + n, controller=9200 + n) for n in (1, 2, 3))
PASSWORDS = {"worker": "w-secret", "tool": "t-secret"}


def broker(tmp_path, node=1, **spec):
    return broker_properties(SandboxSpec(**spec), node, PORTS[: spec.get("brokers", 1)], PASSWORDS, tmp_path)


def test_one_broker_is_broker_and_controller_on_three_listeners(tmp_path):
    settings = broker(tmp_path)
    assert settings["process.roles"] == "broker,controller"
    assert settings["controller.quorum.voters"] == "1@127.0.0.1:9201"
    assert settings["listeners"] == (
        "PLAINTEXT://127.0.0.1:9001,SASL_PLAINTEXT://127.0.0.1:9101,CONTROLLER://127.0.0.1:9201"
    )
    assert "CONTROLLER" not in settings["advertised.listeners"]


def test_of_two_brokers_only_the_first_votes(tmp_path):
    settings = broker(tmp_path, node=2, brokers=2)
    assert settings["process.roles"] == "broker"
    assert settings["controller.quorum.voters"] == "1@127.0.0.1:9201"
    assert "CONTROLLER" not in settings["listeners"]


def test_of_three_brokers_all_vote(tmp_path):
    settings = broker(tmp_path, node=3, brokers=3)
    assert settings["process.roles"] == "broker,controller"
    assert settings["controller.quorum.voters"] == "1@127.0.0.1:9201,2@127.0.0.1:9202,3@127.0.0.1:9203"


@pytest.mark.parametrize(("brokers", "factor", "in_sync"), [(1, "1", "1"), (2, "2", "1"), (3, "3", "2")])
def test_the_transaction_log_is_replicated_as_far_as_there_are_brokers(tmp_path, brokers, factor, in_sync):
    settings = broker(tmp_path, brokers=brokers)
    assert settings["transaction.state.log.replication.factor"] == factor
    assert settings["transaction.state.log.min.isr"] == in_sync


@pytest.mark.parametrize("version", TESTED_KAFKA_VERSIONS)
def test_share_coordinator_settings_are_given_from_4_0_on(tmp_path, version):
    settings = broker(tmp_path, kafka_version=version)
    assert ("share.coordinator.state.topic.min.isr" in settings) is version.startswith("4.")


def test_no_sasl_user_is_a_super_user_and_nothing_is_allowed_without_an_acl(tmp_path):
    settings = broker(tmp_path)
    assert settings["super.users"] == "User:ANONYMOUS"
    assert settings["allow.everyone.if.no.acl.found"] == "false"
    jaas = settings["listener.name.sasl_plaintext.plain.sasl.jaas.config"]
    assert jaas.endswith('required user_worker="w-secret" user_tool="t-secret";')


def test_a_named_broker_setting_wins(tmp_path):
    settings = broker(tmp_path, broker_config={"allow.everyone.if.no.acl.found": "true", "a.b": "c"})
    assert (settings["allow.everyone.if.no.acl.found"], settings["a.b"]) == ("true", "c")


def worker(tmp_path, **spec):
    return worker_properties(SandboxSpec(**spec), "127.0.0.1:9001", 8083, [tmp_path])


@pytest.mark.parametrize("support", ["disabled", "preparing", "enabled"])
def test_a_worker_has_the_exactly_once_support_asked_for(tmp_path, support):
    assert worker(tmp_path, exactly_once=support)["exactly.once.source.support"] == support


@pytest.mark.parametrize(
    ("version", "discovery"), [("3.3.2", None), ("3.6.2", "service_load"), ("4.3.1", "service_load")]
)
def test_a_worker_finds_plugins_by_manifest_where_its_version_can(tmp_path, version, discovery):
    assert worker(tmp_path, kafka_version=version).get("plugin.discovery") == discovery


def test_a_worker_has_the_settings_of_its_own_version(tmp_path):
    older = worker(tmp_path, kafka_version="4.3.1", connect_version="3.3.2")
    assert older == worker(tmp_path, kafka_version="3.3.2")
    newer = worker(tmp_path, kafka_version="3.3.2", connect_version="4.3.1")
    assert newer == worker(tmp_path, kafka_version="4.3.1")


def test_a_worker_of_a_version_without_exactly_once_sources_is_refused():
    with pytest.raises(UsageError, match=r"Kafka 3.2.3 has no exactly-once sources"):
        SandboxSpec(connect_version="3.2.3")


def test_a_named_worker_setting_wins(tmp_path):
    settings = worker(tmp_path, worker_config={"config.storage.topic": "configs", "group.id": "other"})
    assert (settings["config.storage.topic"], settings["group.id"]) == ("configs", "other")


def test_client_properties_name_the_user_and_the_sasl_listener():
    settings = client_properties("tool", "t-secret", "127.0.0.1:9101")
    assert settings["security.protocol"] == "SASL_PLAINTEXT"
    assert settings["bootstrap.servers"] == "127.0.0.1:9101"
    assert settings["sasl.jaas.config"].endswith('required username="tool" password="t-secret";')


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        ("a.b", "c=d:e", "a.b=c=d:e\n"),
        ("a b", "c", "a\\ b=c\n"),
        ("k", " leading", "k=\\ leading\n"),
        ("k", "C:\\new", "k=C:\\\\new\n"),
        ("k", "ü😀", "k=\\u00fc\\ud83d\\ude00\n"),
        ("k", "two\nlines", "k=two\\u000alines\n"),
    ],
)
def test_properties_are_escaped_as_java_reads_them(key, value, line):
    assert properties_text({key: value}) == line


@pytest.mark.parametrize(
    ("version", "binding"),
    [
        ("3.3.2", "log4j.configuration"),
        ("3.9.2", "log4j.configuration"),
        ("4.3.1", "log4j2.configurationFile"),
    ],
)
def test_logging_is_configured_in_the_words_of_the_versions_log4j(version, binding):
    assert logging_configuration(parse_kafka_version(version))[1] == binding


@pytest.mark.parametrize("text", ["4.3", "four", "3.2.9", "4.3.1-rc0", ""])
def test_a_version_without_exactly_once_sources_is_refused(text):
    with pytest.raises(UsageError):
        parse_kafka_version(text)


def test_versions_compare_as_numbers():
    assert parse_kafka_version("3.10.0") > parse_kafka_version("3.9.2") == KafkaVersion(3, 9, 2)


@pytest.mark.parametrize(
    "spec",
    [
        {"brokers": 0},
        {"brokers": 4},
        {"workers": 4},
        {"workers": -1},
        {"exactly_once": "on"},
        {"users": ("a b",)},
        {"users": ('x"; evil',)},
        {"kafka_version": "2.8.1"},
        {"directory": Path("a,b")},
    ],
)
def test_impossible_sandbox_options_are_a_usage_error(spec):
    with pytest.raises(UsageError):
        SandboxSpec(**spec)


def test_named_users_come_beside_the_standing_four():
    assert SandboxSpec(users=("audit", "tool")).all_users == ("worker", "connector", "admin", "tool", "audit")


@pytest.fixture
def leases(tmp_path):
    made = PortLeases(tmp_path)
    yield made
    made.release()


def test_ports_are_free_and_below_those_of_outgoing_connections(leases):
    ports = [leases.take() for _ in range(20)]
    assert len(set(ports)) == 20
    assert all(FIRST <= port < LAST for port in ports)
    for port in ports:
        with socket.create_server(("127.0.0.1", port)):
            pass


def test_two_sandboxes_never_get_the_same_port(leases, tmp_path):
    port = leases.take()
    with pytest.raises(ConfigError, match=f"port {port} is in use"):
        PortLeases(tmp_path).take(port)


def test_a_port_in_use_is_refused(leases):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(ConfigError, match=f"port {port} is in use"):
            leases.take(port)
        assert leases.take_if_free(port) != port


def test_a_released_port_can_be_taken_again(leases, tmp_path):
    port = leases.take()
    leases.release()
    other = PortLeases(tmp_path)
    assert other.take(port) == port
    other.release()


def take_and_die(directory, pipe):
    pipe.send(PortLeases(directory).take())
    multiprocessing.current_process().kill()


def test_the_ports_of_a_killed_process_are_free_again(leases, tmp_path):
    fork = multiprocessing.get_context("spawn")
    here, there = fork.Pipe()
    process = fork.Process(target=take_and_die, args=(tmp_path, there))
    process.start()
    port = here.recv()
    process.join(20)
    assert leases.take(port) == port


DEBEZIUM = "io.debezium:debezium-connector-postgres:3.3.1.Final"


def test_an_artifact_is_fetched_once_into_a_directory_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    asked: list[tuple[str, ...]] = []

    def retrieve(coordinates: tuple[str, ...], into: Path, narrate: object) -> None:
        asked.append(coordinates)
        (into / "connector.jar").touch()

    monkeypatch.setattr(jars, "retrieve_artifacts", retrieve)
    said: list[str] = []
    first, again = resolve_plugin(DEBEZIUM, said.append), resolve_plugin(DEBEZIUM, said.append)
    assert first == again == tmp_path / "eosctl/plugins/io.debezium-debezium-connector-postgres-3.3.1.Final"
    assert (first / "connector.jar").exists()
    assert (asked, said) == ([(DEBEZIUM,)], [f"fetching {DEBEZIUM} (once)"])


def test_a_fetch_that_fails_leaves_nothing_that_is_taken_for_a_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def fail(*_: object) -> None:
        raise ConfigError("no network")

    monkeypatch.setattr(jars, "retrieve_artifacts", fail)
    for _ in range(2):
        with pytest.raises(ConfigError, match="no network"):
            resolve_plugin(DEBEZIUM, lambda _: None)


def test_each_plugin_is_a_directory_of_its_own_on_the_workers_path(tmp_path: Path):
    """Two directories of one name are two plugins; those of an earlier start are gone. No name is an archive's."""
    directories = [tmp_path / name for name in ("a/jars", "b/jars", "own.jar")]
    for each in directories:
        each.mkdir(parents=True)
    link_plugins(tmp_path / "plugins", directories[:1])
    link_plugins(tmp_path / "plugins", directories[::-1])
    found = {link.name: link.resolve() for link in (tmp_path / "plugins").iterdir()}
    assert found == {"own.jar-1": directories[2], "jars-2": directories[1], "jars-3": directories[0]}


@pytest.mark.parametrize("plugin", ["no/such/directory", "group:artifact", "a:b:c:d:e", "a:b:c@exe"])
def test_a_plugin_that_is_neither_a_directory_nor_an_artifact_is_refused_before_any_start(plugin: str):
    with pytest.raises(UsageError, match="is no directory"):
        SandboxSpec(plugins=(plugin,))


def test_without_a_postgresql_the_error_names_the_packages_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sandbox, "DEBIAN", tmp_path)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match="no PostgreSQL") as caught:
        find_postgresql()
    assert "apt install postgresql" in str(caught.value.hint)

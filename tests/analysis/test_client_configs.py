"""The clients that workers make for connectors: whose setting counts, and which overrides a worker's policy accepts."""

import pytest

from eosctl.analysis.client_configs import (
    FLOWS,
    UNREAD,
    clients_of,
    connector_client,
    may_override,
    override_policy,
    override_refusal,
    overrides,
    refused_by_producer,
    refused_overrides,
    servers_elsewhere,
    worker_client,
    workers_of,
)
from eosctl.model.client_properties import HIDDEN
from eosctl.model.client_roles import ClientConfig, ClientRole, ConnectorConfig, WorkerConfig, as_properties
from eosctl.model.skipped import Skipped
from eosctl.model.versions import NEWEST, KafkaVersion
from tests.analysis.evidence import FILE, POLICY, A, B, but, inspection
from tests.analysis.evidence import UNREAD as DENIED

Role = ClientRole
Settings = dict[str, str]
UNSEEN = Skipped("the file was not read")
ALLOWED = f"{POLICY.removesuffix('policy')}allowlist"
KAFKAS = "org.apache.kafka.connect.connector.policy."


def worker(settings: Settings, *, version: KafkaVersion = NEWEST, unread: Skipped | None = None) -> WorkerConfig:
    """A worker of group g; a setting without a value is not set."""
    given = {"group.id": "g", "bootstrap.servers": "a:1, b:2", **settings}
    return WorkerConfig(as_properties({key: each for key, each in given.items() if each}), version, unread=unread)


def connector(settings: Settings) -> ConnectorConfig:
    return ConnectorConfig("x", as_properties(settings))


def made(
    role: Role, settings: Settings, config: Settings, *, exactly_once: bool = True, unread: Skipped | None = None
) -> ClientConfig:
    return connector_client(worker(settings, unread=unread), connector(config), role, exactly_once=exactly_once)


@pytest.mark.parametrize(
    ("role", "settings", "config", "key", "value"),
    [
        # Connect's own, then the worker's prefix, then the connector's override.
        (Role.PRODUCER, {}, {}, "acks", "all"),
        (Role.PRODUCER, {"producer.acks": "1"}, {}, "acks", "1"),
        (Role.PRODUCER, {"acks": "1"}, {}, "acks", "all"),
        (Role.PRODUCER, {"consumer.acks": "1"}, {}, "acks", "all"),
        (Role.PRODUCER, {"producer.acks": "1"}, {"producer.override.acks": "0"}, "acks", "0"),
        (Role.PRODUCER, {}, {"consumer.override.acks": "0"}, "acks", "all"),
        (Role.PRODUCER, {POLICY: "Principal"}, {"producer.override.acks": "0"}, "acks", "all"),
        (Role.PRODUCER, {}, {}, "client.id", "connector-producer-x-0"),
        (Role.DEAD_LETTER_QUEUE, {}, {}, "client.id", "connector-dlq-producer-x-0"),
        # A group of its own has a consumer only; an admin client takes all of the worker's but those for other clients.
        (Role.CONSUMER, {}, {}, "group.id", "connect-x"),
        (Role.SINK_CONSUMER, {}, {}, "group.id", "connect-x"),
        (Role.PRODUCER, {}, {}, "group.id", None),
        (Role.ADMIN, {}, {}, "group.id", "g"),
        (Role.ADMIN, {"client.dns.lookup": "w"}, {}, "client.dns.lookup", "w"),
        (Role.PRODUCER, {"client.dns.lookup": "w"}, {}, "client.dns.lookup", None),
        (Role.ADMIN, {"producer.acks": "1"}, {}, "producer.acks", None),
        (Role.ADMIN, {"consumer.acks": "1"}, {}, "consumer.acks", None),
        (Role.ADMIN, {"admin.retries": "1"}, {}, "admin.retries", None),
        (Role.ADMIN, {"retries": "2", "admin.retries": "1"}, {}, "retries", "1"),
        # The worker's addresses: without blanks where Connect lists them, or the default of Kafka 3.
        (Role.PRODUCER, {}, {}, "bootstrap.servers", "a:1,b:2"),
        (Role.PRODUCER, {"bootstrap.servers": ""}, {}, "bootstrap.servers", "localhost:9092"),
        (Role.PRODUCER, {}, {"producer.override.bootstrap.servers": "c:3"}, "bootstrap.servers", "c:3"),
        # Reporters' context: the connector's own counts for producers and consumers, the worker's for admin clients.
        (Role.PRODUCER, {"metrics.context.at": "w"}, {}, "metrics.context.at", "w"),
        (Role.PRODUCER, {}, {}, "metrics.context.connect.group.id", "g"),
        (Role.PRODUCER, {"group.id": ""}, {}, "metrics.context.connect.group.id", None),
        (Role.PRODUCER, {"metrics.context.at": "w"}, {"producer.override.metrics.context.at": "c"},
         "metrics.context.at", "c"),
        (Role.ADMIN, {"metrics.context.at": "w"}, {"admin.override.metrics.context.at": "c"},
         "metrics.context.at", "w"),
        # Settings that Connect forces on the clients of a source's tasks, and on no other client.
        (Role.PRODUCER, {}, {}, "transactional.id", "g-x-0"),
        (Role.PRODUCER, {"group.id": ""}, {}, "transactional.id", None),
        (Role.PRODUCER, {}, {"producer.override.transactional.id": "own"}, "transactional.id", "g-x-0"),
        (Role.DEAD_LETTER_QUEUE, {}, {}, "transactional.id", None),
        (Role.PRODUCER, {}, {}, "enable.idempotence", "true"),
        (Role.PRODUCER, {"producer.enable.idempotence": "TRUE"}, {}, "enable.idempotence", "TRUE"),
        (Role.DEAD_LETTER_QUEUE, {}, {}, "enable.idempotence", "false"),
        (Role.CONSUMER, {}, {}, "isolation.level", "read_committed"),
        (Role.CONSUMER, {"consumer.isolation.level": "read_uncommitted"}, {}, "isolation.level", "read_committed"),
        (Role.CONSUMER, {"consumer.isolation.level": "READ_COMMITTED"}, {}, "isolation.level", "READ_COMMITTED"),
        (Role.SINK_CONSUMER, {}, {}, "isolation.level", None),
        (Role.ADMIN, {}, {}, "isolation.level", None),
        # Clients that connectors make themselves.
        (Role.DEBEZIUM_SIGNALS, {}, {"signal.kafka.bootstrap.servers": "c:3"}, "bootstrap.servers", "c:3"),
        (Role.DEBEZIUM_SIGNALS, {}, {"signal.kafka.acks": "1", "signal.consumer.acks": "2"}, "acks", "2"),
        (Role.DEBEZIUM_SIGNALS, {"consumer.acks": "1"}, {}, "acks", None),
        (Role.ICEBERG, {"acks": "1"}, {}, "acks", "1"),
        (Role.ICEBERG, {"acks": "1"}, {"iceberg.kafka.acks": "2"}, "acks", "2"),
        (Role.ICEBERG, {"consumer.acks": "1"}, {"consumer.override.acks": "2"}, "acks", None),
        (Role.MIRROR_SOURCE_CONSUMER, {}, {"source.cluster.bootstrap.servers": "s:1"}, "bootstrap.servers", "s:1"),
        (Role.MIRROR_SOURCE_CONSUMER, {}, {"target.cluster.bootstrap.servers": "t:1"}, "bootstrap.servers", None),
        (Role.MIRROR_TARGET_CONSUMER, {}, {"target.cluster.bootstrap.servers": "t:1"}, "bootstrap.servers", "t:1"),
        (Role.MIRROR_TARGET_ADMIN, {}, {"target.cluster.ssl.protocol": "T"}, "ssl.protocol", "T"),
        (Role.MIRROR_SOURCE_ADMIN, {}, {"source.cluster.retries": "3"}, "retries", None),
        (Role.MIRROR_SOURCE_ADMIN, {}, {"admin.retries": "3"}, "retries", "3"),
        (Role.MIRROR_SOURCE_ADMIN, {}, {"admin.retries": "3", "source.admin.retries": "4"}, "retries", "4"),
        (Role.MIRROR_SOURCE_ADMIN, {}, {}, "auto.offset.reset", None),
        (Role.MIRROR_SOURCE_CONSUMER, {}, {}, "auto.offset.reset", "earliest"),
        (Role.MIRROR_SOURCE_CONSUMER, {}, {"consumer.auto.offset.reset": "latest"}, "auto.offset.reset", "latest"),
        (Role.MIRROR_SOURCE_CONSUMER, {}, {"consumer.enable.auto.commit": "true"}, "enable.auto.commit", "false"),
        (Role.MIRROR_OFFSET_SYNCS, {}, {"source.producer.acks": "1", "target.producer.acks": "2"}, "acks", "1"),
        (Role.MIRROR_OFFSET_SYNCS, {},
         {"source.producer.acks": "1", "target.producer.acks": "2", "offset-syncs.topic.location": "target"},
         "acks", "2"),
        (Role.MIRROR_SOURCE_CONSUMER, {},
         {"source.consumer.acks": "1", "target.consumer.acks": "2", "offset-syncs.topic.location": "target"},
         "acks", "1"),
    ],
)  # fmt: skip
def test_of_several_places_that_set_a_client_s_property_the_one_that_kafka_takes_counts(
    role: Role, settings: Settings, config: Settings, key: str, value: str | None
) -> None:
    assert made(role, settings, config).get(key) == value


@pytest.mark.parametrize(
    ("role", "settings", "key", "value"),
    [
        (Role.PRODUCER, {}, "transactional.id", None),
        (Role.PRODUCER, {}, "enable.idempotence", "false"),
        (Role.CONSUMER, {}, "isolation.level", "read_committed"),
        (Role.CONSUMER, {"consumer.isolation.level": "read_uncommitted"}, "isolation.level", "read_uncommitted"),
    ],
)
def test_without_exactly_once_connect_forces_nothing_on_a_source_s_clients(role, settings, key, value) -> None:
    assert made(role, settings, {}, exactly_once=False).get(key) == value


@pytest.mark.parametrize(
    ("role", "exactly_once", "key", "value"),
    [
        (Role.PRODUCER, True, "acks", None),
        (Role.PRODUCER, True, "client.id", None),
        (Role.PRODUCER, True, "enable.idempotence", "true"),
        (Role.PRODUCER, True, "transactional.id", "g-x-0"),
        (Role.CONSUMER, True, "isolation.level", "read_committed"),
        (Role.CONSUMER, False, "isolation.level", None),
        (Role.CONSUMER, True, "group.id", None),
    ],
)
def test_of_a_worker_with_unread_settings_only_those_are_known_that_nothing_overrides(
    role: Role, exactly_once: bool, key: str, value: str | None
) -> None:
    found = made(role, {"bootstrap.servers": ""}, {}, exactly_once=exactly_once, unread=UNSEEN)
    assert (found.get(key), found.unread) == (value, UNSEEN)
    assert (found.get("bootstrap.servers"), found.servers_of_its_own) == (None, False)


@pytest.mark.parametrize(("role", "unread"), [(Role.ICEBERG, UNSEEN), (Role.DEBEZIUM_SIGNALS, None)])
def test_a_client_that_the_connector_s_config_gives_as_a_whole_is_known_without_the_worker_s(role, unread) -> None:
    assert made(role, {}, {}, unread=UNSEEN).unread == unread
    assert made(Role.MIRROR_SOURCE_CONSUMER, {}, {}, unread=UNSEEN).unread is None


@pytest.mark.parametrize(("version", "kept"), [("3.7", "env"), ("3.8", None), ("3.9", None)])
def test_an_admin_client_has_the_names_of_config_providers_before_kafka_3_8(version: str, kept: str | None) -> None:
    older = worker({"config.providers": "env"}, version=KafkaVersion.parse(version))
    found = connector_client(older, connector({}), Role.ADMIN, exactly_once=True)
    assert (found.get("config.providers"), found.get("group.id")) == (kept, "g")


def test_a_client_is_named_after_its_task() -> None:
    found = connector_client(worker({}), connector({}), Role.PRODUCER, exactly_once=True, task=3)
    assert (found.get("client.id"), found.get("transactional.id")) == ("connector-producer-x-3", "g-x-3")


@pytest.mark.parametrize(
    ("settings", "servers", "its_own"),
    [
        ({}, None, False),
        ({}, "b:2,a:1", False),
        ({}, "a:1", True),
        ({}, "c:3", True),
        ({"bootstrap.servers": ""}, "c:3", True),
        ({"bootstrap.servers": ""}, None, False),
    ],
)
def test_a_producer_has_addresses_of_its_own_where_they_are_not_those_of_its_worker(settings, servers, its_own) -> None:
    config = {} if servers is None else {"producer.override.bootstrap.servers": servers}
    assert made(Role.PRODUCER, settings, config).servers_of_its_own is its_own
    assert made(Role.PRODUCER, settings, config, unread=UNSEEN).servers_of_its_own is its_own


@pytest.mark.parametrize(("given", "unread", "servers"), [("a:1", None, "a:1"), ("", None, "localhost:9092"),
                                                         ("a:1", UNSEEN, "a:1"), ("", UNSEEN, None)])  # fmt: skip
def test_a_worker_has_kafka_3_s_default_address_where_its_file_gives_none(given, unread, servers) -> None:
    found = worker_client(worker({"bootstrap.servers": given}, unread=unread))
    assert (found.get("bootstrap.servers"), found.role, found.connector) == (servers, Role.WORKER, None)


@pytest.mark.parametrize(
    ("key", "value", "refused"),
    [
        ("acks", "all", False), ("acks", "-1", False), ("acks", "1", True), ("acks", "0", True),
        ("max.in.flight.requests.per.connection", "0", True), ("max.in.flight.requests.per.connection", "1", False),
        ("max.in.flight.requests.per.connection", "5", False), ("max.in.flight.requests.per.connection", "6", True),
        ("retries", "0", True), ("retries", "1", False), ("retries", "2147483647", False), ("retries", "x", True),
        ("retries", "2147483648", True), ("transaction.timeout.ms", "-2147483648", False),
        ("transaction.timeout.ms", "2147483648", True), ("transaction.timeout.ms", "-1", False),
    ],
)  # fmt: skip
def test_an_idempotent_producer_starts_with_the_numbers_that_kafka_accepts(key, value, refused) -> None:
    assert list(refused_by_producer(made(Role.PRODUCER, {f"producer.{key}": value}, {}))) == [key] * refused


def test_a_setting_that_is_not_seen_is_neither_accepted_nor_refused() -> None:
    [found] = refused_by_producer(made(Role.PRODUCER, {"producer.acks": HIDDEN}, {}))
    assert found == Skipped("the value of producer.acks is hidden")


@pytest.mark.parametrize(
    ("policy", "known", "principal", "listed", "other"),
    [
        ("", "All", True, True, True),
        ("All", "All", True, True, True),
        ("Principal", "Principal", True, False, False),
        ("None", "None", False, False, False),
        ("Allowlist", "Allowlist", False, True, False),
        (f"{KAFKAS}NoneConnectorClientConfigOverridePolicy", "None", False, False, False),
        ("org.example.NoneConnectorClientConfigOverridePolicy", None, True, True, True),
        (f"{KAFKAS}OwnConnectorClientConfigOverridePolicy", None, True, True, True),
        ("Own", None, True, True, True),
    ],
)
def test_a_policy_accepts_the_overrides_that_its_name_says_and_an_unknown_one_all(
    policy: str, known: str | None, principal: bool, listed: bool, other: bool
) -> None:
    asked = worker({POLICY: policy, ALLOWED: "linger.ms, batch.size"})
    assert override_policy(asked) == known
    assert [may_override(asked, key) for key in ("sasl.mechanism", "batch.size", "acks")] == [principal, listed, other]


def test_the_overrides_that_a_policy_refuses_are_named() -> None:
    config = connector({"producer.override.acks": "1", "admin.override.sasl.mechanism": "P", "producer.acks": "1",
                        "consumer.override.retries": "1", "name": "x"})  # fmt: skip
    found = ("admin.override.sasl.mechanism", "consumer.override.retries", "producer.override.acks")
    assert overrides(config) == found
    assert refused_overrides(worker({POLICY: "Principal"}), config) == found[1:]
    assert refused_overrides(worker({}), config) == ()


@pytest.mark.parametrize(
    ("policies", "keys", "reason"),
    [
        (["All", "All"], ["acks"], None),
        (["Principal"], ["sasl.mechanism"], None),
        (["None"], [], None),
        ([], ["acks"], None),
        (["All", "None"], ["acks", "retries"], f"{POLICY}=None refuses acks and retries in a connector's config"),
        (["Principal"], ["sasl.mechanism", "acks"],
         f"{POLICY}=Principal refuses sasl.mechanism and acks in a connector's config"),
    ],
)  # fmt: skip
def test_one_worker_that_refuses_one_key_refuses_the_config(policies, keys, reason) -> None:
    assert override_refusal([worker({POLICY: each}) for each in policies], keys) == reason


def test_each_file_is_a_worker_and_without_files_its_settings_are_unread() -> None:
    [first, second] = workers_of(but())
    assert (first.unread, first.dedicated, first.group_id, first.version) == (None, False, "g", KafkaVersion(4, 3, 1))
    assert first.properties["group.id"].origin == f"group.id of {A}"
    assert second.properties["group.id"].origin == f"group.id of {B}"
    for files in (DENIED, {}):
        [unread] = workers_of(but(worker_files=files))
        assert (unread.unread, unread.dedicated, unread.group_id) == (UNREAD, False, "g")
    [flows] = workers_of(but(worker_files={A: {"clusters": "K, L"}}))
    assert (flows.unread, flows.dedicated, flows.group_id) == (FLOWS, True, "g")
    [unnamed] = workers_of(but(worker_files={}, group_id=DENIED, workers={}))
    assert (unnamed.group_id, unnamed.version) == ("", NEWEST)
    [own] = workers_of(but(worker_files={A: FILE | {"group.id": "own"}}))
    assert own.group_id == "own"


def test_each_worker_would_make_a_client_for_the_connector() -> None:
    files = {A: FILE, B: FILE | {"producer.acks": "1"}}
    found = clients_of(but(worker_files=files), "x", Role.PRODUCER, exactly_once=True)
    assert [each.get("acks") for each in found] == ["all", "1"]


@pytest.mark.parametrize(
    ("files", "config", "servers"),
    [
        ({A: FILE}, {}, None),
        ({A: FILE}, {"consumer.override.bootstrap.servers": "c:3"}, None),
        ({A: FILE}, {"producer.override.bootstrap.servers": "c:3, d:4"}, frozenset({"c:3", "d:4"})),
        ({A: FILE | {"bootstrap.servers": "c:3"}}, {"producer.override.bootstrap.servers": "c:3"}, None),
        ({A: FILE | {"bootstrap.servers": "c:3"}, B: FILE | {"bootstrap.servers": "a:1"}},
         {"producer.override.bootstrap.servers": "c:3"}, frozenset({"c:3"})),
        ({}, {"producer.override.bootstrap.servers": "c:3"}, frozenset({"c:3"})),
        ({}, {}, None),
    ],
)  # fmt: skip
def test_a_producer_writes_elsewhere_where_one_worker_gives_it_addresses_of_its_own(files, config, servers) -> None:
    assert servers_elsewhere(but(worker_files=files, inspection=inspection(**config)), "x") == servers


def test_addresses_that_only_the_worker_resolves_are_others_and_unknown() -> None:
    found = servers_elsewhere(but(inspection=inspection(**{"producer.override.bootstrap.servers": "${env:B}"})), "x")
    assert isinstance(found, Skipped)
    assert "a reference that only the worker resolves" in found.reason

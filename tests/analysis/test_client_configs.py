"""What a client is configured with: whose setting wins, what Connect forces, and what cannot be told."""

import pytest

from eosctl.analysis.client_configs import connector_client, refused_by_producer, refused_overrides
from eosctl.model.client_roles import ClientRole, ConnectorConfig, WorkerConfig, as_properties
from eosctl.model.skipped import Skipped, not_asked
from eosctl.model.versions import KafkaVersion

TIMEOUT = "transaction.timeout.ms"
UNREAD = not_asked("no file was given")


def client(role=ClientRole.PRODUCER, worker=None, config=None, *, exactly_once=True, **more):
    given = WorkerConfig(as_properties({"group.id": "g"} | (worker or {})), **more)
    return connector_client(given, ConnectorConfig("c", as_properties(config or {})), role, exactly_once=exactly_once)


def test_the_connector_wins_over_the_worker_and_the_worker_over_connect_and_connect_over_the_default() -> None:
    worker = {"producer.acks": "1", "producer.linger.ms": "7", f"producer.{TIMEOUT}": "1000"}
    found = client(worker=worker, config={f"producer.override.{TIMEOUT}": " 2000 "})
    assert (found.number(TIMEOUT), found.setting("acks"), found.setting("linger.ms")) == (2000, "1", "7")
    assert (found.origin(TIMEOUT), found.origin("acks")) == (f"producer.override.{TIMEOUT}", "producer.acks")
    assert found.setting("max.in.flight.requests.per.connection") == "1"
    assert client().number(TIMEOUT) == 60_000


@pytest.mark.parametrize(("servers", "own"), [("b:9092, a:9092", False), ("c:9092", True)])
def test_the_workers_servers_given_again_in_another_place_are_the_workers(servers: str, own: bool) -> None:
    worker = {"bootstrap.servers": "a:9092,b:9092"}
    assert client(worker=worker | {"producer.bootstrap.servers": servers}).servers_of_its_own is own
    assert client(worker=worker, config={"producer.override.bootstrap.servers": servers}).servers_of_its_own is own


def test_exactly_once_replaces_what_anybody_set() -> None:
    config = {"producer.override.enable.idempotence": "false", "producer.override.transactional.id": "mine"}
    forced = client(config=config)
    assert (forced.get("enable.idempotence"), forced.get("transactional.id")) == ("true", "g-c-0")
    plain = client(config=config, exactly_once=False)
    assert (plain.get("enable.idempotence"), plain.get("transactional.id")) == ("false", "mine")
    uncommitted = {"consumer.isolation.level": "read_uncommitted"}
    assert client(ClientRole.CONSUMER, uncommitted).setting("isolation.level") == "read_committed"
    assert client(ClientRole.CONSUMER, uncommitted, exactly_once=False).get("isolation.level") == "read_uncommitted"


def test_of_a_worker_that_is_not_known_only_what_it_cannot_change_is_known() -> None:
    found = client(config={"producer.override.acks": "1"}, unread=UNREAD)
    assert (found.setting("acks"), found.setting(TIMEOUT), found.setting("enable.idempotence")) == ("1", UNREAD, "true")
    assert client(ClientRole.CONSUMER, unread=UNREAD, exactly_once=False).setting("isolation.level") == UNREAD


@pytest.mark.parametrize("value", ["${env:T}", "a${file:/x:y}b", "[hidden]"])
def test_a_reference_and_a_hidden_value_are_not_known(value) -> None:
    found = client(worker={f"producer.{TIMEOUT}": value})
    assert isinstance(found.setting(TIMEOUT), Skipped)
    assert [isinstance(each, Skipped) for each in refused_by_producer(found)] == [True]


def test_an_unknown_key_and_one_that_the_version_has_not_cannot_be_told() -> None:
    assert isinstance(client().setting("no.such.key"), Skipped)
    longest = {"admin.retry.backoff.max.ms": "5"}
    assert client(ClientRole.ADMIN, longest).number("retry.backoff.max.ms") == 5
    old = client(ClientRole.ADMIN, longest, version=KafkaVersion(3, 6, 2))
    assert isinstance(old.setting("retry.backoff.max.ms"), Skipped)


@pytest.mark.parametrize(
    ("key", "value", "refused"),
    [
        *(("acks", value, value not in {"all", " -1"}) for value in ("all", " -1", "ALL", "1", "2")),
        *(("retries", value, value != "+1") for value in ("+1", "0", "-1", "2147483648", "1.0")),
        *(("max.in.flight.requests.per.connection", value, value != "5") for value in ("5", "6", "0", "five")),
        *((TIMEOUT, value, value != "-5") for value in ("-5", "ten", "")),
    ],
)
def test_a_producer_with_exactly_once_refuses_what_is_not_idempotent_or_no_number(key, value, refused) -> None:
    assert list(refused_by_producer(client(config={f"producer.override.{key}": value}))) == [key] * refused


@pytest.mark.parametrize("policy", ["Allowlist", "None"])
def test_a_refused_override_is_named_and_left_out(policy) -> None:
    worker = {
        "connector.client.config.override.policy": policy,
        "connector.client.config.override.allowlist": "retries, linger.ms",
    }
    config = {"producer.override.acks": "1", "producer.override.linger.ms": "3"}
    found, given = client(worker=worker, config=config), ConnectorConfig("c", as_properties(config))
    named = refused_overrides(WorkerConfig(as_properties(worker)), given)
    assert named == tuple(config)[: 1 if policy == "Allowlist" else 2]
    assert (found.get("acks"), found.get("linger.ms")) == ("all", "3" if policy == "Allowlist" else None)
    assert client(worker=worker, config={"producer.override.acks": "1"}, dedicated=True).get("acks") == "1"


def test_what_a_mirror_sets_for_all_consumers_wins_over_what_it_sets_for_a_cluster() -> None:
    config = {
        "source.cluster.security.protocol": "SSL",
        "source.cluster.isolation.level": "read_committed",
        "consumer.security.protocol": "SASL_SSL",
    }
    found = client(ClientRole.MIRROR_SOURCE_CONSUMER, config=config)
    assert (found.get("security.protocol"), found.setting("isolation.level")) == ("SASL_SSL", "read_uncommitted")
    nearest = client(ClientRole.MIRROR_SOURCE_CONSUMER, config=config | {"source.consumer.security.protocol": "SSL"})
    assert nearest.get("security.protocol") == "SSL"

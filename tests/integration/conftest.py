"""Command lines run in this process, as in tests/commands, and clusters of every version asked for."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from eosctl.clients.wire import Wire
from eosctl.model.versions import KafkaVersion
from eosctl.sandbox.jars import DEFAULT_KAFKA_VERSION
from eosctl.sandbox.properties import SandboxSpec
from tests.commands.conftest import at_terminal, eosctl
from tests.conftest import FreshName
from tests.faulty_sandbox import Sandbox
from tests.integration.acl_broker import AclBroker, wire_of
from tests.integration.acl_site import USERS, Sites
from tests.integration.connect import Worker
from tests.integration.migrate_ground import ground
from tests.integration.mirror_maker import Mirrored
from tests.integration.mirror_site import Copied, Eosctl
from tests.integration.strimzi_site import home, lines, operator, resource
from tests.integration.tls_listeners import TlsBroker, tls_listening
from tests.kafka_versions import KafkaVersions, spec_of
from tests.shared_sandboxes import SharedSandboxes

__all__ = ["at_terminal", "eosctl", "ground", "home", "lines", "operator", "resource"]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`strimzi_kafka` is each version of --kafka-versions that Strimzi 0.45 or newer serves, otherwise the newest."""
    if "strimzi_kafka" in metafunc.fixturenames:
        named = map(KafkaVersions, (metafunc.config.getoption("--kafka-versions") or DEFAULT_KAFKA_VERSION).split(","))
        served = [each for each in named if min(map(KafkaVersion.parse, (each, each.workers))) >= KafkaVersion(3, 8)]
        versions = served or [KafkaVersions(DEFAULT_KAFKA_VERSION)]
        metafunc.parametrize("strimzi_kafka", versions, scope="session", ids=[each.id for each in versions])


@pytest.fixture
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans and journals of this test alone."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture(params=["80", pytest.param("120", marks=pytest.mark.variation)])
def columns(request: pytest.FixtureRequest) -> str:
    """The width of the terminal on which a page is followed."""
    return str(request.param)


@pytest.fixture(scope="session")
def site_numbers() -> "itertools.count[int]":
    """No two sites have one name."""
    return itertools.count()


@pytest.fixture(scope="module")
def acl_sites(
    shared_sandboxes: SharedSandboxes,
    kafka_version: str,
    site_numbers: "itertools.count[int]",
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Sites]:
    """Makes Connect clusters, one after the other, on a sandbox of each version whose ACLs belong to these tests."""
    sandbox = shared_sandboxes.of(spec_of(kafka_version, users=USERS, deadline_s=45))
    with AclBroker(sandbox) as acls:
        yield Sites(sandbox, acls, tmp_path_factory.mktemp("lines"), numbers=site_numbers)


@pytest.fixture(scope="module")
def acl_root(acl_sites: Sites) -> Iterator[Wire]:
    """The super user on that sandbox."""
    with wire_of(acl_sites.sandbox) as wire:
        yield wire


@pytest.fixture(scope="module", params=["enabled", pytest.param("disabled", marks=pytest.mark.variation)])
def here(shared_sandboxes: SharedSandboxes, kafka_version: str, request: pytest.FixtureRequest) -> Sandbox:
    """Like `moves_home`, with exactly-once enabled and without."""
    return shared_sandboxes.of(spec_of(kafka_version, workers=1, exactly_once=request.param))


@pytest.fixture(scope="module")
def abroad(shared_sandboxes: SharedSandboxes, here: Sandbox) -> Sandbox:
    """Another Kafka and another worker that are like those. Shared."""
    return shared_sandboxes.once(("abroad", here.spec), lambda: Sandbox(here.spec))


@pytest.fixture
def three_brokers(shared_sandboxes: SharedSandboxes, kafka_version: str) -> Sandbox:
    """Like `cluster3`, of each version in `--kafka-versions`."""
    return shared_sandboxes.three_brokers(kafka_version)


@pytest.fixture(scope="module")
def tls_broker(shared_sandboxes: SharedSandboxes, tmp_path_factory: pytest.TempPathFactory) -> TlsBroker:
    """A broker with the listeners of tests.integration.tls_listeners. Shared."""
    return shared_sandboxes.once("TLS", lambda: tls_listening(tmp_path_factory.mktemp("broker")))


@pytest.fixture(scope="module")
def two_clusters(shared_sandboxes: SharedSandboxes, kafka_version: str) -> tuple[Sandbox, Sandbox]:
    """A source, and a target that takes any timestamp."""
    spec = SandboxSpec(kafka_version, broker_config={"log.message.timestamp.after.max.ms": str(2**62)})
    return shared_sandboxes.of(SandboxSpec(kafka_version)), shared_sandboxes.of(spec)


@pytest.fixture
def copied(eosctl: Eosctl, two_clusters: tuple[Sandbox, Sandbox], fresh_name: FreshName) -> Copied:
    source, target = two_clusters
    return Copied(eosctl, source.bootstrap_servers, target.bootstrap_servers, fresh_name("copied"))


@pytest.fixture
def mirrored(
    eosctl: Eosctl,
    shared_sandboxes: SharedSandboxes,
    moves_home: Sandbox,
    kafka_version: str,
    fresh_name: FreshName,
) -> Iterator[Mirrored]:
    worker = Worker(moves_home)
    yield Mirrored(eosctl, shared_sandboxes.of(SandboxSpec(kafka_version)), worker, fresh_name("mirrored"))
    worker.close()

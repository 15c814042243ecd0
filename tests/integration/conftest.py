"""Command lines run in this process, as in tests/commands, and clusters of every version asked for."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from eosctl.clients.wire import Wire
from eosctl.sandbox.ports import PortLeases
from eosctl.sandbox.sandbox import Sandbox
from eosctl.sandbox.spec import SandboxSpec
from eosctl.sandbox.versions import DEFAULT_KAFKA_VERSION
from tests.commands.conftest import at_terminal, eosctl
from tests.integration.acl_broker import AclBroker, wire_of
from tests.integration.acl_site import USERS, Sites
from tests.integration.tls_listeners import TlsBroker, open_tls_listeners
from tests.leaders import share_out_leaders

__all__ = ["at_terminal", "eosctl"]


@pytest.fixture(scope="session")
def broker(request: pytest.FixtureRequest, kafka_version: str) -> Iterator[Sandbox]:
    """One broker of each version that `--kafka-versions` names; shared, as `sandbox` is."""
    with ExitStack() as started:
        if kafka_version == DEFAULT_KAFKA_VERSION:
            yield request.getfixturevalue("sandbox")
        else:
            yield started.enter_context(Sandbox(SandboxSpec(kafka_version=kafka_version)))


@pytest.fixture(scope="session")
def acl_sites(kafka_version: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sites]:
    """Makes Connect clusters, one after the other, on a sandbox of each version whose ACLs belong to these tests."""
    spec = SandboxSpec(kafka_version=kafka_version, users=USERS, deadline_s=45)
    with Sandbox(spec) as sandbox, AclBroker(sandbox) as acls:
        yield Sites(sandbox, acls, tmp_path_factory.mktemp("lines"))


@pytest.fixture(scope="session")
def acl_root(acl_sites: Sites) -> Iterator[Wire]:
    """The super user on that sandbox."""
    with wire_of(acl_sites.sandbox) as wire:
        yield wire


@pytest.fixture(scope="session")
def shared_three_brokers(request: pytest.FixtureRequest, kafka_version: str) -> Iterator[Sandbox]:
    """What `three_brokers` hands to one test after the other."""
    with ExitStack() as started:
        if kafka_version == DEFAULT_KAFKA_VERSION:
            yield request.getfixturevalue("shared_cluster3")
        else:
            yield started.enter_context(Sandbox(SandboxSpec(kafka_version=kafka_version, brokers=3)))


@pytest.fixture
def three_brokers(shared_three_brokers: Sandbox) -> Sandbox:
    """What `cluster3` is, of each version that `--kafka-versions` names."""
    share_out_leaders(shared_three_brokers.bootstrap_servers)
    return shared_three_brokers


@pytest.fixture(scope="session")
def tls_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsBroker]:
    """A broker with the listeners of tests.integration.tls_listeners."""
    leases = PortLeases()
    with Sandbox() as started:
        yield open_tls_listeners(started, tmp_path_factory.mktemp("broker"), leases)
    leases.release()

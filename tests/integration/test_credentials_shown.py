"""Which user logs in where: recorded by a proxy in front of a real broker with SASL."""

import re
from collections.abc import Iterator

import pytest

from eosctl.clients.wire import Wire
from eosctl.codecs.client_properties import client_properties
from eosctl.executors.apply import write_plan_file
from eosctl.model.names import Side
from eosctl.model.plan import ManualStep, Plan, PlannedStep, PlanTarget
from eosctl.model.skipped import Skipped
from eosctl.sources.cluster_reader import OtherClusters, read_producer_cluster, trusting
from tests.faults.kafka_proxy import HandsOut, KafkaProxy, OtherKafka
from tests.faulty_sandbox import Sandbox

pytestmark = pytest.mark.kafka

SASL_AUTHENTICATE = 36


class Logins(OtherKafka):
    """The unchanged broker behind the proxy; users are the logins with a password."""

    def __init__(self) -> None:
        self.users: set[str] = set()

    def request(self, api_key: int, version: int, frame: bytes) -> bytes:
        """Notes the user of a PLAIN login: two names with a zero byte behind each, and the password (RFC 4616)."""
        plain = re.search(rb"\w+\0(\w+)\0\w", frame) if api_key == SASL_AUTHENTICATE else None
        self.users |= {plain[1].decode()} if plain is not None else set()
        return frame


class Recorded:
    """An address that leads to the broker's SASL listener and that no broker advertises."""

    def __init__(self, sandbox: Sandbox) -> None:
        host, _, port = sandbox.sasl_bootstrap_servers.rpartition(":")
        self.home = host, int(port)
        self.proxy, self.logins = KafkaProxy(*self.home), Logins()
        self.proxy.other, self.address = self.logins, f"127.0.0.1:{self.proxy.port}"


@pytest.fixture
def recorded(sandbox: Sandbox) -> Iterator[Recorded]:
    found = Recorded(sandbox)
    yield found
    found.proxy.close()


@pytest.fixture
def as_user(sandbox: Sandbox) -> Iterator[object]:
    """`as_user("tool", SERVERS)` is a cluster that this user named."""
    wires: list[Wire] = []

    def access(user: str, servers: str) -> Wire:
        identity = client_properties(command_config=sandbox.client_properties(user), bootstrap_server=servers)
        wires.append(Wire(identity, timeout_s=5))
        return wires[-1]

    yield access
    for wire in wires:
        wire.close()


def test_the_recording_sees_who_logs_in(recorded, as_user, sandbox):
    assert as_user("tool", recorded.address).cluster_id == sandbox.cluster_id
    assert recorded.logins.users == {"tool"}


def test_brokers_that_a_config_names_are_not_even_connected_to(recorded, as_user, sandbox):
    mine = as_user("tool", sandbox.sasl_bootstrap_servers)
    read = read_producer_cluster([mine, mine], [recorded.address], "evil")
    assert isinstance(read, Skipped)
    assert read.reason.startswith(f"the brokers {recorded.address} are named by the config of connector evil")
    others = OtherClusters(trusting(mine), 5).cluster_id(frozenset({recorded.address}))
    assert isinstance(others, Skipped)
    assert (recorded.proxy.seen, recorded.logins.users) == ([], set())


def test_brokers_that_the_user_s_brokers_advertise_are_trusted(recorded, as_user, sandbox):
    mine = as_user("tool", recorded.address)
    advertised = sandbox.sasl_bootstrap_servers
    assert read_producer_cluster([mine, mine], [advertised], "orders") == sandbox.cluster_id
    assert OtherClusters(trusting(mine), 5).cluster_id(frozenset({advertised})) == sandbox.cluster_id


def test_a_login_goes_to_the_addresses_that_the_named_broker_hands_out(recorded, as_user, sandbox):
    """As in every Kafka client: the broker at the named address decides where the password goes."""
    named = Recorded(sandbox)
    named.proxy.other = HandsOut({named.home: ("127.0.0.1", recorded.proxy.port)})
    wire = as_user("tool", named.address)
    assert wire.cluster_id == sandbox.cluster_id
    wire.require_one_cluster()
    assert recorded.logins.users == {"tool"}
    named.proxy.close()


def test_the_target_of_a_move_is_asked_as_the_target_s_user_and_never_as_the_source_s(recorded, as_user, sandbox):
    source = as_user("tool", sandbox.sasl_bootstrap_servers)
    target = as_user("connector", recorded.address)
    assert read_producer_cluster([source, target], [recorded.address], "orders") == sandbox.cluster_id
    assert recorded.logins.users == {"connector"}


def test_without_credentials_the_question_has_the_addresses_that_only_the_plan_names(sandbox, at_terminal, tmp_path):
    servers = sandbox.bootstrap_servers
    plan = Plan("migrate-offsets", 1, (PlannedStep(ManualStep("restart it")),), (PlanTarget(Side.SOURCE, (servers,)),))
    write_plan_file(tmp_path / "a.plan", plan)
    asked = at_terminal(answer="n\n").run("apply", str(tmp_path / "a.plan"))
    assert asked.exit_code == 8
    assert f"a.plan at {servers}, which only the plan names (cluster {sandbox.cluster_id})? [y/N]" in asked.stderr

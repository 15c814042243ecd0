"""Addresses that the user did not name: nothing that shows who the user is goes there, and no connection before."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from msgspec.structs import replace

from eosctl.clients.librdkafka import configuration
from eosctl.clients.rest import RestClient
from eosctl.clients.rest_identity import WorkerUrl
from eosctl.clients.wire import Wire
from eosctl.codecs.client_properties import client_properties
from eosctl.commands.offsets.options import REQUEST_OPTIONS, about_offsets
from eosctl.errors import Refused
from eosctl.executors.apply import write_plan_file
from eosctl.model.plan import PlanTarget, Side
from eosctl.operations.session import Session
from eosctl.operations.session_options import SessionOptions
from eosctl.planning.migration import plan_migration
from eosctl.planning.undo import undo_plan
from eosctl.sources.cluster_reader import OtherClusters
from tests.operations.conversation import Conversation
from tests.planning.test_migration import FACTS, WISH

PASSWORD = "canary-7f3a"
PLAIN = (
    "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
    "sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required "
    f'username="ops" password="{PASSWORD}";\n'
)
CREDENTIALS = {
    "PLAIN": PLAIN,
    "SCRAM": PLAIN.replace("=PLAIN\n", "=SCRAM-SHA-512\n").replace("plain.Plain", "scram.Scram"),
    "Kerberos": "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=GSSAPI\n",
    "OAuth": "security.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER\n",
    "keystore": "security.protocol=SSL\nssl.keystore.location=/etc/ops.p12\nssl.keystore.password=geheim\n",
}


class Listener:
    """Accepts connections, and keeps what it is sent; it answers nothing."""

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:{1}".format(*self._server.getsockname())
        self.connections = 0
        self.received = b""
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                peer, _ = self._server.accept()
                self.connections += 1
                with peer:
                    self.received += peer.recv(1 << 16)

    def close(self) -> None:
        """Accepts no more."""
        self._server.close()


@contextmanager
def listening() -> Iterator[Listener]:
    listener = Listener()
    try:
        yield listener
    finally:
        listener.close()


@pytest.fixture
def victim() -> Iterator[Listener]:
    """An address that only a file names."""
    with listening() as listener:
        yield listener


def evil(path, victim, *, undo=False, urls=()):
    """A plan of eosctl's whose brokers, and workers, are somebody else's, with a digest that fits."""
    plan = replace(plan_migration(WISH, FACTS).plan, places=(PlanTarget(Side.SOURCE, (victim.address,), urls),))
    write_plan_file(path, undo_plan(plan) if undo else plan)
    return path


@pytest.mark.parametrize("command", ["apply", "undo"])
@pytest.mark.parametrize("mode", ["--dry-run", "--yes"])
@pytest.mark.parametrize("credentials", CREDENTIALS.values(), ids=CREDENTIALS)
def test_a_plan_file_sends_no_credentials_to_the_brokers_that_it_names(
    eosctl, tmp_path, victim, command, mode, credentials
):
    plan = evil(tmp_path / "evil.plan", victim, undo=command == "undo")
    (tmp_path / "client.properties").write_text(credentials)
    ran = eosctl(command, str(plan), mode, "--command-config", str(tmp_path / "client.properties"), "--timeout", "2")
    assert (ran.exit_code, victim.connections, victim.received) == (8, 0, b"")
    assert f"only the plan names {victim.address}, and your credentials would be shown there" in ran.stderr
    assert "give them: -b HOST:PORT" in ran.stderr


def test_the_plan_and_its_addresses_are_shown_before_anything_is_connected_to(eosctl, tmp_path, victim):
    plan = evil(tmp_path / "evil.plan", victim)
    ran = eosctl("apply", str(plan), "--dry-run", "-X", PLAIN.split("\n", maxsplit=1)[0], *_x(PLAIN), "--timeout", "2")
    assert f"Its source: brokers {victim.address}" in ran.stderr
    assert victim.connections == 0


def test_an_address_that_the_user_gives_is_connected_to(eosctl, tmp_path, victim):
    with listening() as mine:
        plan = evil(tmp_path / "evil.plan", victim)
        eosctl("apply", str(plan), "--dry-run", "-b", mine.address, *_x(PLAIN), "--timeout", "1")
        assert mine.connections > 0
        assert victim.connections == 0


def test_a_plan_s_workers_get_no_password_though_the_user_named_the_brokers(eosctl, tmp_path, victim):
    plan = evil(tmp_path / "evil.plan", victim, urls=(f"http://{victim.address}",))
    with listening() as mine:
        password = ("-X", f"basic.auth.user.info=ops:{PASSWORD}")
        ran = eosctl("apply", str(plan), "--yes", "-b", mine.address, *password, "--timeout", "1")
        assert (ran.exit_code, victim.connections, mine.connections) == (8, 0, 0)
        assert f"only the plan names http://{victim.address}" in ran.stderr


def test_credentials_are_shown_to_a_plan_s_brokers_after_their_address_was_typed(at_terminal, tmp_path, victim):
    plan = evil(tmp_path / "moved.plan", victim)
    refused = at_terminal(answer="y\n").run("apply", str(plan), *_x(PLAIN), "--timeout", "1")
    assert (refused.exit_code, victim.connections) == (8, 0)
    agreed = at_terminal(answer=f"{victim.address}\n").run("apply", str(plan), *_x(PLAIN), "--timeout", "1")
    assert agreed.exit_code == 4
    assert victim.connections > 0


def test_a_plan_without_credentials_is_read_where_it_was_made(eosctl, tmp_path, victim):
    ran = eosctl("apply", str(evil(tmp_path / "a.plan", victim)), "--dry-run", "--timeout", "1")
    assert ran.exit_code == 4
    assert victim.connections > 0


@pytest.mark.parametrize("command", ["apply", "undo"])
def test_yes_writes_to_no_address_that_only_the_plan_names_though_there_are_no_credentials(
    eosctl, tmp_path, victim, command
):
    plan = evil(tmp_path / "evil.plan", victim, undo=command == "undo", urls=(f"http://{victim.address}",))
    with listening() as mine:
        for named, unnamed in (
            ((), f"{victim.address}, http://{victim.address}"),
            (("-b", mine.address), f"http://{victim.address}"),
            (("--connect-url", f"http://{mine.address}"), victim.address),
        ):
            ran = eosctl(command, str(plan), "--yes", *named, "--timeout", "1")
            assert (ran.exit_code, victim.connections, mine.connections) == (8, 0, 0)
            assert f"only the plan names {unnamed}, and --yes alone agrees to no address" in ran.stderr
            assert f"Its source: brokers {victim.address}" in ran.stderr


def identity(*servers, extra=()):
    return client_properties(command_config=PLAIN, bootstrap_server=",".join(servers), extra=extra)


def test_a_connector_s_config_sends_no_credentials_to_the_brokers_that_it_names(victim):
    assert (
        OtherClusters(identity("mine:9092"), 1).cluster_id(frozenset({victim.address})).reason.startswith("the brokers")
    )
    assert (victim.connections, victim.received) == (0, b"")


@pytest.mark.parametrize(
    "named",
    [("mine:9092", "OTHER:9092"), ("mine:9092",)],
    ids=["-b", "eosctl.trusted.bootstrap.servers"],
)
def test_brokers_that_the_user_names_too_are_trusted(named):
    extra = () if len(named) > 1 else ("eosctl.trusted.bootstrap.servers=other:9092",)
    assert identity(*named, extra=extra).at(["other:9092"], "a config").needs_confirmation is False
    assert identity(*named, extra=extra).at(["other:9092", "evil:9092"], "a config").needs_confirmation is True


def test_brokers_of_options_are_the_user_s_word():
    seen = []
    show = about_offsets(lambda options, request: seen.append(options) or 0)
    given = {each.name: each.default for each in REQUEST_OPTIONS} | {"worker_bootstrap_servers": "w1:9092, w2:9092"}
    show(SessionOptions(Conversation(), bootstrap_servers="mine:9092"), **given)
    properties = Session(seen[0]).client_properties
    assert properties.at(["w2:9092"], "a config").named_by is None
    assert properties.at(["evil:9092", "w2:9092"], "a config").named_by == "a config"


def test_trust_does_not_go_on_from_brokers_that_a_config_names():
    first = identity("mine:9092").at(["evil:9092"], "a config")
    assert first.at(["evil:9092"], "another").needs_confirmation is True


def test_every_client_refuses_brokers_that_the_user_did_not_name():
    there = identity("mine:9092").at(["evil:9092"], "a config")
    for client in (Wire, configuration):
        with pytest.raises(Refused, match="the credentials of User:ops are not shown to them"):
            client(there)
    assert Wire(there.confirmed()).principal == "User:ops"


def test_no_request_goes_to_a_worker_that_only_a_file_names(victim):
    url = WorkerUrl(f"http://ops:{PASSWORD}@{victim.address}", named_by="a plan")
    with pytest.raises(Refused, match="is named by a plan and not by you"), RestClient(url, 1) as rest:
        rest.get("/")
    assert victim.connections == 0


def _x(text):
    return [word for line in filter(None, text.split("\n")) for word in ("-X", line)]

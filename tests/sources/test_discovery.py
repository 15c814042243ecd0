"""Discovery of a Connect cluster, and certificates on the way."""

import socket
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from msgspec.structs import replace

from eosctl.clients.rest import InternalAddress, RestClient
from eosctl.clients.rest_identity import DiscoveredUrl, WorkerUrl
from eosctl.codecs.client_properties import resolve_principal
from eosctl.errors import ConfigError, EosctlError, Refused, Unreachable, UsageError
from eosctl.model.client_properties import ClientProperties, Property
from eosctl.model.evidence import WorkerEvidence
from eosctl.model.groups import ConnectGroup, GroupMember, ListedGroup
from eosctl.model.skipped import Skipped
from eosctl.operations.session import new_fold
from eosctl.sources import kafka_groups
from eosctl.sources.config_providers import read_subject
from eosctl.sources.connect_rest import read_worker
from eosctl.sources.discovery import Discovery
from eosctl.sources.live_cluster import LiveCluster
from tests.live_reader import no_progress
from tests.sources.fake_connect import FakeWorker, serve

NOBODY = "http://127.0.0.1:9"
Saying = Callable[[str], None]


class Reach:
    """Brokers on the loopback address, and the workers that are named."""

    def __init__(self, *named: str, **properties: str) -> None:
        given = {key.replace("_", "."): Property(value, "-X") for key, value in properties.items()}
        self.client_properties = ClientProperties(("127.0.0.1:9092",), properties=given)
        self.connect_urls = tuple(WorkerUrl(url, lambda: self.client_properties) for url in named)
        self.wire, self.timeout_s = SimpleNamespace(cluster_id="K"), 5.0

    def now(self) -> int:
        return 0


@pytest.fixture
def members(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses of the group's members, to be filled."""
    urls: list[str] = []

    def described(*_: object) -> dict[str, ConnectGroup]:
        members = tuple(GroupMember(f"m-{url}", url) for url in urls)
        return {"ours": ConnectGroup("Stable", "connect", "sessioned", members)}

    monkeypatch.setattr(kafka_groups, "read_connect_groups", described)
    monkeypatch.setattr(kafka_groups, "listed_groups", lambda _: {})  # no other Connect group
    return urls


def list_groups(monkeypatch: pytest.MonkeyPatch, answer: object) -> None:
    def listed(_: object) -> object:
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(kafka_groups, "listed_groups", listed)
    monkeypatch.setattr(kafka_groups, "hidden_groups", lambda _: lambda: None)


def reader(reach: Reach, say: Saying = lambda _: None, group_id: str | None = "ours") -> LiveCluster:
    return LiveCluster(reach, group_id, no_progress, new_fold, Discovery(reach, say, opted_in=False))  # type: ignore[arg-type]


def test_a_member_that_answers_for_this_cluster_is_asked_and_others_are_named(members: list[str]) -> None:
    with serve(FakeWorker(), FakeWorker(cluster_id="other")) as (ours, theirs):
        members += [ours, theirs, NOBODY]
        said: list[str] = []
        found = Discovery(Reach(), said.append, opted_in=False).workers("ours")
    assert found.reached == (ours,)
    assert found.unread[theirs].reason == "who answers there is a worker of Kafka cluster other, not the member"
    assert found.unread[NOBODY].reason.startswith(f"no Connect worker answers at {NOBODY}")
    assert said == [f"also read: workers that are members of Connect group ours: {ours}"]


@pytest.mark.parametrize("named", [(), ("http://me:secret@127.0.0.1:1",)])
def test_no_request_is_made_that_would_show_a_password(members: list[str], named: tuple[str, ...]) -> None:
    rogue = FakeWorker()
    own = {} if named else {"basic_auth_user_info": "me:secret"}
    with serve(rogue) as [url]:
        members.append(url)
        found = Discovery(Reach(*named, **own), print, opted_in=False).workers("ours")
    assert rogue.requests == []
    assert "only a named worker gets a password" in found.unread[url].reason


def test_a_certificate_is_shown_to_no_member_and_is_no_reason_against_plain_http(members: list[str]) -> None:
    with serve(FakeWorker()) as [url]:
        members += [url, "https://127.0.0.1:9"]
        found = Discovery(Reach(ssl_keystore_location="mine.p12"), print, opted_in=False).workers("ours")
    assert found.reached == (url,)
    assert "only a named worker gets a certificate" in found.unread["https://127.0.0.1:9"].reason


def test_an_address_with_a_user_in_it_is_not_asked(members: list[str]) -> None:
    members.append("http://me:secret@127.0.0.1:9")
    found = Discovery(Reach(), print, opted_in=False).workers("ours")
    assert [each.reason for each in found.unread.values()] == ["it advertises an address with a user in it"]


@pytest.mark.parametrize("host", ["xn--", "xn--a", "[v1.a]", "[::zz]", "\u2460.com", "\x01"])
def test_a_host_that_is_none_is_named_and_not_asked(members: list[str], host: str) -> None:
    members.append(f"http://{host}:8083/")
    found = Discovery(Reach(), print, opted_in=False).workers("ours")
    assert [each.reason for each in found.unread.values()] == [f"http://{host}:8083 is not a URL"]


def test_a_found_worker_names_its_cluster_and_version_once(members: list[str]) -> None:
    worker = FakeWorker()
    with serve(worker) as [url]:
        members.append(url)
        asked = reader(Reach())
        assert asked.connect().workers[url].version == "4.3.1"  # type: ignore[union-attr]
        assert str(asked.connect_version()) == "4.3.1"
        assert [path for _, path, _ in worker.requests] == ["/", "/connectors?expand=status&expand=info"]
        asked.connect_version()
        assert worker.requests[-1][1] == "/", "an answer is used for one further fact, and not for ever"


def test_evidence_is_of_all_members_and_names_those_that_do_not_answer(members: list[str]) -> None:
    with serve(FakeWorker(), FakeWorker()) as (named, unnamed):
        members += [named, unnamed, NOBODY]
        asked = reader(Reach(named))
        found = asked.worker_evidence()
    assert not isinstance(found, Skipped)
    assert list(found) == [named, unnamed, NOBODY]
    assert isinstance(found[NOBODY], Skipped)
    assert [each.what for each in asked.coverage.gaps] == [f"worker {NOBODY}", f"worker {unnamed}: enabled"]


def test_the_answer_of_one_worker_for_all_stays_complete(members: list[str]) -> None:
    with serve(FakeWorker()) as [named]:
        members += [named, NOBODY]
        asked = reader(Reach(named))
        asked.connect()
    assert asked.coverage.gaps == ()
    assert [each.what for each in asked.coverage.unread] == [f"worker {NOBODY}"]


@pytest.mark.parametrize("is_named", [True, False])
def test_nothing_is_sent_to_a_worker_that_the_user_did_not_name(members: list[str], is_named: bool) -> None:
    worker, rogue = (FakeWorker(connectors={"orders": None, "bills": None}) for _ in range(2))
    with serve(worker, rogue) as (first, second):
        members += [first, second]
        asked = reader(Reach(*([first] if is_named else [])))
        evidence, preflight, support = asked.worker_evidence(), asked.preflight(), asked.source_support()
        asked.client_configs()
    sent = [[method for method, _, _ in each.requests if method != "GET"] for each in (worker, rogue)]
    assert sent[1] == []
    assert bool(sent[0]) == is_named
    assert ("GET", "/connectors?expand=info", None) not in rogue.requests
    assert not isinstance(evidence, Skipped)
    unnamed = evidence[second]
    assert isinstance(unnamed, WorkerEvidence)
    assert isinstance(unnamed.enabled, Skipped)
    assert "give its --connect-url" in unnamed.enabled.reason
    assert [isinstance(each, Skipped) for each in (preflight, support)] == [not is_named] * 2


def test_without_a_named_worker_a_member_speaks_for_all(members: list[str]) -> None:
    with serve(FakeWorker(connectors={"orders": None})) as [url]:
        members.append(url)
        asked = reader(Reach())
        statuses, configs = asked.connector_statuses(), asked.client_configs()
    assert not isinstance(statuses, Skipped)
    assert list(statuses) == ["orders"]
    assert configs is None, "they hold secrets"


def test_an_optional_read_waits_for_no_member(members: list[str]) -> None:
    with serve(FakeWorker()) as [url]:
        members.append(url)
        asked = reader(Reach())
        with asked.optional_reads():
            assert isinstance(asked.connect(), Skipped)


def test_the_group_is_searched_once_and_reported_once(monkeypatch: pytest.MonkeyPatch) -> None:
    list_groups(monkeypatch, {"ours": ListedGroup("ours", "connect", "Stable")})
    said: list[str] = []
    asked = reader(Reach(), said.append, None)
    assert [asked.group_id, asked.group_id] == ["ours", "ours"]
    assert said == ["Connect group ours: the only one of the Kafka cluster (--group-id names another)"]


def test_several_groups_leave_an_answer_as_it_is_and_are_named_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    list_groups(monkeypatch, {name: ListedGroup(name, "connect", "Stable") for name in ("east", "west")})
    asked = reader(Reach(), group_id=None)
    assert asked.group_id is None
    assert [each.reason for each in asked.coverage.unread] == ["the Kafka cluster has 2 Connect groups: east, west"]
    assert asked.coverage.gaps == ()


def test_a_list_that_fails_makes_an_answer_incomplete(monkeypatch: pytest.MonkeyPatch) -> None:
    list_groups(monkeypatch, Unreachable("broker 2 does not answer"))
    asked = reader(Reach(), group_id=None)
    assert asked.group_id is None
    assert [(each.what, each.reason) for each in asked.coverage.gaps] == [
        ("the Connect group", "broker 2 does not answer")
    ]


def test_a_group_that_was_not_found_is_looked_for_again_when_the_workers_are_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    list_groups(monkeypatch, UsageError("two"))
    found = Discovery(Reach(), print, opted_in=False)
    for _ in range(2):
        with pytest.raises(UsageError):
            found.group()
        list_groups(monkeypatch, {"ours": ListedGroup("ours", "connect", "Stable")})
    found.look_again()
    assert found.group() == "ours"


def test_a_member_gets_no_password_though_the_user_opted_in(members: list[str]) -> None:
    reach = Reach("http://127.0.0.1:9", basic_auth_user_info="user:secret")
    with serve(FakeWorker(), FakeWorker(password="secret")) as (plain, protected):
        members += [plain, protected]
        found = Discovery(reach, print, opted_in=True).workers("ours")
    assert found.reached == (plain,)
    assert "(401)" in found.unread[protected].reason
    assert f"give --connect-url {protected}, if it is one of your workers" in found.unread[protected].reason


@pytest.mark.parametrize(
    "host",
    [
        *("localhost", "localhost.", "LOCALHOST", "127.0.0.1", "127.1", "2130706433", "0x7f.1", "0177.0.0.1", "0"),
        *("0.0.0.0", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:0:0:1]"),
        *("169.254.169.254", "[fe80::1]"),
    ],
)
def test_an_internal_address_of_any_spelling_is_not_connected_to_where_brokers_are_elsewhere(
    members: list[str], host: str
) -> None:
    worker, reach = FakeWorker(), Reach()
    reach.client_properties = replace(reach.client_properties, bootstrap_servers=("broker.example:9092",))
    with serve(worker) as [url]:
        members.append(f"http://{host}:{url.rpartition(':')[2]}")
        found = Discovery(reach, print, opted_in=False).workers("ours")
    assert (found.reached, worker.requests) == ((), [])
    [unread] = found.unread.values()
    if host not in {"localhost.", "0177.0.0.1"}:  # not every resolver knows the one, and a URL has no such number
        assert f"{members[0]} is not asked: " in unread.reason
        assert not unread.cause.is_gap


def test_a_name_that_leads_elsewhere_at_the_second_connection_is_not_connected_to(
    members: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """DNS rebinding: the address of each connection is judged."""
    reach = Reach()
    reach.client_properties = replace(reach.client_properties, bootstrap_servers=("broker.example:9092",))
    answers = iter(["192.0.2.1", "127.0.0.1"])
    resolved: list[str] = []

    genuine = socket.getaddrinfo

    def getaddrinfo(host: str | bytes, port: int, *more: Any, **named: Any) -> list[Any]:
        if host != b"evil.example":
            return list(genuine(host, port, *more, **named))
        resolved.append(next(answers))
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (resolved[-1], port))]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    url = DiscoveredUrl.of("http://evil.example:1", lambda: reach.client_properties, None, is_here=False)
    with pytest.raises(EosctlError):
        read_worker(url, 0.2)
    with pytest.raises(InternalAddress, match=r"evil\.example leads to 127\.0\.0\.1: a loopback address"):
        read_worker(url, 0.2)
    assert resolved == ["192.0.2.1", "127.0.0.1"]


def test_a_discovered_address_takes_nothing_but_a_plain_get(members: list[str]) -> None:
    rogue = FakeWorker()
    with serve(rogue) as [url]:
        found = DiscoveredUrl.of(url, ClientProperties, None, is_here=True)
        for address in (found, WorkerUrl(found)):
            for method, body in (("PUT", {"a": 1}), ("PUT", None), ("POST", None), ("DELETE", None), ("GET", {"a": 1})):
                with RestClient(address, 1) as rest, pytest.raises(Refused, match="only the Connect group names"):
                    rest.request(method, "/connectors/evil/config", body)
    assert rogue.requests == []


def test_a_discovered_address_sees_neither_password_nor_certificate() -> None:
    given = {
        key: Property("x", "-X")
        for key in ("basic.auth.user.info", "ssl.keystore.location", "listeners.https.ssl.keystore.location")
    } | {"ssl.truststore.location": Property("trust.pem", "-X")}
    url = DiscoveredUrl.of("https://w:8083", lambda: ClientProperties((), properties=given), None, is_here=False)
    assert url.identity.is_anonymous
    assert url.identity.properties is not None
    assert list(url.identity.properties.properties) == ["ssl.truststore.location"]


START = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = ((NameOID.COUNTRY_NAME, "DE"), (NameOID.ORGANIZATION_NAME, "Example, Ltd"), (NameOID.COMMON_NAME, "orders"))


@pytest.fixture
def pem(tmp_path: Path) -> Path:
    """A Java PEM keystore: key and certificate of CN=orders in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(kind, value) for kind, value in NAMES])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(START).not_valid_after(START + timedelta(days=9000))
    certificate = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    clear = serialization.NoEncryption()
    path = tmp_path / "orders.pem"
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, clear)
    path.write_bytes(private + certificate)
    return path


def properties(**settings: str) -> dict[str, Property]:
    return {key.replace("_", "."): Property(value, "worker.properties") for key, value in settings.items()}


def test_the_subject_is_the_name_that_brokers_show(pem):
    settings = properties(security_protocol="SSL", ssl_keystore_type="PEM", ssl_keystore_location=str(pem))
    assert resolve_principal(settings, read_subject) == "User:CN=orders,O=Example\\, Ltd,C=DE"
    assert resolve_principal(settings, read_subject, "RULE:^CN=(.*?),.*$/$1/,DEFAULT") == "User:orders"


def test_a_keystore_that_is_not_there_is_named_with_the_way_round_it(tmp_path):
    settings = properties(security_protocol="SSL", ssl_keystore_location=str(tmp_path / "none.p12"))
    with pytest.raises(ConfigError, match=r"none\.p12") as caught:
        resolve_principal(settings, read_subject)
    assert "worker.properties" in caught.value.message
    assert "--principal ROLE=User:NAME" in str(caught.value.hint)

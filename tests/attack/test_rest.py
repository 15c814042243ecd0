"""Workers and addresses: limits, mistyped URLs, addresses that were not named."""

import json
import os
import random
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import product
from pathlib import Path

import pytest
from msgspec.structs import replace

from eosctl.clients.access import ClusterAccess
from eosctl.clients.librdkafka import configuration
from eosctl.clients.oauthbearer import TokenSource
from eosctl.clients.rest import RestClient, answered_offsets, config_of
from eosctl.clients.rest_identity import WorkerUrl, decode_json
from eosctl.clients.wire import Wire
from eosctl.codecs.client_properties import client_properties
from eosctl.commands.offsets.options import REQUEST_OPTIONS, about_offsets
from eosctl.errors import ConfigError, EosctlError, Refused, Undecodable, Unreachable
from eosctl.executors.apply import write_plan_file
from eosctl.executors.connectors import await_state, is_running, require_version
from eosctl.model.evidence import Preflight
from eosctl.model.names import Side
from eosctl.model.plan import PlanTarget
from eosctl.model.skipped import Skipped
from eosctl.model.versions import KafkaVersion
from eosctl.operations.session import Session
from eosctl.operations.session_options import SessionOptions
from eosctl.planning.migration import plan_migration
from eosctl.planning.undo import undo_plan
from eosctl.sources.cluster_reader import OtherClusters
from eosctl.sources.connect_rest import (
    await_end,
    probe_source_support,
    read_active_topics,
    read_answers,
    read_client_configs,
    read_connector_configs,
    read_connectors,
    read_preflight,
    read_worker,
    read_worker_evidence,
)
from tests.attack.hostile_worker import ENDLESS, HONEST, TEXTS, answer, answering, hostile, wrong_shape
from tests.codecs.test_snapshot import FULL, written
from tests.operations.conversation import Conversation
from tests.planning.test_migration import FACTS, WISH

TIME_S = 0.4
ALLOWED_S = 1.5
"""Beyond the time of a request: this machine may be busy."""

READERS = (
    lambda url: read_worker(url, TIME_S),
    lambda url: read_connectors(url, TIME_S),
    lambda url: read_active_topics([url], ["orders"], TIME_S),
    lambda url: read_connector_configs([url], TIME_S),
    lambda url: read_client_configs([url], TIME_S),
    lambda url: probe_source_support(url, TIME_S),
    lambda url: read_worker_evidence([url], TIME_S),
    lambda url: read_preflight([url], TIME_S),
    lambda url: on_rest(url, lambda rest: answered_offsets(rest, "orders")),
    lambda url: on_rest(url, lambda rest: config_of(rest, "orders")),
    lambda url: on_rest(url, lambda rest: require_version(rest, KafkaVersion(3, 5), "")),
    lambda url: on_rest(url, lambda rest: await_state(rest, "orders", running, "to run", 0)),
    lambda url: read_answers([url], ["orders"], TIME_S),
    lambda url: on_rest(url, lambda rest: await_end("orders", 0, rest)),
)


def running(connector, state, tasks):
    return is_running(connector, state, tasks, is_restarted=lambda trace: False)


def on_rest(url, ask):
    with RestClient(url, TIME_S) as rest:
        return ask(rest)


@contextmanager
def in_time():
    begun = time.monotonic()
    yield
    assert time.monotonic() - begun < TIME_S + ALLOWED_S


def test_half_a_surrogate_pair_in_an_answer_is_the_text_of_its_escape():
    body = rb'{"version": "4.3.1", "commit": "x\ud800y \ud83d\ude00 \\ud800", "kafka_cluster_id": "K"}'
    with hostile(answering(body)) as url:
        assert on_rest(url, lambda rest: rest.get("/"))["commit"] == "x\\ud800y \U0001f600 \\ud800"


@pytest.mark.parametrize("attack", ENDLESS, ids=lambda attack: attack.__name__)
def test_an_answer_without_end_ends_with_an_error_in_time(attack):
    with hostile(attack) as url, in_time(), pytest.raises(EosctlError) as caught:
        read_connectors(WorkerUrl(url, max_answer_bytes=1 << 20), TIME_S)
    assert url in caught.value.message
    assert caught.value.exit_code in {4, 7}


def test_the_limit_of_an_answer_is_reported_with_how_to_raise_it():
    body = b'{"version": "4.3.1", "kafka_cluster_id": "K", "more": "' + b"x" * (2 << 20) + b'"}'
    with hostile(answering(body)) as url:
        with pytest.raises(Undecodable, match="more than 1048576 bytes, the limit for an answer") as caught:
            read_worker(WorkerUrl(url, max_answer_bytes=1 << 20), 5)
        assert "--max-answer MIB" in caught.value.hint
        assert read_worker(WorkerUrl(url, max_answer_bytes=3 << 20), 5).version == "4.3.1"


@pytest.mark.parametrize("body", TEXTS, ids=lambda body: body[:12])
def test_an_answer_of_a_worker_that_is_no_json_is_undecodable(body):
    with pytest.raises(ValueError):  # noqa: PT011  # any text: the place is said by the caller
        decode_json(body)
    with (
        hostile(answering(body)) as url,
        pytest.raises(Undecodable, match="instead of JSON"),
    ):
        read_connectors(url, 5)


def shapes(seed):
    """All that is read of a worker whose answers have one other value each: a value or an error of ours."""
    with hostile(wrong_shape(seed)) as url:
        for number, read in enumerate(READERS):
            try:
                read(url)
            except EosctlError as error:
                assert error.exit_code in {2, 4, 6, 7, 8}, (seed, number, error)  # noqa: PT017
            except Exception as error:
                raise AssertionError(f"seed {seed}, reader {number}: {error!r}") from error


@pytest.mark.parametrize("seed", range(12))
def test_other_shapes_are_undecodable_and_no_bug(seed):
    shapes(seed)


def test_a_list_of_connectors_that_is_none_does_not_say_that_a_connector_is_absent():
    with (
        hostile(lambda connection, _: connection.sendall(answer("200 OK", b"{}"))) as url,
        pytest.raises(Undecodable, match="answered no list of connectors"),
    ):
        on_rest(url, lambda rest: config_of(rest, "orders"))


@pytest.mark.parametrize("status", ["500 Server Error", "502 Bad Gateway", "503 Service Unavailable"])
def test_a_page_of_a_proxy_is_unreachable_and_the_next_worker_is_asked(status):
    page = answer(status, b"<html>no upstream</html>", "text/html")
    body = b'["orders"]'
    with (
        hostile(lambda connection, _: connection.sendall(page)) as broken,
        hostile(answering(body)) as good,
    ):
        with pytest.raises(Unreachable, match=status[:3]):
            read_worker(broken, TIME_S)
        access = ClusterAccess(None, (broken, good), TIME_S)
        assert access.ask_worker(lambda rest: rest.get("/connectors")) == ["orders"]


def test_the_message_of_a_worker_is_masked_and_on_one_line():
    body = b'{"message": "no\\npassword=geheim \\u001b[2J\\u202e jdbc:x://u:geheim@db' + b"x" * 5_000 + b'"}'
    with (
        hostile(lambda connection, _: connection.sendall(answer("400 Bad Request", body))) as url,
        pytest.raises(Refused) as caught,
    ):
        read_worker(url, TIME_S)
    assert "geheim" not in caught.value.message
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 2_500


def test_a_silent_worker_is_late_and_not_waited_for_longer():
    with socket.create_server(("127.0.0.1", 0)) as silent, in_time(), pytest.raises(EosctlError):
        read_worker(f"http://127.0.0.1:{silent.getsockname()[1]}", TIME_S)


def token(url):
    module = (
        'org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required clientId="t" clientSecret="s"'
    )
    given = [f"sasl.jaas.config={module};", f"sasl.oauthbearer.token.endpoint.url={url}/token"]
    more = ["security.protocol=SASL_SSL", "sasl.mechanism=OAUTHBEARER"]
    return TokenSource(client_properties(extra=[*given, *more])).token()


@pytest.mark.parametrize("attack", ENDLESS, ids=lambda attack: attack.__name__)
def test_a_token_endpoint_without_end_ends_in_time(attack, monkeypatch):
    monkeypatch.setattr("eosctl.clients.oauthbearer.TIMEOUT_S", TIME_S)
    with hostile(attack) as url, in_time(), pytest.raises(EosctlError, match="the token endpoint"):
        token(url)


@pytest.mark.parametrize(
    "body",
    [
        *TEXTS,
        *(b'{"access_token": %s}' % each for each in (b"1", b"{}", b'""', b'"a\\u0001b"', b'"\\u00fc"')),
        *(b'{"access_token": "a", "expires_in": %s}' % each for each in (b'"1e999"', b"-1", b"1e300", b"[]", b'"nan"')),
    ],
    ids=lambda body: body[-40:],
)
def test_a_token_that_cannot_be_one_is_refused(body):
    with (
        hostile(answering(body)) as url,
        pytest.raises(ConfigError, match=r"without an access_token|more than 1048576 bytes"),
    ):
        token(url)


def test_honest_answers_are_read():
    def honest(connection, path):
        key = "validate" if path.endswith("/validate") else "/connectors?expand" if "?expand" in path else path
        connection.sendall(answer("200 OK", json.dumps(HONEST[key]).encode()))

    with hostile(honest) as url:
        assert read_worker(url, 5).version == "4.3.1"
        assert read_connectors(url, 5)["orders"].running_tasks == (0,)
        assert read_active_topics([url], ["orders"], 5) == {"orders": ("t",)}
        assert read_preflight([url], 5) == {"orders": Preflight({url: ("no",)})}
        assert not isinstance(probe_source_support(url, 5), Skipped)


PASSWORDS = (
    "geheim",
    "ge/heim",
    "ge#heim",
    "ge?heim",
    "ge heim",
    "ge@heim",
    "ge:heim",
    "ge://heim",
    "ge,heim",
    "/geheim",
)
SCHEMES = ("http://", "", "http:/", "http:", "//", "htp://", "ftp://", "HTTP://", "http//", " http://", "tcp://")
STORES = (
    "postgresql://",
    "postgres://",
    "sqlite://",
    "sqlite:///",
    "mysql://",
    "postgresql:",
    "",
    "http://",
    "sqlite:",
)


def leaks(ran):
    """The visible parts of a password."""
    text = ran.stdout + ran.stderr
    return [each for each in ("geheim", "heim") if each in text]


def mistyped(seed: int) -> str:
    """An address of some place with a password in it, mistyped in some way."""
    chosen = random.Random(seed)
    scheme, password = chosen.choice(SCHEMES + STORES), chosen.choice(PASSWORDS)
    return (
        f"{scheme}u:{password}@{chosen.choice(('h', 'h:1', 'h/x', '[::1]:1', ''))}{chosen.choice(('', '/', '/a?b#c'))}"
    )


@pytest.mark.parametrize("seed", range(300))
def test_no_reader_of_an_address_repeats_a_password(seed):
    from eosctl.clients.rest_identity import WorkerUrl
    from eosctl.codecs.client_properties import client_properties, no_lookup
    from eosctl.codecs.secrets import mask_url
    from eosctl.errors import EosctlError
    from eosctl.ledger.ledger import ledger_store

    url, said = mistyped(seed), []
    for read in (
        lambda: str(WorkerUrl(url)),
        lambda: ledger_store(url, no_lookup).name,
        lambda: str(client_properties(bootstrap_server=url).bootstrap_servers),
        lambda: mask_url(url),
    ):
        try:
            said.append(read())
        except EosctlError as error:
            said.append(f"{error.message} {error.hint}")
    assert [each for each in said if "heim" in each] == [], url


@pytest.mark.parametrize("password", PASSWORDS)
def test_the_address_of_a_worker_shows_no_password(eosctl, password):
    for scheme in SCHEMES:
        ran = eosctl("profile", "check", "--connect-url", f"{scheme}u:{password}@127.0.0.1:1", "--timeout", "0.1")
        assert (ran.exit_code in {1, 2, 4}, leaks(ran)) == (True, []), scheme


@pytest.mark.parametrize("password", PASSWORDS)
def test_an_address_in_the_environment_shows_no_password_though_it_is_split_at_blanks(eosctl, password, monkeypatch):
    monkeypatch.setenv("EOSCTL_CONNECT_URL", f"http://u:{password}@127.0.0.1:1")
    ran = eosctl("profile", "explain")
    assert leaks(ran) == []


@pytest.mark.parametrize("password", PASSWORDS)
def test_the_address_of_a_store_shows_no_password(eosctl, password):
    for scheme, rest in product(STORES, ("db/ledger", "/db/ledger")):
        ran = eosctl("audit", "status", "--store", f"{scheme}u:{password}@{rest}")
        assert (ran.exit_code, leaks(ran)) == (2, []), (scheme, rest)


@pytest.mark.parametrize("password", PASSWORDS)
def test_brokers_show_no_password(eosctl, password):
    for scheme in ("", "SASL_SSL://", "http://"):
        ran = eosctl("profile", "explain", "-b", f"{scheme}u:{password}@127.0.0.1:9092")
        assert (ran.exit_code, leaks(ran)) == (2, []), scheme


def test_an_x_without_its_equals_sign_is_not_repeated(eosctl):
    for given in (
        "geheim",
        "listeners.https.ssl.key.password geheim",
        "ssl.key.password:geheim",
        "ssl.key.password geheim",
        "=geheim",
    ):
        ran = eosctl("profile", "explain", "-X", given)
        assert (ran.exit_code, leaks(ran)) == (2, []), given


@pytest.mark.parametrize("password", PASSWORDS)
def test_a_profile_s_addresses_show_no_password(eosctl, password, tmp_path, monkeypatch):
    file = Path(os.environ["XDG_CONFIG_HOME"], "eosctl", "config.yaml")
    file.parent.mkdir()
    for field, scheme in (*product(["connect-url"], SCHEMES), *product(["audit-store"], STORES)):
        file.write_text(json.dumps({"profiles": {"a": {field: f"{scheme}u:{password}@h/x"}}}))
        ran = eosctl("profile", "list", "-o", "json")
        assert (ran.exit_code, leaks(ran)) == (2, []), (field, scheme)


def test_the_address_of_a_token_endpoint_shows_no_password(eosctl):
    for scheme, password in product(("http://", "https:/", "ftp://", ""), PASSWORDS):
        given = [
            "sasl.mechanism=OAUTHBEARER",
            "security.protocol=SASL_PLAINTEXT",
            f"sasl.oauthbearer.token.endpoint.url={scheme}u:{password}@127.0.0.1:1/token",
            "sasl.jaas.config=a.B required clientId=c clientSecret=geheim;",
        ]
        options = [part for each in given for part in ("-X", each)]
        ran = eosctl("offsets", "show", "-b", "127.0.0.1:1", "--timeout", "0.1", *options)
        assert (ran.exit_code in {2, 3, 4}, leaks(ran)) == (True, []), (scheme, password)


def test_an_address_that_is_right_is_taken_with_its_password():
    from eosctl.clients.rest_identity import WorkerUrl

    for text, address, credentials in (
        ("http://u:p%2Fw@h:8083/", "http://h:8083", ("u", "p/w")),
        ("https://h", "https://h", None),
        ("http://[::1]:8083/proxy/path", "http://[::1]:8083/proxy/path", None),
        ("http://u:p@w@h", "http://h", ("u", "p@w")),
    ):
        url = WorkerUrl(text)
        assert (str(url), url.identity.credentials) == (address, credentials)


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
    """Accepts connections, and keeps the received bytes; it answers nothing."""

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


@pytest.mark.parametrize("command", ["apply", "undo"])
@pytest.mark.parametrize("mode", ["--dry-run", "--yes"])
@pytest.mark.parametrize("place", ["EOSCTL_COMMAND_CONFIG", "EOSCTL_PROFILE", "current profile", "profile's file"])
def test_credentials_of_the_environment_or_a_profile_are_not_sent_there_either(
    eosctl, tmp_path, victim, command, mode, place, monkeypatch
):
    """Nor with a profile whose own brokers are others: the plan's are not its."""
    plan, file = evil(tmp_path / "evil.plan", victim, undo=command == "undo"), tmp_path / "client.properties"
    file.write_text(PLAIN)
    profile = Path(os.environ["XDG_CONFIG_HOME"], "eosctl", "config.yaml")
    profile.parent.mkdir()
    given = dict(line.split("=", 1) for line in PLAIN.splitlines() if "jaas" not in line)
    (tmp_path / "jaas").write_text(PLAIN.splitlines()[-1].partition("=")[2])
    known = {"properties": given | {"sasl.jaas.config": f"file:{tmp_path / 'jaas'}"}}
    match place:
        case "EOSCTL_COMMAND_CONFIG":
            monkeypatch.setenv(place, str(file))
        case "EOSCTL_PROFILE":
            monkeypatch.setenv(place, "mine")
        case "profile's file":
            known = {"command-config": str(file)}
    current = {} if place.startswith("EOSCTL") else {"current": "mine"}
    with listening() as mine:
        for own in ({}, {"bootstrap-server": mine.address}):
            profile.write_text(json.dumps({**current, "profiles": {"mine": known | own}}))
            ran = eosctl(command, str(plan), mode, "--timeout", "2")
            assert (victim.connections, victim.received) == (0, b""), (own, ran.stderr)
            assert PASSWORD not in ran.stdout + ran.stderr
            if not own or place == "EOSCTL_COMMAND_CONFIG":
                assert ran.exit_code == 8, ran.stderr
                assert f"only the plan names {victim.address}" in ran.stderr


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


OF_SNAPSHOTS = (
    *("doctor", "upgrade-check --to enabled", "inspect-config", "timeline", "connector list", "connector show c"),
    *("offsets show", "acl-plan --phase enabled", "transactions list", "transactions hanging", "transactions lso"),
)


@pytest.mark.parametrize("command", OF_SNAPSHOTS)
@pytest.mark.parametrize("credentials", ["", PLAIN], ids=["anonymous", "with a password"])
def test_a_snapshot_leads_to_no_connection(eosctl, tmp_path, victim, command, credentials):
    """Its brokers, workers, members and overrides of connectors are all somebody else's address."""
    text = "".join(written(FULL)).replace(
        '"x":null', f'"producer.override.bootstrap.servers":"{victim.address}","connector.class":"FileStreamSource"'
    )
    text = re.sub(r"\b[abvwx]:\d+", victim.address, text)
    assert text.count(victim.address) > 6
    file, more = tmp_path / "evil.snapshot", _x(credentials)
    file.write_text(text)
    ran = eosctl(*command.split(), "--snapshot", file, *more)
    assert ran.exit_code in {0, 1, 2, 3, 4, 5}, ran.stderr
    assert (victim.connections, victim.received) == (0, b"")


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


def test_trust_does_not_continue_from_brokers_that_a_config_names():
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

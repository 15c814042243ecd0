"""Connect workers behind https: the client's certificate, basic auth, and what is never shown."""

import base64
import json
import ssl
from contextlib import contextmanager
from copy import deepcopy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from certificates import PASSWORD, Authority

from eosctl.clients import rest
from eosctl.clients.request_log import RequestLog
from eosctl.clients.rest import RestClient
from eosctl.clients.rest_identity import DiscoveredUrl, RestIdentity, WorkerUrl
from eosctl.codecs.client_properties import client_properties
from eosctl.errors import ConfigError, NotAuthorized, OtherCluster, Refused, Unreachable
from eosctl.sources.connect_rest import read_connect

AUTHORIZED = "Basic " + base64.b64encode(b"tool:ge:heim").decode()


@pytest.fixture(scope="module")
def authority():
    return Authority()


@pytest.fixture(scope="module")
def own(authority, tmp_path_factory):
    """Properties that trust the authority and show a certificate, as a worker's file or a client's has them."""
    home = tmp_path_factory.mktemp("stores")
    (home / "trust.pem").write_text(authority.root_pem)
    store = authority.issue("tool").pkcs12(home / "own.p12")
    trust = [f"truststore.location={home}/trust.pem", "truststore.type=PEM"]
    return trust, [*trust, f"keystore.location={store}", "keystore.type=PKCS12", f"keystore.password={PASSWORD}"]


@contextmanager
def worker(
    holder=None,
    trusted=None,
    needs=None,
    moved_to=None,
    version=None,
    status=302,
    only=None,
    seen=None,
    *,
    protocol="HTTP/1.0",
    clusters=("C1",),
):
    """A worker that asks for what `needs` says, under the certificate of `holder`; yields its address.

    With HTTP/1.0 it ends each connection after one answer. It is of the next of `clusters` at each GET /, then of the
    last.
    """
    of = list(clusters)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = protocol

        def do_GET(self):
            cluster = (of.pop(0) if of[1:] else of[0]) if self.path == "/" else None
            root = {"version": "4.3.1", "kafka_cluster_id": cluster}
            body = json.dumps(root if self.path == "/" else {}).encode()
            if seen is not None:
                seen.append((self.command, self.path))
            moves = moved_to and only in (None, self.path)
            self.rfile.read(int(self.headers["Content-Length"] or 0))
            self.send_response(status if moves else 200 if needs in (None, self.headers["Authorization"]) else 401)
            if moves:
                self.send_header("Location", moved_to.format(port=self.server.server_port))
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_PUT = do_POST = do_DELETE = do_GET

        def log_message(self, *_):
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_):
            pass

    server = Server(("127.0.0.1", 0), Handler)
    if holder is not None:
        server.socket = context(holder, trusted, version).wrap_socket(server.socket, server_side=True)
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield f"http{'' if holder is None else 's'}://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def context(holder, trusted, version):
    import tempfile

    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(holder.key_pem() + holder.chain_pem)
        file.flush()
        made.load_cert_chain(file.name)
    if version is not None:
        made.minimum_version = made.maximum_version = version
    if trusted is not None:
        made.verify_mode = ssl.CERT_REQUIRED
        made.load_verify_locations(cadata=trusted.root_pem)
    return made


def properties(*texts):
    return lambda: client_properties(extra=texts)


def get(url):
    with RestClient(url, 5) as rest:
        return rest.get("/")


@pytest.mark.parametrize("prefix", ["ssl.", "listeners.https.ssl."])
def test_a_worker_that_wants_a_certificate_gets_it(authority, own, prefix):
    given = properties(*(prefix + text for text in own[1]))
    with worker(authority.issue("worker", "127.0.0.1"), trusted=authority) as url:
        assert get(WorkerUrl(url, given))["version"] == "4.3.1"
        without = properties(*(prefix + text for text in own[0]))
        with pytest.raises((NotAuthorized, Unreachable)):
            get(WorkerUrl(url, without))


def test_the_listener_s_settings_hold_alone(authority, own):
    given = properties(*("ssl." + text for text in own[0]), "listeners.https.ssl.protocol=TLSv1.3")
    with worker(authority.issue("worker", "127.0.0.1")) as url, pytest.raises(Unreachable, match="not signed by"):
        get(WorkerUrl(url, given))


@pytest.mark.parametrize(
    ("limit", "answered"),
    [
        ("enabled.protocols=TLSv1.2,TLSv1.3", ["TLSv1_2", "TLSv1_3"]),
        ("enabled.protocols=TLSv1.2", ["TLSv1_2"]),
        ("enabled.protocols=TLSv1.3", ["TLSv1_3"]),
        ("cipher.suites=TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", ["TLSv1_2"]),
    ],
)
@pytest.mark.parametrize("prefix", ["ssl.", "listeners.https.ssl."])
def test_a_worker_is_asked_in_the_versions_that_are_allowed(authority, own, prefix, limit, answered):
    given = properties(*(prefix + text for text in (*own[0], limit)))
    done = []
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        with worker(authority.issue("worker", "127.0.0.1"), version=version) as url:
            try:
                get(WorkerUrl(url, given))
                done.append(version.name)
            except Unreachable as error:
                assert error.message.endswith("it shares no TLS version or cipher suite with this client")  # noqa: PT017
    assert done == answered


@pytest.mark.parametrize(
    ("hosts", "days", "says"),
    [
        (["elsewhere"], 30, "its certificate is for another host name"),
        (["127.0.0.1"], -1, "its certificate has expired"),
    ],
)
def test_a_worker_s_certificate_that_does_not_do_is_one_clear_line(authority, own, hosts, days, says):
    given = properties(*("ssl." + text for text in own[0]))
    with worker(authority.issue("worker", *hosts, days=days)) as url, pytest.raises(Unreachable) as caught:
        get(WorkerUrl(url, given))
    assert caught.value.message == f"{url} is not trusted: {says}"


def test_basic_auth_is_of_the_url_or_of_the_properties():
    with worker(needs=AUTHORIZED) as url:
        inside = url.replace("://", "://tool:ge%3Aheim@")
        assert get(WorkerUrl(inside))["version"] == "4.3.1"
        assert get(WorkerUrl(url, properties("basic.auth.user.info=tool:ge:heim")))["version"] == "4.3.1"
        for wrong in (url, WorkerUrl(url, properties("basic.auth.user.info=tool:other"))):
            with pytest.raises(NotAuthorized):
                get(wrong)


def test_the_password_of_an_address_is_in_nothing_that_is_reported():
    with worker(needs=AUTHORIZED) as url:
        address = WorkerUrl(url.replace("://", "://tool:ge%3Aheim@"))
        facts = read_connect([address, WorkerUrl("http://tool:geheim@127.0.0.1:9")], 5)
    printed = f"{address!r} {address} {facts!r} {address.identity!r} {WorkerUrl(address)!r}"
    assert "heim" not in printed
    assert str(address) == url
    assert WorkerUrl(address).identity.basic_auth == ("tool", "ge:heim")


STATUSES = (301, 302, 303, 307, 308)


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("given", [(), ("basic.auth.user.info=tool:geheim",)])
def test_a_get_is_not_redirected_to_an_address_that_the_user_did_not_name(status, given):
    with worker() as other, worker(moved_to=other, status=status) as url:
        with pytest.raises(Refused, match="which is not followed") as caught:
            get(WorkerUrl(url, properties(*given)))
        assert other in caught.value.message


@pytest.mark.parametrize(
    "place", ["https://127.0.0.1:{port}/", "//localhost:{port}/", "http://me:pw@127.0.0.1:{port}/", "http://xn--/"]
)
def test_another_scheme_or_host_or_a_user_in_the_address_is_another_address(place):
    with worker(moved_to=place) as url, pytest.raises(Refused, match="not followed") as caught:
        get(url)
    assert "pw" not in caught.value.message


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("method", ["PUT", "POST", "DELETE"])
def test_a_write_is_redirected_nowhere_not_even_to_the_same_address(method, status):
    seen, place = [], "/connectors/evil/config"
    moved = worker(moved_to="/elsewhere", status=status, only=place, seen=seen)
    with moved as url, pytest.raises(Refused, match="not followed"):
        RestClient(url, 5).request(method, place, {"a": "b"})
    assert seen == [("GET", "/"), (method, place)]


def test_a_get_is_redirected_to_the_same_address_and_a_chain_does_not_leave_it():
    seen = []
    with worker(moved_to="/", only="/base/", seen=seen) as url, RestClient(url, 5) as rest:
        assert rest.get("/base/")["version"] == "4.3.1"
    assert seen == [("GET", "/"), ("GET", "/base/"), ("GET", "/")]
    with worker() as other, worker(moved_to=other, only="/") as url, worker(moved_to="/", only="/base") as first:
        with RestClient(url, 5) as rest, pytest.raises(Refused, match="not followed"):
            rest.get("/")
        with RestClient(first, 5) as rest:
            assert rest.get("/base")["version"] == "4.3.1"


def test_a_redirect_of_a_discovered_address_is_not_followed_at_all():
    seen = []
    with worker(moved_to="/other", seen=seen) as url, pytest.raises(Refused, match="not followed"):
        get(DiscoveredUrl.of(url, properties(), None, is_here=True))
    assert seen == [("GET", "/")]


def test_basic_auth_without_a_colon_is_refused():
    with pytest.raises(ConfigError, match=r"basic\.auth\.user\.info from -X is not user:password"):
        assert RestIdentity(properties("basic.auth.user.info=geheim")()).basic_auth


def test_an_address_made_of_an_address_keeps_whom_to_ask_it_as():
    given = properties("basic.auth.user.info=user:geheim")
    assert WorkerUrl(WorkerUrl("http://w:8083", given)).identity.basic_auth == ("user", "geheim")
    assert WorkerUrl(WorkerUrl("http://me:mine@w:8083", given)).identity.basic_auth == ("me", "mine")


def test_an_address_that_is_made_of_another_counts_its_requests_with_it():
    count = RequestLog()
    address = WorkerUrl(WorkerUrl("http://127.0.0.1:9", None, 1, count))
    with pytest.raises(Unreachable):
        get(address)
    assert count.total == 1


@contextmanager
def kept(address):
    """The address as a command has it: clients leave their connections to the next one."""
    url = WorkerUrl(address)
    url.keep_connections()
    try:
        yield url
    finally:
        url.close()


def ask(url, *paths):
    for path in paths:
        with RestClient(url, 5) as client:
            client.get(path)


def test_clients_of_one_connection_ask_once_for_the_worker_s_cluster():
    seen = []
    with worker(seen=seen, protocol="HTTP/1.1") as address, kept(address) as url:
        ask(url, "/connectors", "/connector-plugins", "/connectors")
    assert [path for _, path in seen] == ["/", "/connectors", "/connector-plugins", "/connectors"]


def test_before_each_write_the_worker_is_asked_for_its_cluster_on_a_kept_connection_too():
    seen = []
    with worker(seen=seen, protocol="HTTP/1.1") as address, kept(address) as url:
        ask(url, "/connectors")
        with RestClient(url, 5) as client:
            client.request("PUT", "/connectors/c/pause")
    assert seen == [("GET", "/"), ("GET", "/connectors"), ("GET", "/"), ("PUT", "/connectors/c/pause")]


def test_behind_a_connection_that_had_to_be_opened_again_the_cluster_is_asked_for_again():
    with worker(clusters=("C1", "C2")) as address, kept(address) as url:
        ask(url, "/connectors")
        for _ in range(2):
            with pytest.raises(OtherCluster, match="cluster C2 now"):
                ask(url, "/connectors")


def test_a_worker_that_ends_every_connection_is_asked_for_its_cluster_once_a_client():
    seen = []
    with worker(seen=seen) as address, kept(address) as url:
        for _ in range(2):
            with RestClient(url, 5) as client:
                for path in ("/connectors", "/connector-plugins"):
                    client.get(path)
    assert [path for _, path in seen].count("/") == 2


def test_a_connection_that_was_left_longer_ago_is_closed_and_not_used(monkeypatch):
    seen = []
    monkeypatch.setattr(rest, "MOST_IDLE_S", -1.0)
    with worker(seen=seen, protocol="HTTP/1.1") as address, kept(address) as url:
        ask(url, "/connectors", "/connectors")
    assert [path for _, path in seen] == ["/", "/connectors"] * 2


def test_a_copy_of_what_holds_an_address_holds_the_same_address():
    url = WorkerUrl("http://user:secret@worker:8083")
    assert deepcopy([url])[0] is url

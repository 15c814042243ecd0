"""librdkafka: settings, tokens, and packages that load late."""

import base64
import json
import subprocess
import sys
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from urllib.parse import parse_qs

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import NewTopic

from eosctl.clients import kafka_python
from eosctl.clients.librdkafka import (
    TransactionalProducer,
    admin_client,
    configuration,
    consumer,
    create_topic,
    delete_topic,
    producer,
)
from eosctl.clients.oauthbearer import TokenSource
from eosctl.clients.tls import ssl_context
from eosctl.codecs.client_properties import client_properties
from eosctl.errors import ConfigError, NotAuthorized, Refused, Unreachable, Unsupported
from tests.topics import make_topic

ADDRESS = "broker:9093"


def properties(*extra):
    return client_properties(bootstrap_server=ADDRESS, extra=["security.protocol=SSL", *extra])


def test_plain_credentials_are_handed_over():
    jaas = 'sasl.jaas.config=a.B required username="tool" password="s3cret";'
    settings = configuration(properties("security.protocol=SASL_PLAINTEXT", "sasl.mechanism=PLAIN", jaas))
    assert settings == {
        "bootstrap.servers": ADDRESS,
        "security.protocol": "SASL_PLAINTEXT",
        "client.id": settings["client.id"],
        "sasl.mechanism": "PLAIN",
        "sasl.username": "tool",
        "sasl.password": "s3cret",
    }
    assert str(settings["client.id"]).startswith("eosctl/")


def test_a_truststore_that_is_missing_is_named(tmp_path):
    missing = tmp_path / "ca.pem"
    with pytest.raises(
        ConfigError, match=rf"truststore {missing} \(ssl.truststore.location, -X\) cannot be used: No such file"
    ):
        ssl_context(properties("ssl.truststore.type=PEM", f"ssl.truststore.location={missing}"))


def test_a_certificate_chain_without_its_key_is_refused():
    with pytest.raises(ConfigError, match=r"without ssl\.keystore\.key"):
        ssl_context(properties("ssl.keystore.certificate.chain=PEM"))


def test_host_names_are_checked_unless_the_check_is_disabled():
    assert ssl_context(properties()).check_hostname
    assert not ssl_context(properties("ssl.endpoint.identification.algorithm=")).check_hostname


@pytest.mark.kafka
def test_a_key_goes_to_the_partition_that_java_would_choose(sandbox, fresh_name):
    name = fresh_name("murmur2")
    here = client_properties(bootstrap_server=sandbox.bootstrap_servers)
    admin = admin_client(here)
    make_topic(admin, NewTopic(name, 25, 1))
    # Partition of 25 by Java's murmur2, computed with Kafka's own class.
    java = {
        b'["file-source",{"filename":"/tmp/test.txt"}]': 21,
        b'["MirrorSourceConnector",{"cluster":"A","partition":0,"topic":"t"}]': 7,
        b'["reddit-source",{"subreddit":"apachekafka"}]': 3,
    }
    writer = producer(here)
    for key in java:
        writer.produce(name, key=key, value=b"x")
    assert writer.flush(30) == 0
    reader = consumer(here, auto_offset_reset="earliest")
    reader.assign([TopicPartition(name, partition, 0) for partition in range(25)])
    found = {message.key(): message.partition() for message in reader.consume(3, 30)}
    reader.close()
    assert found == java


@pytest.mark.parametrize("client", ["kafka-python", "librdkafka"])
def test_kerberos_names_the_missing_package(client, monkeypatch):
    monkeypatch.setitem(sys.modules, "gssapi", None)
    given = properties("security.protocol=SASL_SSL", "sasl.kerberos.service.name=kafka")
    with pytest.raises(Unsupported) as caught:
        kafka_python.configuration(given) if client == "kafka-python" else admin_client(given)
    lacking = {
        "kafka-python": "SASL mechanism GSSAPI needs the Python package gssapi, which is not installed here",
        "librdkafka": "librdkafka, which writes offsets and topics, is built without GSSAPI here",
    }
    assert caught.value.message == lacking[client]
    assert "pip install" in caught.value.hint


def test_settings_that_librdkafka_does_not_take_are_a_configuration_error():
    with pytest.raises(ConfigError, match="librdkafka does not take the client properties"):
        admin_client(properties("security.protocol=SASL_SSL", "sasl.mechanism=DIGEST-MD5"))


MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"


def source(*texts, jaas=""):
    given = ["security.protocol=SASL_SSL", "sasl.mechanism=OAUTHBEARER", f"sasl.jaas.config={MODULE} {jaas};", *texts]
    return TokenSource(client_properties(extra=given))


def jwt(**claims):
    return "e30." + base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=") + ".sig"


@contextmanager
def endpoint(status, body):
    """An endpoint with this answer; yields its address and its received requests."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            asked.append((self.headers["Authorization"], form))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield f"sasl.oauthbearer.token.endpoint.url=http://127.0.0.1:{server.server_port}/token", asked
    finally:
        server.shutdown()
        server.server_close()


CREDENTIALS = 'clientId="tool" clientSecret="geheim" scope="kafka"'


def test_a_file_holds_the_token(tmp_path):
    text = jwt(sub="tool", exp=9_999_999_999)
    (tmp_path / "token").write_text(text + "\n")
    token = source(f"sasl.oauthbearer.token.endpoint.url=file://{tmp_path}/token").token()
    assert (token.text, token.principal, token.expires_at_s) == (text, "tool", 9_999_999_999)
    assert text not in repr(token)


def test_an_endpoint_is_asked_once_for_a_token_that_lives():
    body = json.dumps({"access_token": "opaque", "expires_in": 600}).encode()
    with endpoint(200, body) as (url, asked):
        tokens = source(url, jaas=CREDENTIALS)
        assert tokens.token() == tokens.token()
        assert tokens.token().text == "opaque"
    basic = "Basic " + base64.b64encode(b"tool:geheim").decode()
    assert asked == [(basic, {"grant_type": ["client_credentials"], "scope": ["kafka"]})]


@pytest.mark.parametrize(
    ("status", "body", "kind", "says"),
    [
        (401, b"{}", NotAuthorized, r"^client tool may not get a token on http://127\.0\.0\.1:\d+/token \(401\)$"),
        (200, b"geheim", ConfigError, "answered 200 without an access_token"),
        (500, b"{}", Unreachable, "answered 500$"),
    ],
)
def test_an_endpoint_that_gives_none_is_reported(status, body, kind, says):
    with endpoint(status, body) as (url, _), pytest.raises(kind, match=says) as caught:
        source(url, jaas=CREDENTIALS).token()
    assert "geheim" not in caught.value.message


@pytest.mark.parametrize(
    ("texts", "jaas", "kind", "says"),
    [
        ((), "", ConfigError, "needs sasl.oauthbearer.token.endpoint.url"),
        (
            ("sasl.oauthbearer.token.endpoint.url=file:///not/there",),
            "",
            ConfigError,
            "endpoint.url /not/there: No such file",
        ),
        (("sasl.oauthbearer.token.endpoint.url=http://127.0.0.1:9",), "", ConfigError, "needs clientId"),
        (("sasl.oauthbearer.token.endpoint.url=http://127.0.0.1:9",), CREDENTIALS, Unreachable, "does not answer"),
        (("sasl.oauthbearer.token.endpoint.url=http://xn--a/",), CREDENTIALS, Unreachable, "this is not a URL"),
    ],
)
def test_a_missing_part_is_reported(texts, jaas, kind, says):
    with pytest.raises(kind, match=says):
        source(*texts, jaas=jaas).token()


def test_extensions_are_handed_on():
    assert source(jaas='extension_cluster="c1" x="y"').extensions == {"cluster": "c1"}


ASKING = """
import json, sys
import eosctl.clients
import kafka.net.manager, aiokafka.record.default_records
some = ("kafka.consumer", "kafka.protocol.admin.topics", "aiokafka.producer")
seen = {"before": [name for name in some if name in sys.modules]}
import kafka, aiokafka
from kafka import KafkaAdminClient
seen["names"] = [KafkaAdminClient.__module__, kafka.KafkaConsumer.__name__, aiokafka.AIOKafkaProducer.__name__]
seen["version"] = kafka.__version__ == __import__("importlib.metadata").metadata.version("kafka-python")
from kafka.protocol.admin import CreateTopicsRequest, ListGroupsRequest
seen["classes"] = ListGroupsRequest is sys.modules["kafka.protocol.admin.groups"].ListGroupsRequest
seen["after"] = [name for name in some if name in sys.modules]
for ask in ("kafka.Nobody", "kafka.__wrapped__"):
    try:
        eval(ask)
    except AttributeError as error:
        seen[ask] = str(error)
try:
    import kafka.nobody
except ModuleNotFoundError as error:
    seen["import"] = error.name
print(json.dumps(seen))
"""


def test_a_bare_package_runs_its_init_for_the_first_name_that_is_no_module():
    ran = subprocess.run([sys.executable, "-c", ASKING], check=True, capture_output=True, text=True, timeout=60)
    assert json.loads(ran.stdout) == {
        "before": [],
        "names": ["kafka.admin.client", "KafkaConsumer", "AIOKafkaProducer"],
        "version": True,
        "classes": True,
        "after": ["kafka.consumer", "kafka.protocol.admin.topics", "aiokafka.producer"],
        "kafka.Nobody": "module 'kafka' has no attribute 'Nobody'",
        "kafka.__wrapped__": "module 'kafka' has no attribute '__wrapped__'",
        "import": "kafka.nobody",
    }


BARE_MODULES = """
import json, sys, threading
import eosctl.__main__, eosctl.cli
whole = lambda name: type(sys.modules[name]).__name__ == "module"
seen = {"unrun": sorted(name for name in eosctl.__main__.SELDOM_USED if name in sys.modules and not whole(name))}
start, sizes = threading.Barrier(8), []
def look():
    start.wait()
    import ssl
    sizes.append((ssl.create_default_context.__name__, len(ssl.TLSVersion), ssl.SSLSocket.__module__))
threads = [threading.Thread(target=look) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
seen["by threads"] = sorted({(*size, sizes.count(size)) for size in sizes})
import subprocess, typing_extensions
from typing import get_type_hints
seen["ran"] = [subprocess.check_output(["echo", "a"], text=True), typing_extensions.get_type_hints is get_type_hints]
seen["whole"] = [whole("ssl"), whole("subprocess"), whole("typing_extensions")]
import kafka.net.connection
seen["unsent"] = "kafka.protocol.consumer.group" in sys.modules
from kafka.protocol.consumer import OffsetFetchRequest
seen["sent"] = OffsetFetchRequest[0]("a", []).group_id
print(json.dumps(seen))
"""


def test_a_module_that_the_program_opened_bare_runs_once_at_its_first_name_whichever_thread_asks():
    ran = subprocess.run([sys.executable, "-c", BARE_MODULES], check=True, capture_output=True, text=True, timeout=60)
    seen = json.loads(ran.stdout)
    assert {"subprocess", "typing_extensions"} <= set(seen.pop("unrun"))
    assert seen == {
        "by threads": [["create_default_context", 7, "ssl", 8]],
        "ran": ["a\n", True],
        "whole": [True, True, False],
        "unsent": False,
        "sent": "a",
    }


def test_a_program_that_imports_eosctl_has_the_modules_of_python_as_they_are():
    code = (
        "import sys, eosctl.api\nimport ssl, subprocess, tempfile\nprint(type(ssl), type(subprocess), type(tempfile))"
    )
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60)
    assert ran.stdout.split("> <") == ["<class 'module'", "class 'module'", "class 'module'>\n"]


def test_a_name_is_never_cut_at_a_nul_character():
    """librdkafka takes `orders-0` for the ID orders-0\\0-1: it would fence another task, or delete another topic."""
    here, cut = client_properties(bootstrap_server="127.0.0.1:1"), "orders-0\0-1"
    with TransactionalProducer(here, "orders-0-1", transaction_timeout_ms=1000, timeout_s=1) as made:
        for act in (
            lambda: TransactionalProducer(here, cut, transaction_timeout_ms=1000, timeout_s=1),
            lambda: create_topic(here, cut, partitions=1, replication_factor=1, settings={}, timeout_s=1),
            lambda: create_topic(here, "a", partitions=1, replication_factor=1, settings={"b": cut}, timeout_s=1),
            lambda: delete_topic(here, cut, timeout_s=1),
            lambda: made.write(cut, ()),
        ):
            with pytest.raises(Refused, match="has a NUL character, and librdkafka would take only the text before it"):
                act()


@pytest.mark.parametrize("lifetime", ["x", "-1", "0", "nan", "1e400"])
def test_the_life_of_an_unsecured_token_is_a_number_of_seconds(lifetime):
    login = f'unsecuredLoginStringClaim_sub="a" unsecuredLoginLifetimeSeconds="{lifetime}"'
    given = properties("sasl.mechanism=OAUTHBEARER", f"sasl.jaas.config=a.B required {login};")
    with pytest.raises(ConfigError, match=r"unsecuredLoginLifetimeSeconds in .* is no number of seconds"):
        TokenSource(given).token()

"""A real worker that wants a certificate and a password: eosctl shows both, to it alone."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from certificates import PASSWORD, Authority

from eosctl.clients.rest import RestClient
from eosctl.clients.rest_identity import WorkerUrl
from eosctl.codecs.client_properties import client_properties
from eosctl.errors import NotAuthorized
from eosctl.sandbox.properties import SandboxSpec
from eosctl.sandbox.site import PortLeases
from tests.faulty_sandbox import Sandbox
from tests.integration.rest_extension import ASKING, among_kafka_s_jars, java_option

pytestmark = [pytest.mark.kafka, pytest.mark.variation]

CANARY = "ge:heim@es"
BASIC = f"basic.auth.user.info=tool:{CANARY}"


@dataclass(frozen=True)
class Guarded:
    """The worker's two addresses and the properties that trust it, and that show a certificate beside."""

    sandbox: Sandbox
    plain: str
    https: str
    trusting: str
    showing: str


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    home, leases, authority = tmp_path_factory.mktemp("stores"), PortLeases(), Authority()
    spec = SandboxSpec(worker_java_options=(java_option(home, tool=CANARY),))
    with among_kafka_s_jars(spec.kafka_version, tmp_path_factory.mktemp("cache")), Sandbox(spec) as sandbox:
        plain = sandbox.connect_url(1)
        https = f"https://127.0.0.1:{leases.take()}"
        tls = {
            "keystore.type": "PKCS12",
            "keystore.location": authority.issue("worker", "127.0.0.1").pkcs12(home / "worker.p12"),
            "keystore.password": PASSWORD,
            "key.password": PASSWORD,
            "truststore.location": authority.truststore(home / "trust.jks", "JKS"),
            "truststore.password": PASSWORD,
            "client.auth": "required",
        }
        settings = {f"listeners.https.ssl.{key}": str(value) for key, value in tls.items()}
        sandbox.start_worker(
            1, {**settings, **ASKING, "listeners": f"{plain},{https}", "rest.advertised.listener": "https"}
        )
        trusting = f"ssl.truststore.location={home}/trust.jks\nssl.truststore.password={PASSWORD}\n"
        own = authority.issue("tool").jks(home / "own.jks")
        showing = (
            f"{trusting}ssl.keystore.location={own}\nssl.keystore.password={PASSWORD}\nssl.key.password=key-secret\n"
        )
        yield Guarded(sandbox, plain, https, trusting, showing)
    leases.release()


def checked(eosctl, guarded, tmp_path, url, properties):
    """The REST step of `profile check`; the password is in no output."""
    file = Path(tmp_path, "client.properties")
    file.write_text(properties)
    ran = eosctl(
        "profile", "check", "-o", "json", "-v", "-b", guarded.sandbox.bootstrap_servers,
        "--connect-url", url, "--command-config", file,
    )  # fmt: skip
    assert CANARY not in ran.stdout + ran.stderr
    assert "ge%3Aheim" not in ran.stdout + ran.stderr
    [step] = [each for each in json.loads(ran.stdout)["data"]["steps"] if each["client"] == "REST"]
    return step


@pytest.mark.parametrize("where", ["properties", "address"])
def test_certificate_and_password_open_the_worker(eosctl, guarded, tmp_path, where):
    url, more = guarded.https, BASIC
    if where == "address":
        url, more = url.replace("://", "://tool:ge%3Aheim%40es@"), ""
    step = checked(eosctl, guarded, tmp_path, url, guarded.showing + more)
    assert (step["outcome"], step["detail"]) == ("ok", f"Connect {guarded.sandbox.spec.workers_version}")
    assert step["address"] == guarded.https


def test_without_the_certificate_the_worker_is_not_even_asked(eosctl, guarded, tmp_path):
    step = checked(eosctl, guarded, tmp_path, guarded.https, guarded.trusting + BASIC)
    assert step["outcome"] == "failed"
    assert "the certificate shown there is missing or not accepted" in step["detail"]


@pytest.mark.parametrize(
    ("basic", "who"),
    [("", "a REST user without a password"), ("basic.auth.user.info=tool:other", "REST user tool")],
)
def test_a_wrong_password_is_one_clear_line(eosctl, guarded, tmp_path, basic, who):
    for url in (guarded.https, guarded.plain):
        step = checked(eosctl, guarded, tmp_path, url, guarded.showing + basic)
        assert step["outcome"] == "failed"
        assert step["detail"] == f"{who} may not GET / on {url} (401)"
        assert "basic.auth.user.info" in step["hint"]


def test_a_connector_is_made_and_stopped_with_both(guarded, tmp_path):
    given = client_properties(command_config=guarded.showing + BASIC)
    config = {"connector.class": "FileStreamSource", "topic": "t", "file": str(tmp_path / "f"), "tasks.max": "1"}
    with RestClient(WorkerUrl(guarded.https, lambda: given), 30) as rest:
        assert rest.request("PUT", "/connectors/guarded/config", config).status == 201
        assert rest.request("PUT", "/connectors/guarded/stop").status == 204
        assert rest.get("/connectors") == ["guarded"]
    with RestClient(guarded.plain, 5) as rest, pytest.raises(NotAuthorized):
        rest.get("/connectors")


def test_doctor_finds_nothing_in_a_healthy_cluster_that_wants_both(eosctl, guarded, tmp_path):
    """And it looked: by the address that the worker does not advertise, the group has a member that was not named."""
    file = tmp_path / "client.properties"
    file.write_text(guarded.showing + BASIC)
    worker = guarded.sandbox.directory / "worker-1" / "worker.properties"
    for url, found in ((guarded.https, []), (guarded.plain, ["EOS021"])):
        ran = eosctl(
            "doctor", "-o", "json", "-b", guarded.sandbox.bootstrap_servers, "--connect-url", url,
            "--command-config", file, "--worker-config", worker,
        )  # fmt: skip
        findings = json.loads(ran.stdout)["data"]["findings"]
        assert [each["id"] for each in findings if each["severity"] != "info"] == found
        assert CANARY not in ran.stdout + ran.stderr

"""SASL/GSSAPI with a real KDC: `make kerberos`, which needs Debian's krb5-kdc, krb5-admin-server and libkrb5-dev.

Not collected by an ordinary run, which must need nothing that the project does not install.
"""

import json

import pytest

from eosctl.clients.librdkafka import admin_client
from eosctl.clients.wire import Wire
from eosctl.codecs.client_properties import client_properties
from eosctl.errors import ConfigError, NotAuthorized, Unsupported
from eosctl.sandbox.properties import SandboxSpec
from tests.commands.conftest import eosctl
from tests.faulty_sandbox import ListeningSandbox
from tests.integration.access import allowed
from tests.integration.kdc import REALM, realm

__all__ = ["eosctl"]

MODULE = "com.sun.security.auth.module.Krb5LoginModule required"
KERBEROS_USER = "tool"


@pytest.fixture(scope="module")
def kerberos(tmp_path_factory):
    with realm(tmp_path_factory.mktemp("realm")) as served, pytest.MonkeyPatch.context() as patch:
        patch.setenv("KRB5_CONFIG", str(served.config))
        patch.setenv("KRB5CCNAME", f"FILE:{served.home}/nobody")
        yield served


@pytest.fixture(scope="module")
def keytab(kerberos):
    return kerberos.keytab(KERBEROS_USER)


@pytest.fixture(scope="module")
def broker(kerberos):
    """Sandbox and address of a listener that takes tickets for kafka/localhost."""
    keys = kerberos.keytab("kafka/localhost")
    settings = {
        "listener.name.ticket.sasl.enabled.mechanisms": "GSSAPI",
        "listener.name.ticket.gssapi.sasl.jaas.config": (
            f'{MODULE} useKeyTab=true storeKey=true keyTab="{keys}" principal="kafka/localhost@{REALM}";'
        ),
        "sasl.kerberos.service.name": "kafka",
    }
    options = (f"-Djava.security.krb5.conf={kerberos.config}",)
    spec = SandboxSpec(broker_config=settings, broker_java_options=options)
    with ListeningSandbox(spec, {"TICKET": "SASL_PLAINTEXT"}, "localhost") as sandbox:
        yield sandbox, sandbox.addresses["TICKET"]


def text(address, options):
    return f"""bootstrap.servers={address}
security.protocol=SASL_PLAINTEXT
sasl.kerberos.service.name=kafka
sasl.jaas.config={MODULE} {options};
"""


def with_keytab(keytab, principal=KERBEROS_USER):
    return f'useKeyTab=true storeKey=true keyTab="{keytab}" principal="{principal}@{REALM}"'


def test_a_keytab_logs_in_as_its_principal(broker, keytab):
    given = client_properties(command_config=text(broker[1], with_keytab(keytab)))
    with Wire(given, timeout_s=10) as wire:
        assert len(wire.brokers()) == 1


def test_kafka_takes_it_for_that_user(eosctl, broker, keytab, tmp_path):
    sandbox, address = broker
    (tmp_path / "client.properties").write_text(text(address, with_keytab(keytab)))
    args = ["fence", "--transactional-id", "x", "--create-missing", "--yes", "-o", "json"]
    args += ["--command-config", tmp_path / "client.properties"]
    assert eosctl(*args).exit_code != 0
    rights = [("DESCRIBE", "TRANSACTIONAL_ID", "x"), ("WRITE", "TRANSACTIONAL_ID", "x")]
    with allowed(sandbox, KERBEROS_USER, *rights):
        ran = eosctl(*args)
    assert [each["outcome"] for each in json.loads(ran.stdout)["data"]["results"]] == ["fenced"]


def test_the_tickets_of_kinit_log_in(kerberos, broker, keytab, tmp_path):
    cache = tmp_path / "tickets"
    kerberos.run("kinit", "-c", cache, "-k", "-t", keytab, f"{KERBEROS_USER}@{REALM}")
    options = f'useTicketCache=true ticketCache="{cache}"'
    with Wire(client_properties(command_config=text(broker[1], options)), timeout_s=10) as wire:
        assert len(wire.brokers()) == 1


def test_a_refused_kerberos_setting_is_one_clear_line(kerberos, broker, keytab, tmp_path):
    def refused(options, kind):
        with (
            pytest.raises(kind) as caught,
            Wire(client_properties(command_config=text(broker[1], options)), timeout_s=10) as wire,
        ):
            wire.brokers()
        return caught.value.message

    assert "No Kerberos credentials" in refused("useTicketCache=true", NotAuthorized)
    assert "cannot be used" in refused(with_keytab(tmp_path / "none.keytab"), ConfigError)
    assert "useKeyTab=true and no principal" in refused(f'useKeyTab=true keyTab="{keytab}"', ConfigError)


def test_the_installed_librdkafka_names_its_missing_mechanisms(broker, keytab):
    given = client_properties(command_config=text(broker[1], with_keytab(keytab)))
    with pytest.raises(Unsupported, match="librdkafka, which writes offsets and topics, is built without GSSAPI here"):
        admin_client(given)

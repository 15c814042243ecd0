"""A broker with a listener for every way to be encrypted and authenticated, and one for every way to fail."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from certificates import PASSWORD, Authority, Holder
from confluent_kafka.admin import AdminClient, ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion

from eosctl.clients.librdkafka import admin_client
from eosctl.codecs.client_properties import client_properties
from eosctl.sandbox.properties import HOST, SandboxSpec
from tests.faulty_sandbox import ListeningSandbox, Sandbox
from tests.waiting import eventually

LISTENERS = {
    **dict.fromkeys(("TLS", "MUTUAL", "EXPIRED", "ELSEWHERE", "ONLY_NEW", "ONLY_OLD", "ONLY_GCM"), "SSL"),
    "LOGIN": "SASL_SSL",
}
GCM = "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"
UNSECURED = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


@dataclass(frozen=True)
class TlsBroker:
    """Where each listener is, and the authority that signed the certificates of all."""

    authority: Authority
    addresses: Mapping[str, str]
    users: Mapping[str, str]


class TlsSandbox(ListeningSandbox):
    """One broker with LISTENERS beside its own; `tool` can log in by SCRAM too."""

    def __init__(self, directory: Path) -> None:
        self.authority = Authority()
        super().__init__(SandboxSpec(broker_config=_settings(self.authority, directory)), LISTENERS)

    def start(self) -> None:
        super().start()
        _let_log_in_by_scram(self)

    def _broker_overrides(self, node: int) -> Mapping[str, str]:
        own = self._own_properties()["listener.name.sasl_plaintext.plain.sasl.jaas.config"]
        return {**super()._broker_overrides(node), "listener.name.login.plain.sasl.jaas.config": own}


@contextmanager
def tls_listening(directory: Path) -> Iterator[TlsBroker]:
    """The broker, as long as the block runs; its keystores are in `directory`."""
    with TlsSandbox(directory) as sandbox:
        yield TlsBroker(sandbox.authority, sandbox.addresses, sandbox.users)


def _settings(authority: Authority, directory: Path) -> dict[str, str]:
    valid = authority.issue("broker", HOST)
    shown = {
        "TLS": valid,
        "MUTUAL": valid,
        "LOGIN": valid,
        "EXPIRED": authority.issue("broker", HOST, days=-1),
        "ELSEWHERE": authority.issue("broker", "elsewhere.example"),
        **dict.fromkeys(("ONLY_NEW", "ONLY_OLD", "ONLY_GCM"), valid),
    }
    trust = authority.truststore(directory / "broker.trust.jks", "JKS")
    settings = {
        "ssl.truststore.location": str(trust),
        "ssl.truststore.password": PASSWORD,
        "listener.name.mutual.ssl.client.auth": "required",
        "listener.name.only_new.ssl.enabled.protocols": "TLSv1.3",
        "listener.name.only_old.ssl.enabled.protocols": "TLSv1.2",
        "listener.name.only_gcm.ssl.enabled.protocols": "TLSv1.2",
        "listener.name.only_gcm.ssl.cipher.suites": GCM,
        "listener.name.login.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
        "listener.name.login.scram-sha-256.sasl.jaas.config": f"{SCRAM} required;",
        "listener.name.login.scram-sha-512.sasl.jaas.config": f"{SCRAM} required;",
        "listener.name.login.oauthbearer.sasl.jaas.config": f"{UNSECURED} required;",
    }
    for name, holder in shown.items():
        settings |= _keystore(f"listener.name.{name.lower()}.ssl", holder, directory / f"{name}.p12")
    return settings


def _keystore(prefix: str, holder: Holder, path: Path) -> dict[str, str]:
    holder.pkcs12(path)
    return {
        f"{prefix}.keystore.type": "PKCS12",
        f"{prefix}.keystore.location": str(path),
        f"{prefix}.keystore.password": PASSWORD,
        f"{prefix}.key.password": PASSWORD,
    }


def _let_log_in_by_scram(sandbox: Sandbox) -> None:
    admin = admin_client(client_properties(bootstrap_server=sandbox.bootstrap_servers))
    for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
        info = ScramCredentialInfo(mechanism, 4096)
        change = UserScramCredentialUpsertion("tool", info, sandbox.users["tool"].encode())
        for done in admin.alter_user_scram_credentials([change]).values():
            done.result(30)
    eventually(lambda: _has_both(admin), "the broker's knowledge of the credentials")


def _has_both(admin: AdminClient) -> bool:
    described = admin.describe_user_scram_credentials(["tool"])["tool"].result(30)
    return len(described.scram_credential_infos) == 2

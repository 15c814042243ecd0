"""Whom a certificate makes its client."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from eosctl.codecs.client_properties import resolve_principal
from eosctl.errors import ConfigError
from eosctl.model.client_properties import Property
from eosctl.sources.config_providers import read_subject

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


def properties(**told: str) -> dict[str, Property]:
    return {key.replace("_", "."): Property(value, "worker.properties") for key, value in told.items()}


def test_the_subject_is_the_name_that_brokers_show(pem):
    told = properties(security_protocol="SSL", ssl_keystore_type="PEM", ssl_keystore_location=str(pem))
    assert resolve_principal(told, read_subject) == "User:CN=orders,O=Example\\, Ltd,C=DE"
    assert resolve_principal(told, read_subject, "RULE:^CN=(.*?),.*$/$1/,DEFAULT") == "User:orders"


def test_a_keystore_that_is_not_there_is_named_with_the_way_round_it(tmp_path):
    told = properties(security_protocol="SSL", ssl_keystore_location=str(tmp_path / "none.p12"))
    with pytest.raises(ConfigError, match=r"none\.p12") as caught:
        resolve_principal(told, read_subject)
    assert "worker.properties" in caught.value.message
    assert "--principal ROLE=User:NAME" in str(caught.value.hint)

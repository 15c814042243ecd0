"""Key stores and trust stores of every type give the same certificates and the same key."""

import os
import subprocess

import pytest
from certificates import KEY_PASSWORD, PASSWORD, Authority
from cryptography.hazmat.primitives.serialization import Encoding

from eosctl.clients.librdkafka import configuration
from eosctl.clients.tls import read_stores, ssl_context
from eosctl.codecs.client_properties import client_properties
from eosctl.errors import ConfigError, Unsupported


@pytest.fixture(scope="module")
def authority():
    return Authority()


@pytest.fixture(scope="module")
def tool(authority):
    return authority.issue("tool")


def properties(**settings):
    texts = [f"ssl.{key.replace('_', '.')}={value}" for key, value in settings.items()]
    return client_properties(bootstrap_server="broker:9093", extra=["security.protocol=SSL", *texts])


def pem_file(tmp_path, text, name="store.pem"):
    path = tmp_path / name
    path.write_text(text)
    return path


def in_one_line(pem):
    return pem.replace("\n", " ")


def assert_is(tool, own):
    assert own is not None
    assert own.chain == tool.chain_pem
    assert own.key == tool.key_pem()
    assert own.subject == "CN=tool"
    assert tool.key_pem() not in repr(own)


@pytest.mark.parametrize("password", [None, KEY_PASSWORD])
def test_a_pem_keystore_is_a_file_or_the_text_itself(tool, tmp_path, password):
    key = tool.key_pem(password)
    secret = {} if password is None else {"key_password": password}
    file = pem_file(tmp_path, key + "Bag Attributes: none\n" + tool.chain_pem)
    assert_is(tool, read_stores(properties(keystore_type="PEM", keystore_location=file, **secret)).own)
    for form in (str, in_one_line):
        inline = {"keystore_certificate_chain": form(tool.chain_pem), "keystore_key": form(key)}
        assert_is(tool, read_stores(properties(keystore_type="PEM", **inline, **secret)).own)


def test_a_pem_truststore_is_a_file_or_the_text_itself(authority, tmp_path):
    file = pem_file(tmp_path, authority.root_pem)
    assert read_stores(properties(truststore_type="PEM", truststore_location=file)).trusted == authority.root_pem
    inline = properties(truststore_type="PEM", truststore_certificates=in_one_line(authority.root_pem))
    assert read_stores(inline).trusted == authority.root_pem


def test_a_pkcs12_keystore_gives_the_chain_in_order(tool, tmp_path):
    store = tool.pkcs12(tmp_path / "tool.p12")
    for kind in ("PKCS12", "JKS"):
        given = properties(keystore_type=kind, keystore_location=store, keystore_password=PASSWORD)
        assert_is(tool, read_stores(given).own)


@pytest.mark.kafka
def test_a_jks_keystore_of_keytool_is_read_with_both_passwords(tool, tmp_path):
    store = tool.jks(tmp_path / "tool.jks")
    given = {"keystore_location": store, "keystore_password": PASSWORD}
    assert_is(tool, read_stores(properties(**given, key_password=KEY_PASSWORD)).own)
    with pytest.raises(ConfigError, match=r"tool\.jks \(ssl\.keystore\.location, -X\).*: the key password is wrong"):
        read_stores(properties(**given))
    with pytest.raises(ConfigError, match=r": the password is wrong"):
        read_stores(properties(keystore_location=store, keystore_password="wrong"))


@pytest.mark.kafka
@pytest.mark.parametrize("kind", ["JKS", "PKCS12"])
def test_a_truststore_of_keytool_is_read(authority, tmp_path, kind):
    store = authority.truststore(tmp_path / "trust", kind)
    for stated in ({}, {"truststore_type": kind}):
        given = properties(truststore_location=store, truststore_password=PASSWORD, **stated)
        assert read_stores(given).trusted == authority.root_pem
    with pytest.raises(ConfigError, match="password is wrong"):
        read_stores(properties(truststore_location=store, truststore_password="wrong"))


@pytest.mark.kafka
def test_a_jks_truststore_needs_no_password(authority, tmp_path):
    store = authority.truststore(tmp_path / "trust.jks", "JKS")
    assert read_stores(properties(truststore_location=store)).trusted == authority.root_pem


def test_a_pkcs12_store_of_openssl_is_read(tool, tmp_path):
    key, chain = pem_file(tmp_path, tool.key_pem(), "key"), pem_file(tmp_path, tool.chain_pem, "chain")
    store = tmp_path / "openssl.p12"
    command = ["openssl", "pkcs12", "-export", "-inkey", key, "-in", chain, "-out", store, "-passout", "pass:ü"]
    subprocess.run(command, check=True, capture_output=True)
    assert_is(tool, read_stores(properties(keystore_location=store, keystore_password="ü")).own)


def test_without_stores_the_system_is_trusted_and_nothing_is_shown():
    stores = read_stores(properties())
    assert stores.trusted is stores.own is None
    assert ssl_context(properties()).get_ca_certs() is not None


def bad_store(tmp_path, content, **settings):
    path = tmp_path / "bad"
    path.write_bytes(content)
    return properties(truststore_location=path, **settings)


@pytest.mark.parametrize(
    ("content", "settings", "kind", "says"),
    [
        (b"", {}, ConfigError, "not a PKCS12 or JKS store"),
        (b"-----BEGIN CERTIFICATE-----", {}, ConfigError, "it is PEM, but ssl.truststore.type is JKS"),
        (b"0\x03abc", {}, ConfigError, "ssl.truststore.password is not given, or the store is damaged"),
        (b"0\x03abc", {"truststore_password": "x"}, ConfigError, "ssl.truststore.password is wrong, or"),
        (b"\xce\xce\xce\xce", {}, Unsupported, "it is a JCEKS store"),
        (b"\xfe\xed\xfe\xed\0\0\0\2\0\0\0\1", {}, ConfigError, "cut off"),
        (b"text", {"truststore_type": "PEM"}, ConfigError, "it holds no certificate"),
        (
            b"-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----",
            {"truststore_type": "PEM"},
            ConfigError,
            "is not base64",
        ),
    ],
)
def test_an_unusable_store_is_reported_with_the_reason(tmp_path, content, settings, kind, says):
    with pytest.raises(
        kind, match=rf"^truststore {tmp_path}/bad \(ssl.truststore.location, -X\) cannot be used: .*{says}"
    ):
        read_stores(bad_store(tmp_path, content, **settings))


def test_an_encrypted_key_needs_its_password(tool, tmp_path):
    file = pem_file(tmp_path, tool.key_pem(KEY_PASSWORD) + tool.chain_pem)
    given = {"keystore_type": "PEM", "keystore_location": file}
    with pytest.raises(ConfigError, match=r"its key is encrypted and ssl\.key\.password is not given"):
        read_stores(properties(**given))
    with pytest.raises(ConfigError, match=r"ssl\.key\.password does not open its key"):
        read_stores(properties(**given, key_password="wrong"))


def test_python_and_librdkafka_get_the_same_stores(authority, tool, tmp_path):
    trust = pem_file(tmp_path, authority.root_pem, "trust.pem")
    own = tool.pkcs12(tmp_path / "tool.p12")
    given = properties(
        truststore_type="PEM", truststore_location=trust, keystore_location=own, keystore_password=PASSWORD
    )
    settings = configuration(given)
    assert settings["ssl.ca.pem"] == authority.root_pem
    assert (settings["ssl.certificate.pem"], settings["ssl.key.pem"]) == (tool.chain_pem, tool.key_pem())
    trusted = ssl_context(given).get_ca_certs(binary_form=True)
    assert trusted == [authority.root.certificate.public_bytes(Encoding.DER)]


@pytest.mark.parametrize("memory", [True, False])
def test_the_key_never_lies_where_others_could_read_it(tool, tmp_path, monkeypatch, memory):
    if not memory:
        monkeypatch.delattr(os, "memfd_create")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    inline = {"keystore_certificate_chain": tool.chain_pem, "keystore_key": tool.key_pem()}
    ssl_context(properties(keystore_type="PEM", **inline))
    assert list(tmp_path.iterdir()) == []

"""Key stores and PEM files, and their limits."""

import contextlib
import hashlib
import ssl
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosctl.clients.librdkafka import NOTHING_OF_TLS_1_2, configuration
from eosctl.clients.tls import ssl_context
from eosctl.codecs.client_properties import client_properties
from eosctl.codecs.tls import (
    SUITES_1_2,
    SUITES_1_3,
    VERSIONS,
    KeyEntry,
    decode_jks,
    decode_pem,
    decode_tls_limits,
    encode_pem,
    recover_key,
    unenforced_limits,
)
from eosctl.errors import ConfigError, Undecodable


def sized(data, size=4):
    return len(data).to_bytes(size, "big") + data


def store(entries, password="secret", version=2):
    body = b"\xfe\xed\xfe\xed" + struct.pack(">ii", version, len(entries)) + b"".join(entries)
    digest = hashlib.sha1(password.encode("utf-16-be") + b"Mighty Aphrodite" + body).digest()
    return body + digest


def certificate(der, version=2):
    return (
        struct.pack(">i", 2)
        + sized(b"alias", 2)
        + bytes(8)
        + (sized(b"X.509", 2) if version == 2 else b"")
        + sized(der)
    )


@pytest.mark.parametrize("version", [1, 2])
def test_both_versions_are_read(version):
    data = store([certificate(b"one", version), certificate(b"two", version)], version=version)
    assert decode_jks(data, "secret").trusted == (b"one", b"two")


def test_a_password_that_does_not_fit_is_refused_and_none_is_not_checked():
    data = store([certificate(b"one")])
    assert decode_jks(data, None).trusted == (b"one",)
    with pytest.raises(ConfigError, match="password is wrong"):
        decode_jks(data, "Secret")


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "does not begin"),
        (store([], version=3), "JKS version 3"),
        (store([struct.pack(">i", 9) + sized(b"a", 2) + bytes(8)]), "tag 9"),
        (store([certificate(b"one") + b"x"]), "1 bytes follow"),
        (store([certificate(b"one")])[:-30], "cut off"),
    ],
)
def test_a_fault_is_reported(data, says):
    with pytest.raises(Undecodable, match=says):
        decode_jks(data, None)


@given(st.binary(max_size=80), st.none() | st.text(max_size=4))
def test_any_bytes_are_a_store_or_an_error(data, password):
    for head in (b"", b"\xfe\xed\xfe\xed\0\0\0\2\0\0\0\1\0\0\0\1"):
        with contextlib.suppress(Undecodable, ConfigError):
            for entry in decode_jks(head + data, password).keys:
                recover_key(entry, password or "")


@given(st.binary(max_size=120))
def test_any_bytes_are_a_key_or_an_error(data):
    with contextlib.suppress(Undecodable, ConfigError):
        recover_key(KeyEntry("a", data, ()), "secret")


@given(st.binary(max_size=200))
def test_pem_is_read_back(data):
    text = encode_pem("CERTIFICATE", data)
    assert [block.der for block in decode_pem("x" + text.replace("\n", " ") + text)] == [data, data]


def test_a_key_in_openssl_s_old_encryption_is_refused():
    label = "RSA PRIVATE" + " KEY"
    text = f"-----BEGIN {label}-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n-----END {label}-----"
    with pytest.raises(Undecodable, match="convert it to PKCS #8"):
        decode_pem(text)


OLD, NEW = VERSIONS
SUITE = "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"


def properties_of(*texts):
    return client_properties(
        bootstrap_server="broker:9093", extra=["security.protocol=SSL", *(f"ssl.{text}" for text in texts)]
    )


@pytest.mark.parametrize(
    ("texts", "versions"),
    [
        ((), VERSIONS),
        (("enabled.protocols=",), VERSIONS),
        (("enabled.protocols=TLSv1.3 , TLSv1.2",), VERSIONS),
        (("enabled.protocols=TLSv1,TLSv1.1,TLSv1.2,TLSv1.3",), VERSIONS),
        (("enabled.protocols=TLSv1.3",), (NEW,)),
        (("enabled.protocols=TLSv1.2",), (OLD,)),
        (("enabled.protocols=TLSv1.1,TLSv1.2",), (OLD,)),
        (("protocol=TLS",), VERSIONS),
        (("protocol=TLSv1.2",), (OLD,)),
        (("protocol=TLSv1.3", "enabled.protocols=TLSv1.2"), (OLD,)),
        ((f"cipher.suites={SUITE}",), (OLD,)),
        (("cipher.suites=TLS_AES_128_GCM_SHA256",), (NEW,)),
        ((f"cipher.suites=TLS_AES_128_GCM_SHA256,{SUITE}",), VERSIONS),
    ],
)
def test_versions_are_those_that_protocols_and_suites_leave(texts, versions):
    limits = decode_tls_limits(properties_of(*texts))
    assert limits.versions == versions
    assert limits.origin == ("-X" if versions != VERSIONS or limits.suites else None)
    context = ssl_context(properties_of(*texts))
    assert (context.minimum_version.name, context.maximum_version.name) == tuple(
        each.replace(".", "_") for each in (versions[0], versions[-1])
    )


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        (("enabled.protocols=TLSv1.1",), r"^ssl\.enabled\.protocols \(-X\) leave no TLS version to speak"),
        (
            ("enabled.protocols=TLSv1.3", "protocol=TLSv1.2"),
            r"^ssl\.enabled\.protocols \(-X\) and ssl\.protocol \(-X\)",
        ),
        (
            ("enabled.protocols=TLSv1.3", f"cipher.suites={SUITE}"),
            r"and ssl\.cipher\.suites \(-X\) leave no TLS version",
        ),
        (("cipher.suites=UNHEARD_OF",), "leave no TLS version"),
        (("enabled.protocols=tlsv1.2",), r"^ssl\.enabled\.protocols from -X names 'tlsv1\.2', which is no TLS version"),
        (("protocol=QUIC",), r"^ssl\.protocol from -X names 'QUIC'"),
    ],
)
def test_limits_that_leave_no_suite_or_are_unknown_are_refused(texts, says):
    for made in (decode_tls_limits, ssl_context, configuration):
        with pytest.raises(ConfigError, match=says):
            made(properties_of(*texts))


def test_openssl_has_every_suite_under_the_name_it_is_given():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_ciphers("ALL:@SECLEVEL=0")
    known = {each["name"]: each["protocol"] for each in context.get_ciphers()}
    assert set(SUITES_1_2.values()) <= known.keys()
    assert {name for name, protocol in known.items() if protocol == "TLSv1.3"} == SUITES_1_3


def test_suites_are_offered_in_their_order():
    context = ssl_context(properties_of(f"cipher.suites={SUITE},TLS_RSA_WITH_AES_128_CBC_SHA"))
    offered = [each["name"] for each in context.get_ciphers() if each["protocol"] != "TLSv1.3"]
    assert offered == ["ECDHE-RSA-AES256-GCM-SHA384", "AES128-SHA"]


@pytest.mark.parametrize(
    ("texts", "suites"),
    [
        ((), None),
        (("enabled.protocols=TLSv1.2",), None),
        (("enabled.protocols=TLSv1.3",), NOTHING_OF_TLS_1_2),
        ((f"cipher.suites={SUITE},TLS_AES_128_GCM_SHA256",), "ECDHE-RSA-AES256-GCM-SHA384"),
        (("cipher.suites=TLS_AES_128_GCM_SHA256",), NOTHING_OF_TLS_1_2),
    ],
)
def test_librdkafka_is_reported_suites(texts, suites):
    assert configuration(properties_of(*texts)).get("ssl.cipher.suites") == suites


LIBRDKAFKA = "librdkafka, which writes offsets and topics, offers TLSv1.3 too; all other clients keep to TLSv1.2"


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ((), []),
        (("enabled.protocols=TLSv1.3",), []),
        (
            ("enabled.protocols=TLSv1.2",),
            [LIBRDKAFKA],
        ),
        (
            (f"cipher.suites=TLS_AES_128_GCM_SHA256,{SUITE},TLS_ODD",),
            [
                "ssl.cipher.suites applies to TLSv1.2; with TLSv1.3 every suite is offered",
                "OpenSSL has no cipher suite TLS_ODD; not offered",
            ],
        ),
        ((f"cipher.suites={','.join([SUITE, *sorted(SUITES_1_3)])}",), []),
        ((f"cipher.suites={SUITE}",), [LIBRDKAFKA]),
    ],
)
def test_limits_that_cannot_be_enforced_are_reported(texts, said):
    assert list(unenforced_limits(decode_tls_limits(properties_of(*texts)))) == said


def protected(key, password="secret", salt=bytes(range(20))):
    """A key as a JKS store keeps it: XOR with SHA-1 of password and salt, and of password and the block before."""
    secret, block, stream = password.encode("utf-16-be"), salt, b""
    while len(stream) < len(key):
        block = hashlib.sha1(secret + block).digest()
        stream += block
    hidden = bytes(one ^ other for one, other in zip(key, stream, strict=False))
    return salt + hidden + hashlib.sha1(secret + key).digest()


def encrypted(data):
    """An EncryptedPrivateKeyInfo in DER around the data."""
    algorithm = b"\x30\x03\x06\x01\x2a"
    octets = b"\x04" + bytes([len(data)]) + data
    return b"\x30" + bytes([len(algorithm + octets)]) + algorithm + octets


@pytest.mark.parametrize("key", [b"", b"k" * 20, b"a key of more than one block"])
def test_a_key_of_a_store_is_recovered_with_its_password_and_with_no_other(key):
    entry = KeyEntry("a", encrypted(protected(key)), ())
    assert recover_key(entry, "secret") == key
    with pytest.raises(ConfigError, match="the key password is wrong"):
        recover_key(entry, "Secret")


@pytest.mark.parametrize(("length", "says"), [(39, "is cut off"), (40, "the key password is wrong")])
def test_a_key_without_salt_and_check_is_cut_off(length, says):
    with pytest.raises((Undecodable, ConfigError), match=says):
        recover_key(KeyEntry("a", encrypted(bytes(length)), ()), "secret")

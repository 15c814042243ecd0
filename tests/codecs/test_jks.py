"""Any bytes are a JKS store or an error that says why not."""

import contextlib
import hashlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosctl.codecs.tls import KeyEntry, decode_jks, decode_pem, encode_pem, recover_key
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
def test_what_is_wrong_is_said(data, says):
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

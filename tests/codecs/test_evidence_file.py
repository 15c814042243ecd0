"""Evidence files and their signatures: OpenSSH's own tool checks what we sign, and every altered byte shows."""

import base64
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosctl.codecs.evidence_file import NAMESPACE, decode_evidence, encode_evidence
from eosctl.codecs.ssh_signature import (
    LINE,
    SigningKey,
    decode_public_keys,
    decode_signature,
    fingerprint,
    is_signed_by,
)
from eosctl.errors import ConfigError, Undecodable
from eosctl.model.audit import RangeDigest
from eosctl.model.evidence_file import EvidencedCluster, EvidencedTopic, EvidenceFile

RANGE = RangeDigest("orders", 0, 10, 20, settled=True, batches=3, size_bytes=300, sha256="ab" * 32)
EVIDENCE = EvidenceFile(
    of="audit",
    eosctl_version="1.0",
    command="eosctl audit -b broker:9092",
    as_of=1_767_225_600_000,
    signer="SHA256:x",
    clusters=(EvidencedCluster("cluster", (EvidencedTopic("orders", None, "delete"),), (RANGE,)),),
    report={"data": {"connectors": [{"name": "größe", "verdict": "held"}], "share": 0.25, "none": None}},
)


@pytest.fixture(scope="module")
def key_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("keys") / "auditor"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "auditor", "-f", made], check=True)
    return made


def altered(content: bytes, place: int, by: int) -> bytes:
    place %= len(content)
    return content[:place] + bytes([content[place] ^ by]) + content[place + 1 :]


def test_a_file_is_read_as_it_was_written():
    assert decode_evidence(encode_evidence(EVIDENCE)) == EVIDENCE


@given(st.integers(0), st.integers(1, 255))
def test_a_file_with_any_altered_byte_is_refused(place, by):
    with pytest.raises(Undecodable):
        decode_evidence(altered(encode_evidence(EVIDENCE), place, by))


@given(st.integers(0, 1 << 20), st.binary(min_size=1, max_size=3))
def test_a_file_with_bytes_put_in_or_left_out_is_refused(place, more):
    content = encode_evidence(EVIDENCE)
    place %= len(content)
    for changed in (content[:place] + more + content[place:], content[:place] + content[place + len(more) :]):
        with pytest.raises(Undecodable):
            decode_evidence(changed)


def test_openssh_accepts_the_signature_and_refuses_another_content(key_file, tmp_path):
    content = encode_evidence(EVIDENCE)
    allowed, signature = tmp_path / "allowed", tmp_path / "audit.json.sig"
    allowed.write_text(f"auditor {key_file.with_suffix('.pub').read_text()}")
    signature.write_text(SigningKey(key_file.read_bytes()).sign(content, NAMESPACE))
    check = ["ssh-keygen", "-Y", "verify", "-f", allowed, "-I", "auditor", "-n", NAMESPACE, "-s", signature]
    assert subprocess.run(check, input=content, capture_output=True, check=False).returncode == 0
    assert subprocess.run(check, input=content + b" ", capture_output=True, check=False).returncode != 0


def test_a_signature_of_openssh_is_accepted(key_file, tmp_path):
    content = tmp_path / "content"
    content.write_bytes(encode_evidence(EVIDENCE))
    subprocess.run(["ssh-keygen", "-q", "-Y", "sign", "-f", key_file, "-n", NAMESPACE, content], check=True)
    signature = decode_signature(content.with_name("content.sig").read_text())
    assert is_signed_by(content.read_bytes(), signature, NAMESPACE)
    assert not is_signed_by(content.read_bytes(), signature, "file")
    [public] = decode_public_keys(key_file.with_suffix(".pub").read_text())
    assert signature.public_key == public
    shown = subprocess.run(["ssh-keygen", "-l", "-f", key_file], capture_output=True, text=True, check=True).stdout
    assert fingerprint(public) in shown


@given(st.data())
def test_a_signature_with_any_altered_byte_is_refused(key_file, data):
    content = encode_evidence(EVIDENCE)
    signed = SigningKey(key_file.read_bytes()).sign(content, NAMESPACE).encode()
    changed = altered(signed, data.draw(st.integers(0, len(signed) - 1)), data.draw(st.integers(1, 255)))
    try:
        signature = decode_signature(changed.decode("iso-8859-1"))
    except Undecodable:
        return
    [public] = decode_public_keys(key_file.with_suffix(".pub").read_text())
    assert not (is_signed_by(content, signature, NAMESPACE) and signature.public_key == public)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{", "the file is not JSON"),
        (b"[]", "it is no evidence file"),
        (b'{"kind":"another","version":1}', "it is no evidence file"),
        (encode_evidence(EVIDENCE).replace(b'"version":1', b'"version":9'), "it is of version 9, this eosctl reads"),
        (encode_evidence(EVIDENCE).replace(b",300,", b",301,"), "its SHA-256 is another one than it states"),
        (encode_evidence(EVIDENCE).replace(b'"as_of":', b'"as_of": '), "it is not in its canonical form"),
    ],
)
def test_a_file_that_is_not_as_it_was_written_is_refused_with_what_is_wrong(content: bytes, words: str):
    with pytest.raises(Undecodable, match=words):
        decode_evidence(content)


@pytest.mark.parametrize("namespace", ["a", "ab", "abc"])
def test_a_signature_has_one_form_alone(key_file, namespace: str):
    begin, *body, end, _ = SigningKey(key_file.read_bytes()).sign(b"content", namespace).split("\n")
    packed = "".join(body)
    blob = base64.b64decode(packed)
    at = blob.index(namespace.encode() + bytes(4)) + len(namespace)
    reserved = base64.b64encode(blob[:at] + b"\0\0\0\1x" + blob[at + 4 :]).decode()
    others = [in_lines(packed, LINE - 6), in_lines(reserved)]
    if packed.endswith("="):
        last = len(packed.rstrip("=")) - 1
        others.append(in_lines(packed[:last] + ALPHABET[ALPHABET.index(packed[last]) ^ 1] + packed[last + 1 :]))
    for each in others:
        with pytest.raises(Undecodable):
            decode_signature("\n".join([begin, *each, end, ""]))
    assert in_lines(packed) == body
    assert decode_signature("\n".join([begin, *body, end, ""])).namespace == namespace


ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def in_lines(packed: str, length: int = LINE) -> list[str]:
    return [packed[place : place + length] for place in range(0, len(packed), length)]


@pytest.mark.parametrize(
    ("how", "words"),
    [(["-t", "ed25519", "-N", "secret"], "has a passphrase"), (["-t", "ecdsa", "-N", ""], "is no Ed25519 key")],
)
def test_a_key_that_cannot_sign_is_refused(how, words, tmp_path):
    subprocess.run(["ssh-keygen", "-q", *how, "-f", tmp_path / "key"], check=True)
    with pytest.raises(ConfigError, match=words):
        SigningKey((tmp_path / "key").read_bytes())
    with pytest.raises(ConfigError, match="--sign-key k is no private key of OpenSSH"):
        SigningKey(b"nothing", "--sign-key k")
    with pytest.raises(ConfigError, match="no ssh-ed25519 public key in --signer-key k"):
        decode_public_keys("nothing", "--signer-key k")

"""Signatures of OpenSSH over bytes (SSHSIG, PROTOCOL.sshsig), with Ed25519 keys: `ssh-keygen -Y verify` checks them.

The signature covers the SHA-512 of the bytes and a namespace: a signature for another purpose does not pass.
"""

import base64
import binascii
from hashlib import sha256, sha512
from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple

from eosctl.errors import ConfigError, Undecodable
from eosctl.late_pattern import late_pattern

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

MAGIC: Final = b"SSHSIG"
VERSION: Final = 1
HASH: Final = b"sha512"
ALGORITHM: Final = b"ssh-ed25519"
BEGIN: Final = "-----BEGIN SSH SIGNATURE-----"
END: Final = "-----END SSH SIGNATURE-----"
LINE: Final = 70
LENGTH: Final = Struct(">I")
MAKE_KEY: Final = "make one without a passphrase: ssh-keygen -t ed25519 -N '' -f <file>"
_PUBLIC_KEY: Final = late_pattern(r"(?:^|\s)ssh-ed25519\s+([A-Za-z0-9+/=]+)")


class Signature(NamedTuple):
    """A signature, the raw public key that it names, and its namespace."""

    public_key: bytes
    namespace: str
    signature: bytes


def fingerprint(public_key: bytes) -> str:
    """As `ssh-keygen -l` shows it."""
    digest = sha256(_string(ALGORITHM) + _string(public_key)).digest()
    return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


class SigningKey:
    """An Ed25519 key of OpenSSH without a passphrase; ConfigError for any other, which names its origin."""

    def __init__(self, private_key: bytes, origin: str = "the key to sign with") -> None:
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        self._key = _private_key(private_key, origin)
        self.public_key = self._key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)

    def sign(self, content: bytes, namespace: str) -> str:
        """The armored signature."""
        signature = self._key.sign(_signed(content, namespace.encode()))
        blob = b"".join(
            (
                MAGIC,
                LENGTH.pack(VERSION),
                _string(_string(ALGORITHM) + _string(self.public_key)),
                _string(namespace.encode()),
                _string(b""),
                _string(HASH),
                _string(_string(ALGORITHM) + _string(signature)),
            )
        )
        text = base64.b64encode(blob).decode()
        lines = [text[place : place + LINE] for place in range(0, len(text), LINE)]
        return "\n".join((BEGIN, *lines, END, ""))


def _private_key(private_key: bytes, origin: str) -> "Ed25519PrivateKey":
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_ssh_private_key

    try:
        key = load_ssh_private_key(private_key, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        reason = "has a passphrase" if "password" in str(error) else "is no private key of OpenSSH"
        raise ConfigError(f"{origin} {reason}", hint=MAKE_KEY) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise ConfigError(f"{origin} is no Ed25519 key", hint=MAKE_KEY)
    return key


def decode_signature(text: str) -> Signature:
    """Raises Undecodable for anything but an armored Ed25519 signature, in its only form."""
    try:
        return _decoded(_unarmored(text))
    except (ValueError, binascii.Error) as error:
        raise Undecodable(f"no SSH signature of an Ed25519 key: {error}") from error


def _unarmored(text: str) -> bytes:
    lines = text.split("\n")
    if lines[0] != BEGIN or lines[-2:] != [END, ""] or any(len(each) != LINE for each in lines[1:-3]):
        raise ValueError("it is not armored")
    packed = "".join(lines[1:-2])
    blob = base64.b64decode(packed, validate=True)
    if base64.b64encode(blob).decode() != packed:
        raise ValueError("it is not in its only form")
    return blob


def _decoded(blob: bytes) -> Signature:
    if blob[: len(MAGIC) + LENGTH.size] != MAGIC + LENGTH.pack(VERSION):
        raise ValueError("another format or version")
    key, place = _take(blob, len(MAGIC) + LENGTH.size)
    namespace, place = _take(blob, place)
    reserved, place = _take(blob, place)
    named, place = _take(blob, place)
    signature, place = _take(blob, place)
    if place != len(blob) or reserved or named != HASH:
        raise ValueError("another hash, or more bytes than it has")
    return Signature(_of_algorithm(key, 32), namespace.decode(), _of_algorithm(signature, 64))


def _of_algorithm(blob: bytes, length: int) -> bytes:
    algorithm, place = _take(blob, 0)
    value, place = _take(blob, place)
    if algorithm != ALGORITHM or len(value) != length or place != len(blob):
        raise ValueError("another algorithm")
    return value


def is_signed_by(content: bytes, signature: Signature, namespace: str) -> bool:
    """Whether the key that the signature names has signed the content, for this purpose."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        key = Ed25519PublicKey.from_public_bytes(signature.public_key)
        key.verify(signature.signature, _signed(content, namespace.encode()))
    except (InvalidSignature, ValueError):
        return False
    return signature.namespace == namespace


def decode_public_keys(text: str, origin: str = "the text") -> tuple[bytes, ...]:
    """Raw Ed25519 keys in lines of an `.pub` or an allowed-signers file; ConfigError where there is none."""
    found: list[bytes] = []
    for line in text.splitlines():
        match = None if line.lstrip().startswith("#") else _PUBLIC_KEY.search(line)
        if match is not None:
            try:
                found.append(_of_algorithm(base64.b64decode(match[1], validate=True), 32))
            except (ValueError, binascii.Error) as error:
                raise ConfigError(f"a public key in {origin} cannot be read: {error}") from error
    if not found:
        raise ConfigError(f"there is no ssh-ed25519 public key in {origin}", hint="give the .pub file of the signer")
    return tuple(found)


def _signed(content: bytes, namespace: bytes) -> bytes:
    return MAGIC + _string(namespace) + _string(b"") + _string(HASH) + _string(sha512(content).digest())


def _string(value: bytes) -> bytes:
    return LENGTH.pack(len(value)) + value


def _take(blob: bytes, place: int) -> tuple[bytes, int]:
    if place + LENGTH.size > len(blob):
        raise ValueError("it is cut off")
    (length,) = LENGTH.unpack_from(blob, place)
    begin = place + LENGTH.size
    if begin + length > len(blob):
        raise ValueError("it is cut off")
    return blob[begin : begin + length], begin + length

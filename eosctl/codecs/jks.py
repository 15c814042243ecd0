"""Java key stores of type JKS: certificates and protected private keys.

The one library that reads them (pyjks, last released in 2020) needs a C compiler to install, hence this module.
docs/decisions/0003 has the reasons.
"""

import hashlib
import hmac
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from eosctl.errors import ConfigError, Undecodable

MAGIC: Final = b"\xfe\xed\xfe\xed"
_WHITENER: Final = b"Mighty Aphrodite"
_DIGEST: Final = 20
_KEY_ENTRY: Final = 1
_CERTIFICATE_ENTRY: Final = 2


@dataclass(frozen=True, slots=True)
class KeyEntry:
    """A private key as the store protects it, and its certificates in DER, the key's own first."""

    alias: str
    protected: bytes = field(repr=False)
    chain: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class JavaKeyStore:
    """Private keys, and the certificates (DER) that are trusted, in the order of the file."""

    keys: tuple[KeyEntry, ...]
    trusted: tuple[bytes, ...]


def decode_jks(data: bytes, password: str | None) -> JavaKeyStore:
    """The entries of a JKS store.

    1. Big-endian: magic FEEDFEED, version (1 or 2, 4 bytes), number of entries (4 bytes), the entries, a digest.
    2. An entry: tag (4 bytes), alias (2 bytes length, modified UTF-8), creation time in ms (8 bytes); then for tag 1
       the protected key (4 bytes length, bytes) and the number of its certificates (4 bytes) with these; for tag 2
       one certificate.
    3. A certificate: its type (2 bytes length, text; only in version 2), then 4 bytes length and DER.
    4. The digest is SHA-1 over the password in UTF-16BE, the words `Mighty Aphrodite`, and all bytes before it. Without
       a password it is not checked, as in Java.

    Raises Undecodable for other bytes, ConfigError for a password that does not fit.
    """
    if data[:4] != MAGIC:
        raise Undecodable("it does not begin as a JKS store does")
    reader = _Reader(data[:-_DIGEST], 4)
    version = reader.number()
    if version not in {1, 2}:
        raise Undecodable(f"JKS version {version} is unknown")
    keys: list[KeyEntry] = []
    trusted: list[bytes] = []
    for _ in range(reader.number()):
        tag, alias = reader.number(), reader.take(reader.number(2)).decode("utf-8", "replace")
        reader.take(8)
        if tag == _KEY_ENTRY:
            keys.append(KeyEntry(alias, reader.take(reader.number()), tuple(_chain(reader, version))))
        elif tag == _CERTIFICATE_ENTRY:
            trusted.append(_certificate(reader, version))
        else:
            raise Undecodable(f"entry {alias!r} has tag {tag}, which JKS does not have")
    if reader.rest:
        raise Undecodable(f"{reader.rest} bytes follow the last entry")
    if password is not None:
        expected = hashlib.sha1(password.encode("utf-16-be", "surrogatepass") + _WHITENER + data[:-_DIGEST]).digest()
        if not hmac.compare_digest(expected, data[-_DIGEST:]):
            raise ConfigError("the password is wrong, or the store is damaged")
    return JavaKeyStore(tuple(keys), tuple(trusted))


def recover_key(entry: KeyEntry, password: str) -> bytes:
    """The private key of `entry` in DER (PKCS #8, not encrypted).

    1. The entry is an EncryptedPrivateKeyInfo whose data are a salt (20 bytes), the key XOR a stream, and a check.
    2. The stream is SHA-1(password in UTF-16BE, salt), then SHA-1(password, the 20 bytes before), and so on.
    3. The check is SHA-1(password, key).

    Raises Undecodable for other bytes, ConfigError for a password that does not fit.
    """
    secret = password.encode("utf-16-be", "surrogatepass")
    protected = _encrypted_data(entry)
    salt, hidden, check = protected[:_DIGEST], protected[_DIGEST:-_DIGEST], protected[-_DIGEST:]
    stream = b"".join(_stream(secret, salt, len(hidden)))
    key = bytes(one ^ other for one, other in zip(hidden, stream, strict=False))
    if not hmac.compare_digest(hashlib.sha1(secret + key).digest(), check):
        raise ConfigError("the key password is wrong, or the store is damaged")
    return key


def _stream(secret: bytes, salt: bytes, length: int) -> Iterator[bytes]:
    block = salt
    for _ in range(0, length, _DIGEST):
        block = hashlib.sha1(secret + block).digest()
        yield block


def _encrypted_data(entry: KeyEntry) -> bytes:
    from pyasn1.codec.der.decoder import decode
    from pyasn1.error import PyAsn1Error

    try:
        data = bytes(decode(entry.protected)[0][1])
    except (PyAsn1Error, IndexError, TypeError, ValueError, KeyError) as error:
        raise Undecodable(f"key {entry.alias!r} is not protected as in a JKS store") from error
    if len(data) < 2 * _DIGEST:
        raise Undecodable(f"key {entry.alias!r} is cut off")
    return data


def _chain(reader: "_Reader", version: int) -> Iterator[bytes]:
    for _ in range(reader.number()):
        yield _certificate(reader, version)


def _certificate(reader: "_Reader", version: int) -> bytes:
    if version == 2:
        reader.take(reader.number(2))
    return reader.take(reader.number())


class _Reader:
    def __init__(self, data: bytes, place: int) -> None:
        self._data = data
        self._place = place

    @property
    def rest(self) -> int:
        return len(self._data) - self._place

    def number(self, size: int = 4) -> int:
        return int.from_bytes(self.take(size), "big")

    def take(self, size: int) -> bytes:
        if size > self.rest:
            raise Undecodable("the JKS store is cut off")
        taken = self._data[self._place : self._place + size]
        self._place += size
        return taken

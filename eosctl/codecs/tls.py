"""The TLS versions and cipher suites that `ssl.protocol`, `ssl.enabled.protocols` and `ssl.cipher.suites` leave."""

import base64
import hashlib
import hmac
import re
from collections.abc import Iterator, Mapping
from typing import ClassVar, Final

from msgspec import Struct

from eosctl.errors import ConfigError, Undecodable
from eosctl.late_pattern import late_pattern
from eosctl.model.client_properties import ClientProperties, split_list
from eosctl.model.hidden_fields import HiddenFields

TLS_1_2: Final = "TLSv1.2"
TLS_1_3: Final = "TLSv1.3"
VERSIONS: Final = (TLS_1_2, TLS_1_3)
"""The possible versions, oldest first. Every Java of Kafka 3.3 or newer disables older ones."""

_NO_LONGER: Final = frozenset({"SSLv2Hello", "SSLv3", "TLSv1", "TLSv1.1"})
_NEWEST_OF: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("TLS", "SSL", TLS_1_3), VERSIONS),
    TLS_1_2: (TLS_1_2,),
    **dict.fromkeys(("TLSv1", "TLSv1.1", "SSLv3", "SSLv2"), ()),
}
"""`ssl.protocol` -> the versions that a Java SSLContext of that name speaks at most."""

SUITES_1_3: Final = frozenset({"TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256"})

_EXCHANGES: Final = {"ECDHE_ECDSA": "ECDHE-ECDSA-", "ECDHE_RSA": "ECDHE-RSA-", "DHE_RSA": "DHE-RSA-", "RSA": ""}
_ELLIPTIC: Final = ("ECDHE_ECDSA", "ECDHE_RSA")
_CIPHERS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "AES_256_GCM_SHA384": ("AES256-GCM-SHA384", tuple(_EXCHANGES)),
    "AES_128_GCM_SHA256": ("AES128-GCM-SHA256", tuple(_EXCHANGES)),
    "CHACHA20_POLY1305_SHA256": ("CHACHA20-POLY1305", (*_ELLIPTIC, "DHE_RSA")),
    "AES_256_CBC_SHA384": ("AES256-SHA384", _ELLIPTIC),
    "AES_256_CBC_SHA256": ("AES256-SHA256", ("DHE_RSA", "RSA")),
    "AES_128_CBC_SHA256": ("AES128-SHA256", tuple(_EXCHANGES)),
    "AES_256_CBC_SHA": ("AES256-SHA", tuple(_EXCHANGES)),
    "AES_128_CBC_SHA": ("AES128-SHA", tuple(_EXCHANGES)),
}
SUITES_1_2: Final[Mapping[str, str]] = {
    f"TLS_{exchange}_WITH_{java}": f"{_EXCHANGES[exchange]}{openssl}"
    for java, (openssl, exchanges) in _CIPHERS.items()
    for exchange in exchanges
}
"""Java's name of a suite of TLS 1.2 -> OpenSSL's, for those that both have."""


class TlsLimits(Struct, frozen=True):
    """The limits of an offer: versions (of VERSIONS), and cipher suites by Java's names (None: every usual one).

    origin is the setting behind the limit, or None.
    """

    versions: tuple[str, ...] = VERSIONS
    suites: tuple[str, ...] | None = None
    origin: str | None = None

    @property
    def openssl_suites(self) -> tuple[str, ...] | None:
        """OpenSSL's names of the suites of TLS 1.2, in their order; None: every usual one."""
        if self.suites is None or TLS_1_2 not in self.versions:
            return None
        return tuple(SUITES_1_2[each] for each in self.suites if each in SUITES_1_2)


def decode_tls_limits(properties: ClientProperties, prefix: str = "ssl.") -> TlsLimits:
    """The limits that the properties under `prefix` set.

    1. `enabled.protocols` (empty: TLSv1.2,TLSv1.3) lists versions; those that Java itself no longer speaks do not
       count.
    2. `protocol` removes newer versions: with TLSv1.2 there is no TLSv1.3.
    3. `cipher.suites` (empty: all) lists suites; a version none of whose suites is listed is not offered either.

    Raises ConfigError naming property and origin for a name that no Java knows, and if nothing is left to offer.
    """
    versions, suites = _versions(properties, prefix), _suites(properties, prefix)
    if suites is not None:
        offered = {TLS_1_2: SUITES_1_2.keys(), TLS_1_3: SUITES_1_3}
        versions = tuple(each for each in versions if offered[each] & set(suites))
    given = [key for key in ("enabled.protocols", "protocol", "cipher.suites") if properties.get(prefix + key)]
    if not versions:
        keys = " and ".join(f"{prefix}{key} ({properties.origin(prefix + key)})" for key in given)
        raise ConfigError(
            f"{keys} leave no TLS version to speak",
            hint="eosctl supports TLSv1.2 and TLSv1.3, each with its own suites",
        )
    limited = versions != VERSIONS or suites is not None
    return TlsLimits(versions, suites, properties.origin(prefix + given[0]) if limited else None)


def unenforced_limits(limits: TlsLimits) -> Iterator[str]:
    """One sentence for each version or cipher that a client offers although the limits exclude it."""
    if limits.versions == (TLS_1_2,):
        yield "librdkafka, which writes offsets and topics, offers TLSv1.3 too; all other clients keep to TLSv1.2"
    if limits.suites is None:
        return
    if TLS_1_3 in limits.versions and set(limits.suites) & SUITES_1_3 != SUITES_1_3:
        yield "ssl.cipher.suites applies to TLSv1.2; with TLSv1.3 every suite is offered"
    unknown = [each for each in limits.suites if each not in SUITES_1_2 and each not in SUITES_1_3]
    if unknown:
        yield f"OpenSSL has no cipher suite {', '.join(unknown)}; not offered"


def _versions(properties: ClientProperties, prefix: str) -> tuple[str, ...]:
    enabled = tuple(split_list(properties.get(f"{prefix}enabled.protocols") or "")) or VERSIONS
    for name in enabled:
        if name not in VERSIONS and name not in _NO_LONGER:
            raise _unknown(properties, f"{prefix}enabled.protocols", name)
    newest = properties.get(f"{prefix}protocol") or TLS_1_3
    if newest not in _NEWEST_OF:
        raise _unknown(properties, f"{prefix}protocol", newest)
    return tuple(each for each in VERSIONS if each in enabled and each in _NEWEST_OF[newest])


def _suites(properties: ClientProperties, prefix: str) -> tuple[str, ...] | None:
    return tuple(split_list(properties.get(f"{prefix}cipher.suites") or "")) or None


def _unknown(properties: ClientProperties, key: str, name: str) -> ConfigError:
    names = ", ".join(VERSIONS)
    return ConfigError(
        f"{key} from {properties.origin(key)} names {name!r}, which is no TLS version", hint=f"use {names}"
    )


# Java key stores of type JKS: certificates and protected private keys.
#
# The one library that reads them (pyjks, last released in 2020) needs a C compiler to install, hence this module.
# docs/dev/decisions/0003 has the reasons.


MAGIC: Final = b"\xfe\xed\xfe\xed"
_WHITENER: Final = b"Mighty Aphrodite"
_DIGEST: Final = 20
_KEY_ENTRY: Final = 1
_CERTIFICATE_ENTRY: Final = 2


class KeyEntry(HiddenFields, frozen=True):
    """A private key as the store protects it, and its certificates in DER, the key's own first."""

    hidden: ClassVar = ("protected",)

    alias: str
    protected: bytes
    chain: tuple[bytes, ...]


class JavaKeyStore(Struct, frozen=True):
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


_BLOCK = late_pattern(r"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----", re.DOTALL)


class PemBlock(HiddenFields, frozen=True):
    """One block of PEM: the label, such as `CERTIFICATE`, and the DER bytes."""

    hidden: ClassVar = ("der",)

    label: str
    der: bytes

    @property
    def is_key(self) -> bool:
        return self.label.endswith("PRIVATE KEY")


def decode_pem(text: str) -> tuple[PemBlock, ...]:
    """The blocks of PEM text in order; text between blocks is skipped.

    Line ends within a block may be any blanks, so that it can be a value in a properties file. Raises Undecodable, not
    quoting the text, if a block is not base64 or is encrypted in OpenSSL's old way (`Proc-Type`).
    """
    return tuple(_block(match[1], match[2]) for match in _BLOCK.finditer(text))


def encode_pem(label: str, der: bytes) -> str:
    text = base64.encodebytes(der).decode().replace("\n", "")
    lines = "\n".join(text[place : place + 64] for place in range(0, len(text), 64))
    return f"-----BEGIN {label}-----\n{lines}\n-----END {label}-----\n"


def _block(label: str, body: str) -> PemBlock:
    if "Proc-Type" in body:
        raise Undecodable(f"the {label} is encrypted in a form that Kafka does not take; convert it to PKCS #8")
    try:
        return PemBlock(label, base64.b64decode("".join(body.split()), validate=True))
    except ValueError as error:  # binascii.Error is one, and so is what letters outside ASCII raise
        raise Undecodable(f"the {label} is not base64") from error

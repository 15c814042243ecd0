"""TLS as the Java client properties `ssl.*` describe it, for Python's own connections."""

import os
import ssl
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from msgspec import Struct

from eosctl.codecs.tls import MAGIC as JKS_MAGIC
from eosctl.codecs.tls import (
    JavaKeyStore,
    PemBlock,
    TlsLimits,
    decode_jks,
    decode_pem,
    decode_tls_limits,
    encode_pem,
    recover_key,
)
from eosctl.errors import ConfigError, EosctlError, Undecodable, Unsupported
from eosctl.files import STORE, open_file, read_bounded
from eosctl.model.client_properties import ClientProperties
from eosctl.model.hidden_fields import HiddenFields

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
    from cryptography.x509 import Certificate


JCEKS_MAGIC: Final = b"\xce\xce\xce\xce"


class ClientCertificate(HiddenFields, frozen=True):
    hidden: ClassVar = ("key",)

    chain: str
    key: str

    @property
    def subject(self) -> str:
        from cryptography import x509

        return x509.load_pem_x509_certificate(self.chain.encode()).subject.rfc4514_string()


class TlsStores(Struct, frozen=True):
    """Trusted certificates as PEM text (None: the system's) and the client's own certificate, if it has one."""

    trusted: str | None = None
    own: ClientCertificate | None = None


def read_stores(properties: ClientProperties, prefix: str = "ssl.") -> TlsStores:
    """The stores of the properties under `prefix`.

    1. Type PEM: a file, or the text itself: `truststore.certificates`, `keystore.certificate.chain`, `keystore.key`.
    2. Types JKS and PKCS12 are distinguished by the file's content, as Java does.
    3. `keystore.password` opens the store; `key.password` opens the key in it, and is the same where it is not given.

    Raises ConfigError naming property, origin and file (missing, wrong password, nothing of use in it), Unsupported for
    other stores.
    """
    return TlsStores(_Store(properties, prefix, "truststore").trusted(), _Store(properties, prefix, "keystore").own())


class _Store(Struct, frozen=True):
    properties: ClientProperties
    prefix: str
    name: str

    def get(self, key: str) -> str | None:
        return self.properties.get(f"{self.prefix}{self.name}.{key}")

    @property
    def is_pem(self) -> bool:
        return (self.get("type") or "").upper() == "PEM"

    @property
    def key_password(self) -> str | None:
        return self.properties.get(f"{self.prefix}key.password")

    def trusted(self) -> str | None:
        location, text = self.get("location") or None, self.get("certificates")
        if location is None and text is None:
            return None
        try:
            found = _trusted_of(text, location, self)
            if not found:
                raise Undecodable("it holds no certificate")
            return "".join(encode_pem("CERTIFICATE", der) for der in found)
        except (EosctlError, OSError, ValueError) as error:
            raise self.error(error, location, "certificates") from error

    def own(self) -> ClientCertificate | None:
        location, chain, key = self.get("location") or None, self.get("certificate.chain"), self.get("key")
        if location is None and chain is None and key is None:
            return None
        try:
            if location is None and (chain is None or key is None):
                given, missing = ("key", "certificate.chain") if chain is None else ("certificate.chain", "key")
                store = f"{self.prefix}keystore"
                raise ConfigError(f"{store}.{given} is given without {store}.{missing}")
            return _own_of(f"{key}\n{chain}", location, self)
        except (EosctlError, OSError, ValueError, TypeError) as error:
            raise self.error(error, location, "certificate.chain") from error

    def content(self, location: str) -> bytes:
        with open_file(Path(location)) as file:
            content = read_bounded(file, STORE)
        if not self.is_pem and content.lstrip().startswith(b"-----BEGIN"):
            raise ConfigError(f"it is PEM, but {self.prefix}{self.name}.type is {self.get('type') or 'JKS'}")
        if content.startswith(JCEKS_MAGIC):
            raise Unsupported("it is a JCEKS store", hint="convert it with keytool -importkeystore to PKCS12")
        return content

    def error(self, error: Exception, location: str | None, inline: str) -> EosctlError:
        """The failure with its property; a library's text is not repeated, because it may quote a secret."""
        if location is None:
            key = f"{self.prefix}{self.name}.{inline}"
            place = f"{key} ({self.properties.origin(key)})"
        else:
            key = f"{self.prefix}{self.name}.location"
            place = f"{self.name} {location} ({key}, {self.properties.origin(key)})"
        match error:
            case EosctlError():
                reason = error.message
            case OSError():
                reason = error.strerror or "it cannot be read"
            case _:
                reason = "it cannot be decoded"
        kind = Unsupported if isinstance(error, Unsupported) else ConfigError
        return kind(f"{place} cannot be used: {reason}", hint=getattr(error, "hint", None))


def _trusted_of(text: str | None, location: str | None, store: _Store) -> list[bytes]:
    if location is None or store.is_pem:
        blocks = decode_pem(store.content(location).decode("latin-1") if location is not None else text or "")
        return [block.der for block in blocks if not block.is_key]
    content, password = store.content(location), store.get("password")
    if content.startswith(JKS_MAGIC):
        jks = decode_jks(content, password)
        # Java also trusts the certificate of each key of its own.
        return [*jks.trusted, *(entry.chain[0] for entry in jks.keys if entry.chain)]
    _, certificate, others = _open_pkcs12(content, password, f"{store.prefix}{store.name}.password")
    return [_der(each) for each in (certificate, *others) if each is not None]


def _own_of(text: str, location: str | None, store: _Store) -> ClientCertificate:
    if location is None or store.is_pem:
        blocks = decode_pem(store.content(location).decode("latin-1") if location is not None else text)
        return _own_of_pem(blocks, store.key_password, f"{store.prefix}key.password")
    content, password = store.content(location), store.get("password")
    if content.startswith(JKS_MAGIC):
        return _own_of_jks(decode_jks(content, password), store.key_password or password, f"{store.prefix}key.password")
    key, certificate, others = _open_pkcs12(content, password, f"{store.prefix}{store.name}.password")
    if key is None or certificate is None:
        raise Undecodable("it holds no private key with a certificate")
    return ClientCertificate(_pem([_der(each) for each in _ordered(certificate, others)]), key)


def _own_of_pem(blocks: Sequence[PemBlock], password: str | None, password_key: str) -> ClientCertificate:
    key = next((block for block in blocks if block.is_key), None)
    chain = [block.der for block in blocks if not block.is_key]
    if key is None or not chain:
        raise Undecodable(f"it holds no {'private key' if key is None else 'certificate'}")
    encrypted = key.label.startswith("ENCRYPTED")
    if encrypted and password is None:
        raise ConfigError(f"its key is encrypted and {password_key} is not given")
    try:
        return ClientCertificate(_pem(chain), _plain_key(key.der, password if encrypted else None))
    except ValueError as error:
        reason = f"{password_key} does not open its key" if encrypted else "its key cannot be decoded"
        raise ConfigError(reason) from error


def _own_of_jks(jks: JavaKeyStore, password: str | None, password_key: str) -> ClientCertificate:
    if not jks.keys:
        raise Undecodable("it holds no private key")
    if password is None:
        raise ConfigError(f"its key needs {password_key}")
    entry = jks.keys[0]
    return ClientCertificate(_pem(entry.chain), _plain_key(recover_key(entry, password), None))


def _open_pkcs12(
    content: bytes, password: str | None, password_key: str
) -> "tuple[str | None, Certificate | None, list[Certificate]]":
    from cryptography.hazmat.primitives.serialization import pkcs12

    if not content.startswith(b"0"):
        raise Undecodable("it is not a PKCS12 or JKS store")
    try:
        store = pkcs12.load_pkcs12(content, None if password is None else password.encode())
    except ValueError as error:
        reason = f"{password_key} is not given" if password is None else f"{password_key} is wrong"
        raise ConfigError(f"{reason}, or the store is damaged") from error
    key = None if store.key is None else _key_text(store.key)
    own = None if store.cert is None else store.cert.certificate
    return key, own, [each.certificate for each in store.additional_certs]


def _ordered(certificate: "Certificate", others: "Sequence[Certificate]") -> "list[Certificate]":
    """The chain from `certificate` on, by issuer: a PKCS12 store keeps no order."""
    chain, left = [certificate], list(others)
    while issuer := next((each for each in left if each.subject == chain[-1].issuer), None):
        left.remove(issuer)
        chain.append(issuer)
    return chain


def _plain_key(der: bytes, password: str | None) -> str:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_der_private_key

    try:
        return _key_text(load_der_private_key(der, None if password is None else password.encode()))
    except (UnsupportedAlgorithm, TypeError) as error:
        raise Undecodable("its key is of a kind that cannot be used") from error


def _key_text(key: "PrivateKeyTypes") -> str:
    from cryptography.hazmat.primitives import serialization as form

    return key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption()).decode()


def _der(certificate: "Certificate") -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding

    return certificate.public_bytes(Encoding.DER)


def _pem(chain: Sequence[bytes]) -> str:
    return "".join(encode_pem("CERTIFICATE", der) for der in chain)


def ssl_context(properties: ClientProperties, prefix: str = "ssl.") -> "ssl.SSLContext":
    """An SSLContext that trusts the truststore (otherwise the system) and shows the keystore's certificate, if given.

    It offers the versions and cipher suites that codecs.tls_limits gives. An empty
    `ssl.endpoint.identification.algorithm` turns the check of host names off, and nothing else. `prefix` is what the
    properties' names begin with. Raises ConfigError and Unsupported as read_stores and decode_tls_limits do.
    """
    stores = read_stores(properties, prefix)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    _limit(context, decode_tls_limits(properties, prefix))
    context.check_hostname = verifies_host_names(properties, prefix)
    # Java trusts every certificate in the truststore; OpenSSL by itself only self-signed ones.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if stores.trusted is None:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    else:
        try:
            context.load_verify_locations(cadata=stores.trusted)
        except ssl.SSLError as error:
            raise ConfigError(f"the certificates of {prefix}truststore cannot be used: {error.reason}") from error
    if stores.own is not None:
        _show(context, stores.own, prefix)
    return context


def _limit(context: "ssl.SSLContext", limits: TlsLimits) -> None:
    """Suites of TLS 1.3 cannot be chosen before Python 3.15; unenforced_limits warns the user."""
    context.minimum_version, context.maximum_version = (
        ssl.TLSVersion[each.replace(".", "_")] for each in (limits.versions[0], limits.versions[-1])
    )
    if limits.openssl_suites is not None:
        context.set_ciphers(":".join(limits.openssl_suites))


def verifies_host_names(properties: ClientProperties, prefix: str = "ssl.") -> bool:
    """True if the name in the peer's certificate must be the host of the connection (the default)."""
    return properties.get(f"{prefix}endpoint.identification.algorithm") != ""


def _show(context: "ssl.SSLContext", certificate: ClientCertificate, prefix: str) -> None:
    try:
        with _readable(f"{certificate.key}{certificate.chain}") as path:
            context.load_cert_chain(path)
    except ssl.SSLError as error:
        raise ConfigError(f"key and certificate of {prefix}keystore cannot be used: {error.reason}") from error


@contextmanager
def _readable(text: str) -> Iterator[str]:
    """A path from which `text`, which holds a key, can be read.

    The standard library loads a certificate with its key from a path only. A path in memory keeps the key off the disk.
    On a system without one it is a file that only this user can read, removed at once.
    """
    if hasattr(os, "memfd_create"):
        number = os.memfd_create("eosctl", os.MFD_CLOEXEC)
        with open(number, "w", encoding="ascii") as file:  # noqa: PTH123  # a descriptor has no Path
            file.write(text)
            file.flush()
            yield f"/proc/self/fd/{number}"
        return
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "client.pem")
        path.touch(mode=0o600)
        path.write_text(text, encoding="ascii")
        yield str(path)

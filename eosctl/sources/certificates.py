"""The subject of the certificate that a client shows, read from its keystore: PEM text, PEM file or PKCS12."""

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from eosctl.errors import ConfigError, Unsupported
from eosctl.model.client_properties import Property

JKS_MAGIC: Final = b"\xfe\xed\xfe\xed"
NAME_IT: Final = "name the principal: --principal ROLE=User:NAME"


def read_subject(properties: Mapping[str, Property]) -> str:
    """The subject as X500Principal.getName writes it (RFC 2253), the first certificate of the keystore.

    Raises ConfigError for a store that cannot be read or opened, Unsupported for JKS and without `cryptography`.
    """
    chain = properties.get("ssl.keystore.certificate.chain")
    if chain is not None:
        return _pem(chain.value.encode(), chain.origin)
    location = properties["ssl.keystore.location"]
    try:
        content = Path(location.value).read_bytes()
    except OSError as error:
        raise ConfigError(
            f"{location.origin}: cannot read {location.value}: {error.strerror or error}", hint=NAME_IT
        ) from error
    if content.startswith(JKS_MAGIC):
        raise Unsupported(f"{location.origin}: {location.value} is a JKS keystore, which is not read", hint=NAME_IT)
    if b"-----BEGIN" in content:
        return _pem(content, location.origin)
    password = properties.get("ssl.keystore.password")
    return _pkcs12(content, None if password is None else password.value.encode(), location.origin)


def _pem(content: bytes, origin: str) -> str:
    x509 = _cryptography("cryptography.x509")
    start = content.find(b"-----BEGIN CERTIFICATE")
    try:
        return _name(x509.load_pem_x509_certificate(content[max(start, 0) :]))
    except ValueError as error:
        raise ConfigError(f"{origin} holds no certificate that can be read", hint=NAME_IT) from error


def _pkcs12(content: bytes, password: bytes | None, origin: str) -> str:
    pkcs12 = _cryptography("cryptography.hazmat.primitives.serialization.pkcs12")
    try:
        _, certificate, _ = pkcs12.load_key_and_certificates(content, password)
    except ValueError as error:
        raise ConfigError(f"{origin} is no PKCS12 keystore, or its password is another one", hint=NAME_IT) from error
    if certificate is None:
        raise ConfigError(f"{origin} holds no certificate of a client", hint=NAME_IT)
    return _name(certificate)


def _name(certificate: Any) -> str:  # noqa: ANN401  # the library is optional
    return str(certificate.subject.rfc4514_string())


def _cryptography(module: str) -> Any:  # noqa: ANN401  # the library is optional
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise Unsupported(
            "certificates are read with the library cryptography, which is missing", hint=NAME_IT
        ) from error

"""TLS as the Java client properties `ssl.*` describe it, from PEM stores."""

import ssl
import tempfile
from pathlib import Path

from eosctl.errors import ConfigError, Unsupported
from eosctl.model.client_properties import ClientProperties

PEM = "PEM"
PEM_HINT = "convert the store with keytool and openssl, or give PEM text and set the type to PEM"


def ssl_context(properties: ClientProperties) -> ssl.SSLContext:
    """An SSLContext that trusts the truststore (else the system) and shows the keystore's certificate, if given.

    `ssl.endpoint.identification.algorithm=` (empty) turns the check of host names off. Raises Unsupported for JKS and
    PKCS12 stores, ConfigError for files that are missing, are not PEM, or need another password.
    """
    require_pem(properties)
    context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if properties.get("ssl.endpoint.identification.algorithm") == "":
        context.check_hostname = False
    trust = properties.get("ssl.truststore.location") or properties.get("ssl.truststore.certificates")
    if trust is not None:
        context = _trusting(properties, context.check_hostname)
    _show_certificate(context, properties)
    return context


def require_pem(properties: ClientProperties) -> None:
    """Raise Unsupported, naming property and origin, for a store that is not PEM (the Java default type is JKS)."""
    for store in ("ssl.truststore", "ssl.keystore"):
        given = f"{store}.location"
        kind = properties.get(f"{store}.type") or "JKS"
        if properties.get(given) is not None and kind.upper() != PEM:
            origin = properties.origin(given)
            raise Unsupported(f"{store}.type is {kind} ({origin}); only PEM stores can be read", hint=PEM_HINT)


def _trusting(properties: ClientProperties, check_hostname: bool) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = check_hostname
    location = properties.get("ssl.truststore.location")
    try:
        context.load_verify_locations(cafile=location, cadata=properties.get("ssl.truststore.certificates"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"truststore {location or 'ssl.truststore.certificates'} cannot be used: {error}") from error
    return context


def _show_certificate(context: ssl.SSLContext, properties: ClientProperties) -> None:
    location = properties.get("ssl.keystore.location")
    chain, key = properties.get("ssl.keystore.certificate.chain"), properties.get("ssl.keystore.key")
    if location is None and chain is None:
        return
    if location is None and key is None:
        raise ConfigError("ssl.keystore.certificate.chain is given without ssl.keystore.key")
    password = properties.get("ssl.key.password") or ""
    try:
        if location is not None:
            context.load_cert_chain(location, password=password)
            return
        # The standard library loads client certificates from files only.
        with tempfile.TemporaryDirectory() as directory:
            pem = Path(directory, "client.pem")
            pem.touch(mode=0o600)
            pem.write_text(f"{key}\n{chain}\n")
            context.load_cert_chain(pem, password=password)
    except (OSError, ValueError) as error:
        raise ConfigError(f"keystore {location or 'ssl.keystore.key'} cannot be used: {error}") from error

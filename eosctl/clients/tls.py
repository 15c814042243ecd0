"""TLS as the Java client properties `ssl.*` describe it, for Python's own connections."""

import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from eosctl.clients.stores import ClientCertificate, read_stores
from eosctl.codecs.tls_limits import TlsLimits, decode_tls_limits
from eosctl.errors import ConfigError
from eosctl.model.client_properties import ClientProperties


def ssl_context(properties: ClientProperties, prefix: str = "ssl.") -> ssl.SSLContext:
    """An SSLContext that trusts the truststore (otherwise the system) and shows the keystore's certificate, if given.

    It offers the versions and cipher suites that codecs.tls_limits gives. An empty
    `ssl.endpoint.identification.algorithm` turns the check of host names off, and nothing else. `prefix` is what the
    properties' names begin with. Raises ConfigError and Unsupported as read_stores and decode_tls_limits do.
    """
    stores = read_stores(properties, prefix)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    _limit(context, decode_tls_limits(properties, prefix))
    context.check_hostname = verifies_host_names(properties, prefix)
    # Java trusts whatever certificate is in the truststore; OpenSSL by itself only those that sign themselves.
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


def _limit(context: ssl.SSLContext, limits: TlsLimits) -> None:
    """Suites of TLS 1.3 cannot be chosen before Python 3.15; limits_not_kept says so to the user."""
    context.minimum_version, context.maximum_version = (
        ssl.TLSVersion[each.replace(".", "_")] for each in (limits.versions[0], limits.versions[-1])
    )
    if limits.openssl_suites is not None:
        context.set_ciphers(":".join(limits.openssl_suites))


def verifies_host_names(properties: ClientProperties, prefix: str = "ssl.") -> bool:
    """Whether the name in the peer's certificate has to be the one that was connected to (the default)."""
    return properties.get(f"{prefix}endpoint.identification.algorithm") != ""


def _show(context: ssl.SSLContext, certificate: ClientCertificate, prefix: str) -> None:
    try:
        with _readable(f"{certificate.key}{certificate.chain}") as path:
            context.load_cert_chain(path)
    except ssl.SSLError as error:
        raise ConfigError(f"key and certificate of {prefix}keystore cannot be used: {error.reason}") from error


@contextmanager
def _readable(text: str) -> Iterator[str]:
    """A path from which `text`, which holds a key, can be read.

    The standard library loads a certificate with its key from a path only. Memory that has one keeps the key off the
    disk; where the system has none it is a file that only this user can read, removed at once.
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

"""Connecting step by step, with each client, to say which step fails."""

import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from typing import Any

from eosctl.clients.errors import CHECK_HINT, librdkafka_error, plain_reason, tls_error, tls_failure
from eosctl.clients.rest import RestClient
from eosctl.clients.wire import Wire
from eosctl.errors import ConfigError, EosctlError, NotAuthorized, TimedOut, Unreachable, reason_of
from eosctl.model.client_properties import ClientProperties
from eosctl.model.profile import CheckedStep, CheckOutcome, CheckStep
from eosctl.model.text import pluralize

DESCRIBE = "DESCRIBE"


def check_connections(
    properties: ClientProperties, connect_urls: tuple[str, ...], timeout_s: float
) -> Iterator[CheckedStep]:
    """The steps to each bootstrap server, then each client's to the cluster, then each worker's REST interface.

    No step raises; after one that failed the next address or client is tried.
    """
    for address in properties.bootstrap_servers:
        yield from _network(properties, address, timeout_s)
    servers = ",".join(properties.bootstrap_servers)
    yield _tried("wire", servers, _login_step(properties), lambda: _wire(properties, timeout_s))
    librdkafka = _tried("librdkafka", servers, _login_step(properties), lambda: _librdkafka(properties, timeout_s))
    yield librdkafka
    if librdkafka.outcome is CheckOutcome.OK:
        yield _tried("librdkafka", servers, CheckStep.ACL, lambda: _acl(properties, timeout_s))
    for url in connect_urls:
        yield _tried("REST", url, CheckStep.HTTP, partial(_rest, url, timeout_s))


def _login_step(properties: ClientProperties) -> CheckStep:
    return CheckStep.SASL if properties.security_protocol.uses_sasl else CheckStep.KAFKA


def _tried(client: str, address: str, step: CheckStep, attempt: Callable[[], str]) -> CheckedStep:
    try:
        return CheckedStep(client, address, step, CheckOutcome.OK, attempt())
    except EosctlError as error:
        return CheckedStep(
            client, address, step, CheckOutcome.FAILED, error.message, None if error.hint == CHECK_HINT else error.hint
        )


def _network(properties: ClientProperties, address: str, timeout_s: float) -> Iterator[CheckedStep]:
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    steps = {CheckStep.DNS: lambda: _resolve(host), CheckStep.TCP: lambda: _connect(host, int(port), timeout_s)}
    if properties.security_protocol.uses_tls:
        steps[CheckStep.TLS] = lambda: _handshake(properties, host, int(port), timeout_s)
    for step, attempt in steps.items():
        done = _tried("network", address, step, attempt)
        yield done
        if done.outcome is CheckOutcome.FAILED:
            return


def _resolve(host: str) -> str:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise Unreachable(f"{host} is not known: {error.strerror}", hint="is the host's name right?") from error
    return ", ".join(sorted({str(each[4][0]) for each in found}))


def _connect(host: str, port: int, timeout_s: float) -> str:
    try:
        with closing(socket.create_connection((host, port), timeout_s)) as connection:
            return f"from {connection.getsockname()[0]}"
    except TimeoutError as error:
        raise TimedOut("nothing answers", hint="does a firewall drop the packets?") from error
    except OSError as error:
        raise Unreachable(reason_of(error), hint="does a broker listen on this port?") from error


def _handshake(properties: ClientProperties, host: str, port: int, timeout_s: float) -> str:
    from eosctl.clients.tls import ssl_context

    context = ssl_context(properties)
    try:
        with (
            closing(socket.create_connection((host, port), timeout_s)) as plain,
            context.wrap_socket(plain, server_hostname=host) as encrypted,
        ):
            return f"{encrypted.version()}, {(encrypted.cipher() or ('?',))[0]}"
    except ssl.SSLError as error:
        failure = tls_failure(str(error))
        if failure is None:
            raise Unreachable(f"the TLS handshake failed: {error.reason}") from error
        raise tls_error(failure, f"{host}:{port}", properties.principal) from error
    except OSError as error:
        raise Unreachable(f"the connection ended in the TLS handshake: {plain_reason(str(error))}") from error


def _wire(properties: ClientProperties, timeout_s: float) -> str:
    with Wire(properties, timeout_s=timeout_s) as wire:
        return f"cluster {wire.cluster_id}, {pluralize(len(wire.brokers()), 'broker')}, as {properties.principal}"


def _librdkafka(properties: ClientProperties, timeout_s: float) -> str:
    cluster = _describe(properties, timeout_s, authorized=False)
    return f"cluster {cluster.cluster_id}, {pluralize(len(cluster.nodes), 'broker')}, as {properties.principal}"


def _acl(properties: ClientProperties, timeout_s: float) -> str:
    cluster = _describe(properties, timeout_s, authorized=True)
    operations = sorted(each.name for each in cluster.authorized_operations or ())
    if DESCRIBE not in operations:
        raise NotAuthorized(
            principal=properties.principal,
            operation="Describe",
            resource="Cluster kafka-cluster",
            hint="without it transactional IDs that eosctl has no other right to are not listed",
        )
    return f"on the cluster it may {', '.join(operations)}"


def _describe(properties: ClientProperties, timeout_s: float, *, authorized: bool) -> Any:  # noqa: ANN401  # untyped library
    from confluent_kafka import KafkaException

    from eosctl.clients.librdkafka import admin_client

    reasons: list[str] = []
    try:
        admin = admin_client(properties, on_error=lambda error: reasons.append(error.str()))
        asked = admin.describe_cluster(include_authorized_operations=authorized, request_timeout=timeout_s)
        while not asked.done():
            admin.poll(0.1)
        return asked.result(0)
    except KafkaException as error:
        # The answer only says that time ran out; the reason is in the log.
        if reasons:
            raise _from_log(reasons[-1], properties) from error
        what = {"operation": "DescribeCluster", "resource": ",".join(properties.bootstrap_servers)}
        raise librdkafka_error(error.args[0], principal=properties.principal, **what) from error


def _from_log(reason: str, properties: ClientProperties) -> EosctlError:
    address = ",".join(properties.bootstrap_servers)
    failure = tls_failure(reason)
    if failure is not None:
        return tls_error(failure, address, properties.principal)
    if "could not be verified" in reason:
        what = f"{address} is not trusted: its certificate could not be verified"
        return Unreachable(what, hint="librdkafka does not report why; see the network's TLS step")
    if "uthentication" in reason and properties.sasl is not None:
        operation = f"authenticate with {properties.sasl.mechanism}"
        return NotAuthorized(principal=properties.principal, operation=operation, resource=address)
    return Unreachable(f"{address} cannot be reached: {plain_reason(reason)}")


def _rest(url: str, timeout_s: float) -> str:
    with RestClient(url, timeout_s) as rest:
        body = rest.get("/")
    version = body.get("version") if isinstance(body, dict) else None
    if version is None:
        raise ConfigError("it does not answer as a Connect worker does", hint="is this a worker's REST address?")
    return f"Connect {version}"

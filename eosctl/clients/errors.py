"""The meaning of the Kafka clients' errors for the user: one table for each library."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from eosctl.errors import (
    Bug,
    ConfigError,
    EosctlError,
    Interrupted,
    NotAuthorized,
    Refused,
    Throttled,
    TimedOut,
    Undecodable,
    Unreachable,
    Unsupported,
    UsageError,
)
from eosctl.late_pattern import late_pattern

if TYPE_CHECKING:
    from confluent_kafka import KafkaError


UNKNOWN_SERVER_ERROR: Final = -1
UNKNOWN_TOPIC_OR_PARTITION: Final = 3
COORDINATOR_LOAD_IN_PROGRESS: Final = 14
COORDINATOR_NOT_AVAILABLE: Final = 15
NOT_COORDINATOR: Final = 16
CLUSTER_AUTHORIZATION_FAILED: Final = 31
INVALID_REQUEST: Final = 42
INVALID_PRODUCER_EPOCH: Final = 47
INVALID_TXN_STATE: Final = 48
INVALID_PRODUCER_ID_MAPPING: Final = 49
INVALID_TRANSACTION_TIMEOUT: Final = 50
CONCURRENT_TRANSACTIONS: Final = 51
TRANSACTIONAL_ID_AUTHORIZATION_FAILED: Final = 53
PRODUCER_FENCED: Final = 90


def code_name(code: int) -> str:
    """The name of an error code as Kafka writes it, such as PRODUCER_FENCED; `UNKNOWN_ERROR_<code>` for a newer one."""
    import kafka.errors

    if code == UNKNOWN_SERVER_ERROR:
        return "UNKNOWN_SERVER_ERROR"
    name = str(kafka.errors.for_code(code).message)
    return f"UNKNOWN_ERROR_{code}" if name == "UNKNOWN" and code > 0 else name


LISTENER_HINT: Final = "does security.protocol match the listener at this address?"
MECHANISM_HINT: Final = "set sasl.mechanism to one of the listener's (the broker's sasl.enabled.mechanisms)"
PASSWORD_HINT: Final = "check user name and password in sasl.jaas.config, and that this listener knows the user"
HTTP_HINT: Final = (
    "this is not a broker's port: give the broker with -b, and a Connect worker's address with --connect-url"
)
HTTP_AS_SIZE: Final = str(int.from_bytes(b"HTTP", "big"))
"""What a client of Kafka takes for the size of the answer when a web server answers."""
NAME_HINT: Final = "a topic's name has letters, digits, `.`, `_` and `-`, at most 249"


class TlsFailure(Struct, frozen=True):
    """The problem, to follow the peer's address, and the remedy; `ours`: it is the client's certificate."""

    reason: str
    hint: str
    ours: bool = False


_MEANINGS: Final = (
    (
        ("certificate has expired",),
        TlsFailure("its certificate has expired", "it has to be renewed there; check this machine's clock too"),
    ),
    (("not yet valid",), TlsFailure("its certificate is not valid yet", "check the clocks of both machines")),
    (
        ("Hostname mismatch", "IP address mismatch", "not valid for"),
        TlsFailure(
            "its certificate is for another host name",
            "use a name that is in the certificate; an empty ssl.endpoint.identification.algorithm ends this check",
        ),
    ),
    (
        ("unable to get local issuer", "self-signed certificate", "self signed certificate", "unable to get issuer"),
        TlsFailure(
            "its certificate is not signed by an authority that is trusted here",
            "put that authority into ssl.truststore.location (without a truststore the system's are trusted)",
        ),
    ),
    (
        ("CERTIFICATE_REQUIRED", "ALERT_BAD_CERTIFICATE", "ALERT_UNKNOWN_CA", "ALERT_CERTIFICATE", "UNSUPPORTED_CERT"),
        TlsFailure(
            "the certificate shown there is missing or not accepted",
            "give ssl.keystore.location with a certificate that the peer's truststore accepts",
            ours=True,
        ),
    ),
    (
        ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "UNKNOWN_PROTOCOL", "HTTP_REQUEST"),
        TlsFailure("it does not speak TLS", f"{LISTENER_HINT} (of a Connect worker: http:// instead of https://)"),
    ),
    (
        ("UNEXPECTED_EOF_WHILE_READING",),
        TlsFailure("it closed the connection during the TLS handshake", LISTENER_HINT),
    ),
    (
        ("ALERT_HANDSHAKE_FAILURE", "ALERT_PROTOCOL_VERSION", "NO_SHARED_CIPHER", "UNSUPPORTED_PROTOCOL"),
        TlsFailure(
            "it shares no TLS version or cipher suite with this client",
            "TLSv1.2 and TLSv1.3 are offered unless ssl.enabled.protocols, ssl.protocol or ssl.cipher.suites "
            "restrict them",
        ),
    ),
)


def tls_failure(text: str) -> TlsFailure | None:
    """The meaning of an error text of OpenSSL, or of a library that repeats it; None where it is not about TLS."""
    return next((meaning for signs, meaning in _MEANINGS if any(sign in text for sign in signs)), None)


Kind = type[EosctlError]

INVALID_TOPIC: Final = 17
NO_SASL: Final = "IllegalSaslStateError"
"""The listener has another security.protocol."""
UNSUPPORTED_MECHANISM: Final = "UnsupportedSaslMechanismError"

CHECK_HINT: Final = "`eosctl profile check` with the same options shows which step of the connection fails"
DAMAGED: Final = "DamagedResponse"
DAMAGED_HINT: Final = (
    "the broker, or a proxy before it, does not keep to Kafka's protocol: look at its version and its log"
)
_ERRNO: Final = late_pattern(r"^\[Errno \d+\] |(?P<code>\d+) E[A-Z]{3,}")
_LIBRDKAFKA: Final = late_pattern(r"^\S+/\S+: (?:Connect to \S+ failed: )?| \(after \d+ms in state \w+\)")

_GROUPS: Final[Mapping[Kind, tuple[int, ...]]] = {
    NotAuthorized: (29, 30, 31, 53, 58, 65),
    TimedOut: (7,),
    Throttled: (89,),
    # The cluster is there but is not ready for this request just now.
    Unreachable: (
        *(-1, 5, 6, 8, 9, 13, 14, 15, 16, 19, 20, 41, 51, 56, 70, 71, 72, 74, 75, 77, 78, 80, 83, 88, 98, 99, 100),
        *(101, 102, 103, 106, 107, 108, 109, 122, 123, 129, 133),
    ),
    UsageError: (3, 12, 17, 24, 28, 36, 37, 38, 39, 69, 91, 92, 105, 128),
    ConfigError: (33, 34, 40, 50, 54, 57, 61, 62, 63, 64, 66, 67, 93, 104),
    # 4, 11 and 42 blame the request. eosctl cannot know whether that is right: the broker may be wrong.
    Unsupported: (4, 11, 35, 42, 43, 73, 76, 112, 114, 115),
    Undecodable: (2, 87, 97),
    Refused: (
        *(1, 10, 18, 21, 22, 23, 25, 26, 27, 32, 44, 45, 46, 47, 48, 49, 52, 55, 59, 60, 68, 79, 81, 82, 84, 85, 86),
        *(90, 94, 95, 96, 110, 111, 113, 116, 117, 118, 119, 120, 121, 124, 125, 126, 127, 130, 131, 132),
    ),
}
PROTOCOL_CODES: Final[Mapping[int, Kind]] = {code: kind for kind, codes in _GROUPS.items() for code in codes}
"""Error codes of the Kafka protocol."""

_LIBRDKAFKA_GROUPS: Final[Mapping[Kind, tuple[str, ...]]] = {
    NotAuthorized: ("_AUTHENTICATION",),
    TimedOut: ("_MSG_TIMED_OUT", "_TIMED_OUT", "_TIMED_OUT_QUEUE"),
    Unreachable: (
        *("_FAIL", "_TRANSPORT", "_CRIT_SYS_RESOURCE", "_RESOLVE", "_ALL_BROKERS_DOWN", "_ISR_INSUFF", "_NODE_UPDATE"),
        *("_SSL", "_WAIT_COORD", "_WAIT_CACHE", "_RETRY", "_UNKNOWN_BROKER", "_ASSIGNMENT_LOST", "_PARTIAL"),
    ),
    UsageError: ("_UNKNOWN_PARTITION", "_UNKNOWN_TOPIC", "_UNKNOWN_GROUP", "_NOENT"),
    ConfigError: ("_FS", "_INVALID_ARG", "_UNKNOWN_PROTOCOL", "_INVALID_TYPE", "_NOT_CONFIGURED"),
    Unsupported: ("_NOT_IMPLEMENTED", "_UNSUPPORTED_FEATURE"),
    Undecodable: (
        *("_BAD_MSG", "_BAD_COMPRESSION", "_UNDERFLOW", "_KEY_DESERIALIZATION", "_VALUE_DESERIALIZATION"),
        "_INVALID_DIFFERENT_RECORD",
    ),
    Refused: ("_NO_OFFSET", "_FATAL", "_GAPLESS_GUARANTEE", "_FENCED", "_AUTO_OFFSET_RESET", "_LOG_TRUNCATION"),
    Interrupted: ("_INTR", "_PURGE_QUEUE", "_PURGE_INFLIGHT"),
    Bug: (
        *("_DESTROY", "_DESTROY_BROKER", "_PARTITION_EOF", "_QUEUE_FULL", "_IN_PROGRESS", "_PREV_IN_PROGRESS"),
        *("_EXISTING_SUBSCRIPTION", "_ASSIGN_PARTITIONS", "_REVOKE_PARTITIONS", "_CONFLICT", "_STATE", "_OUTDATED"),
        *("_KEY_SERIALIZATION", "_VALUE_SERIALIZATION", "_READ_ONLY", "_INCONSISTENT", "_MAX_POLL_EXCEEDED"),
        *("_APPLICATION", "_NOOP"),
    ),
}
LIBRDKAFKA_NAMES: Final[Mapping[str, Kind]] = {n: kind for kind, names in _LIBRDKAFKA_GROUPS.items() for n in names}
"""librdkafka's local errors by the name it gives them; its other codes are the protocol's."""

KAFKA_PYTHON_NAMES: Final[Mapping[str, Kind]] = {
    "SaslAuthenticationFailedError": NotAuthorized,
    "RequestTimedOutError": TimedOut,
    "KafkaTimeoutError": TimedOut,
    "KafkaConnectionError": Unreachable,
    "NodeNotReadyError": Unreachable,
    "UnknownBrokerIdError": Unreachable,
    "MetadataEmptyBrokerList": Unreachable,
    "StaleMetadata": Unreachable,
    "Cancelled": Unreachable,
    "QuotaViolationError": Throttled,
    "KafkaConfigurationError": ConfigError,
    "UnrecognizedBrokerVersion": Unsupported,
    "UnsupportedCodecError": Unsupported,
    "UnrecognizedBrokerError": Unsupported,
    "KafkaProtocolError": Undecodable,
    "LogTruncationError": Refused,
    "NoOffsetForPartitionError": Refused,
    "CommitFailedError": Refused,
    "TransactionAbortedError": Refused,
    "IllegalArgumentError": Bug,
    "IllegalStateError": Bug,
    "TooManyInFlightRequests": Bug,
}
"""kafka-python's own exceptions by class name; a subclass means the same as its base."""


class Peer(Struct, frozen=True):
    address: str
    principal: str
    mechanism: str | None = None


def kind_of(error: type[BaseException], names: Mapping[str, Kind]) -> Kind | None:
    """The entry of the nearest class of `error` in `names`, protocol codes first, or None."""
    code = getattr(error, "errno", None)
    if isinstance(code, int) and code in PROTOCOL_CODES:
        return PROTOCOL_CODES[code]
    return next((names[base.__name__] for base in error.__mro__ if base.__name__ in names), None)


def protocol_error(code: int, *, principal: str, operation: str, resource: str) -> EosctlError:
    """The meaning of error code `code` as the answer to `operation` on `resource`, such as Read on Topic orders."""
    kind = PROTOCOL_CODES.get(code, Unsupported)
    if kind is NotAuthorized:
        return NotAuthorized(principal=principal, operation=operation, resource=resource)
    hint = NAME_HINT if code == INVALID_TOPIC else None
    return kind(f"{resource}: the broker refuses {operation} with {code_name(code)} ({code})", hint=hint)


def plain_reason(reason: str) -> str:
    """A library's message about a failed connection, without its own notation: `111 ECONNREFUSED` and the like."""
    words = _LIBRDKAFKA.sub(
        "", _ERRNO.sub(lambda found: os.strerror(int(found["code"])) if found["code"] else "", reason)
    )
    return words.replace("DNS Resolution failure", "the name of its host cannot be resolved")


def connection_error(error: BaseException, peer: Peer) -> EosctlError:
    """The meaning of kafka-python's exception on the connection to `peer`; an EosctlError is returned unchanged."""
    if isinstance(error, EosctlError):
        return error
    # kafka-python's str() puts its class names in front; the cause is the innermost argument.
    reason = plain_reason(" ".join(str(arg) for arg in error.args) or type(error).__name__)
    if type(error).__name__ == DAMAGED:
        return Undecodable(f"{peer.address} answered {reason}", hint=DAMAGED_HINT)
    tls = tls_failure(reason)
    if tls is not None:
        return tls_error(tls, peer.address, peer.principal)
    return _error_of(kind_of(type(error), KAFKA_PYTHON_NAMES) or Unreachable, reason, peer)


def _error_of(kind: Kind, reason: str, peer: Peer) -> EosctlError:
    match kind:
        case kind if kind is NotAuthorized:
            reason = reason.removeprefix("SaslAuthenticationFailedError: ")
            operation = f"authenticate with {peer.mechanism}" if peer.mechanism else "connect"
            hint = PASSWORD_HINT if (peer.mechanism or "").startswith(("PLAIN", "SCRAM")) else None
            resource = f"{peer.address}: {reason}"
            return NotAuthorized(principal=peer.principal, operation=operation, resource=resource, hint=hint)
        case kind if kind is ConfigError:
            return _without_login(reason, peer)
        case kind if kind is Undecodable and HTTP_AS_SIZE in reason:
            return Unreachable(f"{peer.address} answers in HTTP, and not in Kafka's protocol", hint=HTTP_HINT)
        case kind if kind is Undecodable:
            what = f"{peer.address} does not speak Kafka's protocol: {reason}"
        case kind if kind is TimedOut:
            return TimedOut(f"{peer.address} accepted the connection but did not answer in time", hint=CHECK_HINT)
        case kind if kind is Unreachable:
            what = f"{peer.address} cannot be reached: {reason}"
        case kind:
            return kind(f"{peer.address}: {reason}")
    broken_off = any(sign in what for sign in ("socket disconnected", "Handshake failed", "speak Kafka"))
    return Unreachable(what, hint=LISTENER_HINT if broken_off else CHECK_HINT)


def _without_login(reason: str, peer: Peer) -> ConfigError:
    """A listener without SASL, or without this mechanism."""
    if reason == NO_SASL:
        return ConfigError(f"{peer.address} takes no SASL login of {peer.principal}", hint=LISTENER_HINT)
    why = "" if reason == UNSUPPORTED_MECHANISM else f": {reason}"
    what = f"{peer.address} does not offer SASL {peer.mechanism} to {peer.principal}{why}"
    return ConfigError(what, hint=MECHANISM_HINT)


def tls_error(failure: TlsFailure, address: str, principal: str) -> EosctlError:
    """The failed handshake with `address` as an error: NotAuthorized where the client's certificate is at fault."""
    if failure.ours:
        operation, resource = "connect by certificate", f"{address}: {failure.reason}"
        return NotAuthorized(principal=principal, operation=operation, resource=resource, hint=failure.hint)
    problem = "is not trusted" if failure.reason.startswith("its certificate") else "cannot be reached"
    return Unreachable(f"{address} {problem}: {failure.reason}", hint=failure.hint)


def librdkafka_error(error: "KafkaError", *, principal: str, operation: str, resource: str) -> EosctlError:
    if error.code() > 0 or error.code() == -1:
        return protocol_error(error.code(), principal=principal, operation=operation, resource=resource)
    kind = LIBRDKAFKA_NAMES.get(error.name(), Bug)
    if kind is NotAuthorized:
        return NotAuthorized(principal=principal, operation=f"authenticate for {operation}", resource=resource)
    hint = CHECK_HINT if issubclass(kind, Unreachable) else None
    return kind(f"{operation} on {resource} failed: {plain_reason(error.str())}", hint=hint)

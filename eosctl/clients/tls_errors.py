"""What OpenSSL's words about a failed handshake mean to the user."""

from dataclasses import dataclass
from typing import Final

LISTENER_HINT: Final = "does security.protocol match the listener at this address?"


@dataclass(frozen=True, slots=True)
class TlsFailure:
    """What is wrong, to follow the peer's address, and what to do; `ours`: it is the client's certificate."""

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
        TlsFailure("it does not speak TLS", LISTENER_HINT),
    ),
    (
        ("ALERT_HANDSHAKE_FAILURE", "ALERT_PROTOCOL_VERSION", "NO_SHARED_CIPHER", "UNSUPPORTED_PROTOCOL"),
        TlsFailure(
            "it shares no TLS version or cipher suite with this client",
            "TLSv1.2 and TLSv1.3 are offered unless ssl.enabled.protocols, ssl.protocol or ssl.cipher.suites say less",
        ),
    ),
)


def tls_failure(text: str) -> TlsFailure | None:
    """The meaning of an error text of OpenSSL, or of a library that repeats it; None where it is not about TLS."""
    return next((meaning for signs, meaning in _MEANINGS if any(sign in text for sign in signs)), None)

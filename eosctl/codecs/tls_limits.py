"""What `ssl.protocol`, `ssl.enabled.protocols` and `ssl.cipher.suites` leave of TLS versions and cipher suites."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from eosctl.errors import ConfigError
from eosctl.model.client_properties import ClientProperties, listed

TLS_1_2: Final = "TLSv1.2"
TLS_1_3: Final = "TLSv1.3"
VERSIONS: Final = (TLS_1_2, TLS_1_3)
"""What can be spoken, oldest first. Older ones are turned off in every Java that Kafka 3.3 or newer is run with."""

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


@dataclass(frozen=True, slots=True)
class TlsLimits:
    """What may be offered: versions (of VERSIONS), and cipher suites by Java's names (None: every usual one).

    origin: where the limit was given, None where there is none.
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

    1. `enabled.protocols` (empty: TLSv1.2,TLSv1.3) lists versions; those that Java itself no longer speaks count not.
    2. `protocol` takes versions newer than it away: with TLSv1.2 there is no TLSv1.3.
    3. `cipher.suites` (empty: all) lists suites; a version none of whose suites is listed is not offered either.

    Raises ConfigError naming property and origin for a name that no Java knows, and where nothing is left to offer.
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
            hint="TLSv1.2 and TLSv1.3 can be spoken, each with suites of its own",
        )
    limited = versions != VERSIONS or suites is not None
    return TlsLimits(versions, suites, properties.origin(prefix + given[0]) if limited else None)


def limits_not_kept(limits: TlsLimits) -> Iterator[str]:
    """In a sentence each: what is offered although the limits exclude it, and by which client."""
    if limits.versions == (TLS_1_2,):
        yield "librdkafka, which writes offsets and topics, offers TLSv1.3 too; all other clients keep to TLSv1.2"
    if limits.suites is None:
        return
    if TLS_1_3 in limits.versions and set(limits.suites) & SUITES_1_3 != SUITES_1_3:
        yield "ssl.cipher.suites holds for TLSv1.2; with TLSv1.3 every suite of it is offered"
    unknown = [each for each in limits.suites if each not in SUITES_1_2 and each not in SUITES_1_3]
    if unknown:
        yield f"OpenSSL has no cipher suite {', '.join(unknown)}; not offered"


def _versions(properties: ClientProperties, prefix: str) -> tuple[str, ...]:
    enabled = tuple(listed(properties.get(f"{prefix}enabled.protocols") or "")) or VERSIONS
    for name in enabled:
        if name not in VERSIONS and name not in _NO_LONGER:
            raise _unknown(properties, f"{prefix}enabled.protocols", name)
    newest = properties.get(f"{prefix}protocol") or TLS_1_3
    if newest not in _NEWEST_OF:
        raise _unknown(properties, f"{prefix}protocol", newest)
    return tuple(each for each in VERSIONS if each in enabled and each in _NEWEST_OF[newest])


def _suites(properties: ClientProperties, prefix: str) -> tuple[str, ...] | None:
    return tuple(listed(properties.get(f"{prefix}cipher.suites") or "")) or None


def _unknown(properties: ClientProperties, key: str, name: str) -> ConfigError:
    names = ", ".join(VERSIONS)
    return ConfigError(
        f"{key} from {properties.origin(key)} names {name!r}, which is no TLS version", hint=f"use {names}"
    )

"""Client properties -> the principal that a broker's default principal builder makes of the client.

1. `security.protocol` decides; PLAINTEXT where it is not set.
2. SASL with PLAIN or SCRAM: `User:` and the user name of sasl.jaas.config.
3. SASL with GSSAPI: `User:` and the first component of the Kerberos principal in sasl.jaas.config, as the default
   sasl.kerberos.principal.to.local.rules make it.
4. SASL with OAUTHBEARER: `User:` and the unsecured login's subject; a real token's subject is not in the properties.
5. SSL: `User:` and the certificate's subject, through the brokers' ssl.principal.mapping.rules.
6. PLAINTEXT: `User:ANONYMOUS`.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from eosctl.codecs.jaas import decode_jaas
from eosctl.codecs.secrets import HIDDEN
from eosctl.errors import ConfigError
from eosctl.model.client_properties import Property, SecurityProtocol

ANONYMOUS: Final = "User:ANONYMOUS"
WITH_USER_NAME: Final = frozenset({"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"})
_REFERENCE: Final = re.compile(r"\$\{[^}]*\}")
_RULE: Final = re.compile(r"\s*(?:(DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?))\s*(?:,|$)")
_BACK_REFERENCE: Final = re.compile(r"\$(\d)")

SubjectOf = Callable[[Mapping[str, Property]], str]
"""Reads the subject of a client's certificate; raises ConfigError or Unsupported saying why it cannot."""


@dataclass(frozen=True, slots=True)
class Unresolved:
    """A principal that the properties do not tell: which property should have, and why it does not."""

    property: str
    reason: str


def resolve_principal(
    properties: Mapping[str, Property], subject_of: SubjectOf, mapping_rules: str = "DEFAULT"
) -> str | Unresolved:
    """The principal of a client with these properties; subject_of is asked only for a client that shows a certificate.

    Raises ConfigError for a sasl.jaas.config that does not parse and for mapping rules that do not; the text names
    where the property was given and never quotes it.
    """
    given = properties.get("security.protocol")
    try:
        protocol = SecurityProtocol(given.value.strip().upper()) if given else SecurityProtocol.PLAINTEXT
    except ValueError:
        assert given is not None
        return Unresolved("security.protocol", f"{given.origin} has {given.value!r}, which is no security protocol")
    if protocol.uses_sasl:
        return _sasl(properties)
    if protocol is SecurityProtocol.PLAINTEXT:
        return ANONYMOUS
    if not {"ssl.keystore.location", "ssl.keystore.certificate.chain"} & set(properties):
        return ANONYMOUS
    return f"User:{map_subject(subject_of(properties), mapping_rules)}"


def _sasl(properties: Mapping[str, Property]) -> str | Unresolved:
    mechanism = properties["sasl.mechanism"].value.strip() if "sasl.mechanism" in properties else "GSSAPI"
    jaas = properties.get("sasl.jaas.config")
    if jaas is None:
        return Unresolved("sasl.jaas.config", f"sasl.mechanism is {mechanism} and sasl.jaas.config is not set")
    if jaas.value == HIDDEN:
        return Unresolved("sasl.jaas.config", f"{jaas.origin} has it masked")
    if _REFERENCE.search(jaas.value) and _REFERENCE.fullmatch(jaas.value.strip()):
        return Unresolved("sasl.jaas.config", f"{jaas.origin} has a reference that only a worker resolves")
    try:
        options = decode_jaas(jaas.value)[0].options
    except ConfigError as error:
        raise ConfigError(f"{jaas.origin}: {error.message}", hint=error.hint) from error
    option = _option(mechanism)
    name = options.get(option)
    if name is None or _REFERENCE.search(name):
        return Unresolved("sasl.jaas.config", f"{jaas.origin} has no {option} in it that {mechanism} would show")
    return f"User:{re.split('[/@]', name)[0] if mechanism == 'GSSAPI' else name}"


def _option(mechanism: str) -> str:
    if mechanism in WITH_USER_NAME:
        return "username"
    return "principal" if mechanism == "GSSAPI" else "unsecuredLoginStringClaim_sub"


def map_subject(subject: str, rules: str) -> str:
    """The name that ssl.principal.mapping.rules make of a certificate's subject (KIP-371): the first rule that fits.

    `RULE:pattern/replacement/` with `L` or `U` behind it for lower or upper case; DEFAULT keeps the whole subject. A
    subject that no rule fits is an error to the broker, too.
    """
    place = 0
    while place < len(rules.rstrip()):
        rule = _RULE.match(rules, place)
        if rule is None:
            raise ConfigError(f"ssl.principal.mapping.rules cannot be read from {rules[place : place + 40]!r} on")
        place = rule.end()
        if rule[1]:
            return subject
        name = _apply(rule[2], rule[3], subject)
        if name is not None:
            return {"L": name.lower(), "U": name.upper()}.get(rule[4], name)
    raise ConfigError(f"no rule of ssl.principal.mapping.rules fits the subject {subject}")


def _apply(pattern: str, replacement: str, subject: str) -> str | None:
    try:
        found = re.fullmatch(pattern.replace("\\/", "/"), subject)
    except re.error as error:
        raise ConfigError(f"ssl.principal.mapping.rules has pattern {pattern!r}: {error}") from error
    if found is None:
        return None
    try:
        return _BACK_REFERENCE.sub(lambda reference: found[int(reference[1])] or "", replacement)
    except IndexError as error:
        what = f"{replacement!r} names a group that pattern {pattern!r} does not have"
        raise ConfigError(f"ssl.principal.mapping.rules: {what}") from error


def mask_all_but_principals(
    mask: Callable[[Mapping[str, object]], dict[str, object]],
) -> Callable[..., dict[str, object]]:
    """`mask`, except that a sasl.jaas.config keeps its login module and the name of who logs in, and nothing else."""

    def masked(properties: Mapping[str, object]) -> dict[str, object]:
        shown = mask(properties)
        for key, value in properties.items():
            if key.endswith("sasl.jaas.config") and isinstance(value, str):
                shown[key] = _without_secrets(value)
        return shown

    return masked


def _without_secrets(jaas: str) -> str:
    if _REFERENCE.fullmatch(jaas.strip()):
        return jaas
    try:
        module = decode_jaas(jaas)[0]
    except ConfigError:
        return HIDDEN
    names = ("username", "principal", "unsecuredLoginStringClaim_sub")
    kept = {name: module.options[name] for name in names if name in module.options}
    quoted = "".join(f' {name}="{_quoted(value)}"' for name, value in kept.items())
    return f"{module.name} {module.control_flag}{quoted};"


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')

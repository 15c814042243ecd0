"""Client properties -> the principal that a broker's default principal builder makes of the client.

1. `security.protocol` decides; PLAINTEXT where it is not set.
2. SASL with PLAIN or SCRAM: `User:` and the user name of sasl.jaas.config. With tokenauth=true that is the ID of a
   delegation token, and the principal is the token's owner (KIP-48), which the properties do not name.
3. SASL with GSSAPI: `User:` and the first component of the Kerberos principal in sasl.jaas.config, as the default
   sasl.kerberos.principal.to.local.rules make it.
4. SASL with OAUTHBEARER: `User:` and the unsecured login's subject; a real token's subject is not in the properties.
5. SSL: `User:` and the certificate's subject, through the brokers' ssl.principal.mapping.rules.
6. PLAINTEXT: `User:ANONYMOUS`.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from eosctl.codecs import jaas as jaas_entries
from eosctl.errors import ConfigError
from eosctl.model.client_properties import HIDDEN, Property, SecurityProtocol

ANONYMOUS: Final = "User:ANONYMOUS"
WITH_USER_NAME: Final = frozenset({"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"})
_REFERENCE: Final = re.compile(r"\$\{[^}]*\}")
_RULE: Final = re.compile(r"\s*(?:(DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?))?\s*(?:,|$)")
_IN_REPLACEMENT: Final = re.compile(r"\\(.)|\$(\d+)", re.DOTALL)
_KEPT: Final = ("username", "tokenauth", "principal", "unsecuredLoginStringClaim_sub")
"""Options of a login module that say who logs in and hold no secret."""

SubjectOf = Callable[[Mapping[str, Property]], str]
"""Reads the subject of a client's certificate; raises ConfigError or Unsupported saying why it cannot."""


@dataclass(frozen=True, slots=True)
class Unresolved:
    """A principal that the properties do not name: which property should have, and why it does not."""

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
    options = _login(jaas)
    option = _option(mechanism)
    name = None if option is None else options.get(option)
    reason = _untold(jaas.origin, mechanism, options, name)
    if name is None or reason is not None:
        return Unresolved("sasl.jaas.config", reason or "")
    return f"User:{re.split('[/@]', name)[0] if mechanism == 'GSSAPI' else name}"


def _login(jaas: Property) -> Mapping[str, str]:
    """The options of the login module."""
    try:
        modules = jaas_entries.decode_jaas(jaas.value)
    except ConfigError as error:
        raise ConfigError(f"{jaas.origin}: {error.message}", hint=error.hint) from error
    if len(modules) > 1:
        raise ConfigError(
            f"{jaas.origin} holds {len(modules)} login modules, and a Kafka client takes no more than one"
        )
    return modules[0].options


def _option(mechanism: str) -> str | None:
    if mechanism in WITH_USER_NAME:
        return "username"
    return {"GSSAPI": "principal", "OAUTHBEARER": "unsecuredLoginStringClaim_sub"}.get(mechanism)


def _untold(origin: str, mechanism: str, options: Mapping[str, str], name: str | None) -> str | None:
    """Why the options do not name the principal; None where they do."""
    if mechanism in WITH_USER_NAME and options.get("tokenauth", "").lower() == "true":
        return f"{origin} has a delegation token, whose owner is the principal"
    if name is None and mechanism == "OAUTHBEARER":
        return f"{origin} does not name it: the principal of OAUTHBEARER is in the token"
    if name is None and _option(mechanism) is None:
        return f"nothing in {origin} shows the principal of a client with {mechanism}"
    if name is None:
        return f"{origin} has no {_option(mechanism)} in it that {mechanism} would show"
    if _REFERENCE.search(name):
        return f"{_option(mechanism)} in {origin} is a reference, which only a worker resolves"
    return None


def map_subject(subject: str, rules: str) -> str:
    """The name that ssl.principal.mapping.rules make of a certificate's subject (KIP-371): the first rule that fits.

    1. `RULE:pattern/replacement/` with `L` or `U` behind it for lower or upper case; DEFAULT keeps the whole subject.
       Empty rules do not count.
    2. A rule fits where its pattern matches the whole subject. Then every match of the pattern that is found in the
       subject is replaced (SslPrincipalMapper, Matcher.replaceAll): a lazy group at the end of a pattern holds nothing.
    3. In the replacement `$1` is a group, and a backslash takes the next character as it is. Where the pattern has
       groups, a number beyond them is plain text.

    A subject that no rule fits is an error to the broker, too.
    """
    for rule in tuple(_mapping_rules(rules)):
        name = subject if rule is None else _apply(rule, subject)
        if name is not None:
            return name
    raise ConfigError(f"no rule of ssl.principal.mapping.rules fits the subject {subject}")


class _MappingRule(NamedTuple):
    pattern: re.Pattern[str]
    replacement: str
    case: str


def _mapping_rules(text: str) -> Iterator[_MappingRule | None]:
    """Each rule, None for DEFAULT; raises ConfigError for one that no broker would start with."""
    place = 0
    while place < len(text.rstrip()):
        rule = _RULE.match(text, place)
        if rule is None:
            raise ConfigError(f"ssl.principal.mapping.rules cannot be read from {text[place : place + 40]!r} on")
        place = rule.end()
        if rule[1]:
            yield None
        elif rule[2] is not None:
            try:
                yield _MappingRule(re.compile(rule[2]), rule[3], rule[4])
            except re.error as error:
                raise ConfigError(f"ssl.principal.mapping.rules has pattern {rule[2]!r}: {error}") from error


def _apply(rule: _MappingRule, subject: str) -> str | None:
    if rule.pattern.fullmatch(subject) is None:
        return None
    name = rule.pattern.sub(
        lambda found: _IN_REPLACEMENT.sub(lambda part: _replaced(part, found), rule.replacement), subject
    )
    return {"L": name.lower(), "U": name.upper()}.get(rule.case, name)


def _replaced(part: re.Match[str], found: re.Match[str]) -> str:
    """A backslash and what follows it, or `$` and a number, as Matcher.appendReplacement takes them."""
    if part[1] is not None:
        return part[1]
    digits, groups = part[2], found.re.groups
    length = 1
    while length < len(digits) and int(digits[: length + 1]) <= groups:
        length += 1
    number = int(digits[:length])
    if number > groups and not groups:
        what = f"{part[0]!r} names a group that pattern {found.re.pattern!r} does not have"
        raise ConfigError(f"ssl.principal.mapping.rules: {what}")
    return part[0] if number > groups else (found[number] or "") + digits[length:]


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
        module = jaas_entries.decode_jaas(jaas)[0]
    except ConfigError:
        return HIDDEN
    kept = {name: module.options[name] for name in _KEPT if name in module.options}
    quoted = "".join(f' {name}="{_quoted(value)}"' for name, value in kept.items())
    return f"{module.name} {module.control_flag}{quoted};"


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')

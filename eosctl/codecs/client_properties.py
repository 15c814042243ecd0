"""Command line and properties text -> ClientProperties."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar, Final

from msgspec import Struct

from eosctl.codecs.properties import decode_properties
from eosctl.codecs.secrets import mask_url
from eosctl.errors import ConfigError, UsageError
from eosctl.late_pattern import late_pattern
from eosctl.model.client_properties import (
    HIDDEN,
    REFERENCE,
    UNREAD,
    ClientProperties,
    Property,
    SaslCredentials,
    SecurityProtocol,
    is_broker_address,
    split_list,
)
from eosctl.model.hidden_fields import HiddenFields

Lookup = Callable[[str, str, str], str]
"""(class of the provider, path, key) -> the value; raises ConfigError."""

PACKAGE: Final = "org.apache.kafka.common.config.provider."
KNOWN: Final[Mapping[str, str]] = {
    "file": f"{PACKAGE}FileConfigProvider",
    "env": f"{PACKAGE}EnvVarConfigProvider",
    "dir": f"{PACKAGE}DirectoryConfigProvider",
}


def no_lookup(provider: str, path: str, key: str) -> str:
    """The Lookup where references cannot be resolved: raises ConfigError."""
    raise ConfigError(f"references to config providers are not resolved here: {key}")


def resolve_references(properties: Mapping[str, str], lookup: Lookup, *, origin: str) -> dict[str, str]:
    """The properties with each reference replaced by `lookup`'s answer, which is not resolved again.

    1. `config.providers` names the providers, `config.providers.<name>.class` says what each is.
    2. Names that are not declared there stand for Kafka's own: `file`, `env`, `dir`.
    3. Any other `${...}` is left as it is, as Kafka does.

    Raises ConfigError naming `origin`, key and reference, but no value.
    """
    classes = {**KNOWN}
    for name in split_list(properties.get("config.providers", "")):
        classes[name] = properties.get(f"config.providers.{name}.class", classes.get(name, "unknown"))

    def resolved(key: str, value: str) -> str:
        def replaced(match: re.Match[str]) -> str:
            provider, path, name = match[1], match[2] or "", match[3]
            if provider not in classes:
                return match[0]
            try:
                return lookup(classes[provider], path, name)
            except ConfigError as error:
                raise ConfigError(f"{key} from {origin}: {match[0]}: {error.message}", hint=error.hint) from error

        return REFERENCE.sub(replaced, value)

    return {
        key: value if key.startswith("config.providers") else resolved(key, value) for key, value in properties.items()
    }


CONTROL_FLAGS: Final = frozenset({"required", "requisite", "sufficient", "optional"})

_TOKEN = late_pattern(
    r"""(?P<blank>[\x00-\x20]+|/\*.*?\*/|/[^\n\r]*)
      | "(?P<quoted>(?:[^"\\\n\r]|\\.)*)"
      | '(?P<single>(?:[^'\\\n\r]|\\.)*)'
      | (?P<mark>[=;])
      | (?P<word>(?:[A-Za-z_$]|[^\x00-\x9f])(?:[A-Za-z0-9_$.\-]|[^\x00-\x9f])*)""",
    re.VERBOSE | re.DOTALL,
)
_OCTAL_OR_LETTER = late_pattern(r"\\([0-3]?[0-7]{1,2}|.)", re.DOTALL)
_LETTERS: Final = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "b": "\b", "a": "\a", "v": "\v"}


class LoginModule(HiddenFields, frozen=True):
    """One entry: the module's class, its control flag, and its options, whose values are not shown by repr."""

    hidden: ClassVar = ("options",)

    name: str
    control_flag: str
    options: dict[str, str]


class _Token(Struct, frozen=True):
    text: str
    is_mark: bool


def decode_jaas(text: str) -> tuple[LoginModule, ...]:
    """The entries of `<module class> <control flag> <key>=<value>... ;`, repeated.

    1. Tokens follow Java's StreamTokenizer as Kafka's JaasConfig sets it up: a bare word starts with a letter,
       `_` or `$`, so a value that starts with a digit, or holds any other mark, has to be quoted.
    2. Within double or single quotes a backslash escapes (`\\"`, `\\\\`, `\\n`, `\\t`, octal); a line cannot end there.
    3. Text from `/` to the end of the line and between `/*` and `*/` is a comment outside quotes.
    4. Each entry ends with `;`. A key that is given twice keeps its last value.

    Raises ConfigError saying what was expected, without quoting the text: it holds passwords.
    """
    tokens = _tokens(text)
    modules = tuple(_entry(_word(token, "a login module class"), tokens) for token in tokens)
    if not modules:
        raise ConfigError("sasl.jaas.config holds no login module")
    return modules


def _entry(name: str, tokens: Iterator[_Token]) -> LoginModule:
    flag = _word(next(tokens, None), "a control flag such as required").lower()
    if flag not in CONTROL_FLAGS:
        raise _expected("a control flag (required, requisite, sufficient or optional)")
    options: dict[str, str] = {}
    for token in tokens:
        if token.is_mark and token.text == ";":
            return LoginModule(name, flag, options)
        key = _word(token, "an option or `;`")
        equals = next(tokens, None)
        if equals is None or not equals.is_mark or equals.text != "=":
            raise _expected(f"= after option {key}")
        options[key] = _word(next(tokens, None), f"a value for option {key}")
    raise _expected("`;` at the end of the login module")


def _word(token: _Token | None, expected: str) -> str:
    if token is None or token.is_mark:
        raise _expected(expected)
    return token.text


def _expected(what: str) -> ConfigError:
    return ConfigError(f"sasl.jaas.config is not a JAAS configuration: {what} is missing")


def _tokens(text: str) -> Iterator[_Token]:
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise _expected("a closing quote, or quotes around a value")
        place = match.end()
        if match["mark"] is not None:
            yield _Token(match["mark"], is_mark=True)
        elif match["word"] is not None:
            yield _Token(match["word"], is_mark=False)
        elif match["blank"] is None:
            quoted = match["quoted"] if match["quoted"] is not None else match["single"]
            yield _Token(_OCTAL_OR_LETTER.sub(_unescape, quoted), is_mark=False)


def _unescape(match: re.Match[str]) -> str:
    escaped = match[1]
    return chr(int(escaped, 8)) if escaped[0] in "01234567" else _LETTERS.get(escaped, escaped)


WITH_PASSWORD = frozenset({"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"})


def client_properties(
    *,
    command_config: str | None = None,
    command_config_name: str = "--command-config",
    extra: Sequence[str] = (),
    bootstrap_server: str | None = None,
    basis: Mapping[str, Property] = MappingProxyType({}),
    lookup: Lookup | None = None,
) -> ClientProperties:
    """The client properties of a command line; each remembers its origin.

    1. Lowest: `basis`, what a profile says.
    2. Over it: the Java properties text of `--command-config`.
    3. Over it: `extra`, the `key=value` of each `-X`, the last one of a key winning.
    4. Highest: `bootstrap_server` (`-b`), which replaces `bootstrap.servers`.
    5. With `lookup`, references to config providers are replaced by their values, where they win.

    Raises ConfigError naming key and origin, UsageError for an `-X` without `=`.
    """
    merged: dict[str, Property] = dict(basis)
    if command_config is not None:
        decoded = decode_properties(command_config, origin=command_config_name)
        merged |= {key: Property(value.strip(), command_config_name) for key, value in decoded.items()}
    for text in extra:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():  # which is not said: it may be the end of a secret
            raise UsageError("-X takes key=value", hint="for example -X security.protocol=SASL_SSL")
        merged[key.strip()] = Property(value.strip(), "-X")
    if bootstrap_server is not None:
        merged["bootstrap.servers"] = Property(bootstrap_server, "-b")
    return from_properties(merged if lookup is None else _resolved(merged, lookup))


def _resolved(properties: Mapping[str, Property], lookup: Lookup) -> dict[str, Property]:
    declared = {key: given.value for key, given in properties.items() if key.startswith("config.providers")}
    resolved = {}
    for key, given in properties.items():
        values = resolve_references({**declared, key: given.value}, lookup, origin=given.origin)
        # As in Java's ConfigDef, which also takes the line end off a password from a file.
        resolved[key] = Property(values[key].strip(), given.origin)
    return resolved


def from_properties(properties: Mapping[str, Property]) -> ClientProperties:
    """ClientProperties with what the properties say about address, protocol and credentials, checked."""
    protocol = _security_protocol(properties.get("security.protocol"))
    return ClientProperties(
        bootstrap_servers=_bootstrap_servers(properties.get("bootstrap.servers")),
        security_protocol=protocol,
        sasl=_credentials(properties) if protocol.uses_sasl else None,
        properties=dict(properties),
    )


def _security_protocol(given: Property | None) -> SecurityProtocol:
    if given is None:
        return SecurityProtocol.PLAINTEXT
    try:
        return SecurityProtocol(given.value.upper())
    except ValueError:
        raise ConfigError(
            f"security.protocol from {given.origin} is {given.value!r}; it must be one of {', '.join(SecurityProtocol)}"
        ) from None


def _bootstrap_servers(given: Property | None) -> tuple[str, ...]:
    if given is None:
        return ()
    servers = tuple(split_list(given.value))
    if "@" in given.value:
        raise ConfigError(
            f"bootstrap.servers from {given.origin} holds a user or password: {mask_url(given.value)}",
            hint="brokers are HOST:PORT,…; user and password are in sasl.jaas.config",
        )
    for server in servers:
        if not is_broker_address(server):
            raise ConfigError(
                f"bootstrap.servers from {given.origin}: {mask_url(server)!r} is not HOST:PORT",
                hint="give host and port of each broker, as broker1:9092,broker2:9092; a port is 1 to 65535",
            )
    return tuple(server.rpartition("://")[2] for server in servers)


def _credentials(properties: Mapping[str, Property]) -> SaslCredentials:
    given = properties.get("sasl.mechanism")
    mechanism = given.value if given else "GSSAPI"
    login = properties.get("sasl.jaas.config")
    if mechanism not in WITH_PASSWORD:
        return SaslCredentials(mechanism)
    if login is None:
        raise ConfigError(f"sasl.mechanism is {mechanism} but sasl.jaas.config is missing")
    options = decode_jaas(login.value)[0].options
    for option in ("username", "password"):
        if option not in options:
            raise ConfigError(f"sasl.jaas.config from {login.origin} has no {option}, which {mechanism} needs")
        if "\0" in options[option]:  # PLAIN separates them with it (RFC 4616)
            raise ConfigError(f"sasl.jaas.config from {login.origin}: {option} has a NUL character")
    return SaslCredentials(mechanism, options["username"], options["password"])


# Client properties -> the principal that a broker's default principal builder makes of the client.
#
# 1. `security.protocol` decides; PLAINTEXT where it is not set.
# 2. SASL with PLAIN or SCRAM: `User:` and the user name of sasl.jaas.config. With tokenauth=true that is the ID of a
#    delegation token, and the principal is the token's owner (KIP-48), which the properties do not name.
# 3. SASL with GSSAPI: `User:` and the first component of the Kerberos principal in sasl.jaas.config, as the default
#    sasl.kerberos.principal.to.local.rules make it.
# 4. SASL with OAUTHBEARER: `User:` and the unsecured login's subject; a real token's subject is not in the properties.
# 5. SSL: `User:` and the certificate's subject, through the brokers' ssl.principal.mapping.rules.
# 6. PLAINTEXT: `User:ANONYMOUS`.


ANONYMOUS: Final = "User:ANONYMOUS"
WITH_USER_NAME: Final = frozenset({"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"})
_REFERENCE: Final = late_pattern(r"\$\{[^}]*\}")
_RULE: Final = late_pattern(r"\s*(?:(DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?))?\s*(?:,|$)")
_IN_REPLACEMENT: Final = late_pattern(r"\\(.)|\$(\d+)", re.DOTALL)
_KEPT: Final = ("username", "tokenauth", "principal", "unsecuredLoginStringClaim_sub")
"""Options of a login module that say who logs in and hold no secret."""

SubjectOf = Callable[[Mapping[str, Property]], str]
"""Reads the subject of a client's certificate; raises ConfigError or Unsupported saying why it cannot."""


class Unresolved(Struct, frozen=True):
    property: str
    reason: str


def resolve_principal(
    properties: Mapping[str, Property], subject_of: SubjectOf, mapping_rules: str = "DEFAULT"
) -> str | Unresolved:
    """The principal of a client with these properties; subject_of is called only for a client with a certificate.

    Raises ConfigError for a sasl.jaas.config or mapping rules that do not parse; the text names the property's origin
    and never quotes it.
    """
    given = properties.get("security.protocol")
    if given is not None and given.value == UNREAD:
        return _sasl(properties) if "sasl.jaas.config" in properties else Unresolved("security.protocol", given.origin)
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
    if _REFERENCE.fullmatch(jaas.value.strip()):
        return Unresolved("sasl.jaas.config", f"{jaas.origin} has a reference that only a worker resolves")
    options = _login(jaas)
    option = _option(mechanism)
    name = None if option is None else options.get(option)
    reason = _why_unnamed(jaas.origin, mechanism, options, name)
    if reason is not None:
        return Unresolved("sasl.jaas.config", reason)
    assert name is not None
    return f"User:{re.split('[/@]', name)[0] if mechanism == 'GSSAPI' else name}"


def _login(jaas: Property) -> Mapping[str, str]:
    try:
        modules = decode_jaas(jaas.value)
    except ConfigError as error:
        raise ConfigError(f"{jaas.origin}: {error.message}", hint=error.hint) from error
    if len(modules) > 1:
        raise ConfigError(f"{jaas.origin} holds {len(modules)} login modules; a Kafka client accepts only one")
    return modules[0].options


def _option(mechanism: str) -> str | None:
    if mechanism in WITH_USER_NAME:
        return "username"
    return {"GSSAPI": "principal", "OAUTHBEARER": "unsecuredLoginStringClaim_sub"}.get(mechanism)


def _why_unnamed(origin: str, mechanism: str, options: Mapping[str, str], name: str | None) -> str | None:
    """Why the options do not name the principal; None if they do."""
    if mechanism in WITH_USER_NAME and options.get("tokenauth", "").lower() == "true":
        return f"{origin} has a delegation token, whose owner is the principal"
    if name is None and mechanism == "OAUTHBEARER":
        return f"{origin} does not name it: the principal of OAUTHBEARER is in the token"
    if _option(mechanism) is None:
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


class _MappingRule(Struct, frozen=True):
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
        lambda found: _IN_REPLACEMENT.sub(lambda part: _expand_group(part, found), rule.replacement), subject
    )
    return {"L": name.lower(), "U": name.upper()}.get(rule.case, name)


def _expand_group(part: re.Match[str], found: re.Match[str]) -> str:
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
        module = decode_jaas(jaas)[0]
    except ConfigError:
        return HIDDEN
    kept = {name: module.options[name] for name in _KEPT if name in module.options}
    quoted = "".join(f' {name}="{_quote(value)}"' for name, value in kept.items())
    return f"{module.name} {module.control_flag}{quoted};"


def _quote(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')

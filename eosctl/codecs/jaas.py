"""The value of sasl.jaas.config: login modules with their options, in the syntax of JAAS configuration files."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from eosctl.errors import ConfigError

CONTROL_FLAGS: Final = frozenset({"required", "requisite", "sufficient", "optional"})

_TOKEN = re.compile(
    r"""(?P<blank>[\x00-\x20]+|/\*.*?\*/|/[^\n\r]*)
      | "(?P<quoted>(?:[^"\\\n\r]|\\.)*)"
      | '(?P<single>(?:[^'\\\n\r]|\\.)*)'
      | (?P<mark>[=;])
      | (?P<word>[A-Za-z_$\u00a0-\U0010ffff][A-Za-z0-9_$.\-\u00a0-\U0010ffff]*)""",
    re.VERBOSE | re.DOTALL,
)
_OCTAL_OR_LETTER = re.compile(r"\\([0-3]?[0-7]{1,2}|.)", re.DOTALL)
_LETTERS: Final = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "b": "\b", "a": "\a", "v": "\v"}


@dataclass(frozen=True, slots=True)
class LoginModule:
    """One entry: the module's class, its control flag, and its options, whose values are not shown by repr."""

    name: str
    control_flag: str
    options: dict[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    is_mark: bool


def decode_jaas(text: str) -> tuple[LoginModule, ...]:
    """The entries of `<module class> <control flag> <key>=<value>... ;`, repeated.

    1. Tokens are those of Java's StreamTokenizer as Kafka's JaasConfig sets it up: a bare word starts with a letter,
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

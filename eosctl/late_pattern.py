"""Regular expressions that are compiled at their first use: of those that its modules name, a command uses a few."""

import re
from typing import Any, Final, cast

_NAMES: Final = (
    "findall",
    "finditer",
    "flags",
    "fullmatch",
    "groupindex",
    "match",
    "pattern",
    "search",
    "split",
    "sub",
)


class LatePattern:
    """Compiles as it is first used, and then has the attributes of the compiled pattern as its own."""

    def __init__(self, text: str, flags: int) -> None:
        self._given = text, flags

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # an attribute of the compiled pattern
        if name not in _NAMES:
            raise AttributeError(name)
        compiled = re.compile(*self._given)
        self.__dict__ |= {each: getattr(compiled, each) for each in _NAMES}
        return self.__dict__[name]


def late_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """The pattern, for the global of a module; an error in it comes at its first use."""
    return cast("re.Pattern[str]", LatePattern(text, flags))

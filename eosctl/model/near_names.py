"""Which name was meant by one that does not exist: the hint of every error and note about an unknown name."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Final, overload

from eosctl.errors import UsageError

MOST_NAMES: Final = 10_000
"""Names that are compared: of more, the first ones. A comparison costs some 10 µs."""


@overload
def did_you_mean(wanted: str, known: Iterable[str], otherwise: str) -> str: ...
@overload
def did_you_mean(wanted: str, known: Iterable[str], otherwise: None = None) -> str | None: ...
def did_you_mean(wanted: str, known: Iterable[str], otherwise: str | None = None) -> str | None:
    """The question after the known name that is spelled most like `wanted`; `otherwise` where none is alike."""
    by_lower = {name.lower(): name for name in sorted(known)[:MOST_NAMES]}
    found = get_close_matches(wanted.lower(), by_lower, 1)
    return f"did you mean {by_lower[found[0]]}?" if found else otherwise


def no_such_topic(name: str, known: Iterable[str]) -> UsageError:
    """The error for a topic that was named and does not exist; known are those that do, as far as they are shown."""
    return UsageError(f"topic {name} does not exist", hint=did_you_mean(name, known, "is this the right cluster?"))


def not_in_config_topic(names: Sequence[str], known: Iterable[str]) -> UsageError:
    """The error for connectors that were named and that the config topic does not mention; known are those it does."""
    return UsageError(
        f"the config topic does not mention connector {', '.join(names)}",
        hint=did_you_mean(
            names[0], known, "`eosctl inspect-config` lists the connectors; is --config-topic the right one?"
        ),
    )

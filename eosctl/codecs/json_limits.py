"""JSON within limits: what is nested deeply or has endless numbers ends no program, whoever wrote it."""

import json
import math
import re
from collections.abc import Callable
from typing import Any, Final

MOST_NESTED: Final = 200
"""Levels of objects and lists. Connect takes more of them, and no connector that is known writes more than a few."""
MOST_CHARACTERS: Final = 1 << 23
"""Of one value in a topic; a broker takes 1 MiB of it by default, in the form that it was compressed to."""

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', re.DOTALL)
_HALF: Final = re.compile(r"\\u[dD][89a-fA-F]")


def is_too_deep(text: str) -> bool:
    """Whether its objects and lists are nested more than MOST_NESTED deep, as far as the text is JSON."""
    if text.count("[") + text.count("{") <= MOST_NESTED:
        return False
    depth = 0
    for token in _TOKEN.finditer(text):
        sign = token[0]
        if sign in "[{":
            depth += 1
            if depth > MOST_NESTED:
                return True
        elif sign in "]}":
            depth -= 1
    return False


def load_json(text: str, *, pairs: Callable[[list[tuple[str, Any]]], Any] | None = None, halves: bool = False) -> Any:  # noqa: ANN401  # any JSON
    """The value in the text of a file; `pairs` makes objects of their members.

    Raises JSONDecodeError for what is none, for NaN and numbers that no double holds, for half a surrogate pair unless
    `halves` are taken, and for what is nested or has numbers beyond the limits.
    """
    if is_too_deep(text):
        raise json.JSONDecodeError(f"it is nested more than {MOST_NESTED} deep", "", 0)
    try:
        value = json.loads(text, parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=pairs)
        if not halves and _HALF.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError:
        raise
    except UnicodeEncodeError:
        raise json.JSONDecodeError("half a surrogate pair is no character", "", 0) from None
    except (ValueError, RecursionError) as error:
        raise json.JSONDecodeError(str(error), "", 0) from None
    return value


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number

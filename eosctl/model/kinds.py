"""What the kinds of steps, preconditions and records are called in files and in output."""

import re
from typing import Final

_WORD: Final = re.compile(r"(?<!^)(?=[A-Z])")


def kind_of(noun: type) -> str:
    """The class name as lower-case words joined by dashes: `stop-connector` for StopConnector."""
    return _WORD.sub("-", noun.__name__).lower()

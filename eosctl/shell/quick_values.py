"""Words of the command line to values, where that is plain: Typer's way builds a pydantic model for each option.

Importing pydantic takes longer than many a command. A word that is not plain, or not valid, goes Typer's way, so that
what is accepted and what is reported stay Typer's.
"""

import os
import re
from enum import Enum
from pathlib import Path
from typing import Any, Final, get_args, get_origin

UNKNOWN: Final = object()
"""Typer has to decide."""
_WHOLE: Final = re.compile(r"-?[0-9]{1,15}")
_DECIMAL: Final = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?")


def read_plain_words_quickly(parameter: Any) -> None:  # noqa: ANN401  # Typer's parameter classes are its own
    """Have an option or argument take plain words without pydantic; does nothing where this Typer does not use it."""
    if hasattr(parameter, "get_runtime_param") and not isinstance(parameter.get_runtime_param, _Quick):
        parameter.get_runtime_param = _Quick(parameter.get_runtime_param, parameter.type_descriptor)


class _Quick:
    """What Typer asks for the converter of a parameter, and that converter."""

    def __init__(self, slow: Any, descriptor: Any) -> None:  # noqa: ANN401  # Typer's own
        self._slow = slow
        self._kind, self._info = descriptor.annotation, descriptor.parameter_info

    def __call__(self) -> "_Quick":
        return self

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:  # noqa: ANN401  # Typer's own
        """The value for the command; raises Typer's BadParameter."""
        taken = self._taken(value, repeated=param.multiple or param.nargs == -1)
        return self._slow().coerce(value, param=param, ctx=ctx) if taken is UNKNOWN else taken

    def _taken(self, value: Any, *, repeated: bool) -> object:  # noqa: ANN401  # a word, several or a default
        if value is None:
            return () if repeated else None
        if self._info.parser is not None:
            return UNKNOWN
        if get_origin(self._kind) is not list:
            return plain_value(value, self._kind, self._info)
        if not isinstance(value, list | tuple):
            return UNKNOWN
        kind = get_args(self._kind)[0]
        taken = [plain_value(each, kind, self._info) for each in value]
        return UNKNOWN if UNKNOWN in taken else taken


def plain_value(value: object, kind: object, info: Any) -> object:  # noqa: ANN401  # Typer's own
    """`value` as `kind`, within the bounds of `info`; UNKNOWN where it is no plain word of that kind."""
    if kind is str:
        return value if isinstance(value, str) else UNKNOWN
    if kind is int or kind is float:
        return _number(value, kind, info)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return next((each for each in kind if value == each.value or value is each), UNKNOWN)
    if kind is Path and isinstance(value, str | Path) and _is_plain_file(value, info):
        return Path(value)
    return UNKNOWN


def _number(value: object, kind: type[int] | type[float], info: Any) -> object:  # noqa: ANN401  # Typer's own
    if isinstance(value, str) and (_WHOLE if kind is int else _DECIMAL).fullmatch(value):
        number: float = kind(value)
    elif type(value) is kind:
        number = value
    else:
        return UNKNOWN
    least, most = info.min, info.max
    return number if (least is None or number >= least) and (most is None or number <= most) else UNKNOWN


def _is_plain_file(value: str | Path, info: Any) -> bool:  # noqa: ANN401  # Typer's own
    """Whether Typer would take it as it is: a file that can be read or is not there, and nothing more is asked."""
    if info.exists or info.resolve_path or info.writable or info.path_type is not None or not info.file_okay:
        return False
    return not os.path.lexists(value) or (Path(value).is_file() and os.access(value, os.R_OK))

"""What a peer answers over HTTP, taken apart: a value of the expected shape or Undecodable, and its words masked."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from eosctl.codecs.json_limits import load_json
from eosctl.codecs.secrets import mask_text
from eosctl.errors import Undecodable

MAX_ANSWER_BYTES: Final = 32 << 20
"""The connectors of a large cluster, with configs and traces of failed tasks, are some MiB."""

BYTES_A_VALUE: Final = 16
"""A value takes so much of an answer on average, at least; Python needs some 70 bytes for the smallest object."""

MAX_WORDS: Final = 2_000
MAX_TASK: Final = (1 << 31) - 1


def decode_json(content: bytes, max_bytes: int = MAX_ANSWER_BYTES) -> object:
    """The value in an answer's body.

    Raises ValueError for text that is not Unicode, for what load_json refuses, and for a value that would need many
    times the memory of its text.
    """
    if sum(map(content.count, (b"[", b"{", b","))) > max_bytes // BYTES_A_VALUE:
        raise ValueError(f"it has more than {max_bytes // BYTES_A_VALUE} values")
    return load_json(content.decode("utf-8"))


@contextmanager
def decoding(otherwise: str) -> Iterator[None]:
    """Takes an answer apart, and nothing else: raises Undecodable(otherwise) where it has another shape."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Undecodable(otherwise, hint="is this the address of a Connect worker?") from error


def text_of(value: object) -> str:
    """The value, which is text; TypeError where it is not."""
    if not isinstance(value, str):
        raise TypeError("not text")
    return value


def texts_of(value: object) -> tuple[str, ...]:
    """The value, which is a list of texts; TypeError where it is not."""
    return tuple(map(text_of, list_of(value)))


def list_of(value: object) -> list[Any]:
    """The value, which is a list; TypeError where it is not."""
    if not isinstance(value, list):
        raise TypeError("not a list")
    return value


def object_of(value: object) -> dict[str, Any]:
    """The value, which is an object; TypeError where it is not."""
    if not isinstance(value, dict):
        raise TypeError("not an object")
    return value


def config_of(value: object) -> dict[str, str | None]:
    """The value, which is a connector's config; TypeError where it is not."""
    return {key: None if each is None else text_of(each) for key, each in object_of(value).items()}


def task_number(value: object) -> int:
    """The value, which is the number of a task; TypeError or ValueError where it is not."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError("not a number")
    if not 0 <= value <= MAX_TASK:
        raise ValueError("not the number of a task")
    return value


def said(text: object) -> str:
    """What a peer says, as an error repeats it: on one line, cut, without what looks like a secret."""
    words = str(text)
    cut = words if len(words) <= MAX_WORDS else f"{words[:MAX_WORDS]}…"
    return "".join(char if char.isprintable() else " " for char in mask_text(cut)).strip()

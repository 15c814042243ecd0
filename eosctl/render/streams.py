"""Standard streams that may be lost: a full disk, a terminal that is gone, a pipe that nobody reads.

What is lost on standard error is nobody's reason to stop. What is lost on standard output is OutputLost, except where a
reader has gone, as `head` does: BrokenPipeError is left to the caller.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, TextIO, TypeVar, cast

from eosctl.errors import OutputLost

T = TypeVar("T")


class _Stream:
    """All that the stream behind it is, except for what a write that fails does."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # whatever the stream has
        return getattr(self._file, name)

    def _do(self, work: Callable[[], T], otherwise: T) -> T:
        raise NotImplementedError

    def write(self, text: str) -> int:
        """How many characters were taken."""
        return self._do(lambda: self._file.write(text), len(text))

    def writelines(self, lines: Iterable[str]) -> None:
        """Write each; what making them raises is raised as it is."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Write what waits."""
        self._do(self._file.flush, None)


class _AnswerStream(_Stream):
    def _do(self, work: Callable[[], T], otherwise: T) -> T:
        try:
            return work()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputLost(f"the answer could not be written: {error.strerror or error}") from error


class _TalkStream(_Stream):
    def _do(self, work: Callable[[], T], otherwise: T) -> T:
        with suppress(OSError):
            return work()
        return otherwise


def answer_stream(file: TextIO) -> TextIO:
    """Standard output, which is OutputLost where it cannot be written."""
    return cast(TextIO, _AnswerStream(file))


def talk_stream(file: TextIO) -> TextIO:
    """Standard error, which may be lost."""
    return cast(TextIO, _TalkStream(file))

"""The journal of a plan: one line before and one after each step, on disk before the next thing happens.

1. Nothing but the journal of this plan is ever changed: a link, a device, a file of another owner and a file of other
   content are refused as they are. Who owns the plan may own its journal.
2. The last line may be cut by a crash: what it would have said did not happen.
3. A line that cannot be written whole is removed again, so that the next one does not join it.
"""

import errno
import fcntl
import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

from eosctl.atomic_write import OWNER_ONLY, make_directory, sync_directory, write_atomic_file
from eosctl.codecs.plan import (
    JournalEntry,
    JournalEvent,
    decode_journal,
    encode_journal_entry,
    encode_journal_head,
    encode_plan,
    not_a_journal,
)
from eosctl.errors import ConfigError, Refused
from eosctl.model.plan import Plan

MOST_BYTES: Final = 1 << 26
AWAY: Final = "move it away, or give the plan a file name of its own"


class Journal:
    """The journal at `path` of the plan with this digest; a context manager that keeps others on this machine out."""

    def __init__(self, path: Path, digest: str) -> None:
        self._path = path
        self._digest = digest
        self._file = -1
        self._size = 0
        self.done: frozenset[int] = frozenset()
        self.begun: frozenset[int] = frozenset()

    def __enter__(self) -> Self:
        """Opens it and reads what earlier runs wrote.

        Raises Refused where another eosctl applies the plan now and where something else lies there (rule 1),
        Undecodable where it is another file, ConfigError where it cannot be opened.
        """
        try:
            self._file = _open(self._path)
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._read()
        except BlockingIOError as error:
            self._close()
            raise Refused(f"another eosctl is applying this plan now: it holds {self._path}") from error
        except OSError as error:
            self._close()
            raise ConfigError(f"cannot write {self._path}: {error.strerror or error}") from error
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def write(self, step: int, event: JournalEvent, detail: str = "") -> None:
        """Append a line and return when it is on disk."""
        self._append(encode_journal_entry(JournalEntry(step, event, detail)).encode())

    def _read(self) -> None:
        self._check_owner()
        with os.fdopen(os.dup(self._file), "rb") as file:
            data = file.read(MOST_BYTES + 1)
        head = encode_journal_head(self._digest).encode()
        whole = data[: data.rfind(b"\n") + 1]
        if len(data) > MOST_BYTES or (not whole and not head.startswith(data)):
            raise not_a_journal()
        entries = decode_journal(whole.decode("utf-8", "replace").splitlines(keepends=True), self._digest)
        if len(whole) < len(data):
            os.ftruncate(self._file, len(whole))
        self._size = len(whole)
        self.done = _steps(entries, JournalEvent.DONE)
        self.begun = _steps(entries, JournalEvent.BEGUN)
        if not whole:
            self._append(head)
            sync_directory(self._path.parent)

    def _check_owner(self) -> None:
        """Rule 1; plan and journal lie side by side."""
        there = os.fstat(self._file)
        owners = {os.geteuid()}
        with suppress(OSError):
            owners.add(self._path.with_suffix("").stat().st_uid)
        if not stat.S_ISREG(there.st_mode):
            raise _no_file(self._path)
        if there.st_uid not in owners:
            what = f"{self._path} belongs to user ID {there.st_uid}, who has not made this plan"
            raise Refused(f"{what}; nothing was changed", hint=AWAY)

    def _append(self, line: bytes) -> None:
        try:
            _write_whole(self._file, line, self._size)
            os.fsync(self._file)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._file, self._size)
            raise ConfigError(f"cannot write {self._path}: {error.strerror or error}") from error
        self._size += len(line)

    def _close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _open(path: Path) -> int:
    """The file, made where there is none. Links are not followed; a sticky directory lets nobody make what is there."""
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        try:
            return os.open(path, flags)
        except FileNotFoundError:
            made = os.open(path, flags | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
            os.fchmod(made, OWNER_ONLY)
            return made
    except OSError as error:
        if error.errno not in {errno.ELOOP, errno.ENXIO, errno.EISDIR}:
            raise
        raise _no_file(path) from error


def _no_file(path: Path) -> Refused:
    return Refused(f"{path} is no regular file, so it is not the plan's journal; nothing was changed", hint=AWAY)


def _write_whole(file: int, data: bytes, place: int) -> None:
    """A full disk takes what it has room for, and says so only when asked for more."""
    while data:
        count = os.pwrite(file, data, place)
        data, place = data[count:], place + count


def _steps(entries: Iterable[JournalEntry], event: JournalEvent) -> frozenset[int]:
    return frozenset(entry.step for entry in entries if entry.event is event)


def write_plan_file(path: Path, plan: Plan) -> None:
    """Writes the plan to `path`, whole or not at all, on disk when this returns, readable by its owner only."""
    make_directory(path.parent)
    write_atomic_file(path, encode_plan(plan))


def leave_undo_file(path: Path, undo: Plan) -> None:
    """Writes the plan that leads back to `path`; one that lies there must be this one, for who goes back trusts it."""
    if not os.path.lexists(path):
        write_plan_file(path, undo)
    elif not path.is_file() or not _holds(path, encode_plan(undo).encode()):
        raise Refused(f"{path} does not lead back from this plan; nothing was changed", hint=AWAY)


def _holds(path: Path, content: bytes) -> bool:
    try:
        return path.stat().st_size == len(content) and path.read_bytes() == content
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror or error}") from error

"""The journal of a plan: one line before and one after each step, on disk before the next thing happens."""

import fcntl
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Self

from eosctl.atomic_write import sync_directory, write_atomic_file
from eosctl.codecs.plan import (
    JournalEntry,
    JournalEvent,
    decode_journal,
    encode_journal_entry,
    encode_journal_head,
    encode_plan,
)
from eosctl.errors import ConfigError, Refused, Undecodable
from eosctl.model.plan import Plan


class Journal:
    """The journal at `path` of the plan with this digest; a context manager that keeps others on this machine out."""

    def __init__(self, path: Path, digest: str) -> None:
        self._path = path
        self._digest = digest
        self._file = -1
        self.done: frozenset[int] = frozenset()
        self.begun: frozenset[int] = frozenset()

    def __enter__(self) -> Self:
        """Opens it and reads what earlier runs wrote. Raises Refused where another eosctl applies the plan now."""
        try:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._read()
        except BlockingIOError as error:
            self._close()
            raise Refused(f"another eosctl is applying this plan now: it holds {self._path}") from error
        except OSError as error:
            self._close()
            raise ConfigError(f"cannot write {self._path}: {error.strerror or error}") from error
        except Undecodable:
            self._close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def write(self, step: int, event: JournalEvent, detail: str = "") -> None:
        """Append a line and return when it is on disk."""
        self._append(encode_journal_entry(JournalEntry(step, event, detail)).encode())

    def _read(self) -> None:
        with os.fdopen(os.dup(self._file), "rb") as file:
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) < len(data):
            os.ftruncate(self._file, len(whole))  # cut by a crash: what it would have said did not happen
        entries = decode_journal(whole.decode("utf-8", "replace").splitlines(keepends=True), self._digest)
        self.done = _steps(entries, JournalEvent.DONE)
        self.begun = _steps(entries, JournalEvent.BEGUN)
        os.lseek(self._file, 0, os.SEEK_END)
        if not whole:
            self._append(encode_journal_head(self._digest).encode())
            sync_directory(self._path.parent)

    def _append(self, line: bytes) -> None:
        try:
            os.write(self._file, line)
            os.fsync(self._file)
        except OSError as error:
            raise ConfigError(f"cannot write {self._path}: {error.strerror or error}") from error

    def _close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _steps(entries: Iterable[JournalEntry], event: JournalEvent) -> frozenset[int]:
    return frozenset(entry.step for entry in entries if entry.event is event)


def write_plan_file(path: Path, plan: Plan) -> None:
    """Writes the plan to `path`, whole or not at all, on disk when this returns, readable by its owner only."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror or error}") from error
    write_atomic_file(path, encode_plan(plan))

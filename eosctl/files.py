"""Files that the user names, also through properties: read whole or line by line, with errors that name the file.

A pipe with a name waits until somebody writes to it, and a device may never end: neither is read.
"""

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EFBIG, EINVAL, EISDIR, ENOENT
from itertools import count
from pathlib import Path
from typing import BinaryIO, Final

from msgspec import Struct
from msgspec.structs import replace

from eosctl.errors import ConfigError, reason_of

MIB: Final = 1 << 20


class FileKind(Struct, frozen=True):
    """A kind of file: its name in an error, and how many bytes one may have; of a file that is read by line, one line.

    Files written by hand are small: parsing 50 MB of comments as YAML takes 12 s. is_named_in_files: another file may
    name the path, so a pipe of the user's shell is refused too.
    """

    name: str
    most_bytes: int = 4 * MIB
    is_named_in_files: bool = False
    hint: str | None = None
    """The next step where there is no such file."""


PROFILES: Final = FileKind("file of profiles", MIB)
GIVEN: Final = "`eosctl profile explain` shows which option, variable or profile names it"
COMMAND_CONFIG: Final = FileKind("--command-config", hint=GIVEN)
WORKER_CONFIG: Final = FileKind("--worker-config", hint=GIVEN)
CONNECTOR_CONFIG: Final = FileKind("--connector-config")
CERTIFIED_CONFIG: Final = FileKind("--config")
KAFKA_USERS: Final = FileKind("--merge-with")
PROVIDED: Final = FileKind("the provider's file", is_named_in_files=True)
STORE: Final = FileKind("the store", is_named_in_files=True)
"""Certificates and keys: 4 MiB hold a thousand authorities."""
SQL: Final = FileKind("the SQL in", 64 * MIB)
EXPECTED: Final = FileKind("--expected", 256 * MIB)
TOKEN: Final = FileKind("the token of sasl.oauthbearer.token.endpoint.url", MIB, is_named_in_files=True)
"""As an endpoint's answer; a token has some kB."""
EXECUTORS_CONFIG: Final = FileKind("client properties of the executors")
RESTORED_CONFIG: Final = FileKind("the connector's config")
PLAN: Final = FileKind("the plan", 256 * MIB, hint="`eosctl plans list` lists the saved plans")
JOURNAL: Final = FileKind("the journal", 256 * MIB)
WRITES_EXPORT: Final = "`eosctl offsets export FILE --connector CONNECTOR` writes one"
EXPORT: Final = FileKind("the export file", 256 * MIB, hint=WRITES_EXPORT)
OFFSETS: Final = FileKind("the export file", 256 * MIB, hint=f"{WRITES_EXPORT}; live is the cluster of -b")
SNAPSHOT: Final = FileKind("the snapshot", 64 * MIB, hint="`eosctl snapshot save FILE` writes one")
CHECKPOINT: Final = FileKind("the checkpoint", 256 * MIB)
"""A line for each partition of a broker."""
PRODUCER_STATE: Final = FileKind("the broker's file", 256 * MIB)
RECORDS: Final = FileKind("the records", 64 * MIB)
FLINK_STATE: Final = FileKind("the Flink checkpoint's file", 64 * MIB)
"""A subtask has some transactions at a time. Larger files have the state of other operators."""
IDS: Final = FileKind("--ids-file", 1 << 16, hint="write one transactional ID a line")
EVIDENCE: Final = FileKind("the evidence file", 1024 * MIB, hint="`eosctl audit --evidence FILE` writes one")
SIGNATURE: Final = FileKind("the signature", 1 << 16)
SIGNING_KEY: Final = FileKind("--sign-key", 1 << 20)
PUBLIC_KEYS: Final = FileKind("--signer-key", 1 << 20)
SHELL: Final = frozenset({"/dev/fd", "/proc/self/fd"})
"""Where the shell's pipes are: the directory of FILE in `--option <(command)`."""
KINDS: Final = {stat.S_IFIFO: "a pipe", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device", stat.S_IFSOCK: "a socket"}


def open_file(path: Path, kind: FileKind | None = None) -> BinaryIO:
    """A regular file, or the null device, open for reading; OSError for everything else, without waiting.

    A kind that no file names may be a pipe of the user's shell as well: /dev/stdin, or the /dev/fd/N of `<(command)`.
    """
    if "\0" in str(path):
        raise OSError(EINVAL, "its name has a NUL character")
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        is_of_shell = str(path) == "/dev/stdin" or str(path.parent) in SHELL
        if kind is None or kind.is_named_in_files or not is_of_shell:
            _require_regular(os.fstat(descriptor))
        os.set_blocking(descriptor, True)
        return os.fdopen(descriptor, "rb")
    except OSError:
        os.close(descriptor)
        raise


def _require_regular(found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
    if not stat.S_ISREG(found.st_mode) and found.st_rdev != Path(os.devnull).stat().st_rdev:
        raise OSError(EINVAL, f"it is {KINDS.get(stat.S_IFMT(found.st_mode), 'no file')}, and no regular file")


def require_file(path: Path, name: str) -> None:
    """ConfigError with the description `name`, for libraries that would open a path that is not a regular file."""
    try:
        open_file(path).close()
    except OSError as error:
        raise ConfigError(f"cannot read {name} {path}: {error.strerror}") from error


def read_text(path: Path, kind: FileKind) -> str:
    """The whole text of `path`, in UTF-8 or ISO 8859-1; ConfigError where it has more bytes than its kind may have."""
    content = read_content(path, kind)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("iso-8859-1")


def read_content(path: Path, kind: FileKind) -> bytes:
    try:
        with open_file(path, kind) as file:
            return read_bounded(file, kind)
    except OSError as error:
        raise _unreadable(path, kind, error) from error


def list_files(directory: Path, kind: FileKind) -> tuple[Path, ...]:
    """Its regular files that have no more bytes than their kind may have. ConfigError where it cannot be listed."""
    try:
        files = [each for each in sorted(directory.iterdir()) if each.is_file()]
        return tuple(each for each in files if each.stat().st_size <= kind.most_bytes)
    except OSError as error:
        raise _unreadable(directory, kind, error) from error


def read_bounded(file: BinaryIO, kind: FileKind) -> bytes:
    """The bytes of an open file; OSError, as for one that cannot be read, where it has more than its kind may have."""
    content = file.read(kind.most_bytes + 1)
    if len(content) > kind.most_bytes:
        raise OSError(EFBIG, f"it has more than {_size(kind)}")
    return content


@contextmanager
def open_lines(path: Path, kind: FileKind) -> Iterator[Iterator[bytes]]:
    """The lines of `path` as bytes with their ends, one at a time: memory does not grow with the file.

    ConfigError where a line has more bytes than its kind may have.
    """
    try:
        file = open_file(path, kind)
    except OSError as error:
        raise _unreadable(path, kind, error) from error
    with file:
        yield _bounded(file, str(path), kind)


def _bounded(file: BinaryIO, source: str, kind: FileKind) -> Iterator[bytes]:
    for number in count(1):
        line = file.readline(kind.most_bytes + 1)
        if not line:
            return
        if len(line) > kind.most_bytes:
            raise ConfigError(f"cannot read {kind.name} {source}: line {number} has more than {_size(kind)}")
        yield line


def _size(kind: FileKind) -> str:
    for unit, name in ((MIB, "MiB"), (1 << 10, "KiB")):
        if kind.most_bytes >= unit:
            return f"{kind.most_bytes // unit} {name}"
    return f"{kind.most_bytes} bytes"


def read_ids(path: Path, option: str = IDS.name) -> tuple[str, ...]:
    """Transactional IDs of the option's file, one a line, in order, without blank lines. `-` is standard input."""
    if str(path) == "-":
        return _ids(_bounded(sys.stdin.buffer, "standard input", IDS), "standard input")
    with open_lines(path, replace(IDS, name=option)) as lines:
        return _ids(lines, str(path))


def _ids(lines: Iterator[bytes], source: str) -> tuple[str, ...]:
    try:
        text = [line.decode("utf-8").rstrip("\r\n") for line in lines]
    except UnicodeDecodeError as error:
        raise ConfigError(f"{source} is not UTF-8 text, so it holds no transactional IDs", hint=IDS.hint) from error
    return tuple(line for line in text if line.strip())


def _unreadable(path: Path, kind: FileKind, error: OSError) -> ConfigError:
    hint = kind.hint if error.errno == ENOENT else None
    return ConfigError(f"cannot read {kind.name} {path}: {reason_of(error)}", hint=hint)

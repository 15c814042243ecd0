"""Audits on a really full disk: the error, the files left on it, and the ledger's continuation afterwards."""

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from eosctl.codecs.record_batches import MarkerType
from tests import forks
from tests.analysis.audit.brokers import Writer, Written, data_batch, marker_batch

LIMITED = str(Path(__file__).with_name("limited.py"))
TASK = Writer(7, 0, transactional=True)
SMALL, LARGE = 10, 4_000
DISK = 600 << 10
NO_ROOM = ("No space left on device", "File too large", "the disk is full", "the disk fails, or is full")


@dataclass(frozen=True)
class SmallDisk:
    """A directory on a separate disk; where none may be mounted, no file may grow beyond `room` (RLIMIT_FSIZE)."""

    directory: Path
    mounted: bool
    room: int = DISK

    def run(self, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
        """`eosctl` with these arguments."""
        limit = 0 if self.mounted else self.room
        return forks.run(LIMITED, str(limit), *map(str, arguments), environment={**os.environ, **environment})

    def nearly_full(self, room: int) -> "SmallDisk":
        """The same with so many bytes free."""
        if self.mounted:
            (self.directory / "other").write_bytes(bytes(DISK - room))
        return replace(self, room=room // 8)

    def files(self) -> list[str]:
        """The files on it."""
        return sorted(str(path.relative_to(self.directory)) for path in self.directory.rglob("*"))


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    directory = tmp_path / "disk"
    directory.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(directory)]
    mounted = subprocess.run(mount, check=False, capture_output=True).returncode == 0
    yield SmallDisk(directory, mounted)
    if mounted:
        subprocess.run(["umount", str(directory)], check=True)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A log directory with some source partitions."""
    write_logs(tmp_path / "logs", SMALL)
    return tmp_path / "logs"


def write_logs(directory: Path, keys: int) -> None:
    """One transaction for each source partition, with data."""
    offsets, orders = directory / "connect-offsets-0", directory / "orders-0"
    for path in (offsets, orders):
        path.mkdir(parents=True, exist_ok=True)
    written = [bytearray(), bytearray()]
    for number in range(keys):
        key = b'["orders",{"table":"%d of the tables with a name of its own and some length"}]' % number
        records = [Written(0, 1_000 + number, key, b'{"position":1}')], [Written(0, 1_000 + number, b"k", b"v")]
        for log, mine in zip(written, records, strict=True):
            log.extend(data_batch(2 * number, mine, TASK))
            log.extend(marker_batch(2 * number + 1, 1_001 + number, MarkerType.COMMIT, TASK))
    for path, log in zip((offsets, orders), written, strict=True):
        (path / f"{0:020}.log").write_bytes(log)


def require_full(disk: SmallDisk, ran: subprocess.CompletedProcess[str], *words: str) -> None:
    """Exit code 2, and an error that names the file and the missing room.

    A limit on the size of files may strike elsewhere first.
    """
    assert ran.returncode == 2, ran.stdout + ran.stderr
    message = json.loads(ran.stdout)["error"]["message"]
    assert [word for word in words if disk.mounted and word not in message] == []
    assert "cannot write" in message
    assert any(each in message for each in NO_ROOM), message


def test_states_of_ranges_that_find_no_room(disk: SmallDisk, logs: Path):
    write_logs(logs, LARGE)
    for processes in (1, 2):
        ran = disk.run("audit", "--log-dir", logs, "--processes", processes, "-o", "json", TMPDIR=str(disk.directory))
        require_full(disk, ran, "cannot write the states of ranges", str(disk.directory))
        assert "TMPDIR" in json.loads(ran.stdout)["error"]["hint"]
        assert disk.files() == []


def test_a_ledger_that_finds_no_room_stays_as_it_was_and_continues_when_there_is(disk: SmallDisk, logs: Path):
    store = f"sqlite:///{disk.directory}/l.db"
    question = ["audit", "--log-dir", logs, "--store", store, "-o", "json"]
    assert disk.run(*question).returncode == 0
    before = told(disk, store)

    write_logs(logs, LARGE)
    require_full(disk, disk.run(*question), "cannot write ledger", "l.db")
    assert told(disk, store) == before

    write_logs(logs, SMALL + 1)
    ran = disk.run(*question)
    assert [each["end"] for each in json.loads(ran.stdout)["data"]["ranges"]] == [2 * SMALL + 2] * 2


def told(disk: SmallDisk, store: str) -> list[object]:
    """The ledger's runs and cursors."""
    answers = [disk.run("audit", what, "--store", store, "-o", "json") for what in ("status", "history")]
    assert [each.returncode for each in answers] == [0, 0], answers[0].stdout
    return [json.loads(each.stdout)["data"] for each in answers]


@pytest.mark.parametrize(("option", "name", "room"), [("--report", "page.html", DISK), ("--export", "tables", 12_000)])
def test_a_page_or_tables_that_find_no_room_are_not_there(
    disk: SmallDisk, logs: Path, option: str, name: str, room: int
):
    full = disk.nearly_full(room)
    before = disk.files()
    ran = full.run("audit", "--log-dir", logs, option, disk.directory / name, "-o", "json")
    require_full(disk, ran, "cannot write", str(disk.directory / name))
    assert [each for each in disk.files() if each not in {*before, "tables"}] == []


def test_an_answer_that_finds_no_room_is_not_there(disk: SmallDisk, logs: Path):
    full = disk.nearly_full(0)
    before = disk.files()
    ran = full.run("audit", "--log-dir", logs, "-o", "json", "--output-file", disk.directory / "audit.json")
    assert ran.returncode == 2
    assert disk.files() == before
    assert "cannot write" in ran.stdout + ran.stderr

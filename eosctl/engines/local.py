"""The local engine: ranges in worker processes of this machine, states in files of a temporary directory.

A range's rows lie in one file, bucket after bucket; the driver keeps only the beginning of each bucket. Small plans run
in this process: starting others takes longer.
"""

import ctypes
import multiprocessing
import os
import signal
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple, Self

from eosctl.codecs.ledger import decode_audit_state, encode_audit_state
from eosctl.engines.auditing import Advance, Progress, Reduced, Reduction, reduce_bucket
from eosctl.engines.scanning import scan_range
from eosctl.errors import ConfigError, reason_of
from eosctl.model.audit import AuditPlan, StateKind, StateRow
from eosctl.model.topics import OffsetRange
from eosctl.sources.audit_log import OpenSource

SMALL: Final = 200_000
"""Offsets up to which one process is faster than several."""
PR_SET_PDEATHSIG: Final = 1


class _Place(NamedTuple):
    """The place of a row."""

    kind: StateKind
    bucket: int
    path: str
    offset: int
    length: int


class LocalEngine:
    """Runs an audit on this machine, in `processes` processes."""

    def __init__(self, open_source: OpenSource, *, processes: int | None = None) -> None:
        self._open_source = open_source
        self._processes = processes or os.cpu_count() or 1

    def scan(self, plan: AuditPlan, advance: Advance) -> "LocalRows":
        directory = _directory()
        small = self._processes == 1 or sum(each.size for each in plan.ranges) <= SMALL
        pool = None if small else worker_processes(self._processes)
        try:
            places = list(self._scan(plan, directory.name, pool, advance))
        except BaseException:
            if pool is not None:
                pool.shutdown(cancel_futures=True)
            directory.cleanup()
            raise
        return LocalRows(directory, places, pool)

    def _scan(self, plan: AuditPlan, directory: str, pool: Executor | None, advance: Advance) -> Iterator[_Place]:
        jobs = [
            _Job(self._open_source, plan, each, str(Path(directory, str(number))))
            for number, each in enumerate(plan.ranges)
        ]
        if pool is None:
            for job in jobs:
                yield from _run(job)
                advance(Progress(job.offsets))
            return
        # Largest first, so that no process is left with one at the end.
        pending = {pool.submit(_run, job): job for job in sorted(jobs, key=lambda job: -job.offsets.size)}
        for done in as_completed(pending):
            yield from done.result()
            advance(Progress(pending[done].offsets))


def _directory() -> "tempfile.TemporaryDirectory[str]":
    try:
        return tempfile.TemporaryDirectory(prefix="eosctl-audit-")
    except OSError as error:
        what = f"cannot write the states of ranges to a temporary directory: {reason_of(error)}"
        raise ConfigError(what, hint="set TMPDIR to a directory with more space") from error


class _Job(NamedTuple):
    """One range, and the file that its rows go to."""

    open_source: OpenSource
    plan: AuditPlan
    offsets: OffsetRange
    path: str


def _run(job: _Job) -> list[_Place]:
    places: list[_Place] = []
    with job.open_source() as source, _Spill(job.path) as spill:
        for row in scan_range(job.plan, job.offsets, source):
            data = encode_audit_state(row)
            places.append(_Place(row.kind, row.bucket, job.path, spill.write(data), len(data)))
    return places


class _Spill:
    """The file of a range's states; each call says where the disk is full."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._length = 0
        with self._reporting():
            self._file = self._path.open("wb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._reporting():
            self._file.close()

    def write(self, data: bytes) -> int:
        """Where in the file it begins."""
        with self._reporting():
            self._file.write(data)
        begins, self._length = self._length, self._length + len(data)
        return begins

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            what = f"cannot write the states of ranges to {self._path.parent}: {reason_of(error)}"
            raise ConfigError(what, hint="set TMPDIR to a directory with more space") from error


class _Bucket(NamedTuple):
    """One bucket to be reduced."""

    reduction: Reduction
    bucket: int
    places: tuple[_Place, ...]
    carried: tuple[StateRow, ...]


def _reduce(bucket: _Bucket) -> Reduced:
    rows = [*bucket.carried, *map(_read_row, bucket.places)]
    return reduce_bucket(bucket.reduction, bucket.bucket, rows)


def _read_row(place: _Place) -> StateRow:
    with Path(place.path).open("rb") as file:
        file.seek(place.offset)
        return decode_audit_state(file.read(place.length), StateRow)


def worker_processes(processes: int) -> ProcessPoolExecutor:
    """Forks of this process, which have its modules, where it has no other thread: a fork would have the locks that
    such a thread holds. Otherwise each process imports all of them again, which takes a second."""
    alone = sys.platform == "linux" and len(list(Path("/proc/self/task").iterdir())) == 1
    context = multiprocessing.get_context("fork" if alone else "spawn")
    return ProcessPoolExecutor(processes, mp_context=context, initializer=_end_with, initargs=(os.getpid(),))


def _end_with(parent: int) -> None:
    """Lets the kernel end this process when its parent is killed: it would wait for work for ever."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


class LocalRows:
    """Rows in files, and the processes that reduce them."""

    def __init__(
        self, directory: "tempfile.TemporaryDirectory[str]", places: Sequence[_Place], pool: Executor | None
    ) -> None:
        self._directory, self._pool = directory, pool
        self._places: dict[tuple[StateKind, int], list[_Place]] = {}
        for place in places:
            self._places.setdefault((place.kind, place.bucket), []).append(place)

    def reduce(self, reduction: Reduction, carried: Iterable[StateRow]) -> Sequence[Reduced]:
        """One Reduced for each bucket that has rows of the reduction's kind, or carried ones; by bucket."""
        before: dict[int, list[StateRow]] = {}
        for row in carried:
            before.setdefault(row.bucket, []).append(row)
        mine = {bucket: places for (kind, bucket), places in self._places.items() if kind is reduction.kind}
        buckets = [
            _Bucket(reduction, bucket, tuple(mine.get(bucket, ())), tuple(before.get(bucket, ())))
            for bucket in sorted(mine.keys() | before.keys())
        ]
        if self._pool is None or len(buckets) == 1:
            return [_reduce(bucket) for bucket in buckets]
        return list(self._pool.map(_reduce, buckets))

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        self._directory.cleanup()

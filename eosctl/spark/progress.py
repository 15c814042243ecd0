"""How far Spark is with the ranges of a scan, as the engine's Progress.

Spark reports how many tasks of a stage are done, not which. Tasks are started in the order of the ranges, so the first
ones count as done; when the scan is over, all are.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from pyspark.sql import SparkSession

from eosctl.engines.engine import Advance, Progress
from eosctl.model.audit import OffsetRange

PERIOD_S: Final = 0.2


class _Count:
    """Turns a number of finished tasks into one Progress for each new one."""

    def __init__(self, ranges: Sequence[OffsetRange], advance: Advance) -> None:
        self._ranges, self._advance = ranges, advance
        self._done = 0
        self._lock = threading.Lock()

    def reach(self, tasks: int, done: int) -> None:
        """`done` of the `tasks` of some stage are finished; stages of other sizes are not the scan."""
        if tasks != len(self._ranges):
            return
        with self._lock:
            for offsets in self._ranges[self._done : done]:
                self._advance(Progress(offsets))
            self._done = max(self._done, done)


@contextmanager
def watching(spark: SparkSession, ranges: Sequence[OffsetRange], advance: Advance) -> Iterator[None]:
    """Report the ranges while the block runs; the advance function is called from another thread meanwhile."""
    count = _Count(ranges, advance)
    watch = _handler if hasattr(spark, "registerProgressHandler") and _is_connect(spark) else _poller
    with watch(spark, count.reach):
        yield
    count.reach(len(ranges), len(ranges))


def _is_connect(spark: SparkSession) -> bool:
    return type(spark).__module__.startswith("pyspark.sql.connect")


@contextmanager
def _handler(spark: Any, reach: Callable[[int, int], None]) -> Iterator[None]:  # noqa: ANN401  # Connect's session
    """Spark Connect reports by itself."""

    def handle(stages: Iterable[Any] | None, **_: object) -> None:
        for stage in stages or ():
            reach(stage.num_tasks, stage.num_completed_tasks)

    spark.registerProgressHandler(handle)
    try:
        yield
    finally:
        spark.removeProgressHandler(handle)


@contextmanager
def _poller(spark: SparkSession, reach: Callable[[int, int], None]) -> Iterator[None]:
    """A classic session has to be polled."""
    tracker = spark.sparkContext.statusTracker()
    over = threading.Event()

    def poll() -> None:
        while not over.wait(PERIOD_S):
            for stage in tracker.getActiveStageIds():
                info = tracker.getStageInfo(stage)
                if info is not None:
                    reach(info.numTasks, info.numCompletedTasks)

    thread = threading.Thread(target=poll, name="eosctl-spark-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()

"""An audit's inputs in files, so that they can be judged again without a Kafka.

The plan and its coverage as the cluster answered, and the segments of every partition that the audit reads.
"""

import pickle
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from eosctl.analysis.audit.history import fold_transaction_log_history
from eosctl.model.audit import (
    AuditPlan,
    StateKind,
    StateRow,
)
from eosctl.model.names import TRANSACTION_LOG
from eosctl.model.skipped import Coverage
from eosctl.model.transaction_log import TransactionLogHistory
from eosctl.operations.audit_request import AuditRequest
from eosctl.operations.audit_topics import ClusterInput
from eosctl.sources.audit_log import OpenSource
from eosctl.sources.cluster_reader import ClusterReader
from eosctl.sources.log_directories import OpenSegments, find_segments, read_transaction_log_segments, survey_segments

INPUT = "eosctl.operations.audit.ClusterInput"
PLAN = "plan.pickle"


@contextmanager
def recording(logs: Path, directory: Path) -> Iterator[None]:
    """An audit of a cluster in this block leaves its inputs in `directory`; `logs` is the log directory of its
    broker."""

    class Recorded(ClusterInput):
        def bounds(self) -> AuditPlan:
            plan = super().bounds()
            shutil.rmtree(directory, ignore_errors=True)
            directory.mkdir(parents=True)
            (directory / PLAN).write_bytes(pickle.dumps((plan, self.coverage)))
            _copy(logs, {*(each.name for each in plan.topics), TRANSACTION_LOG}, directory)
            return plan

    with patch(INPUT, Recorded):
        yield


def _copy(logs: Path, topics: set[str], directory: Path) -> None:
    for partition in logs.iterdir():
        if partition.is_dir() and partition.name.rpartition("-")[0] in topics:
            (directory / partition.name).mkdir()
            for file in (*partition.glob("*.log"), *partition.glob("partition.metadata")):
                shutil.copy(file, directory / partition.name)
    for file in logs.glob("*checkpoint"):
        shutil.copy(file, directory)


@contextmanager
def replaying(directory: Path) -> Iterator[None]:
    """An audit in this block reads the recording in `directory`, whichever cluster it names."""

    class Replayed(RecordedInput):
        def __init__(self, _: ClusterReader, __: AuditRequest) -> None:
            super().__init__(directory)

    with patch(INPUT, Replayed):
        yield


class RecordedInput:
    """A recording as what an audit reads."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._plan: AuditPlan
        self.coverage: Coverage
        self._plan, self.coverage = pickle.loads((directory / PLAN).read_bytes())

    def bounds(self) -> AuditPlan:
        """As the cluster answered."""
        return self._plan

    def open_source(self) -> OpenSource:
        """The segments."""
        found = find_segments([self._directory], [each.name for each in self._plan.topics])
        return OpenSegments(tuple(survey_segments(place, paths) for place, paths in found.items()))

    def decoded(self, kind: StateKind) -> Iterable[StateRow]:
        """Nothing: all lies in ranges."""
        return ()

    def transaction_log_history(self, plan: AuditPlan, producer_ids: frozenset[int]) -> TransactionLogHistory:
        """From the segments."""
        found = find_segments([self._directory], [TRANSACTION_LOG])
        segments = [survey_segments(place, paths) for place, paths in found.items()]
        return fold_transaction_log_history(read_transaction_log_segments(segments), producer_ids)

"""An audit's ledger: a run that goes on where the last one of its job ended, its jobs, and the runs of one."""

import os
import signal
import uuid
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Final, TypeVar

from eosctl.errors import StaleRange, UsageError
from eosctl.ledger.ledger import Ledger, open_ledger
from eosctl.model.audit import AuditReport, StateKind, StateRow
from eosctl.model.failpoints import Failpoint, no_failpoint
from eosctl.model.ledger import Advance, CarriedBucket, JobStatus, JobSummary, LedgerHistory, LedgerRun, LedgerStatus
from eosctl.model.mirror import MirrorReport
from eosctl.operations.session import Session
from eosctl.sources.config_providers import look_up
from eosctl.version import __version__

ATTEMPTS: Final = 10
FAILPOINT: Final = "EOSCTL_FAILPOINT"
"""For tests of crashes: the point at which a commit kills its own process."""


def open_job_ledger(store: str, *, create: bool = True, timeout_s: float = 10.0) -> Ledger:
    """The ledger in `store`, with references in its URL resolved by Kafka's config providers."""
    failpoint = failpoint_of(os.environ.get(FAILPOINT))
    return open_ledger(store, look_up, create=create, timeout_s=timeout_s, failpoint=failpoint)


T = TypeVar("T")
R = TypeVar("R", AuditReport, MirrorReport)


def until_committed(attempt: Callable[[], T]) -> T:
    """Plans and reads again where another auditor of the job was faster, ATTEMPTS times at most."""
    for number in range(1, ATTEMPTS + 1):
        try:
            return attempt()
        except StaleRange:
            if number == ATTEMPTS:
                raise
    raise AssertionError


class JobRun:
    """One run of a job, from the state that it was planned from to its commit."""

    def __init__(self, ledger: Ledger, job: str, cluster_id: str | None) -> None:
        self.ledger, self.state = ledger, ledger.state(job, cluster_id)

    @property
    def goes_on(self) -> bool:
        return bool(self.state.run_number)

    def carried(self, kind: StateKind) -> Iterable[StateRow]:
        """The rows of this kind that the run before left."""
        return self.ledger.carried(self.state, kind) if self.goes_on else ()

    def commit(
        self,
        report: R,
        as_json: Callable[[R], str],
        advances: Iterable[Advance],
        carried: Iterable[StateRow],
    ) -> None:
        """Keeps the report, the ranges read and the state for the next run. StaleRange: another run was faster."""
        self.ledger.commit(
            LedgerRun(
                run_id=str(uuid.uuid4()),
                state=self.state,
                as_of=report.plan.as_of,
                verdict=report.verdict.value,
                findings=len(report.findings),
                report=as_json(report),
                eosctl_version=__version__,
                advances=tuple(advances),
                carried=_buckets_of(carried),
            )
        )


def _buckets_of(rows: Iterable[StateRow]) -> Iterator[CarriedBucket]:
    ordered = sorted(rows, key=lambda row: (row.kind, row.bucket, row.topic, row.partition, row.start))
    for (kind, bucket), group in groupby(ordered, key=lambda row: (row.kind, row.bucket)):
        yield CarriedBucket(kind, bucket, tuple(group))


def read_status(session: Session, store: str) -> LedgerStatus:
    """Every job with its last run, its cursors, and its gaps."""
    ledger = open_job_ledger(store, create=False, timeout_s=session.timeout_s)
    jobs = (
        JobStatus(each, ledger.state(each.job, each.cluster_id), tuple(ledger.ranges(each.job)))
        for each in ledger.jobs()
    )
    return LedgerStatus(session.now(), ledger.name, tuple(jobs))


def read_last_runs(session: Session, store: str) -> tuple[JobSummary, ...]:
    """Every job of the ledger with its last run, by name."""
    return open_job_ledger(store, create=False, timeout_s=session.timeout_s).jobs()


def read_history(session: Session, store: str, job: str) -> LedgerHistory:
    """The runs of a job, the last one first. Raises UsageError for a job that the ledger does not have."""
    ledger = open_job_ledger(store, create=False, timeout_s=session.timeout_s)
    jobs = {each.job: each for each in ledger.jobs()}
    if job not in jobs:
        known = ", ".join(jobs) or "none"
        raise UsageError(f"{ledger.name} has no job {job}", hint=f"it has: {known}")
    return LedgerHistory(session.now(), ledger.name, jobs[job], ledger.runs(job))


def failpoint_of(wanted: str | None) -> Failpoint:
    """The failpoint in EOSCTL_FAILPOINT: `NAME` or `NAME:3` kills this process (SIGKILL) there, or at the third
    time; None or the empty text does nothing."""
    if not wanted:
        return no_failpoint
    name, _, times = wanted.rpartition(":") if wanted.rpartition(":")[2].isdigit() else (wanted, "", "1")
    left = int(times)

    def at(here: str) -> None:
        nonlocal left
        left -= here == name
        if here == name and left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)

    return at

"""Opens an audit's ledger, and reads it: its jobs, and the runs of one."""

import os
import signal
from typing import Final

from eosctl.errors import UsageError
from eosctl.ledger.ledger import Ledger, open_ledger
from eosctl.model.failpoints import Failpoint, no_failpoint
from eosctl.model.ledger import JobStatus, JobSummary, LedgerHistory, LedgerStatus
from eosctl.operations.session import Session
from eosctl.sources.config_providers import look_up

FAILPOINT: Final = "EOSCTL_FAILPOINT"
"""For tests of crashes: the point at which a commit kills its own process."""


def open_job_ledger(store: str, *, create: bool = True, timeout_s: float = 10.0) -> Ledger:
    """The ledger in `store`, with references in its URL resolved by Kafka's config providers."""
    failpoint = failpoint_of(os.environ.get(FAILPOINT))
    return open_ledger(store, look_up, create=create, timeout_s=timeout_s, failpoint=failpoint)


def read_status(session: Session, store: str) -> LedgerStatus:
    """Every job with its last run, where its cursors stand, and what was never read."""
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
    """The failpoint that EOSCTL_FAILPOINT names: `NAME` or `NAME:3` kills this process (SIGKILL) there, or when it is
    there the third time; None or the empty text does nothing.
    """
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

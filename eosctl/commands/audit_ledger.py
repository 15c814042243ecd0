"""An audit's ledger as one thing, and the two commands that only look into it."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eosctl.errors import EXIT_FINE, UsageError
from eosctl.model.audit import StateKind, StateRow
from eosctl.model.ledger import Committed, CommittedRange, JobState, JobSummary, LedgerRun, RunSummary

if TYPE_CHECKING:
    from eosctl.clients.ledger_store import LedgerStore
    from eosctl.commands.options import GlobalOptions
    from eosctl.executors.failpoints import Failpoint

FAILPOINT: Final = "EOSCTL_FAILPOINT"
"""For tests of crashes: the point at which a commit kills its own process (executors.failpoints)."""

LONGEST_JOB: Final = 200


@dataclass(frozen=True, slots=True)
class Ledger:
    """The ledger in one store. It holds no connection: each call is a transaction of its own, from any thread."""

    store: "LedgerStore"
    failpoint: "Failpoint"

    @property
    def name(self) -> str:
        """What a person knows the store by, without a password."""
        return self.store.name

    def state(self, job: str, cluster_id: str | None) -> JobState:
        """How far the job has come: what a run is planned from, and what it must still find when it commits.

        Raises Refused where the job audits another cluster, Unsupported where another eosctl laid out what it carries.
        """
        from eosctl.sources.ledger import read_job_state

        return read_job_state(self.store, require_job(job), cluster_id)

    def carried(self, state: JobState, kind: StateKind, bucket: int | None = None) -> Iterator[StateRow]:
        """What `state` carries of one kind, row by row, by bucket, topic, partition and start.

        Raises StaleRange before the first row where another run has been committed since: plan again.
        """
        from eosctl.sources.ledger import read_carried

        return read_carried(self.store, state, kind, bucket)

    def commit(self, run: LedgerRun) -> Committed:
        """Puts a run into the ledger, all of it or nothing. Raises StaleRange where another was faster: plan again."""
        from eosctl.executors.ledger import commit_run

        return commit_run(self.store, run, self.failpoint)

    def jobs(self) -> tuple[JobSummary, ...]:
        """Every job with its last run, by name."""
        from eosctl.sources.ledger import read_jobs

        return read_jobs(self.store)

    def runs(self, job: str) -> tuple[RunSummary, ...]:
        """The runs of a job, the last one first."""
        from eosctl.sources.ledger import read_runs

        return read_runs(self.store, job)

    def ranges(self, job: str) -> Iterator[CommittedRange]:
        """All ranges of a job, by topic and partition, in the order in which they account for the log."""
        from eosctl.sources.ledger import read_ranges

        return read_ranges(self.store, job)

    def report(self, job: str, run_id: str | None = None) -> str | None:
        """The JSON of a run's report, of the last one where none is named; None where there is no such run."""
        from eosctl.sources.ledger import read_report

        return read_report(self.store, job, run_id)


def open_ledger(url: str, *, create: bool = True, timeout_s: float = 10.0) -> Ledger:
    """The ledger that a store URL names, its tables up to date; `create` makes it where there is none.

    Raises UsageError for a URL that is none or holds a password, ConfigError, Unreachable or NotAuthorized where the
    store cannot be used, Unsupported where a newer eosctl wrote it.
    """
    from eosctl.clients.ledger_url import ledger_store
    from eosctl.executors.failpoints import failpoint_of
    from eosctl.executors.ledger_schema import prepare_ledger
    from eosctl.sources.config_providers import look_up

    store = ledger_store(url, look_up, timeout_s=timeout_s)
    prepare_ledger(store, create=create)
    return Ledger(store, failpoint_of(os.environ.get(FAILPOINT)))


def require_job(job: str) -> str:
    """The name of a job, if it is one: 1 to 200 characters that can be printed."""
    if not 0 < len(job) <= LONGEST_JOB or not job.isprintable():
        raise UsageError(
            f"{job[:LONGEST_JOB]!r} names no job", hint="a name has 1 to 200 characters that can be printed"
        )
    return job


def show_status(options: "GlobalOptions", store: str) -> int:
    """`audit status`: every job with its last run, where its cursors stand, and what was never read.

    Columns:
      JOB           the job's name
      CLUSTER_ID    the Kafka cluster that it audits
      PARTITIONS    partitions that it follows
      LAST-RUN      when its last run was planned, UTC
      VERDICT       that run's verdict: held, broken or cannot-tell
      TOPIC         the topic
      PARTITION     its partition
      OFFSET        where the next run begins
      START-OFFSET  the first offset that was not read
      REASON        why not
    """
    from eosctl.commands.context import Context
    from eosctl.model.times import rfc3339
    from eosctl.render.views.ledger import view_status

    ledger = open_ledger(store, create=False, timeout_s=options.timeout_s)
    jobs = [(each, ledger.state(each.job, each.cluster_id), tuple(ledger.ranges(each.job))) for each in ledger.jobs()]
    options.console.result(view_status(jobs, ledger.name, rfc3339(Context.now())))
    return EXIT_FINE


def show_history(options: "GlobalOptions", store: str, job: str) -> int:
    """`audit history`: the runs of a job, the last one first.

    Columns:
      RUN       the run's number
      RUN-ID    its ID
      TIME      when it was planned, UTC
      VERDICT   its verdict: held, broken or cannot-tell
      FINDINGS  how many findings its report has
      OFFSETS   offsets that it read
      RECORDS   data records among them
      GAPS      ranges that could no longer be read
    """
    from eosctl.commands.context import Context
    from eosctl.model.times import rfc3339
    from eosctl.render.views.ledger import view_history

    ledger, now = open_ledger(store, create=False, timeout_s=options.timeout_s), rfc3339(Context.now())
    summary = _known(ledger, job)
    options.console.result(view_history(summary, ledger.runs(job), ledger.name, now))
    return EXIT_FINE


def _known(ledger: Ledger, job: str) -> JobSummary:
    jobs = {each.job: each for each in ledger.jobs()}
    if job not in jobs:
        known = ", ".join(jobs) or "none"
        raise UsageError(f"{ledger.name} has no job {job}", hint=f"it has: {known}")
    return jobs[job]

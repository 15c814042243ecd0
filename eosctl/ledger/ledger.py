"""An audit's ledger as one thing."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from eosctl.codecs.config_providers import Lookup, no_lookup
from eosctl.errors import UsageError
from eosctl.ledger.commit import commit_run
from eosctl.ledger.reading import read_carried, read_job_state, read_jobs, read_ranges, read_report, read_runs
from eosctl.ledger.schema import prepare_ledger
from eosctl.ledger.store import LedgerStore
from eosctl.ledger.url import ledger_store
from eosctl.model.audit import StateKind, StateRow
from eosctl.model.failpoints import Failpoint, no_failpoint
from eosctl.model.ledger import Committed, CommittedRange, JobState, JobSummary, LedgerRun, RunSummary

LONGEST_JOB: Final = 200


@dataclass(frozen=True, slots=True)
class Ledger:
    """The ledger in one store. It holds no connection: each call is a transaction of its own, from any thread."""

    store: LedgerStore
    failpoint: Failpoint = no_failpoint

    @property
    def name(self) -> str:
        """What a person knows the store by, without a password."""
        return self.store.name

    def state(self, job: str, cluster_id: str | None) -> JobState:
        """How far the job has come: what a run is planned from, and what it must still find when it commits.

        Raises Refused where the job audits another cluster, Unsupported where another eosctl laid out what it carries.
        """
        return read_job_state(self.store, require_job(job), cluster_id)

    def carried(self, state: JobState, kind: StateKind, bucket: int | None = None) -> Iterator[StateRow]:
        """What `state` carries of one kind, row by row, by bucket, topic, partition and start.

        Raises StaleRange before the first row where another run has been committed since: plan again.
        """
        return read_carried(self.store, state, kind, bucket)

    def commit(self, run: LedgerRun) -> Committed:
        """Puts a run into the ledger, all of it or nothing. Raises StaleRange where another was faster: plan again."""
        return commit_run(self.store, run, self.failpoint)

    def jobs(self) -> tuple[JobSummary, ...]:
        """Every job with its last run, by name."""
        return read_jobs(self.store)

    def runs(self, job: str) -> tuple[RunSummary, ...]:
        """The runs of a job, the last one first."""
        return read_runs(self.store, job)

    def ranges(self, job: str) -> Iterator[CommittedRange]:
        """All ranges of a job, by topic and partition, in the order in which they account for the log."""
        return read_ranges(self.store, job)

    def report(self, job: str, run_id: str | None = None) -> str | None:
        """The JSON of a run's report, of the last one where none is named; None where there is no such run."""
        return read_report(self.store, job, run_id)


def open_ledger(
    url: str,
    lookup: Lookup = no_lookup,
    *,
    create: bool = True,
    timeout_s: float = 10.0,
    failpoint: Failpoint = no_failpoint,
) -> Ledger:
    """The ledger that a store URL names, its tables up to date; `create` makes it where there is none.

    lookup resolves references in the URL to config providers.

    Raises UsageError for a URL that is none or holds a password, ConfigError, Unreachable or NotAuthorized where the
    store cannot be used, Unsupported where a newer eosctl wrote it.
    """
    store = ledger_store(url, lookup, timeout_s=timeout_s)
    prepare_ledger(store, create=create)
    return Ledger(store, failpoint)


def require_job(job: str) -> str:
    """The name of a job, if it is one: 1 to 200 characters that can be printed."""
    if not 0 < len(job) <= LONGEST_JOB or not job.isprintable():
        raise UsageError(
            f"{job[:LONGEST_JOB]!r} names no job", hint="a name has 1 to 200 characters that can be printed"
        )
    return job

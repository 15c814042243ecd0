"""What an audit's ledger holds: its jobs, and the runs of one."""

from eosctl.errors import EXIT_FINE, UsageError
from eosctl.ledger.ledger import Ledger, open_ledger
from eosctl.model.ledger import JobSummary
from eosctl.operations.session_options import SessionOptions


def show_status(options: SessionOptions, store: str) -> int:
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
    from eosctl.model.times import rfc3339
    from eosctl.operations.session import Session
    from eosctl.render.views.ledger import view_status

    ledger = open_ledger(store, create=False, timeout_s=options.timeout_s)
    jobs = [(each, ledger.state(each.job, each.cluster_id), tuple(ledger.ranges(each.job))) for each in ledger.jobs()]
    options.console.result(view_status(jobs, ledger.name, rfc3339(Session.now())))
    return EXIT_FINE


def show_history(options: SessionOptions, store: str, job: str) -> int:
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
    from eosctl.model.times import rfc3339
    from eosctl.operations.session import Session
    from eosctl.render.views.ledger import view_history

    ledger, now = open_ledger(store, create=False, timeout_s=options.timeout_s), rfc3339(Session.now())
    summary = _known(ledger, job)
    options.console.result(view_history(summary, ledger.runs(job), ledger.name, now))
    return EXIT_FINE


def _known(ledger: Ledger, job: str) -> JobSummary:
    jobs = {each.job: each for each in ledger.jobs()}
    if job not in jobs:
        known = ", ".join(jobs) or "none"
        raise UsageError(f"{ledger.name} has no job {job}", hint=f"it has: {known}")
    return jobs[job]

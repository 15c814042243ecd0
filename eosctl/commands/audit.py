"""`eosctl audit`: did exactly-once hold?"""

from typing import TYPE_CHECKING

import typer

from eosctl.commands.audit_options import (
    Action,
    AskedAction,
    Engine,
    EngineName,
    ExecutorProperties,
    ExportDirectory,
    JobName,
    LedgerStore,
    LogDirectories,
    OnlyPlan,
    OutputTopics,
    Processes,
    ReportFile,
    SparkMaster,
    SparkRemote,
)
from eosctl.commands.offsets.options import about_offsets
from eosctl.errors import UsageError
from eosctl.shell.options import GlobalOptions, connecting

if TYPE_CHECKING:
    from eosctl.operations.offset_stores import OffsetsRequest

app = typer.Typer()


@app.command()
@connecting
@about_offsets
def audit(
    options: GlobalOptions,
    request: "OffsetsRequest",
    action: AskedAction = Action.RUN,
    topic: OutputTopics = None,
    plan: OnlyPlan = False,
    engine: Engine = EngineName.LOCAL,
    processes: Processes = None,
    master: SparkMaster = None,
    remote: SparkRemote = None,
    executor_properties: ExecutorProperties = None,
    log_dir: LogDirectories = None,
    store: LedgerStore = None,
    job: JobName = "audit",
    report: ReportFile = None,
    export: ExportDirectory = None,
) -> int:
    """Say whether exactly-once held, from the record batches themselves.

    Use it after anything that may have broken the promise, and every night. It reads the offsets topics, the config
    topic and the topics that source connectors write to: producer IDs, epochs, transactions and their markers, which no
    consumer shows. For each connector it says held, broken (with topic, partition and offsets), or cannot-tell (with
    what is missing). Nothing is written to Kafka.

    Examples:
      eosctl audit -b broker:9092 --connect-url http://worker:8083 --group-id connect-cluster
      eosctl audit -b broker:9092 --topic orders --topic payments --plan
      eosctl audit -b broker:9092 --store sqlite:////var/lib/eosctl/audit.db --report audit.html
      eosctl audit --log-dir /var/lib/kafka/data --topic orders
      eosctl audit -b broker:9092 --engine spark --master local[4]
      eosctl audit status --store sqlite:////var/lib/eosctl/audit.db

    Columns:
      CONNECTOR   the connector's name; of transactions - for producers that are no known task's
      VERDICT     held, broken or cannot-tell: whether exactly-once held
      EVIDENCE    IDs of the findings behind the verdict
      REASON      what the verdict rests on
      TOPIC       the topic
      PARTITION   the partition
      FROM        the first offset that was read, or with --plan will be
      TO          the offset behind the last one
      RECORDS     data records in the log, or in the transactions
      ABORTED     records of aborted transactions, or such transactions
      PLAIN       records outside any transaction
      GAPS        offsets without a batch, by kind
      COMMITTED   transactions that were committed
      P50         half of the transactions have no more records than that
      P99         99 in 100 have no more records than that
      P50_MS      half of them took no longer than that
      P99_MS      99 in 100 took no longer than that
      OFFSET      where the last stable offset stood still
      TIME        since when, UTC
      HELD_S      for how long; until the audit, where the transaction is still open
      BY          whose transaction was open
      ROLE        (--plan) offsets: decoded; config: replayed; output: batch headers are enough
      PARTITIONS  (--plan) partitions that will be read
      OFFSETS     (--plan) offsets that will be read: at least the number of records
      CLEANUP     (--plan) the topic's cleanup.policy
      CONNECTORS  (--plan) who uses the topic; - for the worker's own topics
      TOPIC-ID    (--plan) Kafka's ID of the topic; another one once it was created again
      SETTLED     (--plan) no behind the last stable offset, where transactions are open
      JOB         (status) the job's name
      CLUSTER_ID  (status) the Kafka cluster that it audits
      LAST-RUN    (status) when its last run was planned, UTC
      RUN         (history) the run's number
      RUN-ID      (history) its ID
      FINDINGS    (history) how many findings its report has
    """
    from eosctl.operations.audit.run import audit_now, plan_audit
    from eosctl.operations.audit.sites import AuditRequest
    from eosctl.operations.session import Session
    from eosctl.spark.starting import SparkOptions

    if action is not Action.RUN:
        return _look(options, action, store, job)
    directories = tuple(log_dir or ())
    if directories and engine is EngineName.SPARK:
        raise UsageError("--log-dir is read on this machine", hint="leave --engine spark out")
    asked = AuditRequest(
        offsets=request,
        topics=tuple(topic or ()),
        engine=engine.value,
        processes=processes,
        store=store,
        job=job,
        report=report,
        export=export,
        log_directories=directories,
        spark=SparkOptions(master, remote, executor_properties),
    )
    with Session(options) as session:
        answer = plan_audit(session, asked) if plan else audit_now(session, asked)
        options.console.result(answer.document)
        return answer.exit_code


def _look(options: GlobalOptions, action: Action, store: str | None, job: str) -> int:
    from eosctl.operations.audit.history import show_history, show_status

    if store is None:
        raise UsageError(f"audit {action.value} looks into a ledger", hint="name it: --store sqlite:///FILE")
    return show_status(options, store) if action is Action.STATUS else show_history(options, store, job)

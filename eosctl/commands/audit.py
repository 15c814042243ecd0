"""`eosctl audit`: did exactly-once hold?"""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eosctl.commands.offsets_options import about_offsets
from eosctl.commands.options import GlobalOptions, connecting
from eosctl.errors import UsageError

if TYPE_CHECKING:
    from eosctl.commands.offsets_reading import OffsetsQuestion

app = typer.Typer()


class Action(StrEnum):
    """What to do: audit now, or look into the ledger of earlier audits."""

    RUN = "run"
    STATUS = "status"
    HISTORY = "history"


class EngineName(StrEnum):
    """What carries the audit."""

    LOCAL = "local"
    SPARK = "spark"


@app.command()
@connecting
@about_offsets
def audit(
    options: GlobalOptions,
    question: "OffsetsQuestion",
    action: Annotated[
        Action, typer.Argument(metavar="[run|status|history]", help="Audit, or look into the ledger.")
    ] = Action.RUN,
    topic: Annotated[
        list[str] | None,
        typer.Option(metavar="TOPIC", help="A topic that connectors write to. May be repeated. [default: all known]"),
    ] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Show what would be read, and read nothing.")] = False,
    engine: Annotated[EngineName, typer.Option(help="On this machine, or on Spark.")] = EngineName.LOCAL,
    processes: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Processes of the local engine. [default: one a CPU]")
    ] = None,
    master: Annotated[
        str | None, typer.Option(metavar="URL", help="Spark's master. [default: this machine, or spark-submit's]")
    ] = None,
    remote: Annotated[
        str | None, typer.Option(metavar="URL", help="A Spark Connect server, such as sc://host.")
    ] = None,
    executor_properties: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Client properties where Spark's executors find them: a file, or env:NAME for a variable's text.",
        ),
    ] = None,
    log_dir: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR", help="Read a broker's log directory, or a copy of it, and no cluster. May be repeated."
        ),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            envvar="EOSCTL_AUDIT_STORE",
            help="Keep a ledger, and read only what is new: sqlite:///FILE or postgresql://HOST/DATABASE.",
        ),
    ] = None,
    job: Annotated[str, typer.Option(metavar="NAME", help="The name of this audit in the ledger.")] = "audit",
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page for a browser: one file, nothing else needed.")
    ] = None,
    export: Annotated[
        Path | None, typer.Option(metavar="DIRECTORY", help="Write findings, ranges and statistics as Parquet files.")
    ] = None,
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
    from eosctl.commands.audit_sites import AuditQuestion
    from eosctl.commands.auditing import audit_now, plan_audit
    from eosctl.commands.context import Context
    from eosctl.spark.starting import SparkWish

    if action is not Action.RUN:
        return _look(options, action, store, job)
    directories = tuple(log_dir or ())
    if directories and engine is EngineName.SPARK:
        raise UsageError("--log-dir is read on this machine", hint="leave --engine spark out")
    asked = AuditQuestion(
        offsets=question,
        topics=tuple(topic or ()),
        engine=engine.value,
        processes=processes,
        store=store,
        job=job,
        report=report,
        export=export,
        log_directories=directories,
        spark=SparkWish(master, remote, executor_properties),
    )
    with Context(options) as context:
        answer = plan_audit(context, asked) if plan else audit_now(context, asked)
        options.console.result(answer.document)
        return answer.exit_code


def _look(options: GlobalOptions, action: Action, store: str | None, job: str) -> int:
    from eosctl.commands.audit_ledger import show_history, show_status

    if store is None:
        raise UsageError(f"audit {action.value} looks into a ledger", hint="name it: --store sqlite:///FILE")
    return show_status(options, store) if action is Action.STATUS else show_history(options, store, job)

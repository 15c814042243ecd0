"""`eosctl audit`: did exactly-once hold?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from eosctl.commands.offsets.options import about_offsets
from eosctl.commands.options import (
    Engine,
    EngineName,
    Evidence,
    ExecutorProperties,
    JobName,
    KeptLedger,
    LedgerStore,
    OverwriteEvidence,
    Processes,
    SignKey,
    SparkMaster,
    SparkRemote,
)
from eosctl.errors import UsageError
from eosctl.model.audit import SparkOptions
from eosctl.operations.session import Session
from eosctl.render.answers.audit import (
    CONNECTORS,
    CURSORS,
    GAPS,
    JOBS,
    PLANNED_RANGES,
    RANGES,
    RUNS,
    STALLS,
    TOPICS,
    TRANSACTIONS,
    WITNESS,
    view_audit,
    view_audit_plan,
    view_history,
    view_status,
)
from eosctl.render.answers.source_audit import TABLES, view_source_audit
from eosctl.render.audit_page import render_audit_page
from eosctl.render.formats import json_of
from eosctl.shell.options import GlobalOptions, answer, connecting, gating, showing

if TYPE_CHECKING:
    from eosctl.operations.offset_stores import OffsetsRequest


app = typer.Typer()


OutputTopics: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(metavar="TOPIC", help="An output topic of connectors. May be repeated. [default: all known]"),
]
OffsetsTopics: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TOPIC",
        envvar="EOSCTL_OFFSETS_TOPIC",
        help="A connector-specific offsets topic, now or earlier, that the config topic does not name. May "
        "be repeated.",
    ),
]
OnlyPlan: TypeAlias = Annotated[bool, typer.Option("--plan", help="Show the ranges to read, and read no records.")]
LogDirectories: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="DIR", help="Read a broker's log directory, or a copy of it, instead of a cluster. May be repeated."
    ),
]
ReportFile: TypeAlias = Annotated[Path | None, typer.Option(metavar="FILE", help="Write a self-contained HTML page.")]
ExportDirectory: TypeAlias = Annotated[
    Path | None, typer.Option(metavar="DIRECTORY", help="Write findings, ranges and statistics as Parquet files.")
]


Period: TypeAlias = Annotated[str | None, typer.Option("--from", "--to", "--since", metavar="TIME", hidden=True)]


@app.command("run", hidden=True)
@app.callback(invoke_without_command=True, subcommand_metavar="[source|status|history]")
@showing(CONNECTORS, WITNESS, RANGES, TRANSACTIONS, STALLS, plan=(TOPICS, PLANNED_RANGES))
@gating
@about_offsets
def audit(
    options: GlobalOptions,
    request: "OffsetsRequest",
    topic: OutputTopics = None,
    offsets_topic: OffsetsTopics = None,
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
    evidence: Evidence = None,
    sign_key: SignKey = None,
    overwrite: OverwriteEvidence = False,
    period: Period = None,
) -> int:
    """Prove from the record batches whether exactly-once held.

    Use it after every incident that may have broken exactly-once, and every night. It reads the offsets topics, the
    config topic and the topics that source connectors write to: producer IDs, epochs, transactions and their markers,
    which consumers do not show. The verdict on each connector is held, broken (with topic, partition and offsets),
    altered or cannot-tell (with the missing evidence). altered: exactly-once held, but source offsets were altered, and
    the listed number of records was written again or left out. With --store it exits with 1 only for findings that are
    new since the last run of its job. Nothing is written to Kafka. A snapshot holds no record batches: from a snapshot
    it judges only the config topic's history and hanging transactions, and no verdict is held.

    Examples:
      eosctl audit -b broker:9092 --connect-url http://worker:8083 --group-id connect-cluster
      eosctl audit -b broker:9092 --topic orders --topic payments --plan
      eosctl audit -b broker:9092 --store sqlite:////var/lib/eosctl/audit.db --report audit.html
      eosctl audit --log-dir /var/lib/kafka/data --topic orders
      eosctl audit -b broker:9092 --evidence audit.json --sign-key ~/.ssh/id_ed25519
      eosctl audit --snapshot monday.snapshot
      eosctl audit -b broker:9092 --engine spark --master local[4]
      eosctl audit status --store sqlite:////var/lib/eosctl/audit.db
    """
    from eosctl.operations import audit
    from eosctl.operations import audit_request as requests

    _require_no_period(period)
    _require_one_input(options, log_dir, engine)
    if options.snapshot is not None and store is not None:
        options.console.warn("a snapshot has no record batches to keep: --store is not used")
        store = None
    audited = requests.AuditRequest(
        offsets=request,
        topics=tuple(topic or ()),
        offsets_topics=tuple(offsets_topic or ()),
        engine=engine.value,
        processes=processes,
        store=store,
        job=job,
        report=report,
        export=export,
        log_directories=tuple(log_dir or ()),
        evidence=requests.evidence_request(evidence, sign_key, overwrite=overwrite),
        spark=SparkOptions(master, remote, executor_properties),
    )
    with Session(options) as session:
        if plan:
            return answer(options, audit.plan_audit(session, audited), view_audit_plan)
        formats = audit.ReportFormats(lambda report: json_of(view_audit(report), report), render_audit_page)
        return answer(options, audit.run_and_report(session, audited, formats), view_audit)


def _require_no_period(period: str | None) -> None:
    if period is not None:
        raise UsageError(
            "an audit has no --from, --to or --since: all that the topics still hold is judged together",
            hint="--store keeps each night's audit, and `eosctl audit history` lists their times and verdicts; without "
            "it, evidence.places of `-o json` has the time of each place",
        )


def _require_one_input(options: GlobalOptions, log_dir: list[Path] | None, engine: EngineName) -> None:
    if log_dir and options.snapshot is not None:
        raise UsageError("--log-dir and --snapshot cannot be combined", hint="give one of them")
    if engine is EngineName.SPARK and (log_dir or options.snapshot is not None):
        option = "--log-dir" if log_dir else "--snapshot"
        raise UsageError(f"{option} is read on this machine", hint="leave --engine spark out")


# Options of `audit source`.


AuditedSource: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--source-dsn",
        metavar="URL",
        envvar="EOSCTL_SOURCE_DSN",
        help="The source's database: postgresql://USER@HOST/DATABASE, mariadb://USER@HOST, mysql://USER@HOST. "
        "Password: ${env:NAME}.",
    ),
]
SourceTable: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--table",
        metavar="SCHEMA.NAME[=TOPIC]",
        show_default=False,
        help="Compare only this table with its topic. May be repeated. [default: all that the connector captures]",
    ),
]
KeyPath: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="PATH",
        help="The primary key in the record's row, such as data.id, where the record's key is another one. Its columns "
        "are the members beside it.",
    ),
]
Chunk: TypeAlias = Annotated[int, typer.Option(metavar="N", min=1, max=100_000, help="Rows of one query.")]
Rate: TypeAlias = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Read at most N rows of the database a second.")
]
Sample: TypeAlias = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, max=100_000, help="Compare only N random rows of each table. [default: all]"),
]
StateFile: TypeAlias = Annotated[
    Path | None,
    typer.Option("--state", metavar="FILE", help="Keep the progress in FILE; the next run continues there."),
]
Wait: TypeAlias = Annotated[
    float,
    typer.Option(metavar="SECONDS", min=0, help="Maximum wait for the connector to reach the rows that were read."),
]
CaughtUp: TypeAlias = Annotated[
    bool, typer.Option("--caught-up", help="The connector has read all changes: do not check its position.")
]


@app.command("source")
@showing(TABLES)
@gating
@about_offsets
def source(
    options: GlobalOptions,
    request: "OffsetsRequest",
    source_dsn: AuditedSource = None,
    table: SourceTable = None,
    key_path: KeyPath = None,
    chunk: Chunk = 5000,
    rate: Rate = None,
    sample: Sample = None,
    state: StateFile = None,
    wait: Wait = 60.0,
    caught_up: CaughtUp = False,
    engine: Engine = EngineName.LOCAL,
    master: SparkMaster = None,
    remote: SparkRemote = None,
    executor_properties: ExecutorProperties = None,
    evidence: Evidence = None,
    sign_key: SignKey = None,
    overwrite: OverwriteEvidence = False,
) -> int:
    """Compare each row of a captured table with its last record.

    Use it where `audit` says held and you must know that no row is missing: after an incident, a move, or an upgrade of
    the connector. Each key must have the same values on both sides, at the position of the source's log at which its
    row was read; the table and the connector may change meanwhile. The database is only read, in short transactions.
    A difference counts once the connector has passed that position. Values must be JSON, as Debezium's envelope or as
    plain rows. With --engine spark, executors read the topics; the database is read from here. Needs SELECT on the
    tables and Read on the topics.

    Examples:
      eosctl audit source -b broker:9092 --connect-url http://worker:8083 --connector shop \
--source-dsn 'postgresql://reader@db/shop'
      eosctl audit source -b broker:9092 --connect-url http://worker:8083 --connector shop \
--source-dsn 'postgresql://reader@db/shop' --table public.orders --rate 2000 --state orders.state
      eosctl audit source -b broker:9092 --table public.orders=jdbc-orders --source-dsn 'postgresql://reader@db/shop' \
--sample 10000 --caught-up
      eosctl audit source -b broker:9092 --table public.orders=jdbc-orders --source-dsn 'postgresql://reader@db/shop' \
--engine spark --master local[4]
    """
    from eosctl.operations import audit_request, source_audit

    if source_dsn is None:
        raise UsageError("no source database is named", hint="give --source-dsn postgresql://USER@HOST/DATABASE")
    if len(request.connectors) > 1:
        raise UsageError("audit source compares the tables of one connector", hint="give --connector once")
    asked = source_audit.SourceAuditRequest(
        offsets=request, source_dsn=source_dsn, tables=tuple(table or ()), chunk=chunk, rate=rate, sample=sample,
        state=state, wait_s=wait, caught_up=caught_up,
        evidence=audit_request.evidence_request(evidence, sign_key, overwrite=overwrite),
        spark=SparkOptions(master, remote, executor_properties) if engine is EngineName.SPARK else None,
        key_path=key_path,
    )  # fmt: skip
    with Session(options) as session:
        report = source_audit.audit_source(session, asked, lambda found: json_of(view_source_audit(found), found))
        return answer(options, report, view_source_audit)


@app.command("status")
@showing(JOBS, GAPS, CURSORS)
@connecting
def status(options: GlobalOptions, store: KeptLedger = None) -> int:
    """Show the jobs of a ledger, and how far each has read.

    Use it to see whether the nightly audits ran, and which records expired unread. It reads only the ledger, and exits
    with 1 while the last run of any job is broken or altered.

    Examples:
      eosctl audit status --store sqlite:////var/lib/eosctl/audit.db
      eosctl audit status --store sqlite:////var/lib/eosctl/audit.db -o json
    """
    from eosctl.operations.audit_history import read_status

    with Session(options) as session:
        return answer(options, read_status(session, _named(store, "status")), view_status)


@app.command("history")
@showing(RUNS)
@connecting
def history(options: GlobalOptions, store: KeptLedger = None, job: JobName = "audit") -> int:
    """Show the runs of a job in a ledger, the latest first.

    Use it to see when a verdict changed, and how much each run read. It reads only the ledger.

    Examples:
      eosctl audit history --store sqlite:////var/lib/eosctl/audit.db
      eosctl audit history --store sqlite:////var/lib/eosctl/audit.db --job audit -o json
    """
    from eosctl.operations.audit_history import read_history

    with Session(options) as session:
        return answer(options, read_history(session, _named(store, "history"), job), view_history)


def _named(store: str | None, command: str) -> str:
    if store is None:
        raise UsageError(
            f"audit {command} reads a ledger, and no ledger is given", hint="name it: --store sqlite:///FILE"
        )
    return store

"""`eosctl certify`: whether a connector's claim to exactly-once is true."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from secrets import randbelow
from typing import Annotated, TypeAlias

import typer

from eosctl.atomic_write import write_atomic_file
from eosctl.commands.options import settings_of
from eosctl.model.certification import FAULTS, Certificate, Selector, selector_of
from eosctl.operations.certification import CertifyRequest
from eosctl.operations.certification import certify as run_certification
from eosctl.operations.certified_site import SiteSpec
from eosctl.operations.certified_source import SourceOptions
from eosctl.render.answers.certification import CLAIMS, ROUNDS, WITNESSES, view_certificate
from eosctl.render.certificate_files import certificate_junit, certificate_page
from eosctl.shell.options import GlobalOptions, answer, printing, showing

MOST_SEEDS = 1_000_000

Plugins: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--plugin",
        metavar="FILE|DIR|GROUP:ARTIFACT:VERSION[:CLASSIFIER][@TYPE]",
        help="The connector: a jar, a zip or tar.gz, the directory of its jars, or an artifact to fetch. May be "
        "repeated. [default: FileStream and MirrorMaker of the workers]",
        show_default=False,
    ),
]
Config: TypeAlias = Annotated[
    Path,
    typer.Option(
        metavar="FILE",
        help="The connector's config: properties, JSON or a KafkaConnector; certify replaces ${certify:NAME}.",
    ),
]
IdentityOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--identity",
        metavar="value|key|json:PATH,…|header:NAME",
        help="The part of a record that identifies its source record.",
    ),
]
LoadOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--load",
        metavar="KIND:WHAT",
        help="How the source grows: file:PATH appends lines, sql:FILE runs statements, topic:NAME writes records, "
        "command:COMMAND runs a command. [default: by itself]",
        show_default=False,
    ),
]
Line: TypeAlias = Annotated[str, typer.Option(metavar="TEXT", help="A line or record of the load; {n} is its number.")]
Prepare: TypeAlias = Annotated[
    Path | None, typer.Option(metavar="FILE", help="SQL to run before the connector starts.", show_default=False)
]
ExpectedOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--expected",
        metavar="FILE|-",
        help="The truth: a file with an identity on each line, or - for the lines that --load command: prints. "
        "[default: the records of --load file: and topic:]",
        show_default=False,
    ),
]
SourceDsn: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="The source's database: postgresql://, mysql:// or mariadb://. [default: that of --postgres]",
        show_default=False,
    ),
]
SourceQuery: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="SQL", help="The truth: a query for the identities; with ORDER BY also their order.", show_default=False
    ),
]
Postgres: TypeAlias = Annotated[bool, typer.Option("--postgres", help="Start a PostgreSQL with logical decoding.")]
SourcePartition: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="PART",
        help="The part of a record that identifies its source partition; partition: the partition of the output "
        "topic. [default: there is one]",
        show_default=False,
    ),
]
OrderBy: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="PART",
        help="A number in each record that never falls within a source partition. [default: the order of the truth]",
        show_default=False,
    ),
]
Topics: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--topic",
        metavar="TOPIC",
        help="Judge this topic only. May be repeated. [default: all that the connector writes]",
        show_default=False,
    ),
]
Rounds: TypeAlias = Annotated[int, typer.Option(metavar="N", min=1, max=1000, help="Rounds with faults.")]
Seed: TypeAlias = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=0, help="Seed of the random faults and their times. [default: random]", show_default=False
    ),
]
Only: TypeAlias = Annotated[
    list[int] | None,
    typer.Option(
        "--round", metavar="N", min=1, help="Run only this round of the schedule. May be repeated.", show_default=False
    ),
]
Faults: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="NAME,…",
        help=f"Only these faults: {', '.join(each.fault for each in FAULTS)}. [default: all but "
        f"{', '.join(each.fault for each in FAULTS if not each.is_default)}, as far as processes allow]",
        show_default=False,
    ),
]
Report: TypeAlias = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the certificate there as an HTML page.", show_default=False)
]
JUnit: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--junit", metavar="FILE", help="Write the rounds there, as test cases in JUnit's XML.", show_default=False
    ),
]
KafkaVersion: TypeAlias = Annotated[str, typer.Option(metavar="VERSION", help="Brokers of this version, and workers.")]
ConnectVersion: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="VERSION", help="Workers of this version. [default: the brokers']", show_default=False),
]
WorkerSettings: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--worker-config", metavar="KEY=VALUE", help="A setting of every worker. May be repeated.", show_default=False
    ),
]
Brokers: TypeAlias = Annotated[int, typer.Option(metavar="N", min=1, max=3, help="Number of brokers.")]
Workers: TypeAlias = Annotated[int, typer.Option(metavar="N", min=1, max=3, help="Number of Connect workers.")]
State: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="A small, separate file system for the connector's state, ${certify:state} in its config; "
        "fill-disk fills it.",
        show_default=False,
    ),
]
ExactlyOnce: TypeAlias = Annotated[
    str, typer.Option(metavar="disabled|preparing|enabled", help="The workers' exactly.once.source.support.")
]
KeepGoing: TypeAlias = Annotated[bool, typer.Option("--keep-going", help="Continue after a failed round.")]
Undeclared: TypeAlias = Annotated[
    bool, typer.Option("--undeclared", help="Also run a connector that does not declare exactly-once support.")
]

app = typer.Typer()


@app.command()
@showing(ROUNDS, CLAIMS, WITNESSES)
@printing
def certify(
    options: GlobalOptions,
    config: Config,
    identity: IdentityOption = "value",
    plugin: Plugins = None,
    load: LoadOption = None,
    line: Line = "{n}",
    prepare: Prepare = None,
    expected: ExpectedOption = None,
    source_dsn: SourceDsn = None,
    source_query: SourceQuery = None,
    postgres: Postgres = False,
    source_partition: SourcePartition = None,
    order_by: OrderBy = None,
    topic: Topics = None,
    rounds: Rounds = 10,
    seed: Seed = None,
    only: Only = None,
    faults: Faults = None,
    kafka_version: KafkaVersion = "4.3.1",
    connect_version: ConnectVersion = None,
    brokers: Brokers = 1,
    workers: Workers = 2,
    exactly_once: ExactlyOnce = "enabled",
    worker_config: WorkerSettings = None,
    state: State = None,
    keep_going: KeepGoing = False,
    undeclared: Undeclared = False,
    report: Report = None,
    junit: JUnit = None,
) -> int:
    """Test a source connector's claim to exactly-once.

    Use it before you release a source connector, or rely on one. It starts brokers and workers on this machine, runs
    the connector on its source, and breaks something in each round: it kills workers just before and just after a
    commit, freezes them until others have their tasks, restarts brokers, cuts connections, changes tasks. After each
    round it compares the records of a read_committed consumer with the source.

    The answer is certified, failed with a witness, or cannot-tell with the reason. The exit code is 0, 1 or 3.

    Examples:
      eosctl certify --config file.properties --load 'file:${certify:directory}/lines.txt'
      eosctl certify --plugin ./my-connector.zip --config my.json --load 'command:./write.sh' --expected -
      eosctl certify --postgres --plugin ./shop --config shop.json --load sql:add.sql --source-query 'SELECT id FROM t'
    """
    chosen = randbelow(MOST_SEEDS) if seed is None else seed
    site = SiteSpec(
        plugins=tuple(plugin or ()), kafka_version=kafka_version, connect_version=connect_version, brokers=brokers,
        workers=workers, exactly_once=exactly_once, postgres=postgres, state=None if state is None else state.resolve(),
        worker_config=settings_of("--worker-config", worker_config),
    )  # fmt: skip
    source = SourceOptions(
        load=load, line=line, prepare=prepare, expected=expected, dsn=source_dsn, query=source_query
    )  # fmt: skip
    request = CertifyRequest(
        site=site, config=config, identity=selector_of("--identity", identity), source=source, rounds=rounds,
        lane=_selector("--source-partition", source_partition), order=_selector("--order-by", order_by), seed=chosen,
        topics=tuple(topic or ()), faults=tuple(filter(None, (faults or "").split(","))), only=tuple(only or ()),
        keep_going=keep_going, undeclared=undeclared, command=_typed(chosen, named=seed is not None),
    )  # fmt: skip
    certificate = run_certification(request, options.console)
    _write(certificate, {report: certificate_page, junit: certificate_junit})
    return answer(options, certificate, view_certificate)


def _write(certificate: Certificate, files: Mapping[Path | None, Callable[[Certificate], str]]) -> None:
    for file, text_of in files.items():
        if file is not None:
            write_atomic_file(file, text_of(certificate))


def _selector(option: str, text: str | None) -> Selector | None:
    return None if text is None else selector_of(option, text)


def _typed(seed: int, *, named: bool) -> tuple[str, ...]:
    """The words of the command line that repeats this one."""
    return ("eosctl", *sys.argv[1:], *(() if named else ("--seed", str(seed))))

"""The options of audit."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer


class Action(StrEnum):
    """What to do: audit now, or look into the ledger of earlier audits."""

    RUN = "run"
    STATUS = "status"
    HISTORY = "history"


class EngineName(StrEnum):
    """What carries the audit."""

    LOCAL = "local"
    SPARK = "spark"


AskedAction: TypeAlias = Annotated[
    Action, typer.Argument(metavar="[run|status|history]", help="Audit, or look into the ledger.")
]
OutputTopics: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(metavar="TOPIC", help="A topic that connectors write to. May be repeated. [default: all known]"),
]
OnlyPlan: TypeAlias = Annotated[bool, typer.Option("--plan", help="Show what would be read, and read nothing.")]
Engine: TypeAlias = Annotated[EngineName, typer.Option(help="On this machine, or on Spark.")]
Processes: TypeAlias = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Processes of the local engine. [default: one a CPU]")
]
SparkMaster: TypeAlias = Annotated[
    str | None, typer.Option(metavar="URL", help="Spark's master. [default: this machine, or spark-submit's]")
]
SparkRemote: TypeAlias = Annotated[
    str | None, typer.Option(metavar="URL", help="A Spark Connect server, such as sc://host.")
]
ExecutorProperties: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Client properties where Spark's executors find them: a file, or env:NAME for a variable's text.",
    ),
]
LogDirectories: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="DIR", help="Read a broker's log directory, or a copy of it, and no cluster. May be repeated."
    ),
]
LedgerStore: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        envvar="EOSCTL_AUDIT_STORE",
        help="Keep a ledger, and read only what is new: sqlite:///FILE or postgresql://HOST/DATABASE.",
    ),
]
JobName: TypeAlias = Annotated[str, typer.Option(metavar="NAME", help="The name of this audit in the ledger.")]
ReportFile: TypeAlias = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write a page for a browser: one file, nothing else needed.")
]
ExportDirectory: TypeAlias = Annotated[
    Path | None, typer.Option(metavar="DIRECTORY", help="Write findings, ranges and statistics as Parquet files.")
]

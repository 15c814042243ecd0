"""Options of audits, of connectors and of mirrors: what runs them, and the ledger."""

from enum import StrEnum
from typing import Annotated, TypeAlias

import typer


class EngineName(StrEnum):
    """What runs the audit."""

    LOCAL = "local"
    SPARK = "spark"


Engine: TypeAlias = Annotated[
    EngineName, typer.Option(metavar="|".join(EngineName), help="On this machine, or on Spark.")
]
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
STORE_VARIABLE = "EOSCTL_AUDIT_STORE"
LedgerStore: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        envvar=STORE_VARIABLE,
        help="Keep a ledger, and read only what is new: sqlite:///FILE or postgresql://HOST/DATABASE.",
    ),
]
KeptLedger: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="URL", envvar=STORE_VARIABLE, help="The ledger: sqlite:///FILE or postgresql://HOST/DATABASE."
    ),
]
JobName: TypeAlias = Annotated[str, typer.Option(metavar="NAME", help="The name of this audit in the ledger.")]

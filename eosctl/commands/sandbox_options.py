"""The options of the commands that start, end and show a sandbox."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

Directory: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--directory",
        metavar="DIR",
        help="Where it lives; one sandbox per directory. Kept, and resumed by the next up. "
        "[default: one in the user's cache, removed by down]",
        show_default=False,
    ),
]
KafkaVersion: TypeAlias = Annotated[
    str, typer.Option(metavar="VERSION", help="Kafka and Connect of this version, 3.3.0 or newer.")
]
Brokers: TypeAlias = Annotated[int, typer.Option(metavar="N", min=1, max=3, help="Brokers, 1 to 3.")]
Workers: TypeAlias = Annotated[int, typer.Option(metavar="N", min=0, max=3, help="Connect workers, 0 to 3.")]
ExactlyOnce: TypeAlias = Annotated[
    str, typer.Option(metavar="disabled|preparing|enabled", help="The workers' exactly.once.source.support.")
]
BrokerSettings: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(metavar="KEY=VALUE", help="A setting of every broker. May be repeated.", show_default=False),
]
WorkerSettings: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(metavar="KEY=VALUE", help="A setting of every worker. May be repeated.", show_default=False),
]
FeatureLevels: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=LEVEL",
        help="A feature level to format new storage with, as transaction.version=0. May be repeated.",
        show_default=False,
    ),
]
SaslUsers: TypeAlias = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="One more SASL user. May be repeated.", show_default=False)
]
PlaintextPort: TypeAlias = Annotated[
    int | None, typer.Option(metavar="PORT", min=1, max=65535, help="Plaintext port of broker 1. [default: a free one]")
]
Foreground: TypeAlias = Annotated[bool, typer.Option("--foreground", help="Stay, and end the sandbox with Ctrl-C.")]

"""The options of fence."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

FencedConnectors: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="The producers of this connector's tasks. May be repeated.", show_default=False),
]
AllConnectors: TypeAlias = Annotated[
    bool, typer.Option("--all-connectors", help="The producers of every source connector in the config topic.")
]
TransactionalIds: TypeAlias = Annotated[
    list[str] | None, typer.Option(metavar="ID", help="This one. May be repeated.", show_default=False)
]
IdsFile: TypeAlias = Annotated[
    Path | None, typer.Option(metavar="FILE", help="The IDs in this file, one a line; - is standard input.")
]
Prefixes: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(metavar="TEXT", help="Every ID that begins so and exists. May be repeated.", show_default=False),
]
CreateMissing: TypeAlias = Annotated[
    bool, typer.Option("--create-missing", help="Fence IDs that do not exist, too; that creates them for 7 days.")
]
Force: TypeAlias = Annotated[
    bool, typer.Option("--force", help="Fence although tasks run (they turn FAILED) or a partition has no leader.")
]
TransactionTimeout: TypeAlias = Annotated[
    int | None,
    typer.Option(
        metavar="MS",
        min=1,
        help="Transaction timeout to leave behind with each ID; at most the broker's transaction.max.timeout.ms. "
        "[default: 60000]",
        show_default=False,
    ),
]

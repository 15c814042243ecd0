"""Options that several commands under `eosctl transactions` take."""

from typing import Annotated, TypeAlias

import typer

Partitions: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--topic", metavar="TOPIC[:PARTITION,…]", help="Only these partitions. May be repeated.", show_default=False
    ),
]
NamedPartitions: TypeAlias = Annotated[list[str] | None, typer.Argument(metavar="TOPIC[:PARTITION,…]", hidden=True)]
"""The same as positional arguments, as they were written before --topic."""

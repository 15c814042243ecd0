"""`eosctl offsets diff`: two sets of offsets compared."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from eosctl.commands.offsets.options import SourceDsn, StoreName, about_offsets
from eosctl.model.offsets import Store
from eosctl.operations.session import Session
from eosctl.render.answers.offsets import CHANGES, view_difference
from eosctl.shell.options import GlobalOptions, answer, reading, showing

if TYPE_CHECKING:
    from eosctl.operations.offset_stores import OffsetsRequest


app = typer.Typer()

FirstOffsets: TypeAlias = Annotated[
    str, typer.Argument(metavar="A", help="live, a snapshot, an export file or a directory of export files.")
]
SecondOffsets: TypeAlias = Annotated[
    str, typer.Argument(metavar="B", help="The other side: live, a snapshot, or files as for A.")
]
NameInB: TypeAlias = Annotated[
    str | None, typer.Option("--rename-to", metavar="NAME", help="The name in B of the connector of --connector.")
]
NamesInB: TypeAlias = Annotated[
    Path | None,
    typer.Option("--rename-map", metavar="FILE", help='Names in A to names in B, as JSON: {"old": "new"}.'),
]


@app.command()
@showing(CHANGES)
@reading
@about_offsets
def diff(
    options: GlobalOptions,
    request: "OffsetsRequest",
    a: FirstOffsets,
    b: SecondOffsets,
    store: StoreName = Store.KAFKA_EFFECTIVE,
    rename_to: NameInB = None,
    rename_map: NamesInB = None,
    source_dsn: SourceDsn = None,
) -> int:
    """Compare offsets of a cluster, a snapshot or exported files.

    Use it to see the effect of a change, or whether two clusters have the same offsets. The exit code is 1 if anything
    differs. An export file belongs to the connector in its file name, or to the only --connector. A connector that was
    renamed is compared under both its names with --rename-to or --rename-map. With --source-dsn eosctl asks the
    PostgreSQL that Debezium reads whether it still has the log of both positions; slot.name comes from the connector's
    config.

    Examples:
      eosctl offsets diff before/ live -b broker:9092
      eosctl offsets diff monday.snapshot tuesday.snapshot
      eosctl offsets diff orders.json live -b broker:9092 --connector orders
      eosctl offsets diff monday.snapshot tuesday.snapshot --connector orders --rename-to orders-renamed
    """
    from eosctl.operations import migration_request, offsets

    renamed = rename_to is not None or rename_map is not None
    names = migration_request.new_names(request.connectors, rename_to, rename_map) if renamed else {}
    with Session(options) as session:
        difference = offsets.diff_offsets(session, request, a, b, store, names, source_dsn)
        return answer(options, difference, view_difference)

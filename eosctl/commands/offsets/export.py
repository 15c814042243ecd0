"""`eosctl offsets export`: offsets as files that Connect's REST interface takes."""

from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from eosctl.commands.offsets.options import StoreName, about_offsets
from eosctl.commands.options import Overwrite
from eosctl.model.offsets import Store
from eosctl.operations.session import Session
from eosctl.render.answers.offsets import FILES, LEFT_OUT, view_export
from eosctl.shell.options import GlobalOptions, answer, reading, showing

if TYPE_CHECKING:
    from eosctl.operations.offset_stores import OffsetsRequest


app = typer.Typer()

ExportTarget: TypeAlias = Annotated[
    str, typer.Argument(metavar="FILE|DIRECTORY", help="Where to write; DIRECTORY/ is always a directory.")
]


@app.command()
@showing(FILES, LEFT_OUT)
@reading
@about_offsets
def export(
    options: GlobalOptions,
    request: "OffsetsRequest",
    target: ExportTarget,
    store: StoreName = Store.KAFKA_EFFECTIVE,
    overwrite: Overwrite = False,
) -> int:
    """Write offsets to files that Connect's REST API accepts.

    Use it to keep offsets before a change, or to carry them elsewhere. Each file is the body of KIP-875, as GET
    /connectors/NAME/offsets answers and PATCH takes it. With one --connector the target is a file. Without it, or with
    a slash at the end, it is a directory with a file for each connector. Offsets that this format cannot express are
    listed, and the exit code is 1. Files of earlier exports are not overwritten without --overwrite.

    Examples:
      eosctl offsets export orders.json -b broker:9092 --connector orders
      eosctl offsets export before/ -b broker:9092 --connect-url http://worker:8083
      eosctl offsets export own.json -b broker:9092 --connector orders --store connector-specific
    """
    from eosctl.operations.offsets import export_offsets

    with Session(options) as session:
        return answer(options, export_offsets(session, request, target, store, overwrite=overwrite), view_export)

"""`eosctl offsets show`: every source offset, in each store."""

from functools import partial
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from eosctl.commands.offsets.options import about_offsets
from eosctl.operations.session import Session, gc_paused
from eosctl.render.answers.offsets import CONNECTORS, OFFSETS, view_offsets
from eosctl.shell.options import GlobalOptions, answer, judging, showing

if TYPE_CHECKING:
    from eosctl.operations.offset_stores import OffsetsRequest


app = typer.Typer()

Tombstones: TypeAlias = Annotated[
    bool, typer.Option("--tombstones", help="Also show keys whose last value is a tombstone.")
]


@app.command()
@showing(OFFSETS, CONNECTORS)
@judging
@about_offsets
def show(
    options: GlobalOptions,
    request: "OffsetsRequest",
    tombstones: Tombstones = False,
) -> int:
    """Show source offsets by store, and which one Kafka will use.

    Use it before a connector starts again, and above all after giving it an offsets topic of its own: Kafka then does
    not read the worker-global offsets topic, although KIP-618 says so. Connectors that no longer exist are shown too.
    Connectors and their configs come from --connect-url, otherwise from the config topic; no worker has to run.

    Examples:
      eosctl offsets show -b broker:9092 --connect-url http://worker:8083
      eosctl offsets show -b broker:9092 --connector orders --exactly-once enabled
      eosctl offsets show -b broker:9092 --connector orders --offsets-topic orders-offsets
    """
    from eosctl.operations.offsets import show_offsets

    with Session(options) as session, gc_paused():
        return answer(options, show_offsets(session, request), partial(view_offsets, tombstones=tombstones))

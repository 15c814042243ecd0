"""`eosctl offsets`: where source connectors are, and where they will begin."""

import typer

from eosctl.commands.offsets.create_connector import create_connector
from eosctl.commands.offsets.diff import diff
from eosctl.commands.offsets.export import export
from eosctl.commands.offsets.restore import restore
from eosctl.commands.offsets.show import show

app = typer.Typer()
for command in (show, export, diff, restore, create_connector):
    app.command()(command)


@app.callback()
def offsets() -> None:
    """Show, export, compare and restore source offsets.

    Use it before and after anything that touches offsets: an offsets topic of a connector's own, a rename, a move to
    another group or cluster, a change of exactly.once.source.support. Only restore and create-connector write to Kafka.
    """

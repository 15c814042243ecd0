"""`eosctl mirror`: what a target cluster holds of a source cluster."""

import typer

from eosctl.commands.mirror.audit import audit

app = typer.Typer()


@app.callback()
def mirror() -> None:
    """Prove that a target cluster holds what its source committed.

    Source and target are Kafka clusters, and both are read: no record is taken on trust.
    """


app.command("audit")(audit)

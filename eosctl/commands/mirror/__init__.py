"""`eosctl mirror`: what a target cluster holds of a source cluster."""

import typer

app = typer.Typer()
VERBS = {"audit": "audit"}


@app.callback()
def mirror() -> None:
    """Prove that a target cluster holds what its source committed.

    Source and target are Kafka clusters; the records of both are read and compared.
    """

"""`eosctl offsets`: where source connectors are, and where they will begin."""

import typer

app = typer.Typer()
VERBS = {"show": "show", "export": "export", "diff": "diff", "restore": "restore", "create-connector": "restore"}


@app.callback()
def offsets() -> None:
    """Show, export, compare and restore source offsets.

    Use it before and after anything that touches offsets: an offsets topic of a connector's own, a rename, a move to
    another group or cluster, a change of exactly.once.source.support. Only restore and create-connector write to Kafka.
    """

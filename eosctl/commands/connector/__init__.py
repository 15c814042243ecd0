"""`eosctl connector`: connectors, each with all that is known of it."""

import typer

app = typer.Typer()
VERBS = ("show", "list")


@app.callback()
def connector() -> None:
    """Show connectors, with what to do next.

    Use it first when a connector is in trouble: one screen has what the other commands know of it. Nothing is written.
    """

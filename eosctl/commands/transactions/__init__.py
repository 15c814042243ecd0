"""`eosctl transactions`: the whole cluster's transactions, with Connect's owners."""

import typer

app = typer.Typer()
VERBS = {
    "list": "list",
    "describe": "describe",
    "producers": "producers",
    "hanging": "hanging",
    "lso": "lso",
    "trace": "trace",
    "abort": "ends",
    "commit": "ends",
    "leftovers": "ends",
    "log": "log",
    "history": "log",
    "churn": "log",
}


@app.callback()
def transactions() -> None:
    """List, trace, abort and commit transactions, with owners.

    Kafka's own tool looks at one broker or one topic at a time and knows no owners (KIP-664).
    """

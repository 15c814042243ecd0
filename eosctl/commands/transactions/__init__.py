"""`eosctl transactions`: the whole cluster's transactions, with Connect's owners."""

import typer

from eosctl.commands.transactions.abort import abort
from eosctl.commands.transactions.commit import commit
from eosctl.commands.transactions.describe import describe
from eosctl.commands.transactions.hanging import hanging
from eosctl.commands.transactions.list import list_
from eosctl.commands.transactions.log import log
from eosctl.commands.transactions.lso import lso
from eosctl.commands.transactions.producers import producers
from eosctl.commands.transactions.trace import trace

app = typer.Typer()


@app.callback()
def transactions() -> None:
    """List, trace, abort and commit transactions, with owners.

    Kafka's own tool looks at one broker or one topic at a time and knows no owners (KIP-664).
    """


app.command("list")(list_)
for verb in (describe, producers, hanging, lso, trace, abort, commit, log):
    app.command()(verb)

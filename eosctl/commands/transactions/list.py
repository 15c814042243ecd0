"""`eosctl transactions list`: every transactional ID."""

import re
from typing import Annotated, TypeAlias

import typer

from eosctl.commands.options import ConfigTopic
from eosctl.errors import UsageError
from eosctl.model.transactions import Selection, TransactionState
from eosctl.operations.session import Session
from eosctl.render.answers.transactions import LISTED, view_transactions
from eosctl.shell.options import GlobalOptions, answer, reading, showing

app = typer.Typer()

States: TypeAlias = Annotated[
    list[TransactionState] | None,
    typer.Option(
        metavar="STATE",
        help="Only transactional IDs in this state, such as Ongoing. May be repeated.",
        show_default=False,
    ),
]
ProducerIds: TypeAlias = Annotated[
    list[int] | None,
    typer.Option(
        metavar="ID", help="Only transactional IDs that this producer ID holds. May be repeated.", show_default=False
    ),
]
IdExpression: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="REGEX", help="Only transactional IDs that this regular expression matches as a whole."),
]
LongerThan: TypeAlias = Annotated[
    float | None, typer.Option(metavar="SECONDS", min=0, help="Only transactions that are open for longer than this.")
]
OwnerName: TypeAlias = Annotated[
    str | None, typer.Option(metavar="NAME", help="Only IDs of this connector, group ID, task (orders-0) or shape.")
]


@app.command("list")
@showing(LISTED)
@reading
def list_(
    options: GlobalOptions,
    state: States = None,
    producer_id: ProducerIds = None,
    pattern: IdExpression = None,
    longer_than: LongerThan = None,
    owner: OwnerName = None,
    config_topic: ConfigTopic = "connect-configs",
) -> int:
    """List transactional IDs with their transactions and owners.

    Use it to see which producers write in transactions, how long each transaction has been open, and its owner.
    Owners are known by --group-id and the connectors in its config topic and at --connect-url; if an ID can be read in
    several ways, all are shown. For other IDs their shape is shown, which proves nothing.

    Examples:
      eosctl transactions list -b broker:9092 --group-id connect-cluster
      eosctl transactions list -b broker:9092 --state Ongoing --longer-than 60
      eosctl transactions list -b broker:9092 --group-id connect-cluster --owner orders -o json
      eosctl transactions list --snapshot monday.snapshot
    """
    from eosctl.operations.transactions import list_transactions

    selection = Selection(
        states=tuple(state or ()),
        producer_ids=tuple(producer_id or ()),
        pattern=None if pattern is None else _compiled(pattern),
        longer_than_ms=None if longer_than is None else int(1000 * longer_than),
        owner=owner,
    )
    with Session(options) as session:
        return answer(options, list_transactions(session.reader, selection, config_topic), view_transactions)


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise UsageError(f"--pattern {pattern!r} is no regular expression: {error}") from error

"""`eosctl transactions describe`: single transactional IDs."""

from typing import Annotated, TypeAlias

import typer

from eosctl.commands.options import ConfigTopic
from eosctl.operations.session import Session
from eosctl.render.answers.transactions import DESCRIBED, view_descriptions
from eosctl.shell.options import GlobalOptions, answer, reading, showing

app = typer.Typer()

DescribedIds: TypeAlias = Annotated[list[str], typer.Argument(metavar="ID", help="The transactional IDs.")]


@app.command()
@showing(DESCRIBED)
@reading
def describe(
    options: GlobalOptions,
    transactional_ids: DescribedIds,
    config_topic: ConfigTopic = "connect-configs",
) -> int:
    """Describe transactional IDs and their open transactions.

    Use it when you know the ID, from an error or a listing. An ID that no coordinator knows was never used, or has
    expired after it was idle for transactional.id.expiration.ms; the exit code is then 1.

    Examples:
      eosctl transactions describe -b broker:9092 connect-cluster-orders-0
      eosctl transactions describe -b broker:9092 --group-id connect-cluster connect-cluster-orders-0 -o json
    """
    from eosctl.operations.transactions import DescribeRequest, describe_transactions

    request = DescribeRequest(tuple(transactional_ids), config_topic)
    with Session(options) as session:
        return answer(options, describe_transactions(session.reader, request), view_descriptions)

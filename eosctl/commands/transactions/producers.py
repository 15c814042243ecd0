"""`eosctl transactions producers`: the producers of partitions."""

import typer

from eosctl.commands.options import ConfigTopic, NamedPartitions, Partitions
from eosctl.operations.session import Session
from eosctl.render.answers.transactions import PRODUCERS, view_producers
from eosctl.shell.options import GlobalOptions, answer, reading, showing

app = typer.Typer()


@app.command()
@showing(PRODUCERS)
@reading
def producers(
    options: GlobalOptions,
    topics: NamedPartitions = None,
    topic: Partitions = None,
    config_topic: ConfigTopic = "connect-configs",
) -> int:
    """List the producers of partitions, and their open transactions.

    Use it to see who wrote to a partition recently, under which producer ID and epoch, and which transactions are open.
    A leader forgets an idle producer after producer.id.expiration.ms (1 day). Needs Read on the topics.

    Examples:
      eosctl transactions producers -b broker:9092 --topic orders
      eosctl transactions producers -b broker:9092 --topic orders:0,3 --topic connect-offsets
    """
    from eosctl.operations.transactions import ProducersRequest, list_producers

    request = ProducersRequest((*(topic or ()), *(topics or ())), config_topic)
    with Session(options) as session:
        return answer(options, list_producers(session.reader, request), view_producers)

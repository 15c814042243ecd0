"""`eosctl transactions producers`: the producers of partitions."""

import typer

from eosctl.commands.options import ConfigTopic, NamedPartitions, Partitions
from eosctl.operations.session import Session
from eosctl.render.answers.transactions import view_producers
from eosctl.shell.options import GlobalOptions, answer, reading

app = typer.Typer()


@app.command()
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

    Columns:
      TOPIC             the topic
      PARTITION         the partition
      PRODUCER-ID       a producer that the leader remembers
      EPOCH             its epoch
      SEQUENCE          the sequence number of its last record
      LAST-TIME         the timestamp of its last batch, UTC
      MARKER-EPOCH      the coordinator epoch of its last marker; - where there was none
      OPEN-FROM         where its open transaction begins; - where none is open
      TRANSACTIONAL-ID  the ID that holds the producer ID now; - where none does
      OWNER             who uses it, or the shape of its name
    """
    from eosctl.operations.transactions import ProducersRequest, list_producers

    request = ProducersRequest((*(topic or ()), *(topics or ())), config_topic)
    with Session(options) as session:
        return answer(options, list_producers(session.reader, request), view_producers)

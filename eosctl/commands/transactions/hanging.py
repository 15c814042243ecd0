"""`eosctl transactions hanging`: open transactions that no coordinator will end."""

from typing import Annotated, TypeAlias

import typer

from eosctl.commands.options import ConfigTopic, Partitions, WorkerOffsetsTopic
from eosctl.operations.session import Session
from eosctl.render.answers.hanging import HANGING, view_hanging
from eosctl.shell.options import GlobalOptions, answer, reading, showing

app = typer.Typer()

SearchedBroker: TypeAlias = Annotated[
    int | None, typer.Option(metavar="ID", help="Only partitions with a replica on this broker.")
]
LeaveYounger: TypeAlias = Annotated[
    float, typer.Option(metavar="MINUTES", min=0, help="Ignore transactions that are open for a shorter time.")
]


@app.command()
@showing(HANGING)
@reading
def hanging(
    options: GlobalOptions,
    topic: Partitions = None,
    broker: SearchedBroker = None,
    max_transaction_timeout: LeaveYounger = 15.0,
    config_topic: ConfigTopic = "connect-configs",
    worker_offsets_topic: WorkerOffsetsTopic = None,
) -> int:
    """Find hanging transactions, which no coordinator will end.

    Use it when read_committed consumers do not advance, when connectors do not start although their workers run, or
    from cron: the exit code is 1 if a transaction hangs. All topics of the cluster are searched, internal ones too, by
    the rule of KIP-664: a transaction hangs if it is older than the longest allowed timeout, and its coordinator does
    not know the producer or has no such partition in its transaction. Each is shown with the partition that it blocks,
    the consumers that may wait, and whether to abort it, fence its producer, or wait.

    It needs Read and Describe on topics and Describe on every TransactionalId, and checks the latter: brokers omit IDs
    that the principal may not describe, and every transaction would then appear to hang.

    Examples:
      eosctl transactions hanging -b broker:9092 --group-id connect-cluster
      eosctl transactions hanging -b broker:9092 --topic connect-offsets --max-transaction-timeout 5 -o json
      eosctl transactions hanging --snapshot monday.snapshot
    """
    from eosctl.operations.hanging import HangingRequest, find_hanging

    max_timeout_ms = int(60_000 * max_transaction_timeout)
    request = HangingRequest(tuple(topic or ()), broker, max_timeout_ms, config_topic, worker_offsets_topic)
    with Session(options) as session:
        return answer(options, find_hanging(session.reader, request), view_hanging)

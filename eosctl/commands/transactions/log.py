"""`eosctl transactions log`, `history` and `churn`: what coordinators wrote, who had an ID, and how IDs come and go."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from eosctl.commands.options import ConfigTopic
from eosctl.errors import UsageError
from eosctl.operations.session import Session
from eosctl.render.answers.producer_epochs import CHURN, EPOCHS, STATES, view_churn, view_epoch_history
from eosctl.render.answers.transaction_log import HISTORY, IDS, view_transaction_history, view_transaction_log
from eosctl.shell.options import GlobalOptions, answer, judging, showing

app = typer.Typer()

LoggedIds: TypeAlias = Annotated[list[str] | None, typer.Argument(metavar="ID", help="Only these IDs. [default: all]")]
LogHistory: TypeAlias = Annotated[bool, typer.Option("--history", help="Show every record and its effect.")]
SegmentFiles: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE", help="Read this segment file instead of a broker. May be repeated.", show_default=False
    ),
]
LogPartitions: TypeAlias = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=1, help="The number of partitions of __transaction_state. [default: from the cluster]"
    ),
]
ExpirationMs: TypeAlias = Annotated[
    int | None,
    typer.Option(metavar="MS", min=1, help="The brokers' transactional.id.expiration.ms. [default: from the cluster]"),
]
HistoryIds: TypeAlias = Annotated[list[str] | None, typer.Argument(metavar="ID", help="These transactional IDs.")]
Prefix: TypeAlias = Annotated[
    str | None, typer.Option(metavar="TEXT", help="All transactional IDs with this prefix.", show_default=False)
]

WithProducers: TypeAlias = Annotated[
    bool,
    typer.Option("--producers", help="Count the producers in the brokers' memory, too: needs Read on topics."),
]


@app.command()
@showing(IDS, history=(HISTORY,))
@judging
def log(
    options: GlobalOptions,
    transactional_ids: LoggedIds = None,
    history: LogHistory = False,
    segment: SegmentFiles = None,
    partitions: LogPartitions = None,
    expiration_ms: ExpirationMs = None,
    config_topic: ConfigTopic = "connect-configs",
) -> int:
    """Read the transaction log, __transaction_state.

    Use it to see the history of a transactional ID: who initialized it and when, its transactions, and who aborted
    them; which partition and broker coordinate it; and which IDs are about to be forgotten because their producers are
    idle, so that the next transaction fails. Live it needs Read on the topic. With --segment it reads files from a
    broker's disk, such as __transaction_state-9/00000000000000000000.log, and needs no broker at all. A snapshot has
    the last ten records of each ID.

    Examples:
      eosctl transactions log -b broker:9092 --group-id connect-cluster
      eosctl transactions log connect-cluster-orders-0 --history -b broker:9092
      eosctl transactions log --segment __transaction_state-9/00000000000000000000.log --partitions 50
    """
    from eosctl.operations.transaction_log import LogRequest, fold_log, log_history

    names = frozenset(transactional_ids or ())
    request = LogRequest(names, tuple(segment or ()), partitions, expiration_ms, config_topic)
    with Session(options) as session:
        if history:
            return answer(options, log_history(session, request), view_transaction_history)
        return answer(options, fold_log(session, request), view_transaction_log)


@app.command()
@showing(EPOCHS)
@judging
def history(
    options: GlobalOptions,
    transactional_ids: HistoryIds = None,
    prefix: Prefix = None,
    segment: SegmentFiles = None,
    partitions: LogPartitions = None,
    expiration_ms: ExpirationMs = None,
    config_topic: ConfigTopic = "connect-configs",
) -> int:
    """Show who had a transactional ID, and who fenced them.

    Use it when a producer was fenced and you do not know by which client. Of each ID it shows every producer that the
    transaction log still has: its epochs, from when to when, its transactions, and what ended it. That is a later
    producer (fenced), its coordinator (timed-out, expired), or its own last epoch (closed). An ID whose producers take
    it from each other is a finding. Live it needs Read on __transaction_state.

    Examples:
      eosctl transactions history billing-0 -b broker:9092
      eosctl transactions history --prefix billing- -b broker:9092 --group-id connect-cluster
      eosctl transactions history billing-0 --segment __transaction_state-9/00000000000000000000.log
    """
    from eosctl.operations.transaction_log import LogRequest, read_epoch_history

    names = frozenset(transactional_ids or ())
    if not names and prefix is None:
        raise UsageError("no transactional ID is named", hint="name IDs, or give --prefix (an empty one for all IDs)")
    request = LogRequest(names, tuple(segment or ()), partitions, expiration_ms, config_topic, prefix)
    with Session(options) as session:
        return answer(options, read_epoch_history(session, request), view_epoch_history)


@app.command()
@showing(CHURN, producers=STATES)
@judging
def churn(
    options: GlobalOptions,
    prefix: Prefix = None,
    producers: WithProducers = False,
    segment: SegmentFiles = None,
    partitions: LogPartitions = None,
    expiration_ms: ExpirationMs = None,
    config_topic: ConfigTopic = "connect-configs",
) -> int:
    """Show how transactional IDs come and go, by prefix.

    Use it when the number of transactional IDs or the memory of the coordinators grows, or when idle applications fail
    at their next transaction. It counts the IDs of each prefix: new ones, idle ones, those that were used only once,
    and those that the coordinators will forget although they were used again and again. Many idle IDs that were used
    once are a finding. Live it needs Read on __transaction_state.

    --producers counts what brokers keep of each producer for producer.id.expiration.ms, by broker and partition, with
    idempotent producers, which have no transactional ID. Very many of them are a finding.

    Examples:
      eosctl transactions churn -b broker:9092
      eosctl transactions churn --producers -b broker:9092
      eosctl transactions churn --prefix billing- -b broker:9092
      eosctl transactions churn --segment __transaction_state-9/00000000000000000000.log --expiration-ms 604800000
    """
    from eosctl.operations.transaction_log import LogRequest, read_churn

    request = LogRequest(frozenset(), tuple(segment or ()), partitions, expiration_ms, config_topic, prefix or "")
    with Session(options) as session:
        return answer(options, read_churn(session, request, with_states=producers), view_churn)

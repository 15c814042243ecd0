"""`eosctl transactions log`: what coordinators wrote."""

from pathlib import Path
from typing import Annotated

import typer

from eosctl.commands.options import GlobalOptions, reading
from eosctl.commands.topics import ConfigTopic


@reading
def log(
    options: GlobalOptions,
    transactional_ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="Only these; all if none is named.")
    ] = None,
    history: Annotated[bool, typer.Option("--history", help="Show every record and what happened by it.")] = False,
    segment: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Read this segment file, no broker. May be repeated.", show_default=False),
    ] = None,
    partitions: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="How many partitions __transaction_state has.")
    ] = None,
    expiration_ms: Annotated[
        int | None, typer.Option(metavar="MS", min=1, help="The brokers' transactional.id.expiration.ms.")
    ] = None,
    config_topic: ConfigTopic = "connect-configs",
) -> int:
    """Read the transaction log, __transaction_state, as its bytes lie there.

    Use it to see what became of a transactional ID: who initialised it when, which transactions it made, who aborted
    them; which partition and broker coordinate it; and which IDs are about to be forgotten because their producers are
    idle, so that the next transaction fails. Live it needs Read on the topic. With --segment it reads files from a
    broker's disk, such as __transaction_state-9/00000000000000000000.log, and needs no broker at all. A snapshot
    has the last ten records of each ID.

    Examples:
      eosctl transactions log -b broker:9092 --group-id connect-cluster
      eosctl transactions log connect-cluster-orders-0 --history -b broker:9092
      eosctl transactions log --segment __transaction_state-9/00000000000000000000.log --partitions 50

    Columns:
      TRANSACTIONAL-ID  the ID
      STATE             the last state logged; - where the coordinator forgot the ID
      PRODUCER-ID       the producer that holds it
      EPOCH             its epoch
      UPDATED           when the coordinator wrote it, UTC
      PARTITIONS        partitions in its open transaction
      LOG-PARTITION     the partition of __transaction_state that it lies in
      COORDINATOR       that partition's leader, which coordinates the ID
      RECORDS           records of it that the log still holds
      OWNER             who uses it, or the shape of its name
      OFFSET            (--history) the record's offset
      TIME              (--history) its timestamp, UTC
      WHAT              (--history) what happened
    """
    from eosctl.commands.context import Context
    from eosctl.commands.transaction_log import LogQuestion, log_history, log_now

    names = frozenset(transactional_ids or ())
    question = LogQuestion(names, tuple(segment or ()), partitions, expiration_ms, config_topic)
    with Context(options) as context:
        return log_history(context, question) if history else log_now(context, question)

"""`eosctl transactions abort`: end what hangs."""

from pathlib import Path
from typing import Annotated

import typer

from eosctl.commands.options import GlobalOptions, writing


@writing
def abort(
    options: GlobalOptions,
    topic: Annotated[str, typer.Option(metavar="TOPIC", help="The topic.")],
    partition: Annotated[int, typer.Option(metavar="N", min=0, help="The partition.")],
    start_offset: Annotated[
        int | None, typer.Option(metavar="OFFSET", min=0, help="Only the one that begins there.")
    ] = None,
    producer_id: Annotated[int | None, typer.Option(metavar="ID", min=0, help="Only that of this producer.")] = None,
    max_transaction_timeout: Annotated[
        float, typer.Option(metavar="MINUTES", min=0, help="Refuse younger ones.")
    ] = 15.0,
    force: Annotated[
        bool, typer.Option("--force", help="Abort although it does not hang; its transaction may break in two.")
    ] = False,
    plan_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the plan there for `eosctl apply`, and do nothing.")
    ] = None,
) -> int:
    """Abort hanging transactions of a partition.

    Use it after `eosctl transactions hanging` advised it. Producer ID, epoch and coordinator epoch are looked up. The
    abort marker is written past the coordinator, so only what hangs is aborted, looked at again at the moment of
    writing; a transaction that its coordinator knows is refused, because its client could still commit. Afterwards the
    last stable offset must have moved. Needs Alter on the cluster (brokers before 3.8: ClusterAction), and what
    `hanging` needs.

    Examples:
      eosctl transactions abort -b broker:9092 --topic orders --partition 0 --dry-run
      eosctl transactions abort -b broker:9092 --topic orders --partition 0 --start-offset 1042 --yes

    Columns:
      STEP     the step's number
      KIND     abort-transaction
      WHAT     what it does
      OUTCOME  done, failed or not-begun
      DETAIL   how the last stable offset moved, or why it failed
    """
    from eosctl.commands import aborting
    from eosctl.commands.context import Context
    from eosctl.commands.sides import Sides, TargetOptions
    from eosctl.model.names import TopicPartition
    from eosctl.planning.aborting import AbortWish

    place = TopicPartition(topic, partition)
    wish = AbortWish(place, start_offset, producer_id, int(60_000 * max_transaction_timeout), force)
    with Context(options) as context, Sides(context, "", TargetOptions()) as sides:
        return aborting.abort(context, sides, wish, plan_file)

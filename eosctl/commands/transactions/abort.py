"""`eosctl transactions abort`: end what hangs."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from eosctl.model.names import TopicPartition
from eosctl.model.transaction_ends import AbortRequest
from eosctl.operations.session import Session
from eosctl.operations.two_clusters import SourceAndTarget, TargetOptions
from eosctl.render.answers.plan import CHECKS, RESULTS, STEPS, view_plan, view_plan_answer
from eosctl.shell.options import GlobalOptions, answer, previewing, showing, writing

app = typer.Typer()

AbortTopic: TypeAlias = Annotated[str, typer.Option(metavar="TOPIC", help="The topic.")]
AbortPartition: TypeAlias = Annotated[int, typer.Option(metavar="N", min=0, help="The partition.")]
StartOffset: TypeAlias = Annotated[
    int | None, typer.Option(metavar="OFFSET", min=0, help="Only the one that begins there.")
]
OfProducer: TypeAlias = Annotated[int | None, typer.Option(metavar="ID", min=0, help="Only this producer ID.")]
RefuseYounger: TypeAlias = Annotated[float, typer.Option(metavar="MINUTES", min=0, help="Refuse younger ones.")]
ForceAbort: TypeAlias = Annotated[
    bool, typer.Option("--force", help="Abort even if it does not hang; this may split the transaction.")
]
AbortPlanFile: TypeAlias = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the plan there for `eosctl apply`, and do nothing.")
]


@app.command()
@showing(STEPS, CHECKS, RESULTS)
@writing
def abort(
    options: GlobalOptions,
    topic: AbortTopic,
    partition: AbortPartition,
    start_offset: StartOffset = None,
    producer_id: OfProducer = None,
    max_transaction_timeout: RefuseYounger = 15.0,
    force: ForceAbort = False,
    plan_file: AbortPlanFile = None,
) -> int:
    """Abort hanging transactions of a partition.

    Use it after `eosctl transactions hanging` advised it. Producer ID, epoch and coordinator epoch are looked up. The
    abort marker bypasses the coordinator, so only hanging transactions are aborted, checked again immediately before
    the write. A transaction that its coordinator knows is refused, because its client could still commit. Afterwards
    the last stable offset must have moved. Needs Alter on the cluster (brokers before 3.8: ClusterAction), and what
    `hanging` needs.

    Examples:
      eosctl transactions abort -b broker:9092 --topic orders --partition 0 --dry-run
      eosctl transactions abort -b broker:9092 --topic orders --partition 0 --start-offset 1042 --yes
    """
    from eosctl.operations.transaction_ends import abort as operation

    place = TopicPartition(topic, partition)
    request = AbortRequest(place, start_offset, producer_id, int(60_000 * max_transaction_timeout), force)
    with Session(options) as session, SourceAndTarget(session, "", TargetOptions()) as clusters:
        aborted = operation(session, clusters, request, plan_file, previewing(options, view_plan))
        return answer(options, aborted, view_plan_answer)

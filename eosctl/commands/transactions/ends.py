"""`eosctl transactions abort`, `commit` and `leftovers`: end what hangs, or as its owner decided."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer
from msgspec.structs import replace

from eosctl.commands.options import ConfigTopic
from eosctl.files import read_ids
from eosctl.model.leftovers import LeftoversRequest, decided_transactions
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.transaction_ends import AbortRequest, CommitRequest, MissingMarkerRequest
from eosctl.operations.session import Session
from eosctl.operations.two_clusters import SourceAndTarget, TargetOptions
from eosctl.render.answers.leftovers import LEFTOVERS, view_leftovers
from eosctl.render.answers.plan import CHECKS, RESULTS, STEPS, view_plan, view_plan_answer
from eosctl.shell.options import GlobalOptions, answer, previewing, showing, writing

app = typer.Typer()

AbortTopic: TypeAlias = Annotated[str, typer.Option(metavar="TOPIC", help="The topic.")]
AbortPartition: TypeAlias = Annotated[int, typer.Option(metavar="N", min=0, help="The partition of the topic.")]
StartOffset: TypeAlias = Annotated[
    int | None, typer.Option(metavar="OFFSET", min=0, help="Only the transaction that begins there.")
]
OfProducer: TypeAlias = Annotated[int | None, typer.Option(metavar="ID", min=0, help="Only this producer ID.")]
RefuseYounger: TypeAlias = Annotated[
    float, typer.Option(metavar="MINUTES", min=0, help="Refuse transactions that are open for a shorter time.")
]
ForceAbort: TypeAlias = Annotated[
    bool, typer.Option("--force", help="Abort the transaction even if it does not hang; this may split it.")
]
EndPlanFile: TypeAlias = Annotated[
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
    plan_file: EndPlanFile = None,
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
    from eosctl.operations import transaction_ends

    place = TopicPartition(topic, partition)
    request = AbortRequest(place, start_offset, producer_id, int(60_000 * max_transaction_timeout), force)
    with Session(options) as session, SourceAndTarget(session, "", TargetOptions()) as clusters:
        aborted = transaction_ends.abort(session, clusters, request, plan_file, previewing(options, view_plan))
        return answer(options, aborted, view_plan_answer)


CommittedId: TypeAlias = Annotated[str, typer.Argument(metavar="ID", help="The transactional ID.")]
OwnersProducer: TypeAlias = Annotated[
    int, typer.Option(metavar="ID", min=0, help="The producer ID in the owner's state.")
]
OwnersEpoch: TypeAlias = Annotated[
    int, typer.Option(metavar="N", min=0, max=32_767, help="The producer epoch in the owner's state.")
]
Watch: TypeAlias = Annotated[
    float, typer.Option(metavar="SECONDS", min=0, help="Refuse the commit if its client writes within that time.")
]


MissingMarkers: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--missing-markers",
        help="Only write missing commit markers of the transaction; this needs Alter on the cluster.",
    ),
]


@app.command()
@showing(STEPS, CHECKS, RESULTS)
@writing
def commit(
    options: GlobalOptions,
    transactional_id: CommittedId,
    producer_id: OwnersProducer,
    producer_epoch: OwnersEpoch,
    watch_client: Watch = 5.0,
    missing_markers: MissingMarkers = False,
    config_topic: ConfigTopic = "connect-configs",
    plan_file: EndPlanFile = None,
) -> int:
    """Commit a transaction whose client is gone.

    Use it only if the owner of the transactional ID decided to commit exactly this transaction and cannot do so: for
    example a Flink job that will not be restored and whose last checkpoint holds it, or a coordinator of two-phase
    commits. The owner knows producer ID and epoch. A commit cannot be rolled back: after a wrong commit consumers read
    part of the owner's records, and read them again when the owner produces them again. It is refused if the ID is not
    Ongoing under this producer, if a client is active, and for IDs of Kafka Connect, which never commits a transaction
    that a task left open. Afterwards each partition must have the commit marker. With --missing-markers it writes the
    markers that brokers from 4.3.0 on forget of a committed transaction, where `hanging` advised it. Needs Write and
    Describe on the TransactionalId, Read on __transaction_state and on the topics of the transaction.

    Examples:
      eosctl transactions commit sink-orders-0-7 --producer-id 42 --producer-epoch 3 -b broker:9092 --dry-run
      eosctl transactions commit sink-orders-0-7 --producer-id 42 --producer-epoch 3 -b broker:9092 --yes
    """
    from eosctl.operations import transaction_ends

    producer = ProducerIdAndEpoch(producer_id, producer_epoch)
    request = CommitRequest(transactional_id, producer, watch_client)
    with Session(options) as session, SourceAndTarget(session, "", TargetOptions()) as clusters:
        if missing_markers:
            lacking = MissingMarkerRequest(transactional_id, producer)
            marked = transaction_ends.write_missing_markers(
                session, clusters, lacking, plan_file, previewing(options, view_plan)
            )
            return answer(options, marked, view_plan_answer)
        committed = transaction_ends.commit(
            session, clusters, request, config_topic, plan_file, previewing(options, view_plan)
        )
        return answer(options, committed, view_plan_answer)


LeftPrefix: TypeAlias = Annotated[str, typer.Option(metavar="TEXT", help="Transactional IDs with this prefix.")]
CommitList: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Commit the transactions in this file: ID, producer ID and epoch on each line (- is stdin).",
    ),
]
FlinkState: TypeAlias = Annotated[
    Path | None,
    typer.Option(metavar="PATH", help="Commit the transactions in this checkpoint (chk-N) of a Flink job."),
]
FenceRest: TypeAlias = Annotated[
    bool, typer.Option("--fence-rest", help="Fence all other IDs with an open transaction, which aborts it.")
]


@app.command()
@showing(LEFTOVERS)
@writing
def leftovers(
    options: GlobalOptions,
    prefix: LeftPrefix,
    commit_listed: CommitList = None,
    flink_checkpoint: FlinkState = None,
    fence_rest: FenceRest = False,
    watch_client: Watch = 5.0,
    config_topic: ConfigTopic = "connect-configs",
    plan_file: EndPlanFile = None,
) -> int:
    """Show or end what an application left open.

    Use it after a job or sink was stopped and will not return, or was restored elsewhere. Without --commit-listed,
    --flink-checkpoint and --fence-rest it only shows what is open under the prefix. It commits the transactions that
    the owner's state holds by the rules of `commit`; with --fence-rest it fences the other IDs, whose transactions are
    then aborted. It refuses all if a client is active, if a listed transaction cannot be committed, or if a Flink
    checkpoint may hold a transaction of the rest. Needs Read on __transaction_state; to end them what `commit` and
    `fence` need.

    Examples:
      eosctl transactions leftovers --prefix sink-orders- -b broker:9092
      eosctl transactions leftovers --prefix sink- --flink-checkpoint chk-42 --fence-rest -b broker:9092 --dry-run
    """
    from eosctl.operations import leftovers, transaction_ends

    decided = (
        None
        if commit_listed is None
        else decided_transactions(read_ids(commit_listed, "--commit-listed"), commit_listed)
    )
    kept = None if flink_checkpoint is None else leftovers.read_checkpoint(flink_checkpoint, prefix)
    if kept is not None:
        decided = tuple(dict.fromkeys((*(decided or ()), *kept.transactions)))
    request = LeftoversRequest(prefix, decided, fence_rest, watch_client, config_topic, kept)
    shows = decided is None and not fence_rest
    with Session(replace(options, writes=not shows)) as session:
        if shows:
            found = leftovers.read_leftovers(session.reader, prefix, config_topic)
            return answer(options, found, view_leftovers)
        with SourceAndTarget(session, "", TargetOptions()) as clusters:
            ended = transaction_ends.end_leftovers(
                session, clusters, request, plan_file, previewing(options, view_plan)
            )
            return answer(options, ended, view_plan_answer)

"""`eosctl offsets restore` and `create-connector`: a connector, old or new, at the offsets of a file."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from eosctl.commands.offsets.options import OffsetsTopic, SourceDsn
from eosctl.commands.options import ConfigTopic, WorkerOffsetsTopic
from eosctl.commands.plan_options import (
    ConnectorResources,
    EmitResources,
    EmitTo,
    ManagedBy,
    MoveFile,
    PlanFile,
    ResumeAfter,
    StopFirst,
    operator_of,
)
from eosctl.operations.session import Session
from eosctl.operations.two_clusters import SourceAndTarget, TargetOptions
from eosctl.render.answers.plan import view_plan, view_plan_answer
from eosctl.shell.options import GlobalOptions, answer, previewing, writing

app = typer.Typer()

RestoredFile: TypeAlias = Annotated[
    Path, typer.Argument(metavar="FILE", help="An export of one connector, or KIP-875's body.")
]
RestoredConnector: TypeAlias = Annotated[str, typer.Option(metavar="NAME", help="The connector.")]
CreateKeys: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--create-keys",
        help="Also write partitions that are missing in the topic; if necessary with members in FILE's order.",
    ),
]
Force: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--force",
        help="Write offsets that skip records or differ in form from the current offsets. Fence its IDs even if a "
        "task of another connector uses (or may use) them.",
    ),
]


@app.command()
@writing
def restore(
    options: GlobalOptions,
    file: RestoredFile,
    connector: RestoredConnector,
    stop: StopFirst = False,
    resume: ResumeAfter = False,
    create_keys: CreateKeys = False,
    offsets_topic: OffsetsTopic = None,
    worker_offsets_topic: WorkerOffsetsTopic = None,
    source_dsn: SourceDsn = None,
    connector_config: ConnectorResources = None,
    managed_by: ManagedBy = None,
    emit: EmitResources = None,
    emit_to: EmitTo = None,
    force: Force = False,
    plan_file: MoveFile = None,
    config_topic: ConfigTopic = "connect-configs",
) -> int:
    """Restore a connector's offsets from an export file.

    Use it to go back to exported offsets, or to set offsets by hand. Source partitions are matched by content, and
    written with the key bytes that the topic has. An offset of null deletes; partitions that the file does not name
    keep theirs. A partition that is missing in the topic is written with --create-keys, its members in the order of the
    connector's other keys, or of the file. A later offset than the current one skips records, and an offset with other
    members or types is probably misspelt: both need --force. As with migrate-offsets the connector must be STOPPED,
    nothing may have changed since the plan, all offsets are written in one transaction, and there is an undo file. With
    --source-dsn the plan shows whether the PostgreSQL that Debezium reads still has the log after the offset.

    Examples:
      eosctl offsets restore orders.json --connector orders -b broker:9092 --group-id connect-cluster --dry-run
      eosctl offsets restore orders.json --connector orders -b broker:9092 --group-id connect-cluster --stop --resume \
--connect-url http://worker:8083
    """
    from eosctl.operations.restore import RestoreOptions, restore_offsets

    request = RestoreOptions(
        file,
        connector,
        stop,
        resume,
        offsets_topic,
        worker_offsets_topic or "connect-offsets",
        plan_file,
        create_keys,
        force,
        source_dsn=source_dsn,
    )
    operator = operator_of(options, managed_by, connector_config, emit, emit_to)
    with Session(options) as session, SourceAndTarget(session, config_topic, TargetOptions()) as clusters:
        restored = restore_offsets(session, clusters, request, previewing(options, view_plan), operator)
        return answer(options, restored, view_plan_answer)


FirstOffsets: TypeAlias = Annotated[
    Path, typer.Argument(metavar="FILE", help="The first offsets: an export of one connector, or KIP-875's body.")
]
NewConfig: TypeAlias = Annotated[
    Path,
    typer.Option(
        "--config", metavar="CONFIG", help="The config of the new connector, with its name: JSON or properties."
    ),
]
Overwrite: TypeAlias = Annotated[
    bool, typer.Option("--force", help="Overwrite other offsets of a deleted connector of this name.")
]


@app.command()
@writing
def create_connector(
    options: GlobalOptions,
    file: FirstOffsets,
    config: NewConfig,
    resume: ResumeAfter = False,
    create_keys: CreateKeys = False,
    worker_offsets_topic: WorkerOffsetsTopic = None,
    source_dsn: SourceDsn = None,
    managed_by: ManagedBy = None,
    force: Overwrite = False,
    plan_file: PlanFile = None,
    config_topic: ConfigTopic = "connect-configs",
) -> int:
    """Create a connector that begins at given offsets.

    Use it when a new connector must continue from a known position instead of starting from scratch. It is created
    STOPPED (KIP-980, workers from 3.7), its offsets are written in one transaction and read back, and it is resumed
    once the workers answer them. It is refused if a connector of this name exists, or if a deleted one left offsets.
    The plan holds no settings of CONFIG, only its digest: the file is read again when the plan is applied. The undo
    stops the connector, removes the offsets and deletes it, unless it has committed offsets since.

    Examples:
      eosctl offsets create-connector begin.json --config shop.json -b broker:9092 --group-id connect-cluster \
--connect-url http://worker:8083 --dry-run
      eosctl offsets create-connector begin.json --config shop.json -b broker:9092 --group-id connect-cluster \
--connect-url http://worker:8083 --resume
    """
    from eosctl.operations import restore as restoring

    operator = operator_of(options, managed_by)
    request = restoring.CreationOptions(
        file, config, resume, worker_offsets_topic or "connect-offsets", plan_file, create_keys, force, source_dsn
    )
    with Session(options) as session, SourceAndTarget(session, config_topic, TargetOptions()) as clusters:
        return answer(
            options,
            restoring.create_connector(session, clusters, request, previewing(options, view_plan), operator),
            view_plan_answer,
        )

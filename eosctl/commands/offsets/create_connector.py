"""`eosctl offsets create-connector`: a new connector that begins at given offsets."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from eosctl.commands.offsets.options import SourceDsn
from eosctl.commands.offsets.restore import CreateKeys
from eosctl.commands.options import ConfigTopic, WorkerOffsetsTopic
from eosctl.commands.plan_options import ManagedBy, PlanFile, ResumeAfter, operator_of
from eosctl.operations.session import Session
from eosctl.operations.two_clusters import SourceAndTarget, TargetOptions
from eosctl.render.answers.plan import view_plan, view_plan_answer
from eosctl.shell.options import GlobalOptions, answer, previewing, writing

app = typer.Typer()

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
    bool, typer.Option("--force", help="Overwrite other offsets that a deleted connector of this name left.")
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
    once the workers answer them. It is refused if a connector of this name exists, or offsets that a deleted one left.
    The plan has no setting of CONFIG, only its digest: the file is read again when the plan is applied. The undo stops
    the connector, removes the offsets and deletes it, unless it has committed offsets since.

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

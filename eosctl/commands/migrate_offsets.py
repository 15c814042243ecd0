"""`eosctl migrate-offsets`: move a connector's position without losing it."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from eosctl.commands.options import ConfigTopic, WorkerOffsetsTopic
from eosctl.commands.plan_options import (
    ConnectorResources,
    EmitResources,
    EmitTo,
    ForceFencing,
    ManagedBy,
    MoveFile,
    ResumeAfter,
    StopFirst,
    ToBootstrapServer,
    ToCommandConfig,
    ToConfigTopic,
    ToConnectUrl,
    operator_of,
)
from eosctl.model.migration import MergeRule
from eosctl.operations.migration_request import MigrationOptions
from eosctl.operations.session import Session
from eosctl.operations.two_clusters import SourceAndTarget, TargetOptions
from eosctl.render.answers.plan import CHECKS, OFFSETS, RESULTS, STEPS, view_plan, view_plan_answer
from eosctl.shell.options import GlobalOptions, answer, previewing, showing, writing

app = typer.Typer()

MovedConnectors: TypeAlias = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="The connector. May be repeated.", show_default=False)
]
ToTopic: TypeAlias = Annotated[
    str | None,
    typer.Option("--to-topic", metavar="TOPIC", help="Move the offsets to this connector-specific offsets topic."),
]
ToWorkerTopic: TypeAlias = Annotated[
    bool, typer.Option("--to-worker-topic", help="Move the offsets back to the worker-global offsets topic.")
]
RenameTo: TypeAlias = Annotated[
    str | None, typer.Option("--rename-to", metavar="NAME", help="The connector's new name.")
]
RenameMap: TypeAlias = Annotated[
    Path | None,
    typer.Option("--rename-map", metavar="FILE", help='Old names to new ones, as JSON: {"old": "new"}.'),
]
ToGroupId: TypeAlias = Annotated[
    str | None, typer.Option("--to-group-id", metavar="ID", help="Move to the Connect cluster with this group.id.")
]
SetConfig: TypeAlias = Annotated[
    bool, typer.Option("--set-config", help="Change the connector's config afterwards, or create it (REST).")
]
ToKafkaConnect: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--to-kafka-connect",
        metavar="NAME",
        help="The KafkaConnect that runs it in the other Connect cluster, for its resource (--emit strimzi).",
    ),
]
Merge: TypeAlias = Annotated[
    MergeRule,
    typer.Option(
        metavar="|".join(MergeRule), help="Action if the target already holds other offsets of the connector."
    ),
]
Partitions: TypeAlias = Annotated[
    int, typer.Option(metavar="N", min=1, max=2**31 - 1, help="Partitions of a topic that has to be created.")
]
ReplicationFactor: TypeAlias = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=-1,
        max=32_767,
        help="Replication factor of a topic that has to be created; -1 is the broker's default. [default: as the "
        "present offsets topic]",
    ),
]
SourceTopic: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="TOPIC",
        help="The connector's present offsets topic. [default: offsets.storage.topic of its config, otherwise the "
        "worker-global topic]",
    ),
]


@app.command()
@showing(STEPS, CHECKS, OFFSETS, RESULTS)
@writing
def migrate_offsets(
    options: GlobalOptions,
    connector: MovedConnectors = None,
    to_topic: ToTopic = None,
    to_worker_topic: ToWorkerTopic = False,
    rename_to: RenameTo = None,
    rename_map: RenameMap = None,
    to_group_id: ToGroupId = None,
    to_bootstrap_server: ToBootstrapServer = None,
    to_command_config: ToCommandConfig = None,
    to_connect_url: ToConnectUrl = None,
    to_config_topic: ToConfigTopic = None,
    stop: StopFirst = False,
    set_config: SetConfig = False,
    resume: ResumeAfter = False,
    merge: Merge = MergeRule.FAIL,
    partitions: Partitions = 25,
    replication_factor: ReplicationFactor = None,
    offsets_topic: SourceTopic = None,
    worker_offsets_topic: WorkerOffsetsTopic = None,
    connector_config: ConnectorResources = None,
    managed_by: ManagedBy = None,
    emit: EmitResources = None,
    emit_to: EmitTo = None,
    to_kafka_connect: ToKafkaConnect = None,
    force: ForceFencing = False,
    plan_file: MoveFile = None,
    config_topic: ConfigTopic = "connect-configs",
) -> int:
    """Move a connector's offsets, so that it resumes without a gap.

    Use it to move them to another topic, name, group or cluster: before you give a connector an offsets topic of its
    own (or take it away), rename it, or move it to another Connect cluster or Kafka cluster. Otherwise the connector
    starts without offsets: all its tasks run, no warning is logged, and every record is written a second time.

    The connector must be STOPPED and without tasks, or not exist; --stop stops it. Its old producers are fenced, its
    records are copied byte for byte in one transaction, and read back. --set-config and --resume complete the move over
    REST; without them the plan lists the manual steps. Workers before 3.5 cannot stop a connector: delete it (its
    offsets stay), move them, and create it again. If anything has changed since, nothing is written.

    Under Strimzi the operator reverts changes made over REST. Give the connector's KafkaConnector or KafkaMirrorMaker2
    with --connector-config, and --emit strimzi: each change is written as a resource to apply, and the plan continues
    when a worker answers it.

    Examples:
      eosctl migrate-offsets -b broker:9092 --group-id connect-cluster --connector orders --to-topic orders-offsets \
--connect-url http://worker:8083 --stop --set-config --resume
      eosctl migrate-offsets -b broker:9092 --group-id connect-cluster --connector orders --rename-to orders2 --dry-run
      eosctl migrate-offsets -b broker:9092 --group-id connect-cluster --rename-map names.json --plan-file names.plan
      eosctl migrate-offsets -b broker:9092 --group-id connect-cluster --connector orders --to-topic orders-offsets \
--connect-url http://worker:8083 --connector-config orders.yaml --emit strimzi --stop --set-config --dry-run
      eosctl migrate-offsets -b old:9092 --group-id a --connector orders --to-bootstrap-server new:9092 --to-group-id b
    """
    from eosctl.operations.migration import migrate

    request = MigrationOptions(
        connectors=tuple(connector or ()),
        to_topic=to_topic,
        to_worker_topic=to_worker_topic,
        rename_to=rename_to,
        rename_map=rename_map,
        to_group_id=to_group_id,
        target=TargetOptions(to_bootstrap_server, to_command_config, tuple(to_connect_url or ()), to_config_topic),
        merge=merge,
        stop=stop, set_config=set_config, resume=resume,
        partitions=partitions, replication_factor=replication_factor, offsets_topic=offsets_topic,
        worker_offsets_topic=worker_offsets_topic or "connect-offsets",
        plan_file=plan_file,
        force=force,
    )  # fmt: skip
    operator = operator_of(options, managed_by, connector_config, emit, emit_to, to_kafka_connect)
    with Session(options) as session, SourceAndTarget(session, config_topic, request.target) as clusters:
        moved = migrate(session, clusters, request, previewing(options, view_plan), operator)
        return answer(options, moved, view_plan_answer)

"""`eosctl connector show`: one connector on one screen."""

from typing import Annotated, TypeAlias

import typer

from eosctl.commands.options import (
    ConfigTopicName,
    OffsetsTopicName,
    Principals,
    StatusTopicName,
    SuperUsers,
    WorkerConfigs,
)
from eosctl.operations.session import Session
from eosctl.render.answers.connector_description import FACTS, IDS, OFFSETS, PARTITIONS, STEPS, TASKS, view_connector
from eosctl.shell.options import GlobalOptions, answer, judging, showing

app = typer.Typer()

Name: TypeAlias = Annotated[str, typer.Argument(metavar="CONNECTOR", help="The connector's name.")]


@app.command()
@showing(STEPS, TASKS, FACTS, IDS, OFFSETS, PARTITIONS)
@judging
def show(
    options: GlobalOptions,
    connector: Name,
    config_topic: ConfigTopicName = None,
    worker_offsets_topic: OffsetsTopicName = None,
    status_topic: StatusTopicName = None,
    worker_config: WorkerConfigs = None,
    principal: Principals = None,
    super_user: SuperUsers = None,
) -> int:
    """Show one connector, all that concerns it, and what to do next.

    Use it first when somebody asks about a connector. It shows the state and the cause of what failed, the commands to
    run next, the findings of doctor that concern the connector, exactly-once as it is in effect, transactional IDs,
    offsets, the next start, and the topics that it writes to. For a sink it shows what the sink's group still has to
    read.

    It exits with 1 if a finding concerns the connector: one of its own, or for a source an error of the cluster.

    Examples:
      eosctl connector show orders -b broker:9092
      eosctl connector show orders -b broker:9092 --connect-url http://worker:8083 --worker-config worker.properties
      eosctl connector show orders --snapshot monday.snapshot
    """
    from pathlib import Path

    from eosctl.operations.connector_description import show_connector
    from eosctl.operations.evidence import EvidenceRequest

    topics = {"config": config_topic, "offsets": worker_offsets_topic, "status": status_topic}
    files: tuple[Path, ...] = tuple(worker_config or ())
    request = EvidenceRequest(topics, files, principals=tuple(principal or ()), super_users=tuple(super_user or ()))
    with Session(options) as session:
        return answer(options, show_connector(session, connector, request), view_connector)

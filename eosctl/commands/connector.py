"""`eosctl connector`: connectors, each with all facts about it."""

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
from eosctl.operations.connector_description import list_connectors, show_connector
from eosctl.operations.evidence import EvidenceRequest
from eosctl.operations.session import Session
from eosctl.render.answers.connector_description import (
    CONNECTORS,
    CONTROL,
    FACTS,
    IDS,
    OFFSETS,
    PARTITIONS,
    STEPS,
    TASKS,
    view_connector,
    view_connectors,
)
from eosctl.shell.options import GlobalOptions, answer, judging, reading, showing

app = typer.Typer()

Name: TypeAlias = Annotated[str, typer.Argument(metavar="CONNECTOR", help="The connector's name.")]


@app.callback()
def connector() -> None:
    """Show connectors, with what to do next.

    Use it first when a connector is in trouble: one screen shows the facts of the other commands. Nothing is written.
    """


@app.command()
@showing(STEPS, TASKS, FACTS, CONTROL, IDS, OFFSETS, PARTITIONS)
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

    Use it first when somebody asks about a connector. It shows the connector's state, the cause of a failure, the
    commands to run next, and the findings of doctor about it. It also shows its effective exactly-once support,
    transactional IDs, offsets, next start and output topics. For a sink it shows the lag of its group.

    It exits with 1 if a finding concerns the connector: one of its own, or for a source an error of the cluster.

    Examples:
      eosctl connector show orders -b broker:9092
      eosctl connector show orders -b broker:9092 --connect-url http://worker:8083 --worker-config worker.properties
      eosctl connector show orders --snapshot monday.snapshot
    """
    topics = {"config": config_topic, "offsets": worker_offsets_topic, "status": status_topic}
    files, principals, super_users = tuple(worker_config or ()), tuple(principal or ()), tuple(super_user or ())
    request = EvidenceRequest(topics, files, principals=principals, super_users=super_users)
    with Session(options) as session:
        return answer(options, show_connector(session, connector, request), view_connector)


@app.command("list")
@showing(CONNECTORS)
@reading
def list_(options: GlobalOptions, config_topic: ConfigTopicName = None, status_topic: StatusTopicName = None) -> int:
    """List all connectors, with the states of their tasks.

    Use it to find the connector that is in trouble: those that do not run come first. Connectors and states come from
    the workers. Where no worker answers, connectors come from the config topic, and states from the status topic with
    the time at which they were written; it then exits with 3, because they may have changed since.

    Examples:
      eosctl connector list -b broker:9092
      eosctl connector list --connect-url http://worker:8083 -o json
      eosctl connector list --snapshot monday.snapshot
    """
    request = EvidenceRequest({"config": config_topic, "status": status_topic})
    with Session(options) as session:
        return answer(options, list_connectors(session, request), view_connectors)

"""The options of the commands that make a plan, or carry one out: its file, its connector's state, and its target."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from eosctl.shell.options import GlobalOptions

if TYPE_CHECKING:
    from eosctl.operations.connector_operator import ConnectorOperator

PlanFile: TypeAlias = Annotated[
    Path | None, typer.Option("--plan-file", metavar="FILE", help="Write the plan there, for `eosctl apply`.")
]
MoveFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--plan-file",
        metavar="FILE",
        help="Write the plan there, for `eosctl apply`. With --stop, eosctl reads the offsets after the connector "
        "has stopped.",
    ),
]
StopFirst: TypeAlias = Annotated[bool, typer.Option("--stop", help="Stop the connector first (--connect-url).")]
ResumeAfter: TypeAlias = Annotated[bool, typer.Option("--resume", help="Resume the connector at the end (REST).")]
ForceFencing: TypeAlias = Annotated[
    bool, typer.Option("--force", help="Fence its IDs even if a task of another connector uses (or may use) them.")
]
RequireDigest: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--require-digest",
        metavar="SHA256",
        help="Refuse every plan but the reviewed one, by the digest that its preview shows.",
    ),
]


class Operator(StrEnum):
    """Who changes connectors as resources of Kubernetes say."""

    STRIMZI = "strimzi"


ConnectorResources: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(
        "--connector-config",
        metavar="FILE",
        help="The connector's KafkaConnector or KafkaMirrorMaker2, if Strimzi's operator manages it: changes over "
        "REST are refused. May be repeated.",
        show_default=False,
    ),
]
ManagedBy: TypeAlias = Annotated[
    Operator | None,
    typer.Option(
        "--managed-by",
        metavar="strimzi",
        help="This operator manages every connector and reverts changes over REST, so they are refused. A "
        "KafkaConnect in --worker-config implies it.",
        show_default=False,
    ),
]
EmitResources: TypeAlias = Annotated[
    Operator | None,
    typer.Option(
        "--emit",
        metavar="strimzi",
        help="Write the changes as resources to apply (--connector-config); the plan waits for the operator.",
        show_default=False,
    ),
]
EmitTo: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--emit-to", metavar="DIR", help="The directory of these resources. [default: beside eosctl's saved plans]"
    ),
]
ToBootstrapServer: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--to-bootstrap-server", metavar="HOST:PORT,…", help="Brokers of the target, if it is another Kafka cluster."
    ),
]
ToCommandConfig: TypeAlias = Annotated[
    Path | None, typer.Option("--to-command-config", metavar="FILE", help="Client properties for the target cluster.")
]
ToConnectUrl: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--to-connect-url",
        metavar="URL",
        help="A worker of the target Connect cluster, if another. May be repeated.",
        show_default=False,
    ),
]
PlannedConfigTopic: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--config-topic",
        metavar="TOPIC",
        envvar="EOSCTL_CONFIG_TOPIC",
        help="The config topic: the worker's config.storage.topic. [default: the plan's]",
    ),
]
ToConfigTopic: TypeAlias = Annotated[
    str | None,
    typer.Option("--to-config-topic", metavar="TOPIC", help="Config topic of the target Connect cluster, if another."),
]


def operator_of(
    options: GlobalOptions,
    managed_by: Operator | None,
    connector_config: list[Path] | None = None,
    emit: Operator | None = None,
    emit_to: Path | None = None,
    to_kafka_connect: str | None = None,
) -> "ConnectorOperator":
    """The operator that these options name."""
    from eosctl.operations.connector_operator import connector_operator

    return connector_operator(
        tuple(connector_config or ()),
        options.worker_configs,
        is_strimzis=managed_by is not None,
        emits=emit is not None,
        directory=emit_to,
        to_cluster=to_kafka_connect,
    )

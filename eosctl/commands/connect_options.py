"""Options that name connectors and Connect's internal topics."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

ConnectorNames: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--connector", metavar="NAME", help="Only this one. May be repeated.", show_default=False),
]
ConfigTopic: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="TOPIC", envvar="EOSCTL_CONFIG_TOPIC", help="The config topic: the worker's config.storage.topic."
    ),
]
WorkerOffsetsTopic: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="TOPIC",
        envvar="EOSCTL_WORKER_OFFSETS_TOPIC",
        help="The workers' offset.storage.topic. [default: that of --worker-config, otherwise connect-offsets]",
    ),
]
WorkerConfig: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="A worker's properties file or Strimzi's KafkaConnect: its settings, where no option says otherwise.",
    ),
]

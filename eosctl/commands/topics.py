"""Options that name Connect's internal topics."""

from typing import Annotated, TypeAlias

import typer

ConfigTopic: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="TOPIC", envvar="EOSCTL_CONFIG_TOPIC", help="The config topic: the worker's config.storage.topic."
    ),
]

"""Options of the commands that ask the rules: doctor and upgrade-check."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

ConfigTopicName: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--config-topic",
        metavar="TOPIC",
        envvar="EOSCTL_CONFIG_TOPIC",
        help="The workers' config.storage.topic. [default: that of --worker-config, otherwise connect-configs]",
    ),
]
OffsetsTopicName: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--worker-offsets-topic",
        metavar="TOPIC",
        envvar="EOSCTL_WORKER_OFFSETS_TOPIC",
        help="The workers' offset.storage.topic. [default: that of --worker-config, otherwise connect-offsets]",
    ),
]
StatusTopicName: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--status-topic",
        metavar="TOPIC",
        envvar="EOSCTL_STATUS_TOPIC",
        help="The workers' status.storage.topic. [default: that of --worker-config, otherwise connect-status]",
    ),
]
WorkerConfigs: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(
        "--worker-config",
        metavar="FILE",
        show_default=False,
        help="A worker's properties file, one for each worker; or Strimzi's KafkaConnect. May be repeated.",
    ),
]
Principals: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--principal",
        metavar="ROLE=User:NAME",
        show_default=False,
        help="Whose ACLs to check: worker=User:NAME, connector=User:NAME for all clients of connectors, or one of "
        "their roles as in acl-plan; CONNECTOR/ROLE=User:NAME for one connector. May be repeated.",
    ),
]
SuperUsers: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--super-user",
        metavar="User:NAME",
        show_default=False,
        help="One of the brokers' super.users, which they do not report: needs no ACL. May be repeated.",
    ),
]

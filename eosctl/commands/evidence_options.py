"""Options of the commands that ask the rules."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from eosctl.errors import UsageError

ConfigTopicName: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--config-topic",
        metavar="TOPIC",
        envvar="EOSCTL_CONFIG_TOPIC",
        help="The workers' config.storage.topic. [default: that of --worker-config, else connect-configs]",
    ),
]
OffsetsTopicName: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--worker-offsets-topic",
        metavar="TOPIC",
        envvar="EOSCTL_WORKER_OFFSETS_TOPIC",
        help="The workers' offset.storage.topic. [default: that of --worker-config, else connect-offsets]",
    ),
]
StatusTopicName: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--status-topic",
        metavar="TOPIC",
        envvar="EOSCTL_STATUS_TOPIC",
        help="The workers' status.storage.topic. [default: that of --worker-config, else connect-status]",
    ),
]
WorkerConfigs: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(
        "--worker-config",
        metavar="FILE",
        show_default=False,
        help="A worker's properties file. May be repeated: one for each worker.",
    ),
]
Principals: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--principal",
        metavar="ROLE=USER",
        show_default=False,
        help="Whose ACLs to check: worker=User:NAME, connector=User:NAME. May be repeated.",
    ),
]
SuperUsers: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--super-user",
        metavar="User:NAME",
        show_default=False,
        help="One of the brokers' super.users, which they do not tell: needs no ACL. May be repeated.",
    ),
]
Preflight: TypeAlias = Annotated[
    bool,
    typer.Option(help="Have each source connector's config validated as if it required exactly-once."),
]
PrometheusFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write the findings there too, for Prometheus' textfile collector."),
]
WaitSeconds: TypeAlias = Annotated[
    float, typer.Option(metavar="SECONDS", min=0.0, help="Ask again until the answer is yes, for so long.")
]


def principals_by_role(given: list[str] | None) -> dict[str, str]:
    """Role (worker, connector) to principal; UsageError for what is neither."""
    found = {}
    for text in given or ():
        role, equals, principal = text.partition("=")
        if not equals or role not in {"worker", "connector"} or ":" not in principal:
            raise UsageError(
                f"--principal {text}: expected ROLE=TYPE:NAME with ROLE worker or connector",
                hint="for example --principal worker=User:connect",
            )
        found[role] = principal
    return found

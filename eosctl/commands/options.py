"""Options that several commands take."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from eosctl.errors import UsageError

ConnectorNames: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--connector", metavar="NAME", help="Only this connector. May be repeated.", show_default=False),
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
        help="The workers' offset.storage.topic. [default: from --worker-config, otherwise connect-offsets]",
    ),
]
WorkerConfig: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="A worker's properties file or Strimzi's KafkaConnect: its settings, unless an option overrides them.",
    ),
]

Overwrite: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--overwrite", help="Replace the file if it exists already, as a job does that keeps only its last run."
    ),
]


# Options of the commands that ask the rules: doctor and upgrade-check.


ConfigTopicName: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--config-topic",
        metavar="TOPIC",
        envvar="EOSCTL_CONFIG_TOPIC",
        help="The workers' config.storage.topic. [default: from --worker-config, otherwise connect-configs]",
    ),
]
OffsetsTopicName: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--worker-offsets-topic",
        metavar="TOPIC",
        envvar="EOSCTL_WORKER_OFFSETS_TOPIC",
        help="The workers' offset.storage.topic. [default: from --worker-config, otherwise connect-offsets]",
    ),
]
StatusTopicName: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--status-topic",
        metavar="TOPIC",
        envvar="EOSCTL_STATUS_TOPIC",
        help="The workers' status.storage.topic. [default: from --worker-config, otherwise connect-status]",
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
        help="The principals whose ACLs to check: worker=User:NAME, connector=User:NAME for all clients of "
        "connectors, or one of "
        "their roles as in acl-plan; CONNECTOR/ROLE=User:NAME for one connector. May be repeated.",
    ),
]
SuperUsers: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--super-user",
        metavar="User:NAME",
        show_default=False,
        help="One of the brokers' super.users, which brokers do not report; it needs no ACL. May be repeated.",
    ),
]


# Options of audits, of connectors and of mirrors: what runs them, and the ledger.


class EngineName(StrEnum):
    """The engine of the audit."""

    LOCAL = "local"
    SPARK = "spark"


Engine: TypeAlias = Annotated[
    EngineName, typer.Option(metavar="|".join(EngineName), help="Audit on this machine (local), or on Spark.")
]
Processes: TypeAlias = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Processes of the local engine. [default: one per CPU]")
]
SparkMaster: TypeAlias = Annotated[
    str | None, typer.Option(metavar="URL", help="Spark's master. [default: this machine, or spark-submit's]")
]
SparkRemote: TypeAlias = Annotated[
    str | None, typer.Option(metavar="URL", help="A Spark Connect server, such as sc://host.")
]
ExecutorProperties: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Client properties where Spark's executors find them: a file, or env:NAME for a variable's text.",
    ),
]
STORE_VARIABLE = "EOSCTL_AUDIT_STORE"
LedgerStore: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        envvar=STORE_VARIABLE,
        help="Keep a ledger, and read only new offsets: sqlite:///FILE or postgresql://HOST/DATABASE.",
    ),
]
KeptLedger: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="URL", envvar=STORE_VARIABLE, help="The ledger: sqlite:///FILE or postgresql://HOST/DATABASE."
    ),
]
Evidence: TypeAlias = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write the evidence and the conclusions, for `eosctl verify`."),
]
SignKey: TypeAlias = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Sign the evidence with this Ed25519 key of OpenSSH, into FILE.sig."),
]
OverwriteEvidence: TypeAlias = Annotated[
    bool, typer.Option("--overwrite", help="Replace the file of --evidence, and its signature, if it exists already.")
]
JobName: TypeAlias = Annotated[str, typer.Option(metavar="NAME", help="The name of this audit in the ledger.")]


# Options that several commands under `eosctl transactions` take.


Partitions: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--topic",
        metavar="TOPIC[:PARTITION,…]",
        help="Only this topic, or these partitions of it. May be repeated.",
        show_default=False,
    ),
]
NamedPartitions: TypeAlias = Annotated[list[str] | None, typer.Argument(metavar="TOPIC[:PARTITION,…]", hidden=True)]
"""The same as positional arguments, as they were written before --topic."""


def settings_of(option: str, pairs: list[str] | None) -> dict[str, str]:
    """The pairs KEY=VALUE of an option. Raises UsageError naming it."""
    settings = {}
    for pair in pairs or ():
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"{option} {pair}: expected KEY=VALUE")
        settings[key.strip()] = value
    return settings

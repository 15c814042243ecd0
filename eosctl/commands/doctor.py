"""`eosctl doctor` and `upgrade-check`: all rules on what there is now, and whether the next rolling step may start."""

from enum import StrEnum
from pathlib import Path
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
from eosctl.errors import UsageError
from eosctl.model.rules import FeatureLevel, Phase
from eosctl.operations.evidence import EvidenceRequest
from eosctl.operations.session import Session
from eosctl.render.answers.diagnosis import STEPS, UNKNOWN, UPGRADED_WORKERS, WORKERS, view_diagnosis, view_upgrade
from eosctl.shell.options import GlobalOptions, answer, gating, showing

app = typer.Typer()

Preflight: TypeAlias = Annotated[
    bool,
    typer.Option(help="Have each source connector's config validated as if it required exactly-once."),
]
PrometheusFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write the findings there too, for Prometheus' textfile collector."),
]
MirrorSources: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--source-command-config",
        metavar="[ALIAS=]FILE",
        show_default=False,
        help="Client properties for the source cluster of MirrorSource connectors with that source.cluster.alias. "
        "If FILE has no bootstrap.servers, eosctl connects to the brokers in the connector's config. It sends "
        "credentials in FILE only to brokers in FILE. May be repeated.",
    ),
]


@app.command()
@showing(WORKERS, UNKNOWN)
@gating
def doctor(
    options: GlobalOptions,
    config_topic: ConfigTopicName = None,
    worker_offsets_topic: OffsetsTopicName = None,
    status_topic: StatusTopicName = None,
    worker_config: WorkerConfigs = None,
    principal: Principals = None,
    super_user: SuperUsers = None,
    preflight: Preflight = True,
    source_command_config: MirrorSources = None,
    prometheus: PrometheusFile = None,
) -> int:
    """Run all exactly-once checks.

    Use it after every change of workers, brokers or connectors, and from cron: it exits with 1 if a rule finds an error
    or a warning. Each finding has a stable ID, its cause in docs/rules.md, and commands that fix it. A rule whose facts
    could not be read answers that it cannot tell, and why; missing facts are never reported as OK. Nothing is written.

    If the cluster has one Connect group, eosctl discovers it and its workers; otherwise give --group-id and
    --connect-url. Workers do not report their settings: give their --worker-config files too.

    Examples:
      eosctl doctor -b broker:9092
      eosctl doctor -b broker:9092 --connect-url http://worker:8083 --worker-config worker.properties -o json
      eosctl doctor --snapshot monday.snapshot
      eosctl doctor -b target:9092 --source-command-config eu=eu.properties
      eosctl doctor -b broker:9092 --connect-url http://worker:8083 -q --prometheus eosctl.prom
    """
    from eosctl.operations.diagnosis import diagnose_cluster

    topics = {"config": config_topic, "offsets": worker_offsets_topic, "status": status_topic}
    files, principals, super_users = tuple(worker_config or ()), tuple(principal or ()), tuple(super_user or ())
    mirrors = {alias: Path(file) for alias, _, file in (each.rpartition("=") for each in source_command_config or ())}
    request = EvidenceRequest(topics, files, preflight, principals, super_users, mirror_sources=mirrors)
    with Session(options) as session:
        return answer(options, diagnose_cluster(session, request, prometheus), view_diagnosis)


WaitSeconds: TypeAlias = Annotated[
    float, typer.Option(metavar="SECONDS", min=0.0, help="Repeat until the answer is yes, for at most this long.")
]


class Target(StrEnum):
    """The next exactly.once.source.support of every worker."""

    PREPARING = "preparing"
    ENABLED = "enabled"
    DISABLED = "disabled"


def _feature(text: str) -> FeatureLevel:
    name, _, level = text.partition("=")
    if name != "transaction.version" or level not in {"0", "1", "2"}:
        raise UsageError(f"--feature {text}: only levels 0 to 2 of transaction.version are known")
    return FeatureLevel(name, int(level))


@app.command("upgrade-check")
@showing(UPGRADED_WORKERS, STEPS)
@gating
def upgrade_check(
    options: GlobalOptions,
    to: Annotated[
        Target | None, typer.Option("--to", metavar="|".join(Target), help="The target of the rolling step.")
    ] = None,
    feature: Annotated[
        str | None,
        typer.Option(
            metavar="transaction.version=LEVEL",
            help="Instead, a level of the feature that kafka-features.sh will set.",
        ),
    ] = None,
    config_topic: ConfigTopicName = None,
    worker_offsets_topic: OffsetsTopicName = None,
    status_topic: StatusTopicName = None,
    worker_config: WorkerConfigs = None,
    principal: Principals = None,
    super_user: SuperUsers = None,
    wait: WaitSeconds = 0.0,
) -> int:
    """Check whether the next rolling restart may start.

    Use it before each rolling step, and between the restarts of two workers. Exactly-once is enabled in two rolls on a
    live cluster, disabled to preparing and preparing to enabled, and rolled back the same way. The answer is yes, no or
    cannot tell (exit code 0, 1 or 3), with the blocking findings first, and then the action for each worker.

    A worker reports only whether it is enabled. Give each worker's file with --worker-config, which says preparing or
    disabled; without them the roll to enabled cannot be judged. Nothing is written.

    With --feature it checks a level of transaction.version before kafka-features.sh sets it: 0 stops producers that
    used 2, and Connect's leader, until the brokers are restarted.

    Examples:
      eosctl upgrade-check --to preparing -b broker:9092 --group-id connect-cluster --connect-url http://worker:8083
      eosctl upgrade-check --to enabled -b broker:9092 --connect-url http://worker:8083 --worker-config w1.properties
      eosctl upgrade-check --to disabled -b broker:9092 --connect-url http://worker:8083 --wait 300
      eosctl upgrade-check --feature transaction.version=1 -b broker:9092
    """
    from eosctl.operations.diagnosis import wait_for_upgrade

    if (to is None) == (feature is None):
        problem = "no target was named" if to is None else "--to and --feature contradict each other"
        raise UsageError(
            problem, hint="give --to preparing, enabled or disabled; or --feature transaction.version=LEVEL"
        )
    target = _feature(feature or "") if to is None else Phase(to.value)
    topics = {"config": config_topic, "offsets": worker_offsets_topic, "status": status_topic}
    files, principals, super_users = tuple(worker_config or ()), tuple(principal or ()), tuple(super_user or ())
    request = EvidenceRequest(topics, files, False, principals, super_users)
    with Session(options) as session:
        return answer(options, wait_for_upgrade(session, request, target, wait), view_upgrade)

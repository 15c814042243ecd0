"""`eosctl doctor`: all rules on what there is now."""

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
from eosctl.operations.evidence import EvidenceRequest
from eosctl.operations.session import Session
from eosctl.render.answers.diagnosis import UNKNOWN, WORKERS, view_diagnosis
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
        "Without bootstrap.servers in FILE eosctl connects to the brokers of the connector's config; it sends "
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

"""`eosctl watch`: the answers of the commands as metrics."""

from typing import Annotated, Final, TypeAlias

import typer

from eosctl.commands.options import (
    ConfigTopicName,
    OffsetsTopicName,
    Principals,
    StatusTopicName,
    SuperUsers,
    WorkerConfigs,
)
from eosctl.errors import EXIT_FINE, UsageError
from eosctl.model.watch import Emitted
from eosctl.operations.evidence import EvidenceRequest
from eosctl.operations.session import Session
from eosctl.operations.watch import Faces, Listening, Watched, observe, watch_clusters, watch_file, watched_profiles
from eosctl.render.answers.watch import SAMPLES, TABLES, view_observation
from eosctl.render.live import LiveScreen
from eosctl.render.watch_files import view_watch_file
from eosctl.shell.options import GlobalOptions, answer, connecting, showing

app = typer.Typer()
DEFAULT_ADDRESS: Final = "127.0.0.1:9464"

ProfileNames: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(metavar="PROFILE", help="Watch the clusters of these profiles.", show_default=False),
]
ListenAddress: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--listen",
        metavar="HOST:PORT",
        help=f"Serve /metrics, /healthz and /readyz here. [default: {DEFAULT_ADDRESS}; with --live or --otlp, nowhere]",
        show_default=False,
    ),
]
Live: TypeAlias = Annotated[
    bool, typer.Option("--live", help="Show the last cycle of each cluster on this terminal, until q is pressed.")
]
Otlp: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--otlp",
        metavar="URL|env",
        help="Push the metrics to this collector (OTLP over HTTP); env: use OTEL_EXPORTER_OTLP_ENDPOINT.",
        show_default=False,
    ),
]
AllowRemote: TypeAlias = Annotated[
    bool, typer.Option("--allow-remote", help="Serve on an address that other machines reach, without a password.")
]
Every: TypeAlias = Annotated[
    float, typer.Option(metavar="SECONDS", min=1.0, help="Time between the starts of two cycles.")
]
Churn: TypeAlias = Annotated[
    bool, typer.Option("--churn", help="Once an hour read all of the transaction log, for IDs that expire soon.")
]
Once: TypeAlias = Annotated[bool, typer.Option("--once", help="Show the samples of one cycle, and serve nothing.")]
Emit: TypeAlias = Annotated[
    Emitted | None,
    typer.Option(
        metavar="FILE",
        help=f"Print this file to install, and watch nothing: {', '.join(Emitted)}.",
        show_default=False,
    ),
]
Runbooks: TypeAlias = Annotated[
    str,
    typer.Option(
        "--runbooks",
        metavar="URL",
        help="With --emit: the URL of your copy of alerts.md, for each alert's runbook_url.",
    ),
]
AuditLedger: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        envvar="EOSCTL_AUDIT_STORE",
        help="The ledger of `eosctl audit`, for the verdicts of its last runs.",
    ),
]


@app.command()
@showing(SAMPLES, live=TABLES)
@connecting
def watch(
    options: GlobalOptions,
    profiles: ProfileNames = None,
    listen: ListenAddress = None,
    allow_remote: AllowRemote = False,
    every: Every = 30.0,
    live: Live = False,
    otlp: Otlp = None,
    churn: Churn = False,
    once: Once = False,
    emit: Emit = None,
    runbooks: Runbooks = "docs/alerts.md",
    config_topic: ConfigTopicName = None,
    worker_offsets_topic: OffsetsTopicName = None,
    status_topic: StatusTopicName = None,
    worker_config: WorkerConfigs = None,
    principal: Principals = None,
    super_user: SuperUsers = None,
    store: AuditLedger = None,
) -> int:
    """Export findings as Prometheus metrics.

    Use it to be alerted by Prometheus: each cycle reads the same facts as `doctor`, `transactions list`, `transactions
    hanging`, `transactions lso` and `offsets show`, and /metrics has the last cycle's as OpenMetrics text. Facts that
    could not be read are absent, never 0; eosctl_unread and stderr name them. Until the first cycle has ended, /metrics
    and /readyz answer 503. Nothing is written. docs/metrics.md has all metrics.

    --live shows the same on the terminal as `top` does: what holds readers back, open and hanging transactions,
    fencing, IDs and epochs that end, offsets, quiet tasks, findings, and how old each reading is; q ends it. --otlp
    pushes the same metrics to a collector, with the settings of OTEL_EXPORTER_OTLP_*. With --listen too, they are
    served beside it. SIGTERM ends it with exit code 0, as q does, Ctrl-C with 130.

    --churn reads the whole transaction log once an hour, and alerts of IDs of any application that expire soon; without
    it, of those of tasks.

    Several clusters are watched by the names of their profiles, and each series has the profile as a label. Each
    cluster is read on its own: one that does not answer delays no other. --emit prints a file to install: alert rules
    for Prometheus, a dashboard for Grafana, units of systemd that watch these profiles and audit a profile every night,
    or objects for Kubernetes that do both (with a secret eosctl-config that holds config.yaml).

    Examples:
      eosctl watch -b broker:9092 --group-id connect-cluster --connect-url http://worker:8083 --every 60
      eosctl watch --live -b broker:9092 --group-id connect-cluster --connect-url http://worker:8083
      eosctl watch --otlp http://collector:4318 -b broker:9092 --group-id connect-cluster
      eosctl watch production staging --emit systemd
      eosctl watch --emit prometheus-rules > eosctl-rules.yaml
      eosctl watch --emit grafana-dashboard > eosctl-dashboard.json
      eosctl watch --once -b broker:9092 --group-id connect-cluster --connect-url http://worker:8083
    """
    listening = Listening(listen or DEFAULT_ADDRESS, allow_remote, every)
    if emit is not None:
        return answer(options, watch_file(emit, profiles or (), listening, runbooks), view_watch_file)
    topics = {"config": config_topic, "offsets": worker_offsets_topic, "status": status_topic}
    files, principals, super_users = tuple(worker_config or ()), tuple(principal or ()), tuple(super_user or ())
    evidence = EvidenceRequest(topics, files, False, principals, super_users)
    own = (Watched(options, evidence, store, with_churn=churn),)
    clusters = watched_profiles(profiles, options, evidence, with_churn=churn) if profiles else own
    if once:
        if len(clusters) > 1:
            raise UsageError("--once shows one cluster, and several profiles were named")
        return answer(options, observe(clusters[0], clusters[0].session(options.console)), view_observation)
    screen = LiveScreen(options.console, Session.now) if live else None
    serves = listen is not None or not (live or otlp)
    watch_clusters(clusters, listening, options.console, Faces(serves, otlp, screen))
    return EXIT_FINE

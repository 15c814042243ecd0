"""`eosctl watch`: the answers of the commands as metrics."""

from typing import Annotated, TypeAlias

import typer

from eosctl.commands.evidence_options import (
    ConfigTopicName,
    OffsetsTopicName,
    Principals,
    StatusTopicName,
    SuperUsers,
    WorkerConfigs,
)
from eosctl.errors import EXIT_FINE
from eosctl.operations.evidence.request import EvidenceRequest
from eosctl.operations.serving import Listening, serve_metrics
from eosctl.operations.watch import Watched, observe
from eosctl.render.views.watch import view_observation
from eosctl.shell.answering import answer
from eosctl.shell.options import GlobalOptions, connecting

app = typer.Typer()

ListenAddress: TypeAlias = Annotated[
    str, typer.Option("--listen", metavar="HOST:PORT", help="Where to serve /metrics, /healthz and /readyz.")
]
AllowRemote: TypeAlias = Annotated[
    bool, typer.Option("--allow-remote", help="Serve on an address that other machines reach, without a password.")
]
Every: TypeAlias = Annotated[
    float, typer.Option(metavar="SECONDS", min=1.0, help="How long after one cycle began the next one begins.")
]
Once: TypeAlias = Annotated[bool, typer.Option("--once", help="Show the samples of one cycle, and serve nothing.")]
AuditLedger: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        envvar="EOSCTL_AUDIT_STORE",
        help="The ledger of `eosctl audit`, for the verdicts of its last runs.",
    ),
]


@app.command()
@connecting
def watch(
    options: GlobalOptions,
    listen: ListenAddress = "127.0.0.1:9464",
    allow_remote: AllowRemote = False,
    every: Every = 30.0,
    once: Once = False,
    config_topic: ConfigTopicName = None,
    worker_offsets_topic: OffsetsTopicName = None,
    status_topic: StatusTopicName = None,
    worker_config: WorkerConfigs = None,
    principal: Principals = None,
    super_user: SuperUsers = None,
    store: AuditLedger = None,
) -> int:
    """Serve what the commands find as metrics.

    Use it to be alerted by Prometheus: each cycle asks what `doctor`, `transactions list`, `transactions hanging`,
    `transactions lso` and `offsets show` ask, and /metrics has the answers of the last one as OpenMetrics text.
    What could not be read is absent there, never 0, and eosctl_unread names it; it is said on stderr, too. Until the
    first cycle has ended, /metrics and /readyz answer 503. Nothing is written. docs/metrics.md has all metrics.

    Examples:
      eosctl watch -b broker:9092 --group-id connect-cluster --connect-url http://worker:8083 --every 60
      eosctl watch -b broker:9092 --connect-url http://worker:8083 --listen 127.0.0.1:9465
      eosctl watch --once -b broker:9092 --group-id connect-cluster --connect-url http://worker:8083

    Columns:
      METRIC  the name of the metric
      LABELS  its labels, without that of the profile
      VALUE   its value
    """
    topics = {"config": config_topic, "offsets": worker_offsets_topic, "status": status_topic}
    files, principals, super_users = tuple(worker_config or ()), tuple(principal or ()), tuple(super_user or ())
    watched = Watched(options, EvidenceRequest(topics, files, False, principals, super_users), store)
    if once:
        return answer(options, observe(watched, watched.session(options.console)), view_observation)
    serve_metrics((watched,), Listening(listen, allow_remote, every), options.console)
    return EXIT_FINE

"""`eosctl acl-plan`: which ACLs a Connect cluster needs, and which of them it has."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from eosctl.commands.options import ConfigTopic, SuperUsers, WorkerOffsetsTopic
from eosctl.commands.plan_options import PlanFile
from eosctl.errors import UsageError
from eosctl.model.acl_plan import AclReport
from eosctl.model.acls import PatternType
from eosctl.model.client_roles import StreamsApplication
from eosctl.model.workers import SourceSupport
from eosctl.operations.session import Session
from eosctl.render.answers.acls import PLAN_TABLE, AclFormat, EmitOptions, emit_acl_plan, leaving_out, view_acl_plan
from eosctl.render.document import Document
from eosctl.shell.options import GlobalOptions, answer, gating, showing

app = typer.Typer()

WorkerFiles: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE",
        help="Properties of a worker or of MirrorMaker 2, or Strimzi's KafkaConnect or KafkaMirrorMaker2. May be "
        "repeated, also for workers of several clusters.",
        show_default=False,
    ),
]
ConnectorFiles: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[GROUP=]FILE",
        help="Config of a connector, which may be a future one: JSON, properties, or Strimzi's KafkaConnector. May be "
        "repeated.",
        show_default=False,
    ),
]
OnlyConnectors: TypeAlias = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="Only this connector. May be repeated.", show_default=False)
]
Phase: TypeAlias = Annotated[
    SourceSupport | None,
    typer.Option(
        metavar="|".join(SourceSupport),
        help="Plan for this exactly.once.source.support. [default: from --worker-config or the workers]",
        show_default=False,
    ),
]
RolePrincipals: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ROLE=User:NAME",
        help="The principal of a role that no config names: worker, producer, consumer, admin, sink-consumer, "
        "dead-letter-queue, sink-admin, eosctl, … or connector for all clients of connectors; CONNECTOR/ROLE=User:NAME "
        "for one connector. May be repeated.",
        show_default=False,
    ),
]
IdPattern: TypeAlias = Annotated[
    PatternType,
    typer.Option(
        metavar="|".join(PatternType), help="Grant tasks' transactional IDs one by one (literal) or by prefix."
    ),
]
Headroom: TypeAlias = Annotated[
    int, typer.Option(metavar="N", min=0, help="Plan literal IDs for N additional tasks of each connector.")
]
Streams: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="APPLICATION",
        help="Plan for the Kafka Streams application with this application.id and exactly_once_v2, not for Connect.",
        show_default=False,
    ),
]
Reads: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(metavar="TOPIC", help="With --streams: a topic that it reads. May be repeated.", show_default=False),
]
Writes: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(metavar="TOPIC", help="With --streams: a topic that it writes. May be repeated.", show_default=False),
]
ConnectorTopics: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="CONNECTOR=TOPIC",
        help="A topic that the connector writes or reads and its config does not name; PREFIX* for all topics with "
        "this prefix. May be repeated.",
        show_default=False,
    ),
]
Check: TypeAlias = Annotated[bool, typer.Option("--check", help="End with 1 where a required binding is missing.")]
Prune: TypeAlias = Annotated[
    bool, typer.Option("--prune", help="Show, and plan to remove, unneeded bindings of the planned kinds.")
]
Explain: TypeAlias = Annotated[
    bool,
    typer.Option("--explain", help="Show why each binding is needed, in which phases, and the symptom of its absence."),
]
Emit: TypeAlias = Annotated[
    AclFormat | None,
    typer.Option(metavar="|".join(AclFormat), help="Write the bindings for another tool.", show_default=False),
]
ClusterAddresses: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT,…",
        help="The bootstrap.servers by which configs name the cluster of -b. [default: the workers' bootstrap.servers]",
        show_default=False,
    ),
]
BrokerVersion: TypeAlias = Annotated[
    str | None, typer.Option(metavar="VERSION", help="The brokers' version, if no cluster is read.")
]
MappingRules: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="RULES", help="The brokers' ssl.principal.mapping.rules. [default: from the brokers]"),
]
StrimziCluster: TypeAlias = Annotated[
    str, typer.Option(metavar="NAME", help="The strimzi.io/cluster label of --emit strimzi.")
]
MergeWith: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="KafkaUsers that exist: --emit strimzi prints this file with the missing rules added.",
        show_default=False,
    ),
]
MskCluster: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="ARN", help="The cluster's ARN for --emit msk. [default: one with placeholders]", show_default=False
    ),
]
StatusStorageTopic: TypeAlias = Annotated[
    str, typer.Option(metavar="TOPIC", help="The workers' status.storage.topic, without --worker-config.")
]


@app.command()
@showing(PLAN_TABLE)
@gating
def acl_plan(
    options: GlobalOptions,
    worker_config: WorkerFiles = None,
    connector_config: ConnectorFiles = None,
    connector: OnlyConnectors = None,
    phase: Phase = None,
    principal: RolePrincipals = None,
    super_user: SuperUsers = None,
    pattern: IdPattern = PatternType.LITERAL,
    headroom: Headroom = 0,
    topic: ConnectorTopics = None,
    streams: Streams = None,
    reads: Reads = None,
    writes: Writes = None,
    check: Check = False,
    prune: Prune = False,
    explain: Explain = False,
    emit: Emit = None,
    plan_file: PlanFile = None,
    cluster: ClusterAddresses = None,
    broker_version: BrokerVersion = None,
    ssl_principal_mapping_rules: MappingRules = None,
    strimzi_cluster: StrimziCluster = "my-cluster",
    merge_with: MergeWith = None,
    msk_cluster: MskCluster = "arn:aws:kafka:REGION:ACCOUNT:cluster/NAME/UUID",
    config_topic: ConfigTopic = "connect-configs",
    worker_offsets_topic: WorkerOffsetsTopic = None,
    status_topic: StatusStorageTopic = "connect-status",
) -> int:
    """Plan the ACLs that workers and connectors need.

    Use it before you enable exactly-once (--phase preparing, then enabled), before you create a connector, and when a
    client is not authorised. The first line names the phase of the plan: from --phase or the workers' files, otherwise
    from their answers. Without a known phase nothing is planned. Each client may be another principal, so each is
    planned separately: the worker, and for each connector the producer, the offsets consumer, and the admin client,
    which fences. With -b the plan is compared with the cluster's ACLs as its authorizer decides, and connectors are
    read from the config topic; with --connect-url from a worker. Nothing is changed: --plan-file keeps the plan for
    `eosctl apply`.

    The plan contains only permissions that Kafka checks: Write implies Describe, and transactional producers need no
    IdempotentWrite. Optional bindings are marked. --explain names for each binding the clients that need it, the
    phases, the code path or KIP behind it, and the symptom of its absence in a worker's log.

    Examples:
      eosctl acl-plan --worker-config worker.properties --connector-config orders.json
      eosctl acl-plan -b broker:9092 --worker-config worker.properties --phase enabled --check
      eosctl acl-plan -b broker:9092 --worker-config worker.properties --explain
      eosctl acl-plan --worker-config worker.properties --connector-config orders.json --emit shell
      eosctl acl-plan -b broker:9092 --worker-config worker.properties --prune --plan-file acls.plan
      eosctl acl-plan --streams pay --reads orders --writes payments --principal streams=User:pay
    """
    from eosctl.operations import acls

    internal = acls.internal_topics(config_topic, worker_offsets_topic or "connect-offsets", status_topic)
    request = acls.AclOptions(
        acls.AclInputs(worker_config or (), connector_config or (), connector or (), topic or (), internal, cluster),
        phase,
        principals=tuple(principal or ()),
        pattern_type=pattern,
        headroom=headroom,
        brokers=acls.GivenBrokers(broker_version, ssl_principal_mapping_rules, tuple(super_user or ())),
        check=check,
        prune=prune,
        explain=explain,
        emit=emit is not None,
        plan_file=plan_file,
        merge_with=_only_for_strimzi(merge_with, emit, strimzi_cluster),
        streams=_application(streams, reads, writes),
    )
    view = _view(options, emit, strimzi_cluster, msk_cluster)
    with Session(options) as session:
        return answer(options, leaving_out(acls.plan_cluster_acls(session, request), emit), view)


def _application(
    streams: str | None, reads: Sequence[str] | None, writes: Sequence[str] | None
) -> StreamsApplication | None:
    if streams is None and (reads or writes):
        raise UsageError("--reads and --writes are for --streams", hint="add --streams APPLICATION")
    if streams is None:
        return None
    if not streams or not (reads or writes):
        raise UsageError("--streams needs an application.id and its topics", hint="give --reads and --writes")
    return StreamsApplication(streams, tuple(reads or ()), tuple(writes or ()))


def _only_for_strimzi(merge_with: Path | None, form: AclFormat | None, cluster: str) -> tuple[Path, str] | None:
    if merge_with is not None and form is not AclFormat.STRIMZI:
        raise UsageError("--merge-with is for --emit strimzi", hint="add --emit strimzi")
    return None if merge_with is None else (merge_with, cluster)


def _view(
    options: GlobalOptions, form: AclFormat | None, strimzi_cluster: str, msk_cluster: str
) -> Callable[[AclReport], Document | str]:
    """How the plan is shown: as a document, or as text for another tool."""

    if form is None:
        return view_acl_plan
    config = None if options.command_config is None else str(options.command_config)
    around = EmitOptions(
        options.bootstrap_servers or "", config, strimzi_cluster, msk_cluster, text_cells=options.console.csv_text
    )
    console = options.console
    return partial(emit_acl_plan, form=form, around=around, narrate=console.narrate, warn=console.warn)

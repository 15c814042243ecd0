"""`eosctl acl-plan`: which ACLs a Connect cluster needs, and which of them it has."""

from pathlib import Path
from typing import Annotated

import typer

from eosctl.commands.evidence_options import SuperUsers
from eosctl.commands.options import GlobalOptions, reading
from eosctl.commands.topics import ConfigTopic
from eosctl.model.acls import PatternType
from eosctl.model.offset_stores import SourceSupport
from eosctl.render.acl_documents import AclFormat

app = typer.Typer()

Texts = list[str] | None


@app.command()
@reading
def acl_plan(
    options: GlobalOptions,
    worker_config: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Properties of a worker, or of MirrorMaker 2. May be repeated, for workers of several clusters too.",
            show_default=False,
        ),
    ] = None,
    connector_config: Annotated[
        Texts,
        typer.Option(
            metavar="[GROUP=]FILE",
            help="Config of a connector, JSON or properties, that need not exist yet. May be repeated.",
            show_default=False,
        ),
    ] = None,
    connector: Annotated[
        Texts, typer.Option(metavar="NAME", help="Only this connector. May be repeated.", show_default=False)
    ] = None,
    phase: Annotated[
        SourceSupport | None,
        typer.Option(
            metavar="|".join(SourceSupport),
            help="Plan for this exactly.once.source.support. [default: each worker's own]",
            show_default=False,
        ),
    ] = None,
    principal: Annotated[
        Texts,
        typer.Option(
            metavar="ROLE=User:NAME",
            help="Who a role is, where no config tells: worker, producer, consumer, admin, sink-consumer, "
            "dead-letter-queue, sink-admin, eosctl, … or CONNECTOR/ROLE=User:NAME. May be repeated.",
            show_default=False,
        ),
    ] = None,
    super_user: SuperUsers = None,
    pattern: Annotated[
        PatternType,
        typer.Option(
            metavar="|".join(PatternType), help="How tasks' transactional IDs are named: each one, or by prefix."
        ),
    ] = PatternType.LITERAL,
    headroom: Annotated[
        int, typer.Option(metavar="N", min=0, help="Literal IDs for so many tasks more than are known of.")
    ] = 0,
    topic: Annotated[
        Texts,
        typer.Option(
            metavar="CONNECTOR=TOPIC",
            help="A topic that the connector writes or reads, where its config does not tell; PREFIX* for those that "
            "begin so. May be repeated.",
            show_default=False,
        ),
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="End with 1 where a required binding is missing.")] = False,
    prune: Annotated[
        bool, typer.Option("--prune", help="Show, and plan to remove, bindings of these kinds that nothing needs.")
    ] = False,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Say why each is needed, in which phases, and how its absence looks."),
    ] = False,
    emit: Annotated[
        AclFormat | None,
        typer.Option(metavar="|".join(AclFormat), help="Write the bindings for another tool.", show_default=False),
    ] = None,
    plan_file: Annotated[
        Path | None, typer.Option("--plan-file", metavar="FILE", help="Write the plan there, for `eosctl apply`.")
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT,…",
            help="How configs name the cluster that -b leads to. [default: the workers' bootstrap.servers]",
            show_default=False,
        ),
    ] = None,
    broker_version: Annotated[
        str | None, typer.Option(metavar="VERSION", help="The brokers' version, where no cluster is read.")
    ] = None,
    ssl_principal_mapping_rules: Annotated[
        str | None,
        typer.Option(metavar="RULES", help="The brokers' ssl.principal.mapping.rules. [default: as the brokers say]"),
    ] = None,
    strimzi_cluster: Annotated[
        str, typer.Option(metavar="NAME", help="The strimzi.io/cluster label of --emit strimzi.")
    ] = "my-cluster",
    msk_cluster: Annotated[
        str, typer.Option(metavar="ARN", help="The cluster's ARN for --emit msk.")
    ] = "arn:aws:kafka:REGION:ACCOUNT:cluster/NAME/UUID",
    config_topic: ConfigTopic = "connect-configs",
    offsets_topic: Annotated[
        str, typer.Option(metavar="TOPIC", help="The workers' offset.storage.topic, without --worker-config.")
    ] = "connect-offsets",
    status_topic: Annotated[
        str, typer.Option(metavar="TOPIC", help="The workers' status.storage.topic, without --worker-config.")
    ] = "connect-status",
) -> int:
    """Plan the ACLs that a Connect cluster and its connectors need.

    Use it before you enable exactly-once (--phase preparing, then enabled), before you create a connector, and when
    something is not authorised. Every client of Connect is told apart, because each may be another principal: the
    worker, and of each connector the producer, the offsets consumer, and the admin client, which fences. With -b the
    plan is compared with the cluster's ACLs as its authorizer decides, and connectors are read from the config topic;
    with --connect-url from a worker. Nothing is changed: --plan-file keeps the plan for `eosctl apply`.

    Only what Kafka really checks is planned: Write implies Describe, and transactional producers need no
    IdempotentWrite. Optional bindings are marked. --explain says of each binding what needs it, in which phases, which
    code path or KIP it follows from, and how its absence looks in a worker's log or what is lost.

    Examples:
      eosctl acl-plan --worker-config worker.properties --connector-config orders.json
      eosctl acl-plan -b broker:9092 --worker-config worker.properties --phase enabled --check
      eosctl acl-plan -b broker:9092 --worker-config worker.properties --explain
      eosctl acl-plan --worker-config worker.properties --connector-config orders.json --emit kafka-acls
      eosctl acl-plan -b broker:9092 --worker-config worker.properties --prune --plan-file acls.plan

    Columns:
      PRINCIPAL   who needs it
      OPERATION   what it lets the principal do
      TYPE        the resource's type
      NAME        the resource's name, or how it begins
      PATTERN     literal or prefixed
      STATUS      present, missing, extra, or unknown where the cluster's ACLs were not read
      OPTIONAL    yes if nothing fails without it
    """
    from eosctl.commands.acl_answering import answer
    from eosctl.commands.acl_inputs import AclInputs
    from eosctl.commands.acl_planning import AclQuestion
    from eosctl.commands.context import Context

    inputs = AclInputs(
        worker_configs=tuple(worker_config or ()),
        connector_configs=tuple(connector_config or ()),
        connectors=tuple(connector or ()),
        topics=tuple(topic or ()),
        internal_topics={
            "config.storage.topic": config_topic,
            "offset.storage.topic": offsets_topic,
            "status.storage.topic": status_topic,
        },
        cluster=cluster,
    )
    question = AclQuestion(
        inputs=inputs,
        phase=phase,
        principals=tuple(principal or ()),
        pattern_type=pattern,
        headroom=headroom,
        broker_version=broker_version,
        mapping_rules=ssl_principal_mapping_rules,
        super_users=tuple(super_user or ()),
        check=check,
        prune=prune,
        explain=explain,
        emit=emit,
        strimzi_cluster=strimzi_cluster,
        msk_cluster=msk_cluster,
        plan_file=plan_file,
    )
    with Context(options) as context:
        return answer(context, question)

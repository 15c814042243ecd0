"""`eosctl acl-plan`: which ACLs a Connect cluster needs, and which of them it has."""

import typer

from eosctl.commands.acl_options import (
    BrokerVersion,
    Check,
    ClusterAddresses,
    ConnectorFiles,
    ConnectorTopics,
    Emit,
    Explain,
    Headroom,
    IdPattern,
    MappingRules,
    MskCluster,
    OffsetStorageTopic,
    OnlyConnectors,
    Phase,
    Prune,
    RolePrincipals,
    StatusStorageTopic,
    StrimziCluster,
    WorkerFiles,
)
from eosctl.commands.connect_options import ConfigTopic
from eosctl.commands.evidence_options import SuperUsers
from eosctl.commands.plan_options import PlanFile
from eosctl.model.acls import PatternType
from eosctl.shell.options import GlobalOptions, reading

app = typer.Typer()


@app.command()
@reading
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
    check: Check = False,
    prune: Prune = False,
    explain: Explain = False,
    emit: Emit = None,
    plan_file: PlanFile = None,
    cluster: ClusterAddresses = None,
    broker_version: BrokerVersion = None,
    ssl_principal_mapping_rules: MappingRules = None,
    strimzi_cluster: StrimziCluster = "my-cluster",
    msk_cluster: MskCluster = "arn:aws:kafka:REGION:ACCOUNT:cluster/NAME/UUID",
    config_topic: ConfigTopic = "connect-configs",
    offsets_topic: OffsetStorageTopic = "connect-offsets",
    status_topic: StatusStorageTopic = "connect-status",
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
    from eosctl.operations.acl.answer import answer
    from eosctl.operations.acl.inputs import AclInputs, internal_topics
    from eosctl.operations.acl.plan import AclOptions, Emission
    from eosctl.operations.session import Session

    internal = internal_topics(config_topic, offsets_topic, status_topic)
    inputs = AclInputs(worker_config or (), connector_config or (), connector or (), topic or (), internal, cluster)
    request = AclOptions(
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
        emission=None if emit is None else Emission(emit, strimzi_cluster, msk_cluster),
        plan_file=plan_file,
    )
    with Session(options) as session:
        return answer(session, request)

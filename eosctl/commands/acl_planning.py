"""What acl-plan reads, decides and shows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from eosctl.analysis.output_topics import output_topics
from eosctl.commands.acl_inputs import AclInputs, certificate_subject, principals_by_role, read_connect_clusters
from eosctl.commands.context import Context
from eosctl.errors import EXIT_FINE, EXIT_FOUND, ConfigError, EosctlError, NotAuthorized, UsageError
from eosctl.model.acl_plan import AclDifference, AclPlan, AclWish
from eosctl.model.acls import AclBinding, PatternType
from eosctl.model.client_roles import ConnectCluster
from eosctl.model.offset_stores import SourceSupport
from eosctl.model.skipped import Skipped
from eosctl.model.times import rfc3339
from eosctl.model.versions import NEWEST, KafkaVersion
from eosctl.planning.acl_difference import compare_acls
from eosctl.planning.acls import plan_acls
from eosctl.render.acl_documents import AclFormat, emit_acls
from eosctl.render.acl_lines import Surroundings
from eosctl.render.views.acls import view_acl_plan

DESCRIBE_PRODUCERS: Final = 61
"""The API that brokers know since 2.8; older ones check IdempotentWrite (KIP-679)."""
BEFORE_2_8: Final = KafkaVersion(2, 7)
MAPPING_RULES: Final = "ssl.principal.mapping.rules"


@dataclass(frozen=True, slots=True)
class AclQuestion:
    """What was asked. phase, broker_version and mapping_rules None: as the workers and brokers say."""

    inputs: AclInputs
    phase: SourceSupport | None = None
    principals: tuple[str, ...] = ()
    pattern_type: PatternType = PatternType.LITERAL
    headroom: int = 0
    broker_version: str | None = None
    mapping_rules: str | None = None
    super_users: tuple[str, ...] = ()
    cluster: str | None = None
    check: bool = False
    prune: bool = False
    explain: bool = False
    emit: AclFormat | None = None
    strimzi_cluster: str = "my-cluster"
    msk_cluster: str = "arn:aws:kafka:REGION:ACCOUNT:cluster/NAME/UUID"
    plan_file: Path | None = None


@dataclass(frozen=True, slots=True)
class ClusterAcls:
    """What the cluster says: its bindings, which of the topics exist, and how brokers name certificates.

    Who is a super user is not among it: brokers keep super.users to themselves.
    """

    bindings: frozenset[AclBinding] | Skipped
    cluster_id: str | None = None
    topics: Mapping[str, bool] = field(default_factory=dict)
    broker_version: KafkaVersion = NEWEST
    mapping_rules: str = "DEFAULT"


@dataclass(frozen=True, slots=True)
class Planned:
    """A wish, its plan, and how that differs from the cluster's ACLs."""

    wish: AclWish
    plan: AclPlan
    difference: AclDifference
    cluster: frozenset[str]
    acls: ClusterAcls
    as_of: int


def plan_for(context: Context, question: AclQuestion) -> Planned:
    """Reads what the question needs and plans. Raises UsageError for flags that contradict each other."""
    online = _is_online(context)
    _require_sense(question, online=online)
    as_of = context.now()
    clusters = read_connect_clusters(context, question.inputs)
    acls = read_cluster_acls(context, clusters) if online else ClusterAcls(Skipped("no cluster was named with -b"))
    if question.check and isinstance(acls.bindings, Skipped):
        raise ConfigError(f"there are no ACLs to check: {acls.bindings.reason}")
    wish = AclWish(
        clusters,
        question.phase,
        question.pattern_type,
        question.headroom,
        principals_by_role(question.principals),
        acls.topics,
        _broker_version(question, acls),
        question.mapping_rules or acls.mapping_rules,
    )
    plan = plan_acls(wish, certificate_subject)
    place = _place(question, clusters)
    difference = compare_acls(wish, plan, acls.bindings, place, question.super_users)
    return Planned(wish, plan, difference, place, acls, as_of)


def _is_online(context: Context) -> bool:
    options = context.options
    return options.snapshot is None and bool(context.client_properties.bootstrap_servers)


def _require_sense(question: AclQuestion, *, online: bool) -> None:
    if question.check and question.emit is not None:
        raise UsageError("--check and --emit exclude each other: one answers yes or no, the other is for another tool")
    if question.explain and question.emit is not None:
        raise UsageError("--explain and --emit exclude each other: one is for people, the other for another tool")
    for name, asked in (("--check", question.check), ("--prune", question.prune), ("--plan-file", question.plan_file)):
        if asked and not online:
            raise UsageError(f"{name} needs the cluster's ACLs", hint="give -b HOST:PORT")


def _place(question: AclQuestion, clusters: Sequence[ConnectCluster]) -> frozenset[str]:
    """The cluster that -b leads to, by the bootstrap servers that configs give it."""
    text = clusters[0].workers[0].get("bootstrap.servers") if question.cluster is None else question.cluster
    return frozenset(each.strip() for each in text.split(",") if each.strip())


def _broker_version(question: AclQuestion, acls: ClusterAcls) -> KafkaVersion:
    if question.broker_version is None:
        return acls.broker_version
    try:
        return KafkaVersion.parse(question.broker_version)
    except ValueError as error:
        raise UsageError(f"--broker-version {error}") from error


def read_cluster_acls(context: Context, clusters: Sequence[ConnectCluster]) -> ClusterAcls:
    """The ACLs of the cluster at -b. Raises NotAuthorized where they may not be described."""
    from eosctl.sources.kafka_acls import read_acls
    from eosctl.sources.kafka_topics import broker_settings

    wire = context.wire
    bindings = read_acls(wire)
    node = wire.brokers()[0].node_id
    settings = broker_settings(wire, node, [MAPPING_RULES])
    told = {} if isinstance(settings, Skipped) else settings
    return ClusterAcls(
        bindings,
        wire.cluster_id,
        _topics_that_exist(context, clusters),
        NEWEST if DESCRIBE_PRODUCERS in wire.api_versions(node) else BEFORE_2_8,
        told.get(MAPPING_RULES) or "DEFAULT",
    )


def _topics_that_exist(context: Context, clusters: Sequence[ConnectCluster]) -> dict[str, bool]:
    """Whether each topic that the plan may name exists; those that may not be described are left out: not known."""
    from eosctl.sources.kafka_topics import topic_facts

    names = sorted(_topics_of(clusters))
    try:
        return {name: facts is not None for name, facts in topic_facts(context.wire, names).items()} if names else {}
    except NotAuthorized:
        found: dict[str, bool] = {}
        for name in names:
            try:
                found |= {name: facts is not None for name, facts in topic_facts(context.wire, [name]).items()}
            except NotAuthorized:
                continue
        return found
    except EosctlError as error:
        context.options.console.warn(f"which topics exist is not known: {error.message}")
        return {}


def _topics_of(clusters: Sequence[ConnectCluster]) -> set[str]:
    names = {name for cluster in clusters for worker in cluster.workers for name in worker.internal_topics}
    for connector in (each for cluster in clusters for each in cluster.connectors):
        own = (connector.offsets_topic, connector.get("errors.deadletterqueue.topic.name").strip())
        names |= {name for name in own if name}
        if not connector.is_sink:
            patterns = output_topics(connector)
            names |= {each.name for each in patterns if each.pattern_type is PatternType.LITERAL and each.name != "*"}
    return names


def answer(context: Context, question: AclQuestion) -> int:
    """Plans, shows (or emits), and tells the exit code."""
    planned = plan_for(context, question)
    console = context.options.console
    if question.emit is not None:
        console.result(_emitted(context, question, planned))
        return EXIT_FINE
    if question.plan_file is not None:
        from eosctl.commands.acl_applying import keep_acl_plan

        keep_acl_plan(planned, question.plan_file, prune=question.prune)
        console.narrate(f"the plan is in {question.plan_file}; eosctl apply {question.plan_file} carries it out")
    shown = planned.difference if question.prune else replace(planned.difference, extra=())
    phases = None
    if question.explain:
        shown, phases = explain(planned, question.super_users)
    document = view_acl_plan(
        shown,
        [each.group_id for each in planned.wish.clusters],
        rfc3339(planned.as_of),
        planned.acls.cluster_id,
        phases=phases,
    )
    console.result(document)
    return exit_code(question, planned)


def exit_code(question: AclQuestion, planned: Planned) -> int:
    """1 where a finding counts, and with --check where something is missing that is required."""
    found = any(each.counts for each in planned.difference.findings)
    return EXIT_FOUND if found or (question.check and planned.difference.missing_required) else EXIT_FINE


def explain(
    planned: Planned, super_users: Sequence[str] = ()
) -> tuple[AclDifference, dict[AclBinding, list[SourceSupport]]]:
    """The bindings of all phases together, and which of them need each."""
    plans = {phase: plan_acls(replace(planned.wish, phase=phase), certificate_subject) for phase in SourceSupport}
    phases: dict[AclBinding, list[SourceSupport]] = {}
    every = {each.binding: each for each in planned.plan.bindings}
    for phase, plan in plans.items():
        for each in plan.bindings:
            phases.setdefault(each.binding, []).append(phase)
            every.setdefault(each.binding, each)
    bindings = tuple(sorted(every.values(), key=lambda each: each.binding))
    if planned.wish.phase is not None:
        bindings = planned.plan.bindings
    plan = AclPlan(bindings, planned.plan.findings)
    return compare_acls(planned.wish, plan, planned.acls.bindings, planned.cluster, super_users), phases


def _emitted(context: Context, question: AclQuestion, planned: Planned) -> str:
    assert question.emit is not None
    elsewhere = sum(1 for each in planned.plan.bindings if each.cluster != planned.cluster)
    if elsewhere:
        context.options.console.warn(f"{elsewhere} bindings belong to other clusters: see --cluster")
    for each in planned.difference.findings:
        if each.counts:
            context.options.console.warn(f"{each.subject}: {each.message}")
    config = context.options.command_config
    around = Surroundings(
        context.options.bootstrap_servers or ",".join(sorted(planned.cluster)) or "localhost:9092",
        None if config is None else str(config),
        question.strimzi_cluster,
        question.msk_cluster,
    )
    bindings = [each.binding for each in planned.plan.bindings if each.cluster == planned.cluster]
    return emit_acls(bindings, question.emit, around)

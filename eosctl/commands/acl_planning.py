"""What acl-plan reads and decides."""

from dataclasses import dataclass, replace
from pathlib import Path

from eosctl.analysis.acl_findings import find_hidden
from eosctl.commands.acl_inputs import AclInputs, read_connect_clusters
from eosctl.commands.acl_principals import certificate_subject, principals_by_role
from eosctl.commands.acl_reading import ClusterAcls, place_of, read_cluster_acls
from eosctl.commands.context import Context
from eosctl.errors import ConfigError, UsageError
from eosctl.model.acl_plan import AclDifference, AclPlan, AclWish
from eosctl.model.acls import SUPER_USERS, PatternType
from eosctl.model.counts import counted
from eosctl.model.offset_stores import SourceSupport
from eosctl.model.skipped import Skipped
from eosctl.model.versions import KafkaVersion
from eosctl.planning.acl_difference import compare_acls
from eosctl.planning.acls import plan_acls
from eosctl.render.acl_documents import AclFormat


@dataclass(frozen=True, slots=True)
class Emission:
    """Another tool's format, and the names that its documents take."""

    form: AclFormat
    strimzi_cluster: str
    msk_cluster: str


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
    check: bool = False
    prune: bool = False
    explain: bool = False
    emission: Emission | None = None
    plan_file: Path | None = None


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
    principals = principals_by_role(question.principals, clusters)
    acls = read_cluster_acls(context, clusters) if online else ClusterAcls(Skipped("no cluster was named with -b"))
    for name, asked in (("check", question.check), ("change", question.plan_file)):
        if asked and isinstance(acls.bindings, Skipped):
            raise ConfigError(f"there are no ACLs to {name}: {acls.bindings.reason}")
    place = place_of(clusters, acls.addresses, question.inputs.cluster)
    wish = AclWish(
        clusters,
        question.phase,
        question.pattern_type,
        question.headroom,
        principals,
        acls.topics,
        place,
        _broker_version(question, acls),
        question.mapping_rules or acls.mapping_rules,
    )
    plan = plan_acls(wish, certificate_subject)
    difference = compare_acls(wish, plan, acls.bindings, place, question.super_users)
    if difference.missing:
        untold = acls.hidden - ({SUPER_USERS} if question.super_users else set())
        difference = replace(difference, findings=(*difference.findings, *find_hidden(untold)))
    _tell_what_is_elsewhere(context, question, difference, place)
    return Planned(wish, plan, difference, place, acls, as_of)


def _tell_what_is_elsewhere(
    context: Context, question: AclQuestion, difference: AclDifference, place: frozenset[str]
) -> None:
    """Warns of bindings of other clusters, which are not checked; raises ConfigError where all are."""
    if not question.check:
        return
    elsewhere = [each.planned.cluster for each in difference.compared if isinstance(each.status, Skipped)]
    hint = (
        f"name their addresses with --cluster where they are this one, which is taken to be {', '.join(sorted(place))}"
    )
    if elsewhere and len(elsewhere) == len(difference.compared):
        raise ConfigError("every planned binding belongs to another cluster, so none can be checked", hint=hint)
    if elsewhere:
        there = "; ".join(sorted({", ".join(sorted(each)) for each in elsewhere}))
        context.options.console.warn(
            f"{counted(len(elsewhere), 'binding')} of other clusters not checked ({there}): {hint}"
        )


def _is_online(context: Context) -> bool:
    options = context.options
    return options.snapshot is None and bool(context.client_properties.bootstrap_servers)


def _require_sense(question: AclQuestion, *, online: bool) -> None:
    if question.emission is not None:
        for name, asked, purpose in (
            ("--check", question.check, "one answers yes or no"),
            ("--explain", question.explain, "one is for people"),
            ("--prune", question.prune, "one plans removals"),
            ("--plan-file", question.plan_file, "one is for eosctl apply"),
        ):
            if asked:
                raise UsageError(f"{name} and --emit exclude each other: {purpose}, the other is for another tool")
    if question.prune and question.inputs.connectors:
        raise UsageError(
            "--prune and --connector exclude each other: what other connectors need would be taken for extra",
            hint="leave out --connector, so that all connectors are planned for",
        )
    if question.headroom and question.pattern_type is PatternType.PREFIXED:
        raise UsageError("--headroom and --pattern prefixed exclude each other: a prefix holds the ID of every task")
    for name, asked in (("--check", question.check), ("--prune", question.prune), ("--plan-file", question.plan_file)):
        if asked and not online:
            raise UsageError(f"{name} needs the cluster's ACLs", hint="give -b HOST:PORT")


def _broker_version(question: AclQuestion, acls: ClusterAcls) -> KafkaVersion:
    if question.broker_version is None:
        return acls.broker_version
    try:
        return KafkaVersion.parse(question.broker_version)
    except ValueError as error:
        raise UsageError(f"--broker-version {error}") from error

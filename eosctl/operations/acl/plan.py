"""What acl-plan reads and decides."""

from dataclasses import dataclass, replace
from pathlib import Path

from eosctl.analysis.acl_findings import find_hidden
from eosctl.errors import ConfigError, UsageError
from eosctl.model.acl_plan import AclDifference, AclPlan, AclRequest
from eosctl.model.acls import SUPER_USERS, PatternType
from eosctl.model.cluster_acls import ClusterAcls
from eosctl.model.counts import counted
from eosctl.model.offset_stores import SourceSupport
from eosctl.model.skipped import Skipped, not_asked
from eosctl.model.versions import KafkaVersion
from eosctl.operations.acl.cluster_acls import place_of, read_cluster_acls
from eosctl.operations.acl.inputs import AclInputs, read_connect_clusters
from eosctl.operations.acl.principals import certificate_subject, principals_by_role
from eosctl.operations.session import Session
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
class AclOptions:
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
    """A request, its plan, and how that differs from the cluster's ACLs."""

    request: AclRequest
    plan: AclPlan
    difference: AclDifference
    cluster: frozenset[str]
    acls: ClusterAcls
    as_of: int


def plan_for(session: Session, options: AclOptions) -> Planned:
    """Reads what the options needs and plans. Raises UsageError for flags that contradict each other."""
    online = _is_online(session)
    _require_sense(options, online=online)
    as_of = session.now()
    clusters = read_connect_clusters(session, options.inputs)
    principals = principals_by_role(options.principals, clusters)
    acls = read_cluster_acls(session, clusters) if online else ClusterAcls(not_asked("no cluster was named with -b"))
    for name, asked in (("check", options.check), ("change", options.plan_file)):
        if asked and isinstance(acls.bindings, Skipped):
            raise ConfigError(f"there are no ACLs to {name}: {acls.bindings.reason}")
    place = place_of(clusters, acls.addresses, options.inputs.cluster)
    request = AclRequest(
        clusters,
        options.phase,
        options.pattern_type,
        options.headroom,
        principals,
        acls.topics,
        place,
        _broker_version(options, acls),
        options.mapping_rules or acls.mapping_rules,
    )
    plan = plan_acls(request, certificate_subject)
    difference = compare_acls(request, plan, acls.bindings, place, options.super_users)
    if difference.missing:
        untold = acls.hidden - ({SUPER_USERS} if options.super_users else set())
        difference = replace(difference, findings=(*difference.findings, *find_hidden(untold)))
    _tell_what_is_elsewhere(session, options, difference, place)
    return Planned(request, plan, difference, place, acls, as_of)


def _tell_what_is_elsewhere(
    session: Session, options: AclOptions, difference: AclDifference, place: frozenset[str]
) -> None:
    """Warns of bindings of other clusters, which are not checked; raises ConfigError where all are."""
    if not options.check:
        return
    elsewhere = [each.planned.cluster for each in difference.compared if isinstance(each.status, Skipped)]
    hint = (
        f"name their addresses with --cluster where they are this one, which is taken to be {', '.join(sorted(place))}"
    )
    if elsewhere and len(elsewhere) == len(difference.compared):
        raise ConfigError("every planned binding belongs to another cluster, so none can be checked", hint=hint)
    if elsewhere:
        there = "; ".join(sorted({", ".join(sorted(each)) for each in elsewhere}))
        session.options.console.warn(
            f"{counted(len(elsewhere), 'binding')} of other clusters not checked ({there}): {hint}"
        )


def _is_online(session: Session) -> bool:
    options = session.options
    return options.snapshot is None and bool(session.client_properties.bootstrap_servers)


def _require_sense(options: AclOptions, *, online: bool) -> None:
    if options.emission is not None:
        for name, asked, purpose in (
            ("--check", options.check, "one answers yes or no"),
            ("--explain", options.explain, "one is for people"),
            ("--prune", options.prune, "one plans removals"),
            ("--plan-file", options.plan_file, "one is for eosctl apply"),
        ):
            if asked:
                raise UsageError(f"{name} and --emit exclude each other: {purpose}, the other is for another tool")
    if options.prune and options.inputs.connectors:
        raise UsageError(
            "--prune and --connector exclude each other: what other connectors need would be taken for extra",
            hint="leave out --connector, so that all connectors are planned for",
        )
    if options.headroom and options.pattern_type is PatternType.PREFIXED:
        raise UsageError("--headroom and --pattern prefixed exclude each other: a prefix holds the ID of every task")
    for name, asked in (("--check", options.check), ("--prune", options.prune), ("--plan-file", options.plan_file)):
        if asked and not online:
            raise UsageError(f"{name} needs the cluster's ACLs", hint="give -b HOST:PORT")


def _broker_version(options: AclOptions, acls: ClusterAcls) -> KafkaVersion:
    if options.broker_version is None:
        return acls.broker_version
    try:
        return KafkaVersion.parse(options.broker_version)
    except ValueError as error:
        raise UsageError(f"--broker-version {error}") from error

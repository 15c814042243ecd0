"""Planning the ACLs of Connect clusters, and comparing them with those of the Kafka cluster."""

import shlex
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from eosctl.analysis.acl_findings import find_hidden, find_missing, find_unchecked, kinds_looked_for
from eosctl.analysis.connect_clusters import place_of, topics_of
from eosctl.codecs.kafka_users import merge_kafka_users
from eosctl.errors import ConfigError, UsageError
from eosctl.files import KAFKA_USERS, read_text
from eosctl.model.acl_plan import AclDifference, AclPlan, AclReport, AclRequest, planned_phases, same_cluster
from eosctl.model.acls import SUPER_USERS, AclBinding, PatternType
from eosctl.model.client_roles import ConnectCluster
from eosctl.model.cluster_acls import ClusterAcls
from eosctl.model.counts import counted
from eosctl.model.kafka_users import no_kafka_user
from eosctl.model.offset_stores import SourceSupport
from eosctl.model.sides import Place, Side
from eosctl.model.skipped import Cause, Skipped
from eosctl.model.versions import KafkaVersion
from eosctl.operations.acl.inputs import AclInputs, clusters_in_force, files_of, read_connect_clusters
from eosctl.operations.acl.principals import certificate_subject, principals_by_role
from eosctl.operations.plan_files import keep_plan
from eosctl.operations.session import Session
from eosctl.planning.acl_changes import plan_acl_changes
from eosctl.planning.acl_difference import compare_acls
from eosctl.planning.acls import plan_acls

NOT_READ: Final = frozenset({Cause.NOT_ASKED, Cause.NOT_SAVED})


@dataclass(frozen=True, slots=True)
class AclOptions:
    """The command line. phase, broker_version and mapping_rules None: as the workers and brokers say."""

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
    emit: bool = False
    plan_file: Path | None = None
    merge_with: Path | None = None
    strimzi_cluster: str = "my-cluster"


def plan_cluster_acls(session: Session, options: AclOptions) -> AclReport:
    """Reads what the options need, and plans; keeps the changes in the plan file.

    Raises UsageError for flags that contradict each other, ConfigError where there are no ACLs to check or change.
    """
    _check_flags(options)
    reader = session.reader
    as_of = reader.now()
    clusters = _in_force(session, options, read_connect_clusters(session, options.inputs))
    principals = principals_by_role(options.principals, clusters)
    # A plan that is not compared is whole without the ACLs that there are.
    with nullcontext() if options.check else reader.adding():
        acls = reader.acls(topics_of(clusters))
    _require_acls(options, acls)
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
    plan = plan_acls(request, certificate_subject(request.clusters))
    difference = _compare(request, options, plan, acls)
    _name_other_clusters(session, options, difference, place)
    report = AclReport(
        group_ids=tuple(each.group_id for each in clusters),
        as_of=as_of,
        cluster_id=acls.cluster_id,
        cluster=place,
        plan=plan,
        difference=difference,
        planned_for=planned_phases(request),
        missing=tuple(find_missing(difference.missing_required)) if options.check else (),
        unchecked=tuple(find_unchecked(difference)) if options.check else (),
        is_for_tools=options.emit,
        kinds=kinds_looked_for(check=options.check),
        config_files=files_of(options.inputs, clusters),
        merged=None
        if options.merge_with is None
        else _merged(plan, place, options.merge_with, options.strimzi_cluster),
        coverage=reader.coverage,
    )
    if options.plan_file is not None:
        _keep(session, report, acls, options.plan_file, prune=options.prune)
    return _explained(report, request) if options.explain else report


def _in_force(
    session: Session, options: AclOptions, clusters: tuple[ConnectCluster, ...]
) -> tuple[ConnectCluster, ...]:
    """The clusters with the phase of each worker, which is asked where nobody names it; UsageError: it is not known."""
    if options.phase is not None:
        return clusters
    reader = session.reader
    # A file says it; that a worker answers something else only adds to it.
    with reader.adding() if options.inputs.worker_configs else nullcontext():
        workers = reader.worker_evidence()
    found = clusters_in_force(session, clusters, options.inputs, workers)
    if isinstance(found, Skipped):
        raise UsageError(
            found.reason,
            hint="name what to plan for: --phase disabled, preparing or enabled (each needs all that those before it "
            "need); or give the workers' files (--worker-config), or the addresses of all workers (--connect-url)",
        )
    return found


def _merged(plan: AclPlan, place: frozenset[str], file: Path, cluster: str) -> str:
    """The KafkaUsers in the file with the ACLs of the plan."""
    wanted: dict[str, list[AclBinding]] = {}
    for each in plan.bindings:
        if same_cluster(each.cluster, place) and not no_kafka_user(each.binding.principal):
            wanted.setdefault(each.binding.principal, []).append(each.binding)
    return merge_kafka_users(read_text(file, KAFKA_USERS), str(file), wanted, cluster)


def _compare(request: AclRequest, options: AclOptions, plan: AclPlan, acls: ClusterAcls) -> AclDifference:
    assert request.here is not None
    difference = compare_acls(request, plan, acls.bindings, request.here, options.super_users)
    if difference.missing:
        hidden = acls.hidden - ({SUPER_USERS} if options.super_users else set())
        difference = replace(difference, findings=(*difference.findings, *find_hidden(hidden)))
    return difference if options.prune else replace(difference, extra=())


def _keep(session: Session, report: AclReport, acls: ClusterAcls, path: Path, *, prune: bool) -> None:
    assert not isinstance(acls.bindings, Skipped), "_require_acls refuses a plan file without ACLs"
    assert acls.cluster_id is not None
    changes = plan_acl_changes(
        report.difference, report.plan, acls.bindings, acls.cluster_id, report.as_of, prune=prune
    )
    here = Place(Side.SOURCE, session.client_properties.bootstrap_servers)
    keep_plan(replace(changes, places=(here,)), path)
    words = ["eosctl", "apply", str(path), *session.options.words]
    session.options.console.narrate(f"the plan is in {path}; `{shlex.join(words)}` carries it out")


def _explained(report: AclReport, request: AclRequest) -> AclReport:
    """With the phases that need each of its bindings, and how many more each phase needs."""
    phases: dict[AclBinding, list[SourceSupport]] = {}
    planned = {each.binding for each in report.plan.bindings}
    beyond = {}
    for phase in SourceSupport:
        needed = plan_acls(replace(request, phase=phase), certificate_subject(request.clusters)).bindings
        for each in needed:
            phases.setdefault(each.binding, []).append(phase)
        beyond[phase] = len({each.binding for each in needed} - planned)
    return replace(report, phases=phases, beyond=beyond)


def _name_other_clusters(
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


def _check_flags(options: AclOptions) -> None:
    if options.emit:
        for name, given, purpose in (
            ("--check", options.check, "one answers yes or no"),
            ("--explain", options.explain, "one is for people"),
            ("--prune", options.prune, "one plans removals"),
            ("--plan-file", options.plan_file, "one is for eosctl apply"),
        ):
            if given:
                raise UsageError(f"{name} and --emit exclude each other: {purpose}, the other is for another tool")
    if options.prune and options.inputs.connectors:
        raise UsageError(
            "--prune and --connector exclude each other: what other connectors need would be taken for extra",
            hint="leave out --connector, so that all connectors are planned for",
        )
    if options.headroom and options.pattern_type is PatternType.PREFIXED:
        raise UsageError("--headroom and --pattern prefixed exclude each other: a prefix holds the ID of every task")


def _require_acls(options: AclOptions, acls: ClusterAcls) -> None:
    """Raises UsageError for a flag that needs ACLs which nobody named a cluster for, ConfigError where it has none."""
    if not isinstance(acls.bindings, Skipped):
        return
    for flag, verb, given in (
        ("--check", "check", options.check),
        ("--prune", None, options.prune),
        ("--plan-file", "change", options.plan_file),
    ):
        if given and acls.bindings.cause in NOT_READ:
            raise UsageError(f"{flag} needs the cluster's ACLs", hint="give -b HOST:PORT")
        if given and verb is not None:
            raise ConfigError(f"there are no ACLs to {verb}: {acls.bindings.reason}")


def _broker_version(options: AclOptions, acls: ClusterAcls) -> KafkaVersion:
    if options.broker_version is None:
        return acls.broker_version
    try:
        return KafkaVersion.parse(options.broker_version)
    except ValueError as error:
        raise UsageError(f"--broker-version {error}") from error

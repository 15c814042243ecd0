"""acl-plan's answer: shown, emitted for another tool, or kept as a plan file."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from eosctl.errors import EXIT_FINE, EXIT_FOUND
from eosctl.model.acl_plan import AclDifference, AclPlan, same_cluster
from eosctl.model.acls import AclBinding
from eosctl.model.counts import counted
from eosctl.model.offset_stores import SourceSupport
from eosctl.model.times import rfc3339
from eosctl.operations.acl.plan import AclOptions, Emission, Planned, plan_for
from eosctl.operations.acl.plan_file import keep_acl_plan
from eosctl.operations.acl.principals import certificate_subject
from eosctl.operations.session import Session
from eosctl.planning.acl_difference import compare_acls
from eosctl.planning.acls import plan_acls
from eosctl.render.acl_documents import AclFormat, emit_acls, iam_can_say, no_kafka_user
from eosctl.render.acl_lines import EmitOptions
from eosctl.render.views.acls import view_acl_plan


def answer(session: Session, options: AclOptions) -> int:
    """Plans, shows (or emits), and tells the exit code."""
    planned = plan_for(session, options)
    console = session.options.console
    if options.emission is not None:
        console.result(_emitted(session, options.emission, planned))
        return EXIT_FINE
    if options.plan_file is not None:
        keep_acl_plan(planned, options.plan_file, prune=options.prune)
        console.narrate(f"the plan is in {options.plan_file}; eosctl apply {options.plan_file} carries it out")
    shown = planned.difference if options.prune else replace(planned.difference, extra=())
    phases = None
    if options.explain:
        shown, phases = explain(planned, options.super_users)
    document = view_acl_plan(
        shown,
        [each.group_id for each in planned.request.clusters],
        rfc3339(planned.as_of),
        planned.acls.cluster_id,
        phases=phases,
    )
    console.result(document)
    return exit_code(options, planned)


def exit_code(options: AclOptions, planned: Planned) -> int:
    """1 where a finding counts, and with --check where something is missing that is required."""
    found = any(each.counts for each in planned.difference.findings)
    return EXIT_FOUND if found or (options.check and planned.difference.missing_required) else EXIT_FINE


def explain(
    planned: Planned, super_users: Sequence[str] = ()
) -> tuple[AclDifference, dict[AclBinding, list[SourceSupport]]]:
    """The bindings of all phases together, and which of them need each."""
    plans = {phase: plan_acls(replace(planned.request, phase=phase), certificate_subject) for phase in SourceSupport}
    phases: dict[AclBinding, list[SourceSupport]] = {}
    every = {(each.cluster, each.binding): each for each in planned.plan.bindings}
    for phase, plan in plans.items():
        for each in plan.bindings:
            phases.setdefault(each.binding, []).append(phase)
            every.setdefault((each.cluster, each.binding), each)
    bindings = tuple(sorted(every.values(), key=lambda each: each.binding))
    if planned.request.phase is not None:
        bindings = planned.plan.bindings
    plan = AclPlan(bindings, planned.plan.findings)
    return compare_acls(planned.request, plan, planned.acls.bindings, planned.cluster, super_users), phases


def _emitted(session: Session, emission: Emission, planned: Planned) -> str:
    elsewhere = sum(1 for each in planned.plan.bindings if not same_cluster(each.cluster, planned.cluster))
    if elsewhere:
        session.options.console.warn(
            f"{counted(elsewhere, 'binding belongs', 'bindings belong')} to other clusters: see --cluster"
        )
    for each in planned.difference.findings:
        if each.counts:
            session.options.console.warn(f"{each.subject}: {each.message}")
    config = session.options.command_config
    around = EmitOptions(
        session.options.bootstrap_servers or ",".join(sorted(planned.cluster)) or "localhost:9092",
        None if config is None else str(config),
        emission.strimzi_cluster,
        emission.msk_cluster,
    )
    return emit_acls(list(_sayable(session, emission.form, planned)), emission.form, around)


def _sayable(session: Session, form: AclFormat, planned: Planned) -> Iterator[AclBinding]:
    """The bindings of the cluster at hand; warns of what the format's tool does not take."""
    console = session.options.console
    here = [each for each in planned.plan.bindings if same_cluster(each.cluster, planned.cluster)]
    for each in here:
        if form is AclFormat.MSK and each.is_optional and not iam_can_say(each.binding):
            console.warn(f"left out, IAM has no action for it: {each.binding} ({each.loss})")
        else:
            yield each.binding
    if form is AclFormat.STRIMZI:
        for name in sorted({each.binding.principal for each in here}):
            if no_kafka_user(name):
                console.warn(f"{name} is no KafkaUser's principal: Kubernetes does not take such a name")

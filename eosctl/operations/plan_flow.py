"""Show, ask, apply: the one flow of all commands that write.

1. A plan is shown before the question (with --yes only if there is an objection). With --dry-run
   or --plan-file it is the answer, and nothing is written.
2. Only a stopped connector's offsets stay as they are: where a plan stops connectors, they are stopped first, and the
   rest is planned again with what is there then.
3. --dry-run checks the preconditions of a plan like a run: if one does not hold, both end with 8.
4. A plan is applied from its file. Its journal and its undo file lie beside it, so that a run that was cut short can
   be finished and rolled back.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from msgspec.structs import replace

from eosctl.analysis.errors import is_overtaken
from eosctl.clients.access import ClusterAccess
from eosctl.codecs.plan import JournalEvent, plan_digest
from eosctl.errors import EosctlError, Interrupted, PartlyApplied, Refused, UsageError
from eosctl.executors.apply import ApplyRun, Journal, Performer, check_plan, leave_undo_file
from eosctl.executors.connectors import ResumeChecks
from eosctl.executors.performers import performers
from eosctl.executors.transactions import CommitChecks
from eosctl.files import RESTORED_CONFIG, read_text
from eosctl.model.failpoints import Failpoint, no_failpoint
from eosctl.model.names import Side
from eosctl.model.plan import (
    UNDO,
    AwaitOperator,
    ManualStep,
    Plan,
    Standing,
    StopConnector,
    groups_concerned,
    lacking,
    moved_again,
)
from eosctl.model.planned import Applied, ApplyOutcome, Planned
from eosctl.model.preconditions import ClusterIs, TransactionNow
from eosctl.model.skipped import Skipped, read_or_skip
from eosctl.model.text import first_few, pluralize
from eosctl.model.transactions import TransactionDescription, require_described
from eosctl.model.workers import connector_path
from eosctl.operations.agreement import Show, agree
from eosctl.operations.connector_operator import NO_OPERATOR, ConnectorOperator, still_operated
from eosctl.operations.plan_facts import Reading, read_entries, read_plan_facts, read_transaction_now
from eosctl.operations.plan_files import PlanFile, keep_plan, own_plan_path, short_name, steps_done
from eosctl.operations.session import Session, gc_paused
from eosctl.operations.session_options import Reporter
from eosctl.operations.two_clusters import SourceAndTarget
from eosctl.planning import undo as undoing
from eosctl.planning.found_positions import is_read_again, places_read, reading_again, with_found
from eosctl.planning.migration import contradiction
from eosctl.planning.operated import OVER_REST
from eosctl.sources.kafka_log import partition_offsets
from eosctl.sources.kafka_transactions import describe_transactional_ids, read_markers

# The performer of a plan's steps, with the facts that each of them reads.


def performers_on(
    access: Callable[[Side], ClusterAccess],
    reading: Reading,
    failpoint: Failpoint = no_failpoint,
    say: Callable[[str], None] = lambda _: None,
) -> Mapping[type, Performer]:
    """The performer of each kind of step, with what it reads and decides by."""

    def look(side: Side, transactional_id: str) -> TransactionNow:
        return read_transaction_now(reading(side).reader, transactional_id)

    commits = CommitChecks(look, partition_offsets, read_markers)
    checks = ResumeChecks(partial(read_entries, reading), partial(contradiction, nulls=False), is_overtaken)
    config = partial(read_text, kind=RESTORED_CONFIG)
    return performers(access, describe_known, checks, lambda file: config(Path(file)), commits, failpoint, say)


def describe_known(access: ClusterAccess, transactional_ids: Sequence[str]) -> Mapping[str, TransactionDescription]:
    """Descriptions of the IDs that coordinators know; raises the error of one that did not answer."""
    return require_described(describe_transactional_ids(access.wire, transactional_ids))


BY_WORKERS: Final = (*OVER_REST, AwaitOperator)
"""Steps that a worker has to do, or to report."""


T = TypeVar("T", Plan, Planned)

MakePlan = Callable[[tuple[StopConnector, ...]], Planned]
"""Reads and plans; its argument is the steps by which this command has stopped connectors."""


def plan_and_apply(
    session: Session,
    clusters: SourceAndTarget,
    make_plan: MakePlan,
    show: Show[Planned],
    *,
    plan_file: Path | None,
    question: Callable[[Plan], str] = lambda plan: f"Apply {pluralize(len(plan.steps), 'step')}?",
    operator: ConnectorOperator = NO_OPERATOR,
) -> Planned | Applied:
    """The plan if it is only shown or saved in plan_file, otherwise the outcome of its steps."""
    options, make_plan = session.options, partial(_made_here, session, clusters, make_plan, operator)
    with gc_paused():
        planned = make_plan(()).covering(session.reader.coverage)
    if not options.dry_run and (lacking := _no_worker(session, clusters, planned.plan)) is not None:
        raise lacking
    if not (options.dry_run or planned.objections):
        operator.write(planned.plan, options.console.narrate)
    if plan_file is not None:
        return _kept(options.console, clusters, planned, plan_file)
    if options.dry_run:
        return _checked(clusters, planned, replanned=bool(planned.stops))
    agree(session, planned, question(planned.plan), show)
    if planned.stops:
        planned = _stop_and_plan_again(session, clusters, make_plan, planned)
    file = keep_plan(planned.plan, own_plan_path(planned.plan))
    options.console.narrate(
        f"the plan is saved in {file.path}; if this is interrupted, "
        f"`{clusters.command('apply', short_name(file.path))}` finishes it"
    )
    applied = apply_plan(session, clusters, file)
    return replace(applied, findings=planned.findings, coverage=session.reader.coverage)


def _made_here(
    session: Session,
    clusters: SourceAndTarget,
    make_plan: MakePlan,
    operator: ConnectorOperator,
    just_stopped: tuple[StopConnector, ...],
) -> Planned:
    """The plan with where it is made, so that `eosctl apply` needs no more than the file."""
    planned = operator.planned(make_plan(just_stopped))
    _require_workers(clusters, planned.plan)
    plan = replace(planned.plan, places=clusters.places)
    return _with_workers(session, clusters, replace(planned, plan=plan, digest=plan_digest(plan)))


def _require_workers(clusters: SourceAndTarget, plan: Plan) -> None:
    """UsageError where a worker that the plan stops, resumes or configures connectors at is of another Connect group
    than their tasks.
    """
    for side, groups in groups_concerned(plan).items():
        if clusters.access(side).connect_urls:
            for group_id in groups:
                clusters.reading(side).reader.require_workers(group_id)


def _with_workers(session: Session, clusters: SourceAndTarget, planned: Planned) -> Planned:
    """The plan, with an objection for each side whose steps need a worker without a known address."""
    lacking = _no_worker(session, clusters, planned.plan)
    if lacking is None:
        return planned
    return replace(planned, objections=(lacking.message, *planned.objections), hint=planned.hint or lacking.hint)


def _no_worker(session: Session, clusters: SourceAndTarget, plan: Plan) -> Refused | None:
    """Why the plan cannot be carried out without the address of a worker, or None.

    An address that members of the Connect group advertise is a hint: eosctl writes nothing to it before the user names
    it.
    """
    needed = {each.step.side: each.step for each in reversed(plan.steps) if isinstance(each.step, BY_WORKERS)}
    known = {place.side for place in clusters.places if place.connect_urls}
    lacking = {side: step for side, step in needed.items() if side not in known}
    if not lacking:
        return None
    what = [f"to {step.describe()}, the Connect workers of the {side} are needed" for side, step in lacking.items()]
    hint = "give " + " and ".join("--connect-url" if side is Side.SOURCE else "--to-connect-url" for side in lacking)
    if Side.SOURCE in lacking and (found := session.advertised_workers()):
        one = hint.replace("--connect-url", f"--connect-url {found[0]}", 1)
        hint = f"{one}, if it is one of your workers: members of the Connect group advertise {first_few(found)}"
    return Refused("; ".join(what), hint=hint)


def _kept(console: Reporter, clusters: SourceAndTarget, planned: Planned, path: Path) -> Planned:
    """The plan, written to `path` if nothing speaks against it; with the error where it is not."""
    if planned.objections:
        return planned
    try:
        plan = keep_planned(planned, path).plan
    except EosctlError as error:
        return replace(planned, error=error)
    if plan is not planned.plan:
        planned = replace(planned, plan=plan, digest=plan_digest(plan))
    console.narrate(f"plan written to {path}; `{clusters.command('apply', path)}` carries it out")
    return planned


def keep_planned(planned: Planned, path: Path | None = None) -> PlanFile:
    """The plan in its file, as `apply_file` takes it, by default among the user's own plans.

    A running connector's plan uses the offsets that are found after the stop.
    """
    plan = _read_again(planned) if planned.stops else planned.plan
    return keep_plan(plan, path or own_plan_path(plan))


def _read_again(planned: Planned) -> Plan:
    plan = reading_again(planned.plan)
    if plan is None:
        raise Refused(
            "a running connector moves on, so a plan of its offsets would be stale at once; no plan was written",
            hint="stop it first (PUT /connectors/NAME/stop, or spec.state of its KafkaConnector) and plan then, or "
            "leave out --plan-file",
        )
    return plan


def _stop_and_plan_again(session: Session, clusters: SourceAndTarget, make_plan: MakePlan, planned: Planned) -> Planned:
    """Rule 2."""
    stopped = [each.step for each in planned.stops if isinstance(each.step, StopConnector | AwaitOperator)]
    steps = tuple(
        step if isinstance(step, StopConnector) else StopConnector(step.side, step.connector) for step in stopped
    )
    return _stop_and(session, clusters, planned, lambda: make_plan(steps))


def _stop_and(session: Session, clusters: SourceAndTarget, planned: Planned, plan_again: Callable[[], T]) -> T:
    """The plan of `plan_again` after the plan's connectors are stopped; an error after the stop says that they are."""
    stop_plan = replace(planned.plan, steps=planned.stops, as_of=session.now())
    stopped = [each.step for each in planned.stops if isinstance(each.step, StopConnector | AwaitOperator)]
    session.options.console.narrate(f"stopping connector {first_few([step.connector for step in stopped])}")
    _, failure = run_plan(session, clusters, keep_plan(stop_plan, own_plan_path(stop_plan)), narrated=False)
    if failure is not None:
        if isinstance(failure, Interrupted):
            failure.hint = (
                f"run the same command again, or resume it with its old offsets: {_resuming(clusters, planned)}"
            )
        raise failure
    try:
        now = plan_again()
        if isinstance(now, Planned) and now.failure is not None:
            raise now.failure
    except EosctlError as error:
        names = ", ".join(step.connector for step in stopped)
        raise PartlyApplied(
            f"connector {names} was stopped, then: {error.message}",
            hint=f"nothing else was changed; resume it: {_resuming(clusters, planned)}; or run this again",
        ) from error
    return now


def _resuming(clusters: SourceAndTarget, planned: Planned) -> str:
    """How the connectors that a plan stops are resumed without it."""
    if planned.plan.operated is not None:
        return "apply its resource as it was"
    steps = [each.step for each in planned.stops if isinstance(each.step, StopConnector)]
    urls = {side: next(iter(clusters.access(side).connect_urls), "") for side in Side}
    return "; ".join(
        f"curl -X PUT {urls[step.side]}{connector_path(step.connector)}/{'pause' if step.paused else 'resume'}"
        for step in steps
    )


def apply_file(
    session: Session,
    clusters: SourceAndTarget,
    file: PlanFile,
    show: Show[Planned],
    operator: ConnectorOperator = NO_OPERATOR,
) -> Planned | Applied:
    """`eosctl apply`: the plan in the file, shown, agreed to and applied."""
    return _apply(session, clusters, file, f"Apply {file.path}?", show, operator)


def undo_file(
    session: Session,
    clusters: SourceAndTarget,
    file: PlanFile,
    show: Show[Planned],
    operator: ConnectorOperator = NO_OPERATOR,
) -> Planned | Applied:
    """`eosctl undo`: the same for an undo file; UsageError for another plan."""
    path, kind = file.path, file.plan.kind
    if kind != UNDO:
        raise UsageError(f"{path} is a plan of kind {kind}", hint=f"`{clusters.command('apply', path)}` applies it")
    by_hand = [each.step.instruction for each in file.plan.steps if isinstance(each.step, ManualStep)]
    if by_hand and len(by_hand) == len(file.plan.steps):
        raise Refused(f"nothing of this plan can be rolled back: {'; '.join(by_hand)}")
    return _apply(session, clusters, file, f"Undo with {path}?", show, operator)


def _apply(
    session: Session,
    clusters: SourceAndTarget,
    file: PlanFile,
    question: str,
    show: Show[Planned],
    operator: ConnectorOperator,
) -> Planned | Applied:
    reads = is_read_again(file.plan)
    against = dict.fromkeys(lacking(file.plan), "eosctl makes no such plan: make it again, and ask who made this one")
    against |= still_operated(file.plan, operator.operated)
    planned = _with_workers(
        session,
        clusters,
        Planned(
            plan=file.plan,
            cluster_id=_planned_cluster(file.plan),
            objections=tuple(against),
            digest=plan_digest(file.plan),
            hint=next(iter(against.values()), None),
        ),
    )
    question = _confirm_addresses(session, clusters, planned, question, show)
    planned = replace(planned, cluster_id=clusters.access(Side.SOURCE).wire.cluster_id)
    _require_workers(clusters, file.plan)
    if session.options.dry_run:
        return _checked(clusters, planned, done=steps_done(file), replanned=reads)
    agree(session, planned, question, None)
    return _apply_with_found(session, clusters, planned, file) if reads else apply_plan(session, clusters, file)


def _apply_with_found(session: Session, clusters: SourceAndTarget, planned: Planned, file: PlanFile) -> Applied:
    """The plan of a running connector: it is stopped, the rest is planned with its present offsets, and applied.

    Raises Refused if that was done before: apply the plan that followed from it.
    """
    console = session.options.console
    with Journal(file.journal, plan_digest(file.plan)) as journal:
        if journal.done:
            raise Refused(
                f"{file.path} was carried out before, and eosctl then planned the rest with the offsets found",
                hint="`eosctl plans list` shows that plan and its state",
            )
        planned = _checked(clusters, planned, replanned=True)
        if planned.failure is not None:
            raise planned.failure

        def plan_again() -> Plan:
            found = {each: read_entries(clusters.reading, *each) for each in places_read(file.plan)}
            return with_found(file.plan, found, session.now())

        plan = _stop_and(session, clusters, planned, plan_again)
        kept = keep_plan(plan, own_plan_path(plan))
        for number in range(1, len(planned.stops) + 2):
            journal.write(number, JournalEvent.DONE, f"continues with {kept.path}")
    console.narrate(
        f"the plan is saved in {kept.path}; if this is interrupted, "
        f"`{clusters.command('apply', short_name(kept.path))}` finishes it"
    )
    return apply_plan(session, clusters, kept)


def _checked(
    clusters: SourceAndTarget, planned: Planned, *, done: Collection[int] = (), replanned: bool = False
) -> Planned:
    """The plan with the present state of its preconditions.

    Each that would end a run is an objection, unless an existing objection says the same in fewer words.
    """
    read = partial(read_plan_facts, clusters.reading)
    checks, error = check_plan(planned.plan, done, read, words=clusters.words, replanned=replanned)
    failing = (each.reason for each in checks if each.standing is Standing.FAILS)
    return replace(
        planned,
        checks=checks,
        objections=planned.objections or tuple(dict.fromkeys(failing)),
        hint=planned.hint or (None if error is None else error.hint),
        error=planned.error or error,
    )


def _planned_cluster(plan: Plan) -> str:
    """The ID of the source's Kafka cluster as the plan has it; empty where it does not say."""
    checked = (each for step in plan.steps for each in step.preconditions)
    return next((each.cluster_id for each in checked if isinstance(each, ClusterIs) and each.side is Side.SOURCE), "")


def _confirm_addresses(
    session: Session, clusters: SourceAndTarget, planned: Planned, question: str, show: Show[Planned]
) -> str:
    """Shows the plan with its addresses before any connection, and returns the question with the addresses that the
    user did not name. They are written to only after an answer, and if credentials would be shown to them, one that
    repeats them: Refused otherwise."""
    options, unnamed = session.options, clusters.unnamed()
    with_credentials = [each for each, are_shown in unnamed.items() if are_shown]
    refused = bool(with_credentials if options.dry_run else unnamed) and (options.dry_run or options.yes)
    if refused or (not options.dry_run and (planned.objections or not options.yes)):
        show(planned)
    if planned.failure is not None and not options.dry_run:
        raise planned.failure
    what = f"only the plan names {', '.join(with_credentials or unnamed)}"
    credentials = f"{what}, and your credentials would be shown there"
    if refused:
        raise Refused(
            credentials if with_credentials else f"{what}, and --yes alone agrees to no address",
            hint="if these addresses are the right ones, give them: -b HOST:PORT, --connect-url URL",
        )
    if with_credentials:
        options.console.warn(credentials)
    for address in with_credentials:
        options.console.confirm("Type the address to show your credentials there:", yes=False, name=address)
    clusters.confirm()
    asked = [each for each in unnamed if each not in with_credentials]
    return f"{question.removesuffix('?')} at {', '.join(asked)}, which only the plan names?" if asked else question


def apply_plan(session: Session, clusters: SourceAndTarget, file: PlanFile) -> Applied:
    """The result of each step, and the error that ended the run, if any."""
    outcome, error = run_plan(session, clusters, file)
    cluster_id = read_or_skip(lambda: clusters.access(Side.SOURCE).wire.cluster_id)
    return Applied(
        plan=file.plan,
        cluster_id="" if isinstance(cluster_id, Skipped) else cluster_id,
        outcome=outcome,
        plan_file=str(file.path),
        undo_file=str(file.undo),
        finished_by=clusters.command("apply", short_name(file.path)),
        undone_by=clusters.command("undo", short_name(file.undo)),
        moved_back_by=moved_again(undoing.undo_plan(file.plan), clusters.words),
        error=error,
    )


def _say_nothing(_: str) -> None:
    """Of steps that a plan which is made again does and says again."""


def run_plan(
    session: Session,
    clusters: SourceAndTarget,
    file: PlanFile,
    *,
    failpoint: Failpoint = no_failpoint,
    narrated: bool = True,
) -> tuple[ApplyOutcome, EosctlError | None]:
    """Writes the undo file, then performs the remaining steps. narrated: each finished step is narrated."""
    console = session.options.console
    total = len(file.plan.steps)
    with (
        Journal(file.journal, plan_digest(file.plan)) as journal,
        gc_paused(),
        console.results("applying", total, unit="steps") if narrated else nullcontext(_say_nothing) as say,
    ):
        leave_undo_file(file.undo, undoing.undo_plan(file.plan))
        return ApplyRun(
            file.plan,
            journal,
            partial(read_plan_facts, clusters.reading),
            performers_on(clusters.access, clusters.reading, failpoint, console.narrate),
            words=clusters.words,
            on_result=lambda result: say(
                f"{result.number}. {result.outcome.value}: {result.detail or result.step.describe()}"
            ),
            failpoint=failpoint,
        ).run()

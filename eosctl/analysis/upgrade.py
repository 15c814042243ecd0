"""May the next rolling step start?

1. exactly.once.source.support goes disabled, preparing, enabled, and back the same way. During a rolling restart the
   workers are at two values; they must never be at disabled and enabled at once, because a leader that is disabled
   neither fences the leader before it nor writes transactions (KIP-618). So a roll may start when no worker is two
   steps away from the target.
2. An error of a rule that stands in the way of the target is a `no`; such a rule that cannot decide, or a worker whose
   phase is not known where that matters, is a `cannot tell`.
3. An offset of a transaction that was not committed is a `no` to preparing and disabled, whatever it is to workers that
   are enabled: the first worker that is not skips the records up to it.
4. A worker does not report whether it is preparing or disabled: its properties file does, and the leader's ID.
"""

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from eosctl.analysis.catalogue.connect import TWO_STEPS_AWAY
from eosctl.analysis.catalogue.internal_topics import UNCOMMITTED_OFFSET
from eosctl.analysis.catalogue.transactions import LOWERED
from eosctl.analysis.client_configs import FLOWS, UNREAD, servers_elsewhere
from eosctl.analysis.phases import worker_phases
from eosctl.analysis.rules.registry import EXPECTED_WHILE_ROLLING, RULES, diagnose
from eosctl.analysis.rules.settings import EPOCH_FOR_EACH, FEATURE, ended_with_version_2
from eosctl.model.connectors import OFFSETS_TOPIC
from eosctl.model.evidence import Evidence
from eosctl.model.report import Finding, Severity, Uncertainty
from eosctl.model.rules import Diagnosis, FeatureLevel, Phase, RollingStep, Rule, UpgradeCheck, Verdict, WorkerPhase
from eosctl.model.skipped import Coverage, Skipped
from eosctl.model.text import first_few, pluralize
from eosctl.model.workers import SourceSupport

NOTHING: Final = Coverage()
RANK: Final = {Phase.DISABLED: 0, Phase.PREPARING: 1, Phase.ENABLED: 2}
IF_GIVEN: Final = frozenset({"worker_files", "acl_differences"})
STAY: Final = (
    "leave it, or lower it to 1, which does no harm: `kafka-features.sh --bootstrap-server <broker> downgrade "
    "--feature transaction.version=1`"
)
REPORTED: Final = tuple(rule for rule in RULES if rule.id not in EXPECTED_WHILE_ROLLING)
NEXT_UP: Final = {Phase.ENABLED: Phase.PREPARING, Phase.DISABLED: Phase.PREPARING}


def check_upgrade(evidence: Evidence, target: Phase, coverage: Coverage = NOTHING) -> UpgradeCheck:
    """The verdict on a rolling step towards `target`, with the reasons and the next steps.

    coverage is the evidence's: a missing fact permits no yes.
    """
    workers = tuple(worker_phases(evidence.workers, evidence.worker_files))
    diagnosis = diagnose(_at(evidence, target), [rule for rule in RULES if target in rule.blocks])
    if diagnosis.misnaming is not None:
        return _misnamed(evidence, target, workers, diagnosis.misnaming, coverage)
    blockers = (*_two_steps_away(workers, target), *_blockers(diagnosis))
    unknown_phases = tuple(_unknown_phases(workers, target))
    unknown = (*unknown_phases, *_unknown_rules(diagnosis), *map(str, coverage.gaps))
    verdict = Verdict.NO if blockers else Verdict.CANNOT_TELL if unknown else Verdict.YES
    others = diagnose(evidence, REPORTED)
    in_the_way = {(each.id, each.subject) for each in blockers}
    warnings = tuple(each for each in others.reported if each.counts and (each.id, each.subject) not in in_the_way)
    steps = tuple(_steps(workers, target)) if verdict is Verdict.YES else tuple(_first_steps(workers, target))
    return UpgradeCheck(
        evidence=evidence,
        target=target,
        verdict=verdict,
        done=_done(workers, target),
        workers=workers,
        blockers=blockers,
        warnings=warnings,
        unknown=unknown,
        steps=steps,
        consequences=tuple(_consequences(evidence, workers, target)),
        kinds=(TWO_STEPS_AWAY, *(rule.kind for rule in REPORTED if rule.kind.severity is not Severity.INFO)),
        doubts=(
            *(Uncertainty(TWO_STEPS_AWAY.id, each, needed=True) for each in unknown_phases),
            *_doubts(others, target),
        ),
        coverage=coverage,
    )


def check_feature(evidence: Evidence, target: FeatureLevel, coverage: Coverage = NOTHING) -> UpgradeCheck:
    """The verdict on a new level of transaction.version: at 0 coordinators cannot write what version 2 has left."""
    features, present = evidence.finalized_features, None
    blockers: tuple[Finding, ...] = ()
    unknown: tuple[str, ...] = ()
    if isinstance(features, Skipped):
        unknown = (f"which level {target.feature} has: {features.reason}",)
    else:
        present = features.get(target.feature, 0)
        blockers = tuple(_would_be_lowered(evidence, present, target))
        if not blockers and target.level == 0 and present and isinstance(evidence.logged, Skipped):
            unknown = (f"whether IDs have state of version 2: {evidence.logged.reason}",)
    verdict = Verdict.NO if blockers else Verdict.CANNOT_TELL if unknown else Verdict.YES
    return UpgradeCheck(
        evidence=evidence,
        target=target,
        verdict=verdict,
        done=None if present is None else present == target.level,
        workers=(),
        blockers=blockers,
        warnings=(),
        unknown=unknown,
        steps=(),
        consequences=tuple(_after_the_change(present, target)) if verdict is Verdict.YES else (),
        kinds=(LOWERED,),
        coverage=coverage if unknown else NOTHING,
    )


def _would_be_lowered(evidence: Evidence, present: int, target: FeatureLevel) -> Iterator[Finding]:
    logged = {} if isinstance(evidence.logged, Skipped) else evidence.logged
    newer = [name for name, each in logged.items() if ended_with_version_2(each)]
    if target.level > 0 or (present < EPOCH_FOR_EACH and not newer):
        return
    ids = f", {pluralize(len(newer), 'ID')} of this Connect cluster among them ({first_few(newer)})" if newer else ""
    message = (
        f"{target.feature} is {present}: at 0 coordinators cannot write the state of IDs whose last transaction used "
        f"version {EPOCH_FOR_EACH}{ids}. Their producers fail, and no new one starts until the brokers are restarted"
    )
    yield LOWERED.finding(target.feature, message, {"present": present, "transactional_ids": newer}, cure=STAY)


def _after_the_change(present: int | None, target: FeatureLevel) -> Iterator[str]:
    if present is not None and target.level < present:
        yield (
            f"to lower {target.feature} from {present} to {target.level} does no harm to open transactions; a late "
            "request of an earlier transaction can be taken for the present one again (EOS046)"
        )


def _at(evidence: Evidence, target: Phase) -> Evidence:
    """The evidence with the workers' needs at the target in place of their present needs."""
    needed = evidence.acl_differences
    return replace(
        evidence, acl_in_force=needed if isinstance(needed, Skipped) else needed[SourceSupport(target.value)]
    )


def _misnamed(
    evidence: Evidence, target: Phase, workers: tuple[WorkerPhase, ...], misnaming: Finding, coverage: Coverage
) -> UpgradeCheck:
    """Only the finding of a wrong name: the facts belong to another Connect cluster."""
    return UpgradeCheck(
        evidence=evidence,
        target=target,
        verdict=Verdict.CANNOT_TELL,
        done=None,
        workers=workers,
        blockers=(misnaming,),
        warnings=(),
        unknown=(misnaming.message,),
        steps=(),
        consequences=(),
        kinds=(misnaming.kind,),
        coverage=coverage,
    )


def _two_steps_away(workers: tuple[WorkerPhase, ...], target: Phase) -> Iterator[Finding]:
    far = [each for each in workers if each.phase in RANK and abs(RANK[each.phase] - RANK[target]) > 1]
    if far:
        names = ", ".join(each.url for each in far)
        yield TWO_STEPS_AWAY.finding(
            "workers",
            f"{names} {'is' if len(far) == 1 else 'are'} {far[0].phase}. Between {far[0].phase} and {target} every "
            "worker must be preparing; otherwise a disabled leader cannot serve tasks that rely on it",
            {"workers": [each.url for each in far], "phase": far[0].phase.value},
        )


def _blockers(diagnosis: Diagnosis) -> Iterator[Finding]:
    for answer in diagnosis.answers:
        for finding in answer.findings:
            if finding.kind == UNCOMMITTED_OFFSET:
                yield replace(finding, severity=Severity.ERROR)
            elif finding.severity is Severity.ERROR or (
                finding.counts and answer.rule.kind.severity is Severity.WARNING
            ):
                yield finding


def _unknown_phases(workers: tuple[WorkerPhase, ...], target: Phase) -> Iterator[str]:
    if not workers:
        yield "no worker was named: give every worker with --connect-url"
    for each in workers:
        if each.phase is Phase.UNKNOWN:
            yield f"the phase of worker {each.url}: {each.known_by}"
        elif each.phase is Phase.NOT_ENABLED and target is Phase.ENABLED:
            yield (
                f"whether worker {each.url} is preparing: {each.known_by}; give the file that it runs with "
                "(--worker-config)"
            )


def _unknown_rules(diagnosis: Diagnosis) -> Iterator[str]:
    for answer in diagnosis.answers:
        unknown = [each for each in answer.cannot_tell if _stands_in_the_way(answer.rule, each)]
        if unknown:
            yield f"{answer.rule.id}: {answer.rule.question} {'; '.join(unknown)}"


def _doubts(diagnosis: Diagnosis, target: Phase) -> Iterator[Uncertainty]:
    for answer in diagnosis.answers:
        for reason in answer.cannot_tell:
            needed = target in answer.rule.blocks and _stands_in_the_way(answer.rule, reason)
            yield Uncertainty(answer.rule.id, reason, needed=needed)


def _stands_in_the_way(rule: Rule, reason: str) -> bool:
    """True if a roll that the rule blocks needs a fact that it could not read."""
    return reason not in {UNREAD.reason, FLOWS.reason} and not _if_given(rule)


def _if_given(rule: Rule) -> bool:
    """True for rules about files and principals, which a roll does not need."""
    return not IF_GIVEN.isdisjoint(rule.needs)


def _done(workers: tuple[WorkerPhase, ...], target: Phase) -> bool | None:
    phases = {each.phase for each in workers}
    if not phases or phases - {target} & set(RANK):
        return False if phases else None
    unknown = Phase.UNKNOWN in phases or (Phase.NOT_ENABLED in phases and target is not Phase.ENABLED)
    return None if unknown else phases == {target}


def _steps(workers: tuple[WorkerPhase, ...], target: Phase) -> Iterator[RollingStep]:
    """Disabled workers first on the way to preparing, so that the mix of disabled and enabled ends soonest."""
    for each in sorted(workers, key=lambda each: (RANK.get(each.phase, 0), each.url)):
        if each.phase is not target:
            yield RollingStep(each.url, each.phase, _action(each.url, target))


def _action(url: str, target: Phase) -> str:
    return (
        f"set exactly.once.source.support={target} in the properties of the worker at {url} and restart it; "
        f"continue when `eosctl upgrade-check --to {target} --wait 300` answers yes again"
    )


def _first_steps(workers: tuple[WorkerPhase, ...], target: Phase) -> Iterator[RollingStep]:
    """The way to preparing of a worker that is two steps away and blocks the roll."""
    for each in workers:
        if each.phase in RANK and abs(RANK[each.phase] - RANK[target]) > 1:
            yield RollingStep(each.url, each.phase, _action(each.url, NEXT_UP[target]))


def _consequences(evidence: Evidence, workers: tuple[WorkerPhase, ...], target: Phase) -> Iterator[str]:
    if not any(RANK.get(each.phase, -1) > RANK[target] for each in workers):
        return
    features = evidence.finalized_features
    if not isinstance(features, Skipped) and features.get(FEATURE, 0) >= EPOCH_FOR_EACH:
        yield (
            f"{FEATURE} is {features[FEATURE]}: do not lower it to 0, which kafka-features.sh accepts. Producers that "
            "used it fail, and their IDs cannot be used until the brokers are restarted; 1 does no harm (EOS047)"
        )
    yield (
        "tasks on workers that are no longer enabled write without transactions, and no leader fences them. A "
        "crash or a rebalance may repeat the records since the last offset flush"
    )
    yield (
        "workers that are no longer enabled resume from offsets of aborted transactions, and skip the records up "
        "to them. Before the first restart set exactly.once.support=required to `requested`. Stop every source "
        "connector (PUT /connectors/<connector>/stop, from 3.5 on), run this check again, and resume the "
        "connectors after the last restart"
    )
    states = () if isinstance(evidence.inspection, Skipped) else evidence.inspection.connectors
    recorded = [each.state.name for each in states if each.state.task_count_record is not None and each.state.known]
    if recorded:
        yield (
            f"task count records of {pluralize(len(recorded), 'connector')} ({', '.join(recorded[:10])}) become "
            "stale; they are harmless, and the first start after you enable exactly-once again fences by them"
        )
    for name in evidence.sources():
        yield from _offsets_after(name, evidence)
    yield (
        "a downgrade to workers before 3.3 is hard: they do not know connector-specific offsets topics and begin "
        "from the worker-global topic, whose copy may be older. Workers up to 3.4 treat STOPPED as PAUSED"
    )


def _offsets_after(name: str, evidence: Evidence) -> Iterator[str]:
    own = evidence.config(name).get(OFFSETS_TOPIC)
    if own:
        yield f"{name} keeps its offsets topic {own}, which stays in use"
    elif servers_elsewhere(evidence, name) is not None:
        yield (
            f"{name} has an offsets topic on its own cluster only because exactly-once is enabled. It will begin "
            "from the worker-global topic, and its former topic becomes stale. Empty or refresh that topic before "
            "you enable exactly-once again"
        )

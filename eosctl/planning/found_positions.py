"""Plans of connectors that run: what is copied is what is found once they are stopped.

A running connector moves on, so the offsets in a plan of it are old before anybody has reviewed it. What is reviewed is
the rest: which topics, which names, which steps. So the plan stops the connector first, then has a step that reads its
offsets again, and `apply` goes on with a plan of what was found. That differs in the offsets and their digests alone.
"""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from eosctl.codecs.offsets_topic import offsets_now
from eosctl.errors import Refused
from eosctl.model.migration import MergeRule, Move
from eosctl.model.offsets import Entry
from eosctl.model.plan import (
    ClusterIs,
    OffsetsUnchanged,
    Plan,
    PlannedStep,
    Precondition,
    ReadAgain,
    Side,
    StopConnector,
    TopicIsCompact,
    VerifyOffsets,
    WriteOffsets,
)
from eosctl.model.report import Severity
from eosctl.planning.migration import Merged, merge_offsets

Found = Mapping[tuple[Side, str, str], Sequence[Entry]]
"""What topics hold of connectors now: by side, topic and connector."""


def reading_again(plan: Plan) -> Plan | None:
    """The plan with a step that reads each copied connector's offsets again after the stop; None where it copies none
    from one place to another.
    """
    stops = [each for each in plan.steps if isinstance(each.step, StopConnector)]
    writes = [each for each in plan.steps if isinstance(each.step, WriteOffsets)]
    if not stops or not writes or any(_move(each) is None for each in writes):
        return None
    names = dict.fromkeys(move.connector for each in writes if (move := _move(each)) is not None)
    again = [PlannedStep(ReadAgain(Side.SOURCE, name), _clusters(stops[0])) for name in names]
    rest = [each for each in plan.steps if each not in stops]
    return replace(plan, steps=(*stops, *again, *rest))


def is_read_again(plan: Plan) -> bool:
    """Whether the plan's offsets are those that are found once its connectors are stopped."""
    return any(isinstance(each.step, ReadAgain) for each in plan.steps)


def places_read(plan: Plan) -> tuple[tuple[Side, str, str], ...]:
    """The places that the plan copies offsets from and to."""
    moves = [move for each in plan.steps if (move := _move(each)) is not None]
    sources = [(Side.SOURCE, move.source_topic, move.connector) for move in moves]
    return (*sources, *((Side.TARGET, move.target_topic, move.new_name) for move in moves))


def with_found(plan: Plan, found: Found, as_of: int) -> Plan:
    """The plan with what was found in the place of what was planned. Raises Refused where both places differ."""
    merged: dict[tuple[str, str], Merged] = {}
    steps: list[PlannedStep] = []
    for planned in plan.steps:
        step, move = planned.step, _move(planned)
        if isinstance(step, ReadAgain):
            continue
        if isinstance(step, WriteOffsets) and move is not None:
            each = merged[step.topic, step.connector] = _merged(move, planned, found)
            steps += [_write(step, planned, move, found, each)] if each.writes else []
        elif isinstance(step, VerifyOffsets) and (step.topic, step.connector) in merged:
            steps.append(replace(planned, step=replace(step, digest=merged[step.topic, step.connector].after)))
        else:
            steps.append(planned)
    return replace(plan, as_of=as_of, steps=tuple(steps))


def _merged(move: Move, planned: PlannedStep, found: Found) -> Merged:
    [partitions] = {each.partitions for each in planned.preconditions if isinstance(each, TopicIsCompact)}
    source, target = (found[place] for place in places_read(Plan("", 0, (planned,))))
    merged = merge_offsets(move, source, target, partitions, MergeRule.FAIL)
    against = [each.message for each in merged.findings if each.severity is Severity.ERROR]
    if against:
        raise Refused("; ".join(against), hint="make the plan again, of the stopped connector, with --merge")
    return merged


def _write(step: WriteOffsets, planned: PlannedStep, move: Move, found: Found, merged: Merged) -> PlannedStep:
    source = offsets_now(found[Side.SOURCE, move.source_topic, move.connector])
    before = offsets_now(found[Side.TARGET, move.target_topic, move.new_name])

    def now(precondition: Precondition) -> Precondition:
        if not isinstance(precondition, OffsetsUnchanged):
            return precondition
        if precondition.side is Side.SOURCE:
            return replace(precondition, digest=source.records)
        return replace(precondition, digest=before.records, allowed=merged.after)

    written = replace(
        step, records=merged.writes, before=before.records, before_values=before.values, after=merged.after
    )
    return PlannedStep(written, tuple(map(now, planned.preconditions)))


def _move(planned: PlannedStep) -> Move | None:
    """Where a step copies offsets from; None for one that writes others."""
    step = planned.step
    if not isinstance(step, WriteOffsets) or step.side is not Side.TARGET:
        return None
    sources = [
        each for each in planned.preconditions if isinstance(each, OffsetsUnchanged) and each.side is Side.SOURCE
    ]
    if len(sources) != 1:
        return None
    return Move(sources[0].connector, step.connector, sources[0].topic, step.topic)


def _clusters(planned: PlannedStep) -> tuple[Precondition, ...]:
    return tuple(each for each in planned.preconditions if isinstance(each, ClusterIs))

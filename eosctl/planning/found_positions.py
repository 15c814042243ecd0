"""Plans for running connectors: the offsets to copy or overwrite are read once the connectors are stopped.

A running connector moves on, so the offsets in its plan are stale before the review. The review covers the rest:
topics, names, steps, and the offsets of a file to restore. So the plan stops the connector first, then has a step that
reads its offsets again, and `apply` continues with a plan of these. It differs only in the offsets and their digests.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from eosctl.codecs.offsets_topic import (
    canonical,
    decode_offsets_key,
    decode_offsets_value,
    offsets_now,
    value_digest,
)
from eosctl.errors import Refused
from eosctl.model.migration import MergeRule, Move
from eosctl.model.names import Side
from eosctl.model.offsets import Entry, OffsetKey
from eosctl.model.plan import Plan, PlannedStep, ReadAgain, StopConnector, VerifyOffsets, WriteOffsets
from eosctl.model.preconditions import OffsetsUnchanged, Precondition, TopicIsCompact
from eosctl.model.report import Severity
from eosctl.planning.migration import Merged, after_writing, merge_offsets, text
from eosctl.planning.restore import find_differences, writes_of

Place = tuple[Side, str, str]
"""Side, topic and connector."""

Found = Mapping[Place, Sequence[Entry]]
"""The present records of topics for connectors."""


def reading_again(plan: Plan) -> Plan | None:
    """The plan with a step that reads each connector's offsets again after the stop; None where it stops none, or
    writes no offsets.
    """
    stops = [each for each in plan.steps if isinstance(each.step, StopConnector)]
    writes = [(each.step, _move(each)) for each in plan.steps if isinstance(each.step, WriteOffsets)]
    if not stops or not writes or any(move is None and not _is_in_place(step) for step, move in writes):
        return None
    names = dict.fromkeys(step.connector if move is None else move.connector for step, move in writes)
    again = [PlannedStep(ReadAgain(Side.SOURCE, name), stops[0].preconditions) for name in names]
    rest = [each for each in plan.steps if each not in stops]
    return replace(plan, steps=(*stops, *again, *rest))


def is_read_again(plan: Plan) -> bool:
    """True if the plan's offsets are read again once its connectors are stopped."""
    return any(isinstance(each.step, ReadAgain) for each in plan.steps)


def places_read(plan: Plan) -> tuple[Place, ...]:
    """The places that the plan copies offsets from and writes them to."""
    moves = [move for each in plan.steps if (move := _move(each)) is not None]
    sources = [(Side.SOURCE, move.source_topic, move.connector) for move in moves]
    return (*sources, *(_place(each.step) for each in plan.steps if isinstance(each.step, WriteOffsets)))


def with_found(plan: Plan, found: Found, as_of: int) -> Plan:
    """The plan with the found offsets in place of the planned ones.

    Raises Refused if both places differ, and if the offsets of a file do not fit the found ones.
    """
    merged: dict[Place, Merged] = {}
    steps: list[PlannedStep] = []
    for planned in plan.steps:
        step, move = planned.step, _move(planned)
        if isinstance(step, ReadAgain):
            continue
        if isinstance(step, WriteOffsets) and (move is not None or _is_in_place(step)):
            each = _restored(step, planned, found) if move is None else _merged(move, planned, found)
            merged[_place(step)] = each
            # A restore without anything to write is done; a move must keep the offsets that it read unchanged in any
            # case.
            is_written = each.writes or step.side is Side.TARGET
            steps += [_write(step, planned, move, found, each)] if is_written else []
        elif isinstance(step, VerifyOffsets) and _place(step) in merged:
            each = merged[_place(step)]
            # A copy is verified also where all of it was there; a restore that writes nothing has no such step.
            is_verified = each.writes or step.side is Side.TARGET
            steps += [replace(planned, step=replace(step, digest=each.after))] if is_verified else []
        else:
            steps.append(planned)
    return replace(plan, as_of=as_of, steps=tuple(steps))


def _merged(move: Move, planned: PlannedStep, found: Found) -> Merged:
    source, target = (found[place] for place in places_read(Plan("", 0, (planned,))))
    merged = merge_offsets(move, source, target, _partitions(planned), MergeRule.FAIL)
    if merged.findings:  # with this rule each of them is an error
        against = (each.message for each in merged.findings)
        raise Refused("; ".join(against), hint="make the plan again, of the stopped connector, with --merge")
    return merged


def _restored(step: WriteOffsets, planned: PlannedStep, found: Found) -> Merged:
    """The offsets of the file, where they are not there already."""
    held = found[_place(step)]
    wanted = {each.key: each.value for each in step.records}
    against = [*_rewritten_keys(wanted, held), *_new_differences(step, held)]
    if against:
        raise Refused("; ".join(against), hint="make the plan again, of the stopped connector")
    writes = tuple(writes_of(held, wanted, _partitions(planned)))
    return Merged(writes, value_digest(after_writing(held, writes)), ())


def _rewritten_keys(wanted: Iterable[bytes], held: Sequence[Entry]) -> Iterator[str]:
    """Keys of the plan that the connector has written in another way since: it would not find those of the plan."""
    known = {canonical(key): key.raw for key, _ in held}
    for raw in wanted:
        key = decode_offsets_key(raw)
        there = known.get(canonical(key)) if isinstance(key, OffsetKey) else None
        if there is not None and raw not in {each.raw for each, _ in held}:
            yield f"the connector has now written the key {text(there)}, and the plan {text(raw)}"


def _new_differences(step: WriteOffsets, held: Sequence[Entry]) -> Iterator[str]:
    """Objections to an offset of the file that are new since the plan was made or forced."""
    now = {key.raw: records.committed.value for key, records in held if records.committed is not None}
    for write in step.records:
        if not list(_differences(step.connector, write.key, write.before, write.value)):
            yield from _differences(step.connector, write.key, now.get(write.key), write.value)


def _differences(connector: str, raw: bytes, before: bytes | None, after: bytes | None) -> Iterator[str]:
    match decode_offsets_key(raw), decode_offsets_value(before), decode_offsets_value(after):
        case OffsetKey() as key, Mapping() as was, Mapping() as now:
            found = find_differences(connector, key.members, was, now, force=False)
            yield from (each.message for each in found if each.severity is Severity.ERROR)


def _write(step: WriteOffsets, planned: PlannedStep, move: Move | None, found: Found, merged: Merged) -> PlannedStep:
    before = offsets_now(found[_place(step)])

    def now(precondition: Precondition) -> Precondition:
        if not isinstance(precondition, OffsetsUnchanged):
            return precondition
        if move is not None and precondition.side is Side.SOURCE:
            source = offsets_now(found[Side.SOURCE, move.source_topic, move.connector])
            return replace(precondition, digest=source.records)
        return replace(precondition, digest=before.records, allowed=merged.after)

    written = replace(
        step, records=merged.writes, before=before.records, before_values=before.values, after=merged.after
    )
    return PlannedStep(written, tuple(map(now, planned.preconditions)))


def _move(planned: PlannedStep) -> Move | None:
    """The source of the offsets that a step copies; None for a step that writes others."""
    step = planned.step
    if not isinstance(step, WriteOffsets) or step.side is not Side.TARGET:
        return None
    sources = [
        each for each in planned.preconditions if isinstance(each, OffsetsUnchanged) and each.side is Side.SOURCE
    ]
    if len(sources) != 1:
        return None
    return Move(sources[0].connector, step.connector, sources[0].topic, step.topic)


def _is_in_place(step: WriteOffsets) -> bool:
    """True if the offsets of a file overwrite the connector's: a move writes to the target."""
    return step.side is Side.SOURCE


def _place(step: WriteOffsets | VerifyOffsets) -> Place:
    return step.side, step.topic, step.connector


def _partitions(planned: PlannedStep) -> int:
    [partitions] = {each.partitions for each in planned.preconditions if isinstance(each, TopicIsCompact)}
    return partitions

"""Judges differences between source and target: findings, and a verdict on each pair of partitions.

1. Broken: a gap, a repeat, another order, or a record that the source never committed.
2. Cannot tell: records that equal none of the source, or that the source no longer holds; damage; compaction.
3. Held otherwise: from the first record that both sides hold to the last one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from msgspec import Struct

from eosctl.analysis.catalogue import audit as kinds
from eosctl.model.audit import AuditVerdict
from eosctl.model.mirror import (
    Again,
    Alignment,
    Compared,
    Counts,
    EqualPiece,
    Kept,
    MirroredTopic,
    MirrorPlan,
    MirrorProgress,
    PairVerdict,
    PartitionPair,
    Stretch,
)
from eosctl.model.names import Side
from eosctl.model.records import IsolationLevel
from eosctl.model.report import Finding, FindingKind, Severity
from eosctl.model.skipped import Skipped
from eosctl.model.text import pluralize

MOST_PLACES: Final = 20
NEAR: Final = 0.5
"""Share of the source's retention from which on a record that is not mirrored is in danger."""
OFTENER: Final = (
    "Records that the source deleted can no longer be compared: run the audit more often than the source deletes"
)


class Circumstances(Struct, frozen=True):
    """Inputs of the verdict on a pair besides its records.

    now is in ms since the epoch. position_after is the mirror's offset after the bounds had been read. again is why
    everything was compared although an earlier run existed (None: it did not).
    """

    now: int
    topic: MirroredTopic
    isolation: IsolationLevel | Skipped
    position_after: int | Skipped | None
    again: Again | None = None


@dataclass
class _Judgement:
    """Findings and verdict on one pair so far."""

    pair: PartitionPair
    broken: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def add(
        self, kind: FindingKind, message: str, stretches: Sequence[Stretch] = (), severity: Severity | None = None
    ) -> None:
        evidence = {
            "target_topic": self.pair.topics.target,
            "partition": self.pair.partition,
            "records": sum(each.records for each in stretches),
            "places": [each._asdict() for each in stretches[:MOST_PLACES]],
        }
        subject = f"{self.pair.topics.source}-{self.pair.partition}"
        self.findings.append(kind.finding(subject, f"{self.pair}: {message}", evidence, severity=severity))


def judge_pair(
    pair: PartitionPair, found: Alignment, circumstances: Circumstances
) -> tuple[PairVerdict, tuple[Finding, ...]]:
    """The verdict on one pair, and its findings."""
    judged = _Judgement(pair)
    _judge_damage(judged, found)
    _judge_order(judged, found)
    _judge_aborted(judged, found, circumstances)
    _judge_gaps(judged, found, circumstances.topic)
    _judge_beginning(judged, found)
    _judge_position(judged, found, circumstances)
    _judge_hidden(judged, circumstances.again)
    _judge_retention(judged, found, circumstances)
    _judge_checkpoints(judged, found)
    if judged.broken:
        verdict, reasons = AuditVerdict.BROKEN, [*judged.broken, *judged.open]
    elif judged.open:
        verdict, reasons = AuditVerdict.CANNOT_TELL, judged.open
    else:
        verdict, reasons = AuditVerdict.HELD, [_held(found)]
    evidence = tuple(dict.fromkeys(each.id for each in judged.findings if each.counts))
    reasons = [*reasons, *_since(found, circumstances)]
    return PairVerdict(pair, found, verdict, evidence, tuple(reasons)), tuple(judged.findings)


def _since(found: Alignment, circumstances: Circumstances) -> Iterator[str]:
    """Where the previous run left off."""
    if found.continued is not None:
        yield "source offsets before {} and target offsets before {} were compared by earlier runs".format(
            *found.continued
        )
    if circumstances.again is not None:
        yield f"everything was compared again: {circumstances.again.why}"


def judge_unpaired(plan: MirrorPlan) -> Iterator[Finding]:
    """One finding for each partition with records on one side only."""
    for place, side in plan.unpaired.items():
        yield kinds.UNPAIRED.finding(place, f"partition {place} is in the {side} only", {"side": side})


def _held(found: Alignment) -> str:
    if found.first is None or found.last is None:
        return "neither side holds a committed record"
    what = f"source offsets {found.first[0]} to {found.last[0]} are there once and in order"
    return f"{what}, by digests of {found.compared.value}"


def _total(stretches: Sequence[Stretch]) -> str:
    return pluralize(sum(each.records for each in stretches), "record")


def _from(stretches: Sequence[Stretch]) -> str:
    first = stretches[0]
    return f"from source offset {first.source_start} (target offset {first.target_start}) on"


def _judge_damage(judged: _Judgement, found: Alignment) -> None:
    for each in found.damages[:MOST_PLACES]:
        place = judged.pair.place(each.side)
        what = f"{each.side.value} offsets {each.start} to {each.end - 1} of {place} were not read"
        judged.open.append(f"{what}: {each.reason}")
    if found.more:
        judged.open.append(f"{pluralize(found.more, 'difference')} more are not listed")


def _judge_order(judged: _Judgement, found: Alignment) -> None:
    if found.repeats:
        what = f"{_total(found.repeats)} repeated"
        judged.broken.append(what)
        judged.add(kinds.MIRROR_REPEAT, f"{what}, {_from(found.repeats)}", found.repeats)
    if found.late:
        what = f"{_total(found.late)} out of order"
        judged.broken.append(what)
        judged.add(kinds.MIRROR_DISORDER, f"{what}, {_from(found.late)}", found.late)
    if found.compared is not Compared.WHOLE:
        left = "headers" if found.compared is Compared.WITHOUT_HEADERS else "timestamps"
        left = "timestamps and headers" if found.compared is Compared.KEY_AND_VALUE else left
        judged.add(kinds.MIRROR_CHANGED, f"{left} differ; records are compared by {found.compared.value}")


def _judge_aborted(judged: _Judgement, found: Alignment, circumstances: Circumstances) -> None:
    stable = judged.pair.source.last_stable_offset
    undecided = [each for each in found.aborted if each.source_start >= stable]
    aborted = [each for each in found.aborted if each.source_start < stable]
    uncommitted = circumstances.isolation is IsolationLevel.READ_UNCOMMITTED
    suffix = "; the mirror is set to read uncommitted" if uncommitted else ""
    for stretches, verdict, word in ((aborted, judged.broken, "aborted"), (undecided, judged.open, "undecided")):
        if stretches:
            what = f"{_total(stretches)} of {word} source transactions"
            severity = Severity.WARNING if uncommitted or stretches is undecided else Severity.ERROR
            judged.add(kinds.ABORTED_MIRRORED, f"{what}, {_from(stretches)}{suffix}", stretches, severity)
            if not uncommitted:
                verdict.append(what if stretches is aborted else f"{what}: audit again when these have ended")


def _judge_gaps(judged: _Judgement, found: Alignment, topic: MirroredTopic) -> None:
    """Gaps, and unmatched target records; at one place, records may have been changed."""
    places = {each.source_start for each in found.unknown}
    changed = [each for each in found.gaps if each.source_start in places]
    gaps = [each for each in found.gaps if each.source_start not in places]
    if found.unknown:
        what = f"{_total(found.unknown)} of the target equal no record of the source"
        if changed:
            what += f", instead of {_total(changed)} of the source"
        judged.open.append(what)
        judged.add(kinds.MIRROR_UNKNOWN, f"{what}, {_from(found.unknown)}", (*found.unknown, *changed))
    if not gaps:
        return
    what = f"{_total(gaps)} missing"
    compacted = topic.compacted
    holes = [each for each in found.damages if each.side is Side.TARGET]
    if isinstance(compacted, Skipped):
        judged.open.append(f"{what}; whether they were compacted is not known: {compacted.reason}")
    elif Side.TARGET in compacted:
        judged.open.append(f"{what} in a compacted target: a later record of their key replaces them, or nothing does")
    elif holes and all(any(hole.start <= each.target_start <= hole.end for hole in holes) for each in gaps):
        judged.open.append(f"{what} where the target could not be read")
    else:
        judged.broken.append(what)
        judged.add(kinds.MIRROR_GAP, f"{what}, {_from(gaps)}", gaps)
        return
    judged.add(kinds.MIRROR_GAP, f"{what}, {_from(gaps)}", gaps, Severity.WARNING)


def _judge_beginning(judged: _Judgement, found: Alignment) -> None:
    """Target records before the first match come from a lost source; later ones may be a gap."""
    begins = judged.pair.source.log_start_offset
    if found.lead is not None:
        what = f"{_total([found.lead])} of the target are before the first record that the source still holds"
        if begins > 0:
            judged.open.append(f"{what}: its log starts at {begins} now. {OFTENER}")
        elif any(each.side is Side.SOURCE for each in found.damages):
            judged.open.append(f"{what}, and not all of the source was read")
        else:
            what += ", whose log starts at 0: it was created again, or something else writes to the target"
            judged.open.append(f"{what}. {OFTENER}")
            judged.add(kinds.SOURCE_RECREATED, what, (found.lead,), Severity.WARNING)
    if found.head is None:
        return
    what = f"{_total([found.head])} of the source are before the first mirrored record"
    if found.lead is not None and found.first is not None:
        judged.broken.append(f"{_total([found.head])} missing")
        judged.add(kinds.MIRROR_GAP, f"{what}, though the target holds earlier ones", (found.head,))
    elif found.first is not None:
        judged.add(kinds.MIRROR_BEGAN, what, (found.head,))


def _judge_position(judged: _Judgement, found: Alignment, circumstances: Circumstances) -> None:
    """The mirror's own offset against both logs."""
    before, after, source = judged.pair.position, circumstances.position_after, judged.pair.source
    if isinstance(after, int) and after + 1 < source.log_start_offset:
        first, last = after + 1, source.log_start_offset - 1
        what = f"source offsets {first} to {last} were deleted before the mirror, which is at {after}, read them"
        judged.open.append(f"{what}; whether they held committed records, or aborted ones, is not known")
        judged.add(kinds.SOURCE_PURGED, what)
    if isinstance(before, int) and before + 1 > source.high_watermark:
        what = f"the mirror is at {before}, and the source ends at {source.high_watermark}"
        judged.open.append(f"{what}: the topic was created again, or cut")
        judged.add(kinds.SOURCE_RECREATED, what)
    if found.first is None and (found.source_records or found.target_records):
        _judge_nothing_equal(judged, found)


def _judge_nothing_equal(judged: _Judgement, found: Alignment) -> None:
    position, target = judged.pair.position, judged.pair.target
    if found.target_records and found.target_records == sum(each.records for each in found.aborted):
        if found.source_records:
            judged.open.append("only records of aborted transactions were mirrored: audit again when the mirror runs")
    elif found.target_records and found.source_records:
        judged.open.append("no record of the target equals a record of the source: check the pair of topics")
    elif found.target_records:
        judged.open.append(f"the source holds no committed record for a comparison. {OFTENER}")
    elif isinstance(position, int) and target.high_watermark == 0:
        what = f"the mirror is at source offset {position}, and the target never held a record"
        judged.broken.append(what)
        judged.add(kinds.MIRROR_GAP, what, () if found.lag is None else (found.lag,))
    elif target.log_start_offset < target.high_watermark:
        what = f"target offsets {target.log_start_offset} to {target.high_watermark - 1}"
        what = f"{what} of {judged.pair.place(Side.TARGET)}"
        judged.open.append(f"{what} hold no record: they were compacted away, or the answer of the broker is damaged")
    elif target.high_watermark > 0:
        judged.open.append("the target no longer holds a record: audit more often than it deletes")
    else:
        judged.open.append("nothing has been mirrored yet: audit again when the mirror runs")


def _judge_hidden(judged: _Judgement, again: Again | None) -> None:
    """A log that was truncated or replaced after the last run: no run compared its records meanwhile."""
    if again is not None and again.hides:
        judged.open.append("records that came after the last run were deleted and compared by no run: audit more often")


def _judge_retention(judged: _Judgement, found: Alignment, circumstances: Circumstances) -> None:
    kept, lag = circumstances.topic.source.retention_ms, found.lag
    if lag is None or kept is None or kept <= 0 or lag.timestamp < 0:
        return
    age = circumstances.now - lag.timestamp
    if age >= kept * NEAR:
        what = f"{_total([lag])} are not mirrored yet; the oldest is {age // 1000} s old, and is deleted after"
        judged.add(kinds.RETENTION_NEAR, f"{what} {kept // 1000} s", (lag,))


def _judge_checkpoints(judged: _Judgement, found: Alignment) -> None:
    """Groups whose checkpoint skips records; the verdict on the partition does not rest on them."""
    for each in found.translated:
        if each.behind < 0:
            group, _, _, upstream, downstream = each.checkpoint
            what = f"group {group} at source offset {upstream} would resume at target offset {downstream}"
            judged.add(kinds.CHECKPOINT_AHEAD, f"{what} and skip {pluralize(-each.behind, 'record')}")


ANOTHER = Again("the records where the last run ended are no longer the same on both sides")


def why_again(pair: PartitionPair, ids: tuple[str | None, str | None], earlier: MirrorProgress) -> Again | None:
    """Reason to compare the whole pair again, by bounds and topic IDs (source, target), or None."""
    sides = (
        (Side.SOURCE, ids[0], earlier.source_id, pair.source, earlier.kept.source_next),
        (Side.TARGET, ids[1], earlier.target_id, pair.target, earlier.kept.target_next),
    )
    for side, found, before, bounds, following in sides:
        if found is None:
            return Again(f"the {side.value} reports no topic ID, so whether it is the same topic is not known")
        if found != before:
            return Again(f"the topic of the {side.value} was created again since the last run", hides=True)
        if bounds.log_start_offset > following:
            begins = bounds.log_start_offset
            what = f"the {side.value} was deleted up to {begins}, and the last run had come to {following}"
            return Again(what, hides=True)
        if bounds.last_stable_offset < following:
            what = f"the {side.value} ends at {bounds.last_stable_offset}, and the last run had come to {following}"
            return Again(what, hides=True)
    return Again("checkpoints are held against every record") if pair.checkpoints else None


BothCounts = tuple[Counts, Counts]
"""Of the source, and of the target."""


def with_pieces(own: BothCounts, pieces: Sequence[EqualPiece]) -> BothCounts:
    """Counts of this process, and of those that compared these pieces."""
    return _sum(own[0], [each.source for each in pieces]), _sum(own[1], [each.target for each in pieces])


def counts_at(own: BothCounts, kept: Kept, pieces: Sequence[EqualPiece]) -> BothCounts | None:
    """Counts up to the place where a later run resumes; None if pieces lie on both sides of it."""
    passed = [each for each in pieces if each.run.source_last < kept.source_next]
    ahead = [each for each in pieces if each not in passed]
    if any(each.begins[0] < kept.source_next or each.begins[1] < kept.target_next for each in ahead):
        return None
    source, target = with_pieces(own, passed)
    return (
        source._replace(until=min([source.until, *(each.begins[0] for each in ahead)])),
        target._replace(until=min([target.until, *(each.begins[1] for each in ahead)])),
    )


def _sum(own: Counts, pieces: Sequence[Counts]) -> Counts:
    """Added up; until is the furthest."""
    every = [own, *pieces]
    return Counts(
        max(each.until for each in every), *(sum(column) for column in zip(*(each[1:] for each in every), strict=True))
    )

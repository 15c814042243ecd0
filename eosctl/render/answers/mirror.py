"""The conclusions of a mirror's audit: the verdict on each pair of partitions first, then the findings."""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Final

from msgspec import Struct

from eosctl.model.audit import WORST_FIRST, AuditVerdict
from eosctl.model.mirror import Compared, MirrorReport, PairVerdict, Stretch, Translated
from eosctl.model.records import IsolationLevel
from eosctl.model.skipped import Skipped
from eosctl.model.text import pluralize
from eosctl.model.times import rfc3339
from eosctl.render.answers.audit import VERDICTS, WitnessRow, time_of, witness_blocks, witness_rows
from eosctl.render.answers.findings import ShownFindings, findings_of
from eosctl.render.document import MOST, Document, Findings, Table, col, columns, row_of

# The answer of `mirror audit`.


class StretchRow(Struct, frozen=True):
    """Records one after the other: their offsets on both sides, ends excluded, and the time of the first one."""

    source_start: int
    source_end: int
    target_start: int
    target_end: int
    records: int
    timestamp: int
    time: str | None


class MirrorDamageRow(Struct, frozen=True):
    """Offsets of one side that could not be read; the end is excluded."""

    side: str
    start: int
    end: int
    reason: str


class MirroredPairRow(Struct, frozen=True):
    """A partition of the source with its mirror; position is the next source offset that the mirror will read."""

    source: Annotated[str, "the source topic"]
    target: Annotated[str, "the target topic"]
    partition: Annotated[int, "the partition, the same on both sides"]
    verdict: Annotated[
        AuditVerdict,
        col(
            "held, broken or cannot-tell: whether the target holds the committed records of the source", tones=VERDICTS
        ),
    ]
    evidence: Annotated[list[str], "IDs of the findings that decide the verdict"]
    reasons: list[str]
    words: Annotated[str | None, col("the reasons of the verdict", "REASON")]
    compared_by: Compared
    position: int | None
    first_source_offset: Annotated[
        int | None, col("the source offset of the first record that both sides hold", "FROM")
    ]
    first_target_offset: int | None
    last_source_offset: Annotated[int | None, col("the source offset of the last record that both sides hold", "TO")]
    last_target_offset: int | None
    matched: Annotated[int, col("source records that the target holds", "RECORDS")]
    source_records: int
    target_records: int
    source_bytes: int
    target_bytes: int
    aborted_in_target: int
    head_records: int
    head_ranges: list[StretchRow]
    lead_records: int
    lead_ranges: list[StretchRow]
    lag_records: Annotated[int, col("source records after the last one that the target holds", "LAG")]
    lag_ranges: list[StretchRow]
    gap_records: Annotated[int, col("source records in between that are missing in the target", "GAPS")]
    gap_ranges: list[StretchRow]
    repeat_records: Annotated[int, col("repeated target records", "REPEATS")]
    repeat_ranges: list[StretchRow]
    late_records: Annotated[int, col("target records that come after a later source record", "LATE")]
    late_ranges: list[StretchRow]
    aborted_records: Annotated[int, col("target records of aborted source transactions", "ABORTED")]
    aborted_ranges: list[StretchRow]
    unknown_records: Annotated[int, col("target records that equal no source record", "UNKNOWN")]
    unknown_ranges: list[StretchRow]
    damages: list[MirrorDamageRow]


class CheckpointRow(Struct, frozen=True):
    """The next offset of a consumer group: upstream in the source, downstream in the target."""

    group: Annotated[str, "a consumer group with a checkpoint"]
    target: Annotated[str, "the target topic"]
    partition: Annotated[int, "the partition, the same on both sides"]
    upstream: Annotated[int, col("the source offset from which it continues", "SOURCE-AT")]
    downstream: Annotated[int, col("the target offset in the checkpoint", "TARGET-AT")]
    behind: Annotated[int, "records that it would read again there; below 0 records that it would skip"]


class MirrorData(ShownFindings, frozen=True):
    """The verdict on each pair of partitions, and on all of them."""

    verdict: AuditVerdict
    witnesses: list[WitnessRow]
    source_cluster_id: str | None
    aligned_by: list[str]
    isolation_level: IsolationLevel | None
    pairs: list[MirroredPairRow]
    checkpoints: list[CheckpointRow]


PAIRS: Final = Table(
    "pairs",
    columns(
        MirroredPairRow,
        "source target partition verdict evidence first_source_offset last_source_offset matched lag_records "
        "gap_records repeat_records late_records aborted_records unknown_records words",
    ),
    most=MOST,
    empty="no pairs of partitions",
)

GROUPS: Final = Table(
    "checkpoints",
    columns(CheckpointRow, "group target partition upstream downstream behind"),
    title="Checkpoints",
    most=MOST,
)


def view_mirror(report: MirrorReport) -> Document:
    """Verdicts, and findings with their places on both sides."""
    plan = report.plan
    isolation = plan.isolation
    checkpoints = [_group_row(each) for judged in report.pairs for each in judged.alignment.translated]
    ordered = sorted(report.pairs, key=lambda each: WORST_FIRST.index(each.verdict))
    data = MirrorData(
        verdict=report.verdict,
        witnesses=witness_rows(report.witnesses, report.triage.kafka_tools, report.source_tools),
        source_cluster_id=plan.source_cluster,
        aligned_by=list(plan.aligned_by),
        isolation_level=None if isinstance(isolation, Skipped) else isolation,
        pairs=[_pair_row(each) for each in ordered],
        checkpoints=checkpoints,
        **findings_of(report),
    )
    return Document(
        kind="mirror.audit",
        as_of=rfc3339(plan.as_of),
        cluster_id=plan.target_cluster,
        data=data,
        blocks=(
            PAIRS,
            Findings(evidence=True, most=MOST),
            *witness_blocks(report.witnesses),
            *([GROUPS] if checkpoints else []),
        ),
        prose=(summary(report),),
        concludes=True,
    )


def summary(report: MirrorReport) -> str:
    count = Counter(each.verdict for each in report.pairs)
    said = ", ".join(f"{count[each]:,} {each.value}" for each in (*WORST_FIRST,) if count[each])
    matched = sum(each.alignment.matched for each in report.pairs)
    what = f"{pluralize(matched, 'source record')} found in the target"
    aligned = " and ".join(report.plan.aligned_by)
    return f"Once and in order, by partition: {said or 'none was compared'}; {what}, aligned by {aligned}."


def _pair_row(judged: PairVerdict) -> MirroredPairRow:
    pair, found = judged.pair, judged.alignment
    return row_of(
        MirroredPairRow,
        found,
        source=pair.topics.source,
        target=pair.topics.target,
        partition=pair.partition,
        verdict=judged.verdict,
        evidence=list(judged.evidence),
        reasons=list(judged.reasons),
        words="; ".join(judged.reasons) or None,
        compared_by=found.compared,
        position=None if isinstance(pair.position, Skipped) else pair.position,
        first_source_offset=None if found.first is None else found.first[0],
        first_target_offset=None if found.first is None else found.first[1],
        last_source_offset=None if found.last is None else found.last[0],
        last_target_offset=None if found.last is None else found.last[1],
        head_records=_records(_one(found.head)),
        head_ranges=_ranges(_one(found.head)),
        lead_records=_records(_one(found.lead)),
        lead_ranges=_ranges(_one(found.lead)),
        lag_records=_records(_one(found.lag)),
        lag_ranges=_ranges(_one(found.lag)),
        gap_records=_records(found.gaps),
        gap_ranges=_ranges(found.gaps),
        repeat_records=_records(found.repeats),
        repeat_ranges=_ranges(found.repeats),
        late_records=_records(found.late),
        late_ranges=_ranges(found.late),
        aborted_records=_records(found.aborted),
        aborted_ranges=_ranges(found.aborted),
        unknown_records=_records(found.unknown),
        unknown_ranges=_ranges(found.unknown),
        damages=[
            row_of(
                MirrorDamageRow,
                each,
                side=each.side.value,
            )
            for each in found.damages
        ],
    )


def _group_row(translated: Translated) -> CheckpointRow:
    group, topic, partition, upstream, downstream = translated.checkpoint
    return CheckpointRow(
        group=group,
        target=topic,
        partition=partition,
        upstream=upstream,
        downstream=downstream,
        behind=translated.behind,
    )


def _one(stretch: Stretch | None) -> Sequence[Stretch]:
    return () if stretch is None else (stretch,)


def _records(stretches: Sequence[Stretch]) -> int:
    return sum(each.records for each in stretches)


def _ranges(stretches: Sequence[Stretch]) -> list[StretchRow]:
    return [
        row_of(
            StretchRow,
            each,
            time=time_of(each.timestamp),
        )
        for each in stretches
    ]

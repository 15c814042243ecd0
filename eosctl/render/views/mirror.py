"""What a mirror's audit concluded: the verdict on each pair of partitions first, then what speaks against it."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from eosctl.model.counts import counted
from eosctl.model.mirror import MirrorReport, PairVerdict, Stretch, Translated
from eosctl.model.skipped import Skipped
from eosctl.model.times import rfc3339
from eosctl.render.document import MOST, Column, Document, Findings, Table, figure
from eosctl.render.views.audit import VERDICT_TONES, WORST_FIRST, time_of
from eosctl.render.views.report import findings_of

PAIRS: Final = Table(
    "pairs",
    (
        Column("SOURCE", "source", "the source topic"),
        Column("TARGET", "target", "the target topic"),
        figure("PARTITION", "partition", "the partition"),
        Column("VERDICT", "verdict", "held, broken or cannot-tell", tones=VERDICT_TONES),
        Column("EVIDENCE", "evidence", "IDs of the findings behind it"),
        figure("FROM", "first_source_offset", "the source offset of the first record that both sides hold"),
        figure("TO", "last_source_offset", "that of the last one"),
        figure("RECORDS", "matched", "source records that the target holds"),
        figure("LAG", "lag_records", "source records behind the last one that the target holds"),
        figure("GAPS", "gap_records", "source records in between that it lacks"),
        figure("REPEATS", "repeat_records", "target records that were there before"),
        figure("LATE", "late_records", "target records behind one that follows them in the source"),
        figure("ABORTED", "aborted_records", "target records of aborted source transactions"),
        figure("UNKNOWN", "unknown_records", "target records that equal none of the source"),
        Column("REASON", "words", "what the verdict rests on"),
    ),
    most=MOST,
    empty="no pairs of partitions",
)

GROUPS: Final = Table(
    "checkpoints",
    (
        Column("GROUP", "group", "a consumer group with a checkpoint"),
        Column("TARGET", "target", "the target topic"),
        figure("PARTITION", "partition", "its partition"),
        figure("SOURCE-AT", "upstream", "the source offset at which it goes on"),
        figure("TARGET-AT", "downstream", "the target offset that it is translated to"),
        figure("BEHIND", "behind", "records that it would read again there; below 0 records that it would skip"),
    ),
    title="Checkpoints",
    most=MOST,
)


def view_mirror(report: MirrorReport) -> Document:
    """Verdicts, and findings with their places on both sides."""
    plan = report.plan
    isolation = plan.isolation
    checkpoints = [_group_row(each) for judged in report.pairs for each in judged.alignment.translated]
    ordered = sorted(report.pairs, key=lambda each: WORST_FIRST[each.verdict])
    return Document(
        kind="mirror-audit",
        as_of=rfc3339(plan.as_of),
        cluster_id=plan.target_cluster,
        data={
            "verdict": report.verdict.value,
            "source_cluster_id": plan.source_cluster,
            "isolation_level": None if isinstance(isolation, Skipped) else isolation.value,
            "pairs": [_pair_row(each) for each in ordered],
            "checkpoints": checkpoints,
            **findings_of(report),
        },
        blocks=(PAIRS, Findings(evidence=True, most=MOST), *([GROUPS] if checkpoints else [])),
        prose=(summary(report),),
        concludes=True,
    )


def summary(report: MirrorReport) -> str:
    """The answer in one sentence."""
    count = Counter(each.verdict for each in report.pairs)
    said = ", ".join(f"{count[each]:,} {each.value}" for each in (*WORST_FIRST,) if count[each])
    matched = sum(each.alignment.matched for each in report.pairs)
    what = f"{counted(matched, 'source record')} found in the target"
    return f"Once and in order, by partition: {said or 'none was compared'}; {what}."


def _pair_row(judged: PairVerdict) -> dict[str, Any]:
    pair, found = judged.pair, judged.alignment
    return {
        "source": pair.topics.source,
        "target": pair.topics.target,
        "partition": pair.partition,
        "verdict": judged.verdict.value,
        "evidence": list(judged.evidence),
        "reasons": list(judged.reasons),
        "words": "; ".join(judged.reasons) or None,
        "compared_by": found.compared.value,
        "position": None if isinstance(pair.position, Skipped) else pair.position,
        "first_source_offset": None if found.first is None else found.first[0],
        "first_target_offset": None if found.first is None else found.first[1],
        "last_source_offset": None if found.last is None else found.last[0],
        "last_target_offset": None if found.last is None else found.last[1],
        "matched": found.matched,
        "source_records": found.source_records,
        "target_records": found.target_records,
        "source_bytes": found.source_bytes,
        "target_bytes": found.target_bytes,
        "aborted_in_target": found.aborted_in_target,
        **_stretches("head", () if found.head is None else (found.head,)),
        **_stretches("lead", () if found.lead is None else (found.lead,)),
        **_stretches("lag", () if found.lag is None else (found.lag,)),
        **_stretches("gap", found.gaps),
        **_stretches("repeat", found.repeats),
        **_stretches("late", found.late),
        **_stretches("aborted", found.aborted),
        **_stretches("unknown", found.unknown),
        "damages": [{**each._asdict(), "side": each.side.value} for each in found.damages],
    }


def _group_row(translated: Translated) -> dict[str, Any]:
    group, topic, partition, upstream, downstream = translated.checkpoint
    return {
        "group": group,
        "target": topic,
        "partition": partition,
        "upstream": upstream,
        "downstream": downstream,
        "behind": translated.behind,
    }


def _stretches(name: str, stretches: Sequence[Stretch]) -> dict[str, Any]:
    return {
        f"{name}_records": sum(each.records for each in stretches),
        f"{name}_ranges": [{**each._asdict(), "time": time_of(each.timestamp)} for each in stretches],
    }

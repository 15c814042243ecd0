"""Rules about the source clusters of MirrorSource connectors: what they delete before it is mirrored.

MirrorMaker's consumer has auto.offset.reset=earliest: where its offset is gone it goes on at the log start, silently.
"""

from collections.abc import Callable, Iterator
from typing import Final

from eosctl.analysis.catalogue import mirrors as kinds
from eosctl.model.counts import some
from eosctl.model.evidence import Evidence
from eosctl.model.mirrored_partitions import MirroredPartition
from eosctl.model.report import Finding, FindingKind, Severity
from eosctl.model.rules import Rule
from eosctl.model.skipped import Skipped
from eosctl.model.times import lasting

NEAR: Final = 0.5
"""Share of the source's retention from which on a record that is not mirrored is in danger."""
AT_ODDS_MS: Final = 60_000
"""How far the clocks of producers and of the worker may differ."""
Why = Callable[[MirroredPartition, int], str | Skipped | None]


def _check(kind: FindingKind, why: Why, what: str) -> Callable[[Evidence], Iterator[Finding | Skipped]]:
    """One warning for each connector, with all partitions that there is a reason for."""

    def check(evidence: Evidence) -> Iterator[Finding | Skipped]:
        found: dict[str, list[str]] = {}
        for each in () if isinstance(evidence.mirrors, Skipped) else evidence.mirrors:
            said = each if isinstance(each, Skipped) else why(each, evidence.as_of)
            if isinstance(said, Skipped):
                yield said
            elif said is not None and isinstance(each, MirroredPartition):
                found.setdefault(each.connector, []).append(f"{each.bounds.topic_partition} {said}")
        for name, places in found.items():
            yield kind.finding(name, f"{what}: {some(places, '; ')}", {"partitions": places}, severity=Severity.WARNING)

    return check


def _purged(found: MirroredPartition, _: int) -> str | None:
    begins = found.bounds.log_start_offset
    if found.position + 1 >= begins:
        return None
    return f"(mirrored up to {found.position}, its log starts at {begins})"


def _recreated(found: MirroredPartition, _: int) -> str | Skipped | None:
    if found.position >= found.bounds.high_watermark:
        return f"(mirrored up to {found.position}, it ends at {found.bounds.high_watermark})"
    written = found.written_ms
    if isinstance(written, Skipped):
        return written
    if written is not None and written > found.committed_ms + AT_ODDS_MS:
        late = lasting(written - found.committed_ms)
        return f"(what lies at {found.position} was written {late} after the mirror committed that offset)"
    return None


def _near(found: MirroredPartition, now: int) -> str | Skipped | None:
    return (_near_by_age(found, now) or _near_by_size(found)) if found.unread else None


def _near_by_age(found: MirroredPartition, now: int) -> str | Skipped | None:
    kept, written = found.retention_ms, found.next_ms
    if isinstance(kept, Skipped):
        return kept
    if kept < 0 or written is None:
        return None
    if isinstance(written, Skipped):
        return written
    if now - written < kept * NEAR:
        return None
    age = lasting(now - written)
    return f"(the first record behind {found.position} is {age} old, and deleted after {lasting(kept)})"


def _near_by_size(found: MirroredPartition) -> str | Skipped | None:
    kept = found.retention_bytes
    if isinstance(kept, Skipped):
        return kept
    if kept < 0 or found.unread < found.kept * NEAR:
        return None
    if not found.bounds.log_start_offset:
        return Skipped(f"{found.bounds.topic_partition} is kept up to retention.bytes={kept}, and its size is not read")
    return f"({found.unread:,} of {found.kept:,} offsets that retention.bytes={kept} keeps are not mirrored)"


_ASKED: Final[tuple[tuple[FindingKind, str, Why, str], ...]] = (
    (
        kinds.SOURCE_PURGED,
        "Does the source still have what its mirror has not read?",
        _purged,
        "offsets were deleted before they were mirrored (of markers and aborted records nothing is lost)",
    ),
    (
        kinds.SOURCE_RECREATED,
        "Is the source topic the one that its mirror has read?",
        _recreated,
        "the source topic was created again, or cut: the mirror's offset is none of its records",
    ),
    (
        kinds.RETENTION_NEAR,
        "Is every source record mirrored long before it is deleted?",
        _near,
        "records that are not mirrored yet will be deleted",
    ),
)
RULES: Final = tuple(
    Rule(kind, question, needs=("mirrors",), check=_check(kind, why, what)) for kind, question, why, what in _ASKED
)

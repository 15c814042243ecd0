"""What `mirror audit` answers."""

from typing import TypedDict

from eosctl.model.audit_report import AuditVerdict
from eosctl.model.mirror import Compared
from eosctl.model.records import IsolationLevel
from eosctl.render.documents.findings import ShownFindings


class StretchRow(TypedDict):
    """Records one after the other: their offsets on both sides, ends excluded, and the time of the first one."""

    source_start: int
    source_end: int
    target_start: int
    target_end: int
    records: int
    timestamp: int
    time: str | None


class MirrorDamageRow(TypedDict):
    """Offsets of one side that could not be read; the end is excluded."""

    side: str
    start: int
    end: int
    reason: str


class MirroredPairRow(TypedDict):
    """A partition of the source with its mirror; position is the next source offset that the mirror will read."""

    source: str
    target: str
    partition: int
    verdict: AuditVerdict
    evidence: list[str]
    reasons: list[str]
    words: str | None
    compared_by: Compared
    position: int | None
    first_source_offset: int | None
    first_target_offset: int | None
    last_source_offset: int | None
    last_target_offset: int | None
    matched: int
    source_records: int
    target_records: int
    source_bytes: int
    target_bytes: int
    aborted_in_target: int
    head_records: int
    head_ranges: list[StretchRow]
    lead_records: int
    lead_ranges: list[StretchRow]
    lag_records: int
    lag_ranges: list[StretchRow]
    gap_records: int
    gap_ranges: list[StretchRow]
    repeat_records: int
    repeat_ranges: list[StretchRow]
    late_records: int
    late_ranges: list[StretchRow]
    aborted_records: int
    aborted_ranges: list[StretchRow]
    unknown_records: int
    unknown_ranges: list[StretchRow]
    damages: list[MirrorDamageRow]


class CheckpointRow(TypedDict):
    """Where a consumer group goes on: upstream in the source, downstream in the target."""

    group: str
    target: str
    partition: int
    upstream: int
    downstream: int
    behind: int


class MirrorData(ShownFindings):
    """The verdict on each pair of partitions, and on all of them."""

    verdict: AuditVerdict
    source_cluster_id: str | None
    aligned_by: list[str]
    isolation_level: IsolationLevel | None
    pairs: list[MirroredPairRow]
    checkpoints: list[CheckpointRow]

"""Captured tables against their topics: the verdict on each, and how many keys differ."""

from typing import Annotated, Final

from msgspec import Struct

from eosctl.model.audit import WORST_FIRST, AuditVerdict
from eosctl.model.source_audit import ComparedTable, RowDifference, RowSample, SourceAuditReport
from eosctl.model.text import pluralize
from eosctl.model.times import rfc3339
from eosctl.render.answers.audit import VERDICTS
from eosctl.render.answers.findings import ShownFindings, findings_of
from eosctl.render.document import MOST, Document, Findings, Table, col, columns, row_of

# The answer of `audit source`.


class RowSampleRow(Struct, frozen=True):
    """A key that differs, the columns that do, and its last record in the topic."""

    key: str
    columns: list[str]
    partition: int | None
    offset: int | None


class ComparedTableRow(Struct, frozen=True):
    """A captured table.

    unseen_at_most is for a sample: so many rows may be missing or differ, with a confidence of 95 %. It does not count
    extra keys.
    """

    table: Annotated[str, "the table, with its schema or database"]
    topic: Annotated[str, "the topic that its rows go to"]
    verdict: Annotated[
        AuditVerdict, col("held, broken or cannot-tell: whether they have the same rows", tones=VERDICTS)
    ]
    evidence: list[str]
    reasons: list[str]
    words: Annotated[str | None, col("why the verdict is not held", "REASON")]
    rows: Annotated[int, "rows that were read of the table"]
    keys: Annotated[int, "keys of the topic whose last record is no deletion"]
    missing: Annotated[int, "rows that are not in the topic"]
    extra: Annotated[int, "keys of the topic that are not in the table"]
    differing: Annotated[int, "rows that have other values in the topic"]
    undecided: Annotated[int, "keys that may differ or not"]
    samples: dict[str, list[RowSampleRow]]
    uncompared: Annotated[list[str], col("columns of which not all values were compared", "NOT-COMPARED")]
    at: Annotated[str | None, "the position of the source's log at which the last rows were read"]
    sample_of: Annotated[int | None, col("rows of the table, where only a sample was read", "OF")]
    unseen_at_most: Annotated[
        int | None, col("at most this many rows may be missing or differ, by the sample (95 %)", "UNSEEN")
    ]
    queries: int


class SourceAuditData(ShownFindings, frozen=True):
    """The verdict on each captured table, and on all of them."""

    verdict: AuditVerdict
    connector: str | None
    source: str
    covers: list[str]
    not_covered: list[str]
    tables: list[ComparedTableRow]


TABLES: Final = Table(
    "tables",
    columns(
        ComparedTableRow,
        "table topic verdict rows keys missing extra differing undecided at sample_of unseen_at_most uncompared words",
    ),
    most=MOST,
    empty="no tables",
)
COVERS: Final = ("each row at the position in `at`: its last record in the topic, by the columns that the topic has",)
NOT_COVERED: Final = (
    "records between the first and the last one of a key, their order and their number: `eosctl audit`",
    "columns in `uncompared`",
)


def view_source_audit(report: SourceAuditReport) -> Document:
    ordered = sorted(report.tables, key=lambda each: WORST_FIRST.index(each.verdict))
    data = SourceAuditData(
        verdict=report.verdict,
        connector=report.connector,
        source=report.source,
        covers=list(COVERS),
        not_covered=list(NOT_COVERED),
        tables=[_table_row(each) for each in ordered],
        **findings_of(report),
    )
    return Document(
        kind="audit.source",
        as_of=rfc3339(report.as_of),
        cluster_id=report.cluster_id,
        data=data,
        blocks=(TABLES, Findings(evidence=True, most=MOST)),
        prose=(summary(report),),
        concludes=True,
    )


def summary(report: SourceAuditReport) -> str:
    """The answer in one sentence."""
    rows = sum(each.rows for each in report.tables)
    differ = sum(sum(each.counts.values()) for each in report.tables)
    samples = [each for each in report.tables if each.sample_of is not None]
    sampled = f", a sample of {sum(each.sample_of or 0 for each in samples):,}" if samples else ""
    unseen = sum(each.unseen_at_most or 0 for each in samples)
    bound = f" At most {pluralize(unseen, 'row')} may be missing or differ unseen (95 %)." if unseen else ""
    return (
        f"{report.verdict.value}: {pluralize(rows, 'row')} of {pluralize(len(report.tables), 'table')}{sampled} "
        f"compared with the last record of each key; {pluralize(differ, 'key')} differ.{bound}"
    )


def _table_row(compared: ComparedTable) -> ComparedTableRow:
    return row_of(
        ComparedTableRow,
        compared,
        table=compared.table.label,
        topic=compared.table.topic,
        evidence=list(compared.evidence),
        reasons=list(compared.reasons),
        words="; ".join(compared.reasons) or None,
        missing=compared.counts.get(RowDifference.MISSING, 0),
        extra=compared.counts.get(RowDifference.EXTRA, 0),
        differing=compared.counts.get(RowDifference.DIFFERING, 0),
        uncompared=list(compared.uncompared),
        samples={kind.value: list(map(_sample_row, found)) for kind, found in compared.samples.items() if found},
    )


def _sample_row(sample: RowSample) -> RowSampleRow:
    return row_of(RowSampleRow, sample, columns=list(sample.columns))

"""Offsets exported, and two sets of them compared."""

from collections.abc import Iterator, Mapping

from eosctl.model.counts import counted
from eosctl.model.exported_offsets import OffsetChange, OffsetsDifference, OffsetsExport
from eosctl.model.offsets import SourceOffset
from eosctl.model.skipped import Skipped
from eosctl.model.times import rfc3339
from eosctl.render.brief import brief_of
from eosctl.render.document import Column, Document, Table, Tone, figure
from eosctl.render.documents.offsets import OffsetChangeRow, OffsetsDifferenceData, OffsetsExportData
from eosctl.render.views.offsets import finite

FILES = Table(
    "files",
    (
        Column("CONNECTOR", "connector", "the connector's name"),
        figure("OFFSETS", "offsets", "source partitions written"),
        Column("FILE", "file", "the file"),
    ),
    empty="no offsets to export",
)

LEFT_OUT = Table(
    "left_out",
    (
        Column("CONNECTOR", "connector", "the connector's name"),
        Column("LEFT-OUT", "what", "the key, and why it is not in the file"),
    ),
    title="Left out",
    empty="nothing was left out",
)

CHANGES = Table(
    "changes",
    (
        Column("CONNECTOR", "connector", "the connector's name"),
        Column("PARTITION", "partition", "the source partition", brief=brief_of("partition")),
        Column("CHANGE", "change", "only-in-a, only-in-b, different or unknown", tones={"unknown": Tone.WARN}),
        Column("A", "a", "its offset in A", brief=brief_of("a", "b")),
        Column("B", "b", "its offset in B", brief=brief_of("b", "a")),
        Column("B-IS", "order", "where B lies, seen from A: before, after, or cannot be compared; empty: not known"),
        Column("POSITION-A", "position_a", "A in the connector's own terms, where those are known"),
        Column("POSITION-B", "position_b", "B in the connector's own terms"),
    ),
    empty="no difference",
)


def view_export(export: OffsetsExport) -> Document:
    """The files written."""
    files = export.files
    data: OffsetsExportData = {
        "store": export.store,
        "files": [{"connector": each.connector, "offsets": each.offsets, "file": each.file} for each in files],
        "left_out": [{"connector": each.connector, "what": what} for each in files for what in each.left_out],
    }
    return Document(
        kind="offsets.export",
        as_of=rfc3339(export.as_of),
        cluster_id=export.cluster_id,
        data=data,
        blocks=(FILES, LEFT_OUT) if export.found else (FILES,),
        notes=export.notes,
    )


def view_difference(difference: OffsetsDifference) -> Document:
    """What differs, by connector and source partition."""
    data: OffsetsDifferenceData = {
        "a": difference.a,
        "b": difference.b,
        "same": difference.same,
        "changes": [_change(each) for each in difference.changes],
    }
    return Document(
        kind="offsets.diff",
        data=data,
        blocks=(CHANGES,),
        prose=(
            f"{counted(len(difference.changes), 'offset differs', 'offsets differ')} between {difference.a} and "
            f"{difference.b}; {counted(difference.same, 'is', 'are')} the same.",
        ),
        notes=(*_rewinds(difference), *_sources(difference)),
    )


def _rewinds(difference: OffsetsDifference) -> Iterator[str]:
    """What it means to go back, once for each kind of source of which a position differs."""
    for rewind in dict.fromkeys(each.rewind for each in difference.changes if each.rewind is not None):
        kinds = {(each.position_a or "").partition(":")[0] for each in difference.changes if each.rewind == rewind}
        yield f"going back with {', '.join(sorted(kinds))}: {rewind}"


def _sources(difference: OffsetsDifference) -> Iterator[str]:
    """What the source says of each position."""
    for each in difference.changes:
        for side, found in (("A", each.source_a), ("B", each.source_b)):
            if found is not None:
                words = f"not known: {found.reason}" if isinstance(found, Skipped) else found.words
                yield f"{each.id.connector} {each.id.partition} in {side}, at its source: {words}"


def _change(change: OffsetChange) -> OffsetChangeRow:
    return {
        "connector": change.id.connector,
        "partition": change.id.partition,
        "change": change.change,
        "a": _side(change.a),
        "b": _side(change.b),
        "order": change.order,
        "position_a": change.position_a,
        "position_b": change.position_b,
        "rewind": change.rewind,
        "source_a": change.source_a,
        "source_b": change.source_b,
    }


def _side(offset: SourceOffset | Skipped | None) -> Mapping[str, object] | Skipped | None:
    return offset if offset is None or isinstance(offset, Skipped) else finite(offset)

"""What the offsets commands read and decide."""

from dataclasses import dataclass
from difflib import get_close_matches

from eosctl.analysis.offsets_report import OffsetsReading, report_offsets
from eosctl.analysis.producing_elsewhere import Clusters
from eosctl.codecs.offsets_topic import canonical, decode_offsets_key, decode_offsets_value
from eosctl.errors import EXIT_FINE, EXIT_FOUND, UsageError
from eosctl.model.merged_offsets import OffsetsReport
from eosctl.model.times import rfc3339
from eosctl.operations.offsets_reading import OffsetsRead, OffsetsRequest, read_offsets
from eosctl.operations.session import Session, gc_paused
from eosctl.render.document import Document
from eosctl.render.views.offsets import view_offsets

READING = OffsetsReading(decode_offsets_key, decode_offsets_value, canonical)


@dataclass(frozen=True, slots=True)
class Answer:
    """What to show, and the exit code that goes with it."""

    document: Document
    exit_code: int


def show_offsets(session: Session, request: OffsetsRequest, *, tombstones: bool) -> Answer:
    """All offsets merged, with findings."""
    with gc_paused():
        return _show(session, request, tombstones=tombstones)


def _show(session: Session, request: OffsetsRequest, *, tombstones: bool) -> Answer:
    read = read_offsets(session, request)
    report = report_of(read, request)
    document = view_offsets(report, read.worker, rfc3339(read.as_of), read.cluster_id, tombstones=tombstones)
    return Answer(document, EXIT_FOUND if any(each.counts for each in report.findings) else EXIT_FINE)


def report_of(read: OffsetsRead, request: OffsetsRequest) -> OffsetsReport:
    """The report on what was read; UsageError for a connector that neither exists nor left offsets."""
    clusters = Clusters(read.cluster_id, read.cluster_ids)
    report = report_offsets(
        read.topics,
        read.worker,
        read.connectors,
        READING,
        as_of=read.as_of,
        selected=request.connectors,
        clusters=clusters,
    )
    if report.absent:
        everything = report_offsets(read.topics, read.worker, read.connectors, READING, as_of=read.as_of)
        names = [each.name for each in everything.connectors]
        likely = get_close_matches(report.absent[0], names, n=1)
        raise UsageError(
            f"no connector {', '.join(report.absent)} exists, and none of that name left offsets",
            hint=f"did you mean {likely[0]}?" if likely else "`eosctl offsets show` lists all",
        )
    return report

"""What `mirror audit` reads and decides: the plan, the comparison of each pair of partitions, the verdicts."""

from collections.abc import Mapping
from itertools import chain

from eosctl.analysis.catalogue import mirrors as kinds
from eosctl.analysis.mirror.verdict import Circumstances, judge_pair, judge_unpaired
from eosctl.engines.mirroring import BothSides, compare_pairs
from eosctl.errors import UsageError
from eosctl.model.coverage import Coverage, Unread
from eosctl.model.mirror import MirrorReport, PartitionPair
from eosctl.model.names import TopicPartition
from eosctl.model.report import worst_first
from eosctl.model.skipped import Skipped
from eosctl.operations.mirror.plan import Planned, plan_mirror
from eosctl.operations.mirror.positions import Positions
from eosctl.operations.mirror.request import MirrorRequest
from eosctl.operations.mirror.source_cluster import source_session
from eosctl.operations.session import Session
from eosctl.sources.audit_log import OpenSource
from eosctl.sources.cluster_reader import ClusterReader


def audit_mirror(session: Session, request: MirrorRequest) -> MirrorReport:
    """The whole audit: every pair of partitions, compared record by record."""
    if request.source_servers is None and request.source_config is None:
        raise UsageError("the source cluster was not named", hint="give --source-bootstrap-server HOST:PORT")
    with source_session(session, request.source_servers, request.source_config) as source:
        planned = plan_mirror(source.reader, session.reader, request)
        sides = BothSides(_batches(source.reader), _batches(session.reader), planned.source, planned.target)
        pairs = planned.plan.pairs
        total = sum(each.source.high_watermark + each.target.high_watermark for each in pairs)
        with session.options.console.progress("comparing", total, unit="offsets") as advance:
            alignments = compare_pairs(sides, pairs, request.processes, advance)
        coverage = source.reader.coverage + session.reader.coverage + _unread(planned)
    judged = [
        judge_pair(pair, found, _circumstances(planned, pair)) for pair, found in zip(pairs, alignments, strict=True)
    ]
    findings = chain.from_iterable(found for _, found in judged)
    return MirrorReport(
        plan=planned.plan,
        pairs=tuple(verdict for verdict, _ in judged),
        findings=worst_first((*findings, *judge_unpaired(planned.plan))),
        looked_for=kinds.KINDS,
        coverage=coverage,
    ).under(session.options.triage)


def _batches(reader: ClusterReader) -> OpenSource:
    found = reader.record_batches()
    if isinstance(found, Skipped):
        raise UsageError(f"a mirror is compared record by record: {found.reason}")
    return found


def _circumstances(planned: Planned, pair: PartitionPair) -> Circumstances:
    after = planned.positions_after
    place = TopicPartition(pair.topics.source, pair.partition)
    return Circumstances(
        now=planned.plan.as_of,
        topic=planned.plan.topic(pair.topics),
        isolation=planned.plan.isolation,
        position_after=after if isinstance(after, Skipped) else after.get(place),
    )


def _unread(planned: Planned) -> Coverage:
    facts: Mapping[str, Positions | Skipped | object] = {
        "the mirror's offsets": planned.positions,
        "consumer groups' checkpoints": planned.checkpoints,
        "isolation.level of the mirror's consumer": planned.plan.isolation,
    }
    skipped = ((what, fact) for what, fact in facts.items() if isinstance(fact, Skipped))
    return Coverage(unread=tuple(Unread(what, fact.reason, fact.cause, needed=False) for what, fact in skipped))

"""What `mirror audit` reads and decides: the plan, the comparison of each pair of partitions, the verdicts."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain

from eosctl.analysis.catalogue import mirrors as kinds
from eosctl.analysis.mirror.verdict import Circumstances, judge_pair, judge_unpaired
from eosctl.engines.mirror_sides import BothSides
from eosctl.engines.mirroring import ComparePieces, PairJob, compare_pairs
from eosctl.errors import UsageError
from eosctl.model.coverage import Coverage, Unread
from eosctl.model.mirror import MirrorReport, PartitionPair
from eosctl.model.mirror_progress import Again, ComparedPair, MirrorProgress
from eosctl.model.names import TopicPartition
from eosctl.model.report import worst_first
from eosctl.model.skipped import Skipped
from eosctl.operations.audit.ledgers import open_job_ledger
from eosctl.operations.mirror.incremental import Earlier, run_incrementally
from eosctl.operations.mirror.plan import Planned, plan_mirror
from eosctl.operations.mirror.positions import Positions
from eosctl.operations.mirror.request import MirrorRequest
from eosctl.operations.mirror.source_cluster import source_session
from eosctl.operations.session import Session
from eosctl.sandbox.cache import cache_directory
from eosctl.sandbox.java import find_java
from eosctl.sources.audit_log import OpenSource
from eosctl.sources.cluster_reader import ClusterReader
from eosctl.spark.starting import spark_pieces


def audit_mirror(session: Session, request: MirrorRequest, as_json: Callable[[MirrorReport], str]) -> MirrorReport:
    """The whole audit: every pair of partitions, compared record by record; with a ledger, what is new of them."""
    if request.source_servers is None and request.source_config is None:
        raise UsageError("the source cluster was not named", hint="give --source-bootstrap-server HOST:PORT")
    with source_session(session, request.source_servers, request.source_config) as source:
        auditor = _Auditor(session, source, request)
        if request.store is None:
            report, _ = auditor.run(auditor.plan(), {})
        else:
            report = run_incrementally(auditor, open_job_ledger(request.store), request.job, as_json)
    return report.under(session.options.triage)


class _Auditor:
    """Runs plans over both clusters: they may have to be made again, where another auditor was faster."""

    def __init__(self, session: Session, source: Session, request: MirrorRequest) -> None:
        self._session, self._source, self._request = session, source, request

    def plan(self) -> Planned:
        """All that is to be compared, of this moment."""
        return plan_mirror(self._source.reader, self._session.reader, self._request)

    def run(self, planned: Planned, earlier: Earlier) -> tuple[MirrorReport, tuple[MirrorProgress, ...]]:
        """The report, and what the next run can go on from."""
        source, target = self._source.reader, self._session.reader
        sides = BothSides(_batches(source), _batches(target), planned.source, planned.target)
        jobs = [PairJob(each, earlier.get((each.topics, each.partition))) for each in planned.plan.pairs]
        total = sum(each.size for each in jobs)
        with (
            self._apart() as apart,
            self._session.options.console.progress("comparing", total, unit="offsets") as advance,
        ):
            compared = compare_pairs(sides, jobs, self._request.processes, advance, apart)
        coverage = source.coverage + target.coverage + _unread(planned)
        progress = tuple(each.progress for each in compared if each.progress is not None)
        return _report(planned, compared, coverage), progress

    @contextmanager
    def _apart(self) -> Iterator[ComparePieces | None]:
        """What compares pieces somewhere else than in processes of this machine, if that was asked for."""
        if self._request.engine != "spark":
            yield None
            return
        properties = (self._session.wire.properties, self._source.wire.properties)
        archives = cache_directory() / "spark"
        with spark_pieces(self._request.spark, properties, self._session.timeout_s, find_java, archives) as pieces:
            yield pieces


def _report(planned: Planned, compared: list[ComparedPair], coverage: Coverage) -> MirrorReport:
    judged = [
        judge_pair(pair, found.alignment, _circumstances(planned, pair, found.again))
        for pair, found in zip(planned.plan.pairs, compared, strict=True)
    ]
    findings = chain.from_iterable(found for _, found in judged)
    return MirrorReport(
        plan=planned.plan,
        pairs=tuple(verdict for verdict, _ in judged),
        findings=worst_first((*findings, *judge_unpaired(planned.plan))),
        looked_for=kinds.KINDS,
        coverage=coverage,
    )


def _batches(reader: ClusterReader) -> OpenSource:
    found = reader.record_batches()
    if isinstance(found, Skipped):
        raise UsageError(f"a mirror is compared record by record: {found.reason}")
    return found


def _circumstances(planned: Planned, pair: PartitionPair, again: Again | None) -> Circumstances:
    after = planned.positions_after
    place = TopicPartition(pair.topics.source, pair.partition)
    return Circumstances(
        now=planned.plan.as_of,
        topic=planned.plan.topic(pair.topics),
        isolation=planned.plan.isolation,
        position_after=after if isinstance(after, Skipped) else after.get(place),
        again=again,
    )


def _unread(planned: Planned) -> Coverage:
    facts: Mapping[str, Positions | Skipped | object] = {
        "the mirror's offsets": planned.positions,
        "consumer groups' checkpoints": planned.checkpoints,
        "isolation.level of the mirror's consumer": planned.plan.isolation,
    }
    skipped = ((what, fact) for what, fact in facts.items() if isinstance(fact, Skipped))
    return Coverage(unread=tuple(Unread(what, fact.reason, fact.cause, needed=False) for what, fact in skipped))

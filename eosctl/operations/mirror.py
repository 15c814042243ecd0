"""Auditing a mirror: two clusters, read together."""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Final, NamedTuple, Protocol

from eosctl.analysis.catalogue.index import MIRRORS
from eosctl.analysis.mirror.verdict import Circumstances, judge_pair, judge_unpaired
from eosctl.analysis.witness import mirror_witnesses
from eosctl.codecs.groups import decode_checkpoint
from eosctl.codecs.ledger import decode_audit_state, encode_audit_state
from eosctl.codecs.record_batches import decode_records
from eosctl.engines.mirroring import BothSides, ComparePieces, PairJob, compare_pairs
from eosctl.errors import EosctlError, Refused, UsageError
from eosctl.ledger.ledger import Ledger
from eosctl.model.audit import AuditedTopic, AuditPlan, PartitionBounds, RangeEvidence, StateKind, StateRow, TopicRole
from eosctl.model.evidence_file import EvidencedCluster
from eosctl.model.groups import Checkpoint
from eosctl.model.ledger import Advance
from eosctl.model.mirror import (
    Again,
    ComparedPair,
    MirroredTopic,
    MirrorPlan,
    MirrorProgress,
    MirrorReport,
    PartitionPair,
    TopicPair,
)
from eosctl.model.names import TopicPartition
from eosctl.model.report import worst_first
from eosctl.model.skipped import Coverage, Skipped, Unread, not_asked
from eosctl.model.topics import RETENTION_SETTINGS, OffsetRange, TopicDescription
from eosctl.operations.audit_history import JobRun, open_job_ledger, until_committed
from eosctl.operations.audit_request import MirrorRequest, topic_pairs
from eosctl.operations.audit_topics import log_bounds, with_settings
from eosctl.operations.evidence_file import Evidence, digest_ranges, evidenced_cluster, write_evidence
from eosctl.operations.mirror_positions import Positions, read_isolation, read_positions, source_session
from eosctl.operations.session import Session
from eosctl.planning.audit import advances, resume
from eosctl.sandbox.cache import cache_directory
from eosctl.sandbox.java import find_java
from eosctl.sources.audit_log import DataBatch, OpenSource
from eosctl.sources.cluster_reader import ClusterReader
from eosctl.spark.starting import spark_pieces

Checkpoints = Mapping[TopicPartition, Sequence[Checkpoint]]
"""By partition of the target."""


def read_checkpoints(reader: ClusterReader, topics: Sequence[str]) -> Checkpoints | Skipped:
    """The committed checkpoints in these topics; Skipped where none was named, or one cannot be read."""
    if not topics:
        return not_asked("no checkpoints topic was named (--checkpoints-topic)")
    latest: dict[tuple[str, str, int], Checkpoint | None] = {}
    try:
        described = reader.topics(topics, ())
        for topic in topics:
            if topic not in described:
                return Skipped(f"checkpoints topic {topic} does not exist")
            _read(reader, topic, described[topic].partitions, latest)
    except EosctlError as error:
        return Skipped.of(error)
    found: dict[TopicPartition, list[Checkpoint]] = {}
    for each in latest.values():
        if each is not None:
            found.setdefault(TopicPartition(each.topic, each.partition), []).append(each)
    return found


def _read(
    reader: ClusterReader, topic: str, partitions: int, latest: dict[tuple[str, str, int], Checkpoint | None]
) -> None:
    bounds = reader.bounds([TopicPartition(topic, number) for number in range(partitions)])
    plan = AuditPlan(reader.now(), None, None, (AuditedTopic(topic, TopicRole.OUTPUT),), (), ())
    batches = reader.record_batches()
    if isinstance(batches, Skipped):
        return
    with batches() as source:
        for place, offsets in bounds.items():
            whole = OffsetRange(topic, place.partition, offsets.log_start_offset, offsets.last_stable_offset)
            for item in source.read(plan, whole):
                if isinstance(item, DataBatch) and not item.aborted:
                    for record in decode_records(item.batch, topic_partition=place):
                        found = decode_checkpoint(record.key, record.value)
                        if found is not None:
                            latest[found[:3]] = found


# The plan of a mirror's audit: bounds of both sides, read in the order in which nothing can be taken for a gap.
#
# 1. The mirror's offsets, and consumer groups' checkpoints. The records up to them are in the target: they were
#    committed before these offsets, or with them.
# 2. The target's bounds. All that they enclose was in the source before.
# 3. The source's bounds. Records that are mirrored during the reading are after the compared ranges, or count as lag.
# 4. The mirror's offsets again: records that the source had deleted before 3 were read before, or never.


class Planned(NamedTuple):
    """The plan, the sides' topics as readers of ranges need them, and the mirror's offsets when all was read."""

    plan: MirrorPlan
    source: AuditPlan
    target: AuditPlan
    positions: Positions | Skipped
    positions_after: Positions | Skipped
    checkpoints: Checkpoints | Skipped


def plan_mirror(source: ClusterReader, target: ClusterReader, request: MirrorRequest) -> Planned:
    """The whole comparison, resolved once. Raises UsageError where no topic is mirrored to another."""
    pairs = topic_pairs(request, source.topic_names(), target.topic_names())
    _require_two_topics(pairs, source.cluster_id, target.cluster_id)
    isolation = read_isolation(target, request)
    positions = read_positions(target, request)
    checkpoints = read_checkpoints(target, request.checkpoints_topics)
    in_target = _Side(target, [each.target for each in pairs])
    in_source = _Side(source, [each.source for each in pairs])
    after = read_positions(target, request)
    plan = MirrorPlan(
        as_of=target.now(),
        source_cluster=source.cluster_id,
        target_cluster=target.cluster_id,
        topics=tuple(MirroredTopic(each, in_source.topic(each.source), in_target.topic(each.target)) for each in pairs),
        pairs=tuple(_partition_pairs(pairs, in_source.bounds, in_target.bounds, positions, checkpoints)),
        isolation=isolation,
        unpaired=dict(_unpaired(pairs, in_source.bounds, in_target.bounds)),
        offsets_topics=() if isinstance(positions, Skipped) else request.offsets_topics,
    )
    return Planned(plan, in_source.plan(plan.as_of), in_target.plan(plan.as_of), positions, after, checkpoints)


def _require_two_topics(pairs: Sequence[TopicPair], source: str | None, target: str | None) -> None:
    """Refuses to compare a topic with itself, which always holds."""
    same = [each.source for each in pairs if each.source == each.target]
    if same and source is not None and source == target:
        raise UsageError(
            f"source and target are both topic {same[0]} of Kafka cluster {source}",
            hint="name the other cluster: -b is the target, --source-bootstrap-server the source",
        )


class _Side:
    """One cluster: its topics of the mirror with their settings and bounds."""

    def __init__(self, reader: ClusterReader, names: Sequence[str]) -> None:
        self._cluster = reader.cluster_id
        described: Mapping[str, TopicDescription] = reader.topics(names, RETENTION_SETTINGS)
        self._topics = {
            name: with_settings(AuditedTopic(name, TopicRole.OUTPUT), each) for name, each in described.items()
        }
        places = [TopicPartition(name, number) for name, each in described.items() for number in range(each.partitions)]
        self.bounds = {place: log_bounds(each) for place, each in reader.bounds(places).items()}

    def topic(self, name: str) -> AuditedTopic:
        return self._topics.get(name, AuditedTopic(name, TopicRole.OUTPUT))

    def plan(self, as_of: int) -> AuditPlan:
        return AuditPlan(as_of, self._cluster, None, tuple(self._topics.values()), tuple(self.bounds.values()), ())


Bounds = Mapping[TopicPartition, PartitionBounds]


def _partition_pairs(
    pairs: Sequence[TopicPair],
    source: Bounds,
    target: Bounds,
    positions: Positions | Skipped,
    checkpoints: Checkpoints | Skipped,
) -> Iterator[PartitionPair]:
    of_groups: Checkpoints = {} if isinstance(checkpoints, Skipped) else checkpoints
    for pair in pairs:
        for place, bounds in sorted(source.items()):
            there = TopicPartition(pair.target, place.partition)
            copied = target.get(there)
            if place.topic == pair.source and copied is not None:
                position = positions if isinstance(positions, Skipped) else positions.get(place)
                mine = tuple(sorted(of_groups.get(there, ())))
                yield PartitionPair(pair, place.partition, bounds, copied, position, mine)


def _unpaired(pairs: Sequence[TopicPair], source: Bounds, target: Bounds) -> Iterator[tuple[str, str]]:
    """Partitions with records on one side only, and that side."""
    for pair in pairs:
        sides = (
            (pair.source, pair.target, source, target, "source"),
            (pair.target, pair.source, target, source, "target"),
        )
        for mine, other, here, there, side in sides:
            for place, bounds in sorted(here.items()):
                if (
                    place.topic == mine
                    and TopicPartition(other, place.partition) not in there
                    and bounds.high_watermark
                ):
                    yield str(place), side


# A mirror's audit that continues where the last one of its job ended, pair by pair of partitions.  The ledger has a
# cursor for each partition of the target, and carries a row for each pair: how far it was compared. A row of no pair
# names the source cluster. Pairs outside a run's request are carried on unchanged.


PairKey = tuple[TopicPair, int]
Earlier = Mapping[PairKey, MirrorProgress]
NO_PAIR: Final = ""


class Auditor(Protocol):
    """Runs plans."""

    def plan(self) -> Planned:
        """The whole comparison at this moment."""

    def run(self, planned: Planned, earlier: Earlier) -> tuple[MirrorReport, tuple[MirrorProgress, ...]]:
        """The report, and the state from which the next run continues."""


def run_incrementally(
    auditor: Auditor, ledger: Ledger, job: str, as_json: Callable[[MirrorReport], str]
) -> MirrorReport:
    """The report over all runs of the job; the ledger has this one when it returns.

    Raises Refused if the job is not a mirror's, or of a mirror of another source cluster.
    """
    return until_committed(lambda: _Attempt(auditor, ledger, job).report(as_json))


class _Attempt:
    """One run of the job."""

    def __init__(self, auditor: Auditor, ledger: Ledger, job: str) -> None:
        self._auditor, self._planned = auditor, auditor.plan()
        self._run = JobRun(ledger, job, self._planned.plan.target_cluster)
        rows = tuple(self._run.carried(StateKind.MIRROR))
        self._source = self._source_cluster([each for each in rows if each.topic == NO_PAIR])
        found = [decode_audit_state(each.payload, MirrorProgress) for each in rows if each.topic != NO_PAIR]
        self._earlier: Earlier = {(each.topics, each.partition): each for each in found}

    def _source_cluster(self, kept: Sequence[StateRow]) -> str:
        now, job = self._planned.plan.source_cluster or "", self._run.state.job
        if not self._run.goes_on:
            return now
        if not kept:
            raise Refused(f"job {job} belongs to an audit of connectors", hint="use another job")
        before = decode_audit_state(kept[0].payload, str)
        if before and now and before != now:
            raise Refused(f"job {job} compares with source cluster {before}, this is {now}", hint="use another job")
        return before or now

    def report(self, as_json: Callable[[MirrorReport], str]) -> MirrorReport:
        report, progress = self._auditor.run(self._planned, self._earlier)
        self._run.commit(report, as_json, self._advances(report, progress), self._carried(progress))
        return report

    def _carried(self, progress: Sequence[MirrorProgress]) -> Iterator[StateRow]:
        yield StateRow(StateKind.MIRROR, 0, NO_PAIR, 0, 0, True, encode_audit_state(self._source))
        asked = {(each.topics, each.partition) for each in self._planned.plan.pairs}
        for each in (*progress, *(kept for key, kept in self._earlier.items() if key not in asked)):
            name = " ".join(each.topics)
            yield StateRow(
                StateKind.MIRROR, 0, name, each.partition, each.kept.target_next, True, encode_audit_state(each)
            )

    def _advances(self, report: MirrorReport, progress: Sequence[MirrorProgress]) -> Iterator[Advance]:
        """Each partition of the target up to where its records are compared for good."""
        found = {TopicPartition(each.topics.target, each.partition): each for each in progress}
        continued = {
            TopicPartition(each.pair.topics.target, each.pair.partition)
            for each in report.pairs
            if each.alignment.continued is not None
        }
        bounds = [each.target for each in self._planned.plan.pairs]
        cursors = self._run.state.cursors
        resumptions = resume(cursors, self._planned.target.topics, bounds)
        evidence = [
            RangeEvidence(
                place.topic, place.partition, 0, each.kept.target_next, each.kept.target_place + each.target.aborted
            )
            for place, each in found.items()
            if place in continued or place not in cursors
        ]
        ends = {place: each.kept.target_next for place, each in found.items()}
        return advances(resumptions, ends, evidence, self._run.ledger.ranges(self._run.state.job))


def audit_mirror(session: Session, request: MirrorRequest, as_json: Callable[[MirrorReport], str]) -> MirrorReport:
    """The whole audit: compares every pair of partitions record by record; with a ledger, only new records."""
    if request.source_servers is None and request.source_config is None:
        raise UsageError("the source cluster was not named", hint="give --source-bootstrap-server HOST:PORT")
    if request.evidence is not None:
        request.evidence.require_usable()
    with source_session(session, request.source_servers, request.source_config) as source:
        auditor = _Auditor(session, source, request)
        if request.store is None:
            report, _ = auditor.run(auditor.plan(), {})
        else:
            report = run_incrementally(auditor, open_job_ledger(request.store), request.job, as_json)
        report = report.under(session.options.triage)
        if request.evidence is not None:
            clusters = tuple(_evidenced(session, source, report))
            command = _command_line(session, request)
            evidence = Evidence("mirror audit", command, report.plan.as_of, clusters, as_json(report))
            write_evidence(request.evidence, evidence)
    return report


def _evidenced(session: Session, source: Session, report: MirrorReport) -> Iterator[EvidencedCluster]:
    """Both sides of the pairs, read once more for their digests: a comparison reads parts of them several times."""
    plan, pairs = report.plan, report.plan.pairs
    sides = (
        (source.reader, plan.source_cluster, [each.source for each in plan.topics], [each.source for each in pairs]),
        (session.reader, plan.target_cluster, [each.target for each in plan.topics], [each.target for each in pairs]),
    )
    for reader, cluster_id, topics, bounds in sides:
        known = tuple(dict.fromkeys(topics))
        ranges = [
            OffsetRange(each.topic, each.partition, each.audited_from, each.last_stable_offset)
            for each in dict.fromkeys(bounds)
            if each.audited_from < each.last_stable_offset
        ]
        side = AuditPlan(plan.as_of, cluster_id, None, known, (), ())
        yield evidenced_cluster(cluster_id, known, list(digest_ranges(side, ranges, _batches(reader))))


def _command_line(session: Session, request: MirrorRequest) -> str:
    """The options that decide what was compared, without values of client properties."""
    options = session.options
    given: Mapping[str, Sequence[object]] = {
        "--bootstrap-server": (options.bootstrap_servers,),
        "--command-config": (options.command_config,),
        "--source-bootstrap-server": (request.source_servers,),
        "--source-command-config": (request.source_config,),
        "--topic": request.topics,
        "--alias": (request.alias,),
        "--separator": (None if request.separator == "." else request.separator,),
        "--mapping": (request.mapping,),
        "--connector": request.connectors,
        "--offsets-topic": request.offsets_topics,
        "--checkpoints-topic": request.checkpoints_topics,
        "--isolation": (request.isolation,),
        "--job": (request.job if request.store is not None else None,),
    }
    words = [
        word for name, values in given.items() for each in values if each is not None for word in (name, str(each))
    ]
    return shlex.join(["eosctl", "mirror", "audit", *words, *(["--same-names"] if request.same_names else [])])


class _Auditor:
    """Runs plans over both clusters, again where another auditor was faster."""

    def __init__(self, session: Session, source: Session, request: MirrorRequest) -> None:
        self._session, self._source, self._request = session, source, request

    def plan(self) -> Planned:
        return plan_mirror(self._source.reader, self._session.reader, self._request)

    def run(self, planned: Planned, earlier: Earlier) -> tuple[MirrorReport, tuple[MirrorProgress, ...]]:
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
        return _report(planned, compared, coverage, self._source.options.triage.kafka_tools), progress

    @contextmanager
    def _apart(self) -> Iterator[ComparePieces | None]:
        """The remote comparer of pieces, if requested."""
        if self._request.engine != "spark":
            yield None
            return
        properties = (self._session.wire.properties, self._source.wire.properties)
        archives = cache_directory() / "spark"
        with spark_pieces(self._request.spark, properties, self._session.timeout_s, find_java, archives) as pieces:
            yield pieces


def _report(planned: Planned, compared: list[ComparedPair], coverage: Coverage, source_tools: str) -> MirrorReport:
    judged = [
        judge_pair(pair, found.alignment, _circumstances(planned, pair, found.again))
        for pair, found in zip(planned.plan.pairs, compared, strict=True)
    ]
    findings = worst_first((*chain.from_iterable(found for _, found in judged), *judge_unpaired(planned.plan)))
    return MirrorReport(
        plan=planned.plan,
        pairs=tuple(verdict for verdict, _ in judged),
        findings=findings,
        witnesses=tuple(mirror_witnesses(findings)),
        source_tools=source_tools,
        looked_for=MIRRORS.kinds,
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

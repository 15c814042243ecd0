"""Snapshots: every question to one reader, and the answers in a file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from eosctl.analysis.config_topic import of_a_config_topic
from eosctl.analysis.transaction_log import last_records
from eosctl.atomic_write import require_new
from eosctl.codecs.snapshot import encode_snapshot
from eosctl.executors.files import write_snapshot_file
from eosctl.model.config_topic import ConfigTopicLog
from eosctl.model.evidence import ClusterEvidence, Snapshot, SnapshotFile
from eosctl.model.hanging import NO_LEADER, PartitionProducers, PendingCommit, ProducersFacts, join_open_transactions
from eosctl.model.names import TopicPartition
from eosctl.model.offsets import OffsetsFacts
from eosctl.model.skipped import Skipped, read_or_skip
from eosctl.model.timeline import TimelineFacts
from eosctl.model.transaction_log import TransactionLogFacts
from eosctl.model.transactions import ActiveProducer
from eosctl.operations.connector_description import read_written_statuses
from eosctl.operations.evidence import EvidenceRequest, descriptions, read_cluster_evidence
from eosctl.operations.offset_stores import OffsetsRequest
from eosctl.operations.offsets import read_offsets_facts
from eosctl.operations.session import Session
from eosctl.operations.timeline import TimelineRequest, cluster_of, read_events
from eosctl.sources.cluster_reader import ALL_TOPICS, ClusterReader
from eosctl.sources.saved_cluster import read_snapshot_file

KEPT_MS: Final = 7 * 86_400_000
KEPT_EVENTS: Final = 10_000
Commits = Mapping[TopicPartition, Mapping[int, tuple[PendingCommit, ...]] | Skipped]


class SnapshotRequest(Struct, frozen=True):
    """The output file, and the workers' internal topics; None: by worker_config, or Kafka's samples.

    overwrite: an older file of this name may be replaced.
    """

    file: Path
    config_topic: str
    worker_offsets_topic: str | None = None
    worker_config: Path | None = None
    overwrite: bool = False


def save_snapshot(session: Session, request: SnapshotRequest) -> SnapshotFile:
    """Reads everything that the reading commands need, writes the file, and returns its contents."""
    require_new(request.file, overwrite=request.overwrite)
    write_snapshot_file(request.file, encode_snapshot(take_snapshot(session, request)))
    return show_snapshot(request.file)


def show_snapshot(file: Path) -> SnapshotFile:
    """The contents of the file. Raises Undecodable if it is no snapshot."""
    snapshot = read_snapshot_file(file)
    return SnapshotFile(snapshot, str(file), coverage=snapshot.coverage)


def take_snapshot(session: Session, request: SnapshotRequest) -> Snapshot:
    """The cluster with all facts of any command; unreadable ones are Skipped, except the cluster itself.

    Producers are read before transactional IDs are described and again afterwards: only then is it known which of the
    open transactions hang.
    """
    reader = session.reader
    as_of, cluster = reader.now(), reader.cluster()
    if isinstance(cluster, Skipped):
        session.options.need_bootstrap_servers()
    first = read_or_skip(lambda: _first_producers(reader))
    listed = read_or_skip(reader.transactional_ids)
    ids = () if isinstance(listed, Skipped) else [each.transactional_id for each in listed.transactions]
    transactions = listed if isinstance(listed, Skipped) else read_or_skip(lambda: descriptions(reader, ids))
    producers = first if isinstance(first, Skipped) else read_or_skip(lambda: _producers_facts(reader, first))
    files = () if request.worker_config is None else (request.worker_config,)
    topics = {"config": request.config_topic, "offsets": request.worker_offsets_topic}
    evidence = read_or_skip(lambda: read_cluster_evidence(reader, EvidenceRequest(topics, files), transactions))
    connect = read_or_skip(reader.connect)
    return Snapshot(
        as_of=as_of,
        cluster=cluster,
        group_id=reader.group_id,
        config_topic=_config_topic(reader, request.config_topic),
        transactions=transactions,
        connect=connect,
        offsets=read_or_skip(lambda: _offsets_facts(reader, request)),
        transaction_log=read_or_skip(lambda: _log_facts(reader)),
        producers=producers,
        evidence=evidence,
        clock=reader.clock(),
        timeline=read_or_skip(
            lambda: _last_days(reader, evidence, request, as_of, is_answered=not isinstance(connect, Skipped))
        ),
        unlisted=(*(() if isinstance(listed, Skipped) else listed.unlisted), *_hidden_topics(reader)),
    )


def _last_days(
    reader: ClusterReader,
    evidence: ClusterEvidence | Skipped,
    request: SnapshotRequest,
    as_of: int,
    *,
    is_answered: bool,
) -> TimelineFacts | Skipped:
    """The events of the last KEPT_MS, without the ones of output topics; few enough that the file stays small.

    With the last statuses where no worker answered.
    """
    log = reader.timeline()
    if isinstance(log, Skipped | TimelineFacts):
        return log
    topics = () if isinstance(evidence, Skipped) else evidence.internal_topics
    names = {each.role: each.name for each in topics}
    wanted = TimelineRequest(
        since=as_of - KEPT_MS,
        config_topic=names.get("config", request.config_topic),
        status_topic=names.get("status"),
        worker_offsets_topic=names.get("offsets", request.worker_offsets_topic),
        outputs=False,
    )
    statuses = {} if is_answered else read_written_statuses(reader, topics)
    with reader.optional_reads():
        facts = read_events(log, wanted, cluster_of(reader), KEPT_EVENTS)
    return facts if isinstance(statuses, Skipped) else replace(facts, statuses=statuses)


def _config_topic(reader: ClusterReader, topic: str) -> ConfigTopicLog | Skipped:
    """The topic's records; UsageError if they show another one, because a snapshot has one Connect cluster."""
    log = read_or_skip(lambda: reader.config_topic(topic))
    return log if isinstance(log, Skipped) else replace(log, records=of_a_config_topic(log.records))


def _hidden_topics(reader: ClusterReader) -> tuple[str, ...]:
    return tuple(each.reason for each in reader.coverage.gaps if each.what == ALL_TOPICS)


def _offsets_facts(reader: ClusterReader, request: SnapshotRequest) -> OffsetsFacts:
    return read_offsets_facts(
        reader,
        OffsetsRequest(
            config_topic=request.config_topic,
            worker_offsets_topic=request.worker_offsets_topic,
            worker_config=request.worker_config,
        ),
    )


def _log_facts(reader: ClusterReader) -> TransactionLogFacts:
    """The last records of each ID, in partitions with a reachable broker."""
    log = reader.transaction_log()
    count, records = last_records(log.records)
    return TransactionLogFacts(log.leaders, log.expiration_ms, count, records, log.unread)


class _Producers(Struct, frozen=True):
    """Leaders of all partitions (NO_LEADER: none answers), and the producers that they remember."""

    leaders: Mapping[TopicPartition, int]
    producers: tuple[ActiveProducer, ...]


def _first_producers(reader: ClusterReader) -> _Producers:
    leaders = reader.partitions({})
    answered = reader.producers(leaders)
    return _Producers({**leaders, **dict.fromkeys(answered.unanswered, NO_LEADER)}, answered.producers)


def _still_open(reader: ClusterReader, first: _Producers) -> _Producers:
    """The open transactions without those that ended since, and without partitions whose leader is silent."""
    opened = {each.topic_partition for each in first.producers if each.transaction_start_offset is not None}
    if not opened:
        return first
    again = reader.producers({each: first.leaders[each] for each in sorted(opened)}, quiet=True)
    now = {(each.topic_partition, each.producer.producer_id, each.transaction_start_offset) for each in again.producers}
    producers = tuple(
        each
        if (each.topic_partition, each.producer.producer_id, each.transaction_start_offset) in now
        else replace(each, transaction_start_offset=None)
        for each in first.producers
        if each.topic_partition not in again.unanswered
    )
    return _Producers({**first.leaders, **dict.fromkeys(again.unanswered, NO_LEADER)}, producers)


def _producers_facts(reader: ClusterReader, first: _Producers) -> ProducersFacts:
    """Every partition, after the IDs were described."""
    now = _still_open(reader, first)
    read = reader.offsets([place for place, leader in now.leaders.items() if leader != NO_LEADER])
    offsets = {place: each for place, each in read.items() if not isinstance(each, Skipped)}
    held = {place: each for place, each in offsets.items() if each.held_back > 0}
    since = reader.first_timestamps({place: each.last_stable_offset for place, each in held.items()}, now.leaders)
    waiting, commits = reader.waiting_groups(held), _commits(reader, now.producers)
    by_partition: dict[TopicPartition, list[ActiveProducer]] = {}
    for each in now.producers:
        by_partition.setdefault(each.topic_partition, []).append(each)
    found = {
        place: PartitionProducers(
            place,
            leader if place in offsets else NO_LEADER,
            offsets.get(place),
            tuple(by_partition.get(place, ())),
            since.get(place),
            waiting if isinstance(waiting, Skipped) else waiting.get(place, ()),
            commits.get(place, {}),
        )
        for place, leader in now.leaders.items()
    }
    return ProducersFacts(found, reader.access(), reader.groups())


def _commits(reader: ClusterReader, producers: tuple[ActiveProducer, ...]) -> Commits:
    """Offset commits of open transactions, by partition and producer ID; Skipped if one was not read."""
    found: dict[TopicPartition, dict[int, tuple[PendingCommit, ...]]] = {}
    unread: dict[TopicPartition, Skipped] = {}
    for (place, producer_id, _), commits in reader.pending_commits(join_open_transactions(producers, {}, {})).items():
        if isinstance(commits, Skipped):
            unread[place] = commits
        else:
            found.setdefault(place, {})[producer_id] = commits
    return {**found, **unread}

"""What MirrorMaker's checkpoints topics hold: for each consumer group its latest checkpoint of each partition."""

from collections.abc import Mapping, Sequence

from eosctl.codecs.checkpoints import decode_checkpoint
from eosctl.codecs.record_batches import decode_records
from eosctl.errors import EosctlError
from eosctl.model.audit import AuditedTopic, AuditPlan, OffsetRange, TopicRole
from eosctl.model.mirror import Checkpoint
from eosctl.model.names import TopicPartition
from eosctl.model.skipped import Skipped, not_asked
from eosctl.sources.audit_log import DataBatch
from eosctl.sources.cluster_reader import ClusterReader

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

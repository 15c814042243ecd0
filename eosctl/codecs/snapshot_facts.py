"""The facts in a snapshot file, section by section: each noun as a JSON object and back."""

from typing import Any

from eosctl.codecs.json_fields import JsonFields
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.skipped import Skipped
from eosctl.model.snapshot import ClusterFacts
from eosctl.model.topics import PartitionOffsets, TopicFacts
from eosctl.model.transactions import TransactionDescription, TransactionState
from eosctl.model.workers import ConnectFacts, ConnectorStatus, TaskStatus, WorkerFacts


def encode_cluster(cluster: ClusterFacts) -> dict[str, Any]:
    """cluster_id, brokers (node ID to address), transaction_max_timeout_ms."""
    limit = cluster.transaction_max_timeout_ms
    return {
        "cluster_id": cluster.cluster_id,
        "brokers": {str(node_id): address for node_id, address in cluster.brokers.items()},
        "transaction_max_timeout_ms": {"skipped": limit.reason} if isinstance(limit, Skipped) else limit,
    }


def decode_cluster(fields: JsonFields) -> ClusterFacts:
    """The inverse of encode_cluster."""
    name = "transaction_max_timeout_ms"
    unread = isinstance(fields.members().get(name), dict)
    return ClusterFacts(
        fields.text("cluster_id"),
        fields.numbered_texts("brokers"),
        Skipped(fields.inner(name).text("skipped")) if unread else fields.whole(name),
    )


def encode_topic(topic: TopicFacts) -> dict[str, Any]:
    """name, partitions, replication_factor, settings."""
    return {
        "name": topic.name,
        "partitions": topic.partitions,
        "replication_factor": topic.replication_factor,
        "settings": dict(topic.settings),
    }


def decode_topic(fields: JsonFields) -> TopicFacts:
    """The inverse of encode_topic."""
    return TopicFacts(
        fields.text("name"), fields.whole("partitions"), fields.whole("replication_factor"), fields.texts("settings")
    )


def encode_offsets(offsets: PartitionOffsets) -> dict[str, Any]:
    """topic, partition, log_start_offset, last_stable_offset, high_watermark."""
    return {
        "topic": offsets.topic_partition.topic,
        "partition": offsets.topic_partition.partition,
        "log_start_offset": offsets.log_start_offset,
        "last_stable_offset": offsets.last_stable_offset,
        "high_watermark": offsets.high_watermark,
    }


def decode_offsets(fields: JsonFields) -> PartitionOffsets:
    """The inverse of encode_offsets."""
    return PartitionOffsets(
        TopicPartition(fields.text("topic"), fields.whole("partition")),
        fields.whole("log_start_offset"),
        fields.whole("last_stable_offset"),
        fields.whole("high_watermark"),
    )


def encode_transaction(description: TransactionDescription) -> dict[str, Any]:
    """state, producer_id, producer_epoch, timeout_ms, start_ms, partitions as [topic, partition], coordinator."""
    return {
        "state": description.state.value,
        "producer_id": description.producer.producer_id,
        "producer_epoch": description.producer.producer_epoch,
        "timeout_ms": description.timeout_ms,
        "start_ms": description.start_ms,
        "partitions": [{"topic": each.topic, "partition": each.partition} for each in description.partitions],
        "coordinator": description.coordinator,
    }


def decode_transaction(transactional_id: str, fields: JsonFields) -> TransactionDescription:
    """The inverse of encode_transaction; a state that this eosctl does not know is Unknown."""
    known = {state.value for state in TransactionState}
    state = fields.text("state")
    return TransactionDescription(
        transactional_id=transactional_id,
        state=TransactionState(state) if state in known else TransactionState.UNKNOWN,
        producer=ProducerIdAndEpoch(fields.whole("producer_id"), fields.whole("producer_epoch")),
        timeout_ms=fields.whole("timeout_ms"),
        start_ms=fields.optional("start_ms", fields.whole),
        partitions=tuple(
            TopicPartition(each.text("topic"), each.whole("partition")) for each in fields.inners("partitions")
        ),
        coordinator=fields.whole("coordinator"),
    )


def encode_connect(connect: ConnectFacts) -> dict[str, Any]:
    """workers by URL; connectors by name with type, state and tasks."""
    return {
        "workers": {url: _encode_worker(worker) for url, worker in connect.workers.items()},
        "connectors": {name: _encode_status(status) for name, status in connect.connectors.items()},
    }


def _encode_worker(worker: WorkerFacts | Skipped) -> dict[str, Any]:
    if isinstance(worker, Skipped):
        return {"skipped": worker.reason}
    return {"version": worker.version, "kafka_cluster_id": worker.kafka_cluster_id}


def _encode_status(status: ConnectorStatus) -> dict[str, Any]:
    tasks = [{"task": each.task, "state": each.state, "worker_id": each.worker_id} for each in status.tasks]
    return {"type": status.type, "state": status.state, "tasks": tasks}


def decode_connect(fields: JsonFields) -> ConnectFacts:
    """The inverse of encode_connect."""
    return ConnectFacts(
        {url: _decode_worker(url, each) for url, each in fields.entries("workers").items()},
        {name: _decode_status(name, each) for name, each in fields.entries("connectors").items()},
    )


def _decode_worker(url: str, fields: JsonFields) -> WorkerFacts | Skipped:
    if fields.has("skipped"):
        return Skipped(fields.text("skipped"))
    return WorkerFacts(url, fields.text("version"), fields.text("kafka_cluster_id"))


def _decode_status(name: str, fields: JsonFields) -> ConnectorStatus:
    tasks = (
        TaskStatus(each.whole("task"), each.text("state"), each.text("worker_id")) for each in fields.inners("tasks")
    )
    return ConnectorStatus(name, fields.optional("type", fields.text), fields.text("state"), tuple(tasks))

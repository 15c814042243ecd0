"""Aborting open transactions of one partition: what the user requests."""

from dataclasses import dataclass

from eosctl.model.names import TopicPartition


@dataclass(frozen=True, slots=True)
class AbortRequest:
    """What to abort, how old it must be (ms), and whether to do so although it does not hang."""

    topic_partition: TopicPartition
    start_offset: int | None
    producer_id: int | None
    max_timeout_ms: int
    force: bool

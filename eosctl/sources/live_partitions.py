"""Partitions, their producers and what readers of them see, as their leaders answer now."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from eosctl.clients.leaders import NO_LEADER
from eosctl.errors import EosctlError
from eosctl.model.producers import AnsweredProducers
from eosctl.model.skipped import Cause, Skipped, or_skipped
from eosctl.sources import first_batches, kafka_groups, kafka_offsets, kafka_producers, pending_commits, share_groups
from eosctl.sources.cluster_reader import ALL_TOPICS, CommitPlace, Wanted
from eosctl.sources.coverage_log import asked
from eosctl.sources.hidden_names import hidden_topics
from eosctl.sources.live_brokers import LiveBrokers
from eosctl.sources.wanted_partitions import wanted_of

if TYPE_CHECKING:
    from eosctl.model.groups import ListedGroup, ShareGroups
    from eosctl.model.hanging import OpenTransaction, PendingCommit, WaitingGroup
    from eosctl.model.names import TopicPartition
    from eosctl.model.topics import PartitionOffsets

Progress = Callable[..., AbstractContextManager[Callable[[int], None]]]

NO_TIME = Skipped("its leader did not answer with a batch", Cause.UNREACHABLE)


class LivePartitions(LiveBrokers):
    """Asks again at each question."""

    _progress: Progress

    def groups(self) -> Mapping[str, ListedGroup] | Skipped:
        """As all brokers list them."""
        raise NotImplementedError

    @asked("share group")
    def share_groups(self, group_ids: Collection[str]) -> ShareGroups | Skipped:
        """Three requests for each, one after the other."""
        return share_groups.read_share_groups(self._connections.wire, group_ids)

    @asked("partitions")
    def partitions(self, wanted: Wanted, broker: int | None = None) -> Mapping[TopicPartition, int]:
        """Internal topics are among them. Brokers leave out what may not be described."""
        if not wanted:
            self.note(ALL_TOPICS, hidden_topics(self._connections.wire))
        leaders = kafka_producers.cluster_partitions(self._connections.wire, wanted or None, broker=broker)
        return wanted_of(leaders, wanted)

    def producers(self, leaders: Mapping[TopicPartition, int], *, quiet: bool = False) -> AnsweredProducers:
        """All leaders are asked at once; a partition without leader is among the unanswered."""
        led = {place: leader for place, leader in leaders.items() if leader != NO_LEADER}
        if quiet:
            found = kafka_producers.answering_producers(self._connections.wire, led)
        else:
            with self._progress("asking leaders", len(led), unit="partitions") as advance:
                found = kafka_producers.answering_producers(self._connections.wire, led, on_answer=advance)
        silent = tuple(sorted({*(leaders.keys() - led.keys()), *found.unanswered}))
        self.note(
            "producers of", {place: Skipped(f"no leader answered for {place}", Cause.UNREACHABLE) for place in silent}
        )
        return AnsweredProducers(found.producers, silent)

    @asked("offsets of")
    def offsets(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, PartitionOffsets | Skipped]:
        """From the partition leaders."""
        return kafka_offsets.offsets_or_skipped(self._connections.wire, partitions) if partitions else {}

    def first_timestamps(
        self, offsets: Mapping[TopicPartition, int], leaders: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int]:
        """One small Fetch for each."""
        found = first_batches.first_timestamps(self._connections.wire, offsets, leaders)
        with self.adding():
            self.note("time of the first batch in", {each: NO_TIME for each in offsets if each not in found})
        return found

    @asked("committed offsets of groups in")
    def waiting_groups(
        self, offsets: Mapping[TopicPartition, PartitionOffsets]
    ) -> Mapping[TopicPartition, tuple[WaitingGroup, ...] | Skipped] | Skipped:
        """By the offsets that the consumer groups have committed."""
        groups = self.groups()
        if isinstance(groups, Skipped):
            return groups
        states = {each.group_id: each.state for each in groups.values() if not each.is_connect}
        consumers = [each for each in states if not groups[each].is_share]
        committed = or_skipped(lambda: kafka_groups.committed_offsets(self._connections.wire, consumers, offsets))
        if isinstance(committed, Skipped):
            return committed
        self.note("committed offsets of group", committed)
        queues = self.share_groups(sorted(states.keys() - set(consumers))) if offsets else {}
        if isinstance(queues, Skipped):
            return queues
        return kafka_groups.waiting_groups_of(committed, queues, states, offsets)

    @asked("committed offsets of group {}")
    def committed_offsets(self, group_id: str) -> Mapping[TopicPartition, int] | Skipped:
        """From the group's coordinator, which leaves out topics that may not be described."""
        wire, groups = self._connections.wire, self.groups()
        if not isinstance(groups, Skipped) and group_id in groups and groups[group_id].is_share:
            return share_groups.read_share_groups(wire, [group_id])[group_id].starts
        self.note(ALL_TOPICS, hidden_topics(wire))
        return kafka_groups.committed_offsets(wire, [group_id], None)[group_id]

    @asked("pending offset commits in")
    def pending_commits(
        self, transactions: Collection[OpenTransaction]
    ) -> Mapping[CommitPlace, tuple[PendingCommit, ...] | Skipped]:
        """From `__consumer_offsets`; needs Read on it."""
        try:
            return pending_commits.pending_commits(self._connections.wire, transactions)
        except EosctlError as error:
            return {each.place: Skipped.of(error) for each in transactions}

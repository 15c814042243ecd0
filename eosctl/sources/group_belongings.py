"""The internal topics and named workers of a Connect group if a Kafka cluster has several groups.

A worker is of the group in which a member advertises its address; behind a name or a balancer, of the group whose
members have the tasks that it shows. A worker's group.id and the names of its topics are settings of their own, and no
request answers which go together. A topic is of the group whose workers wrote to it last:

1. The leader of a group that is preparing or enabled writes to its config topic as connect-cluster-<group.id>
   (KafkaConfigBackingStore). With enabled, tasks write to the offsets topic as <group.id>-<connector>-<task>. So the
   transactional ID of a batch's producer ID names the group.
2. A record of the status topic has the address that its worker advertises (KafkaStatusBackingStore, worker_id).
3. Nothing else shows it. Then the name in Kafka's sample of a worker's file is taken only where the Kafka cluster has
   no other Connect group.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from msgspec import MsgspecError, Struct
from msgspec.json import decode

from eosctl.clients.leaders import JUST_NOW_S, NO_LEADER, partition_leaders
from eosctl.clients.messages import fetch, list_transactions
from eosctl.codecs import record_batches
from eosctl.errors import EosctlError, Undecodable, UsageError
from eosctl.late_pattern import late_pattern
from eosctl.model.groups import ConnectGroup, ListedGroup
from eosctl.model.names import LEADER_PREFIX, TopicPartition
from eosctl.model.records import IsolationLevel
from eosctl.model.skipped import Cause, Skipped
from eosctl.model.text import first_few
from eosctl.model.transactions import ListedTransactions, TransactionListing
from eosctl.model.workers import NO_MEMBERS, host_port
from eosctl.sources import connect_rest, kafka_groups, kafka_log, listed_transactions
from eosctl.sources.kafka_topics import topic_facts
from eosctl.sources.kafka_transactions import answering_producers

if TYPE_CHECKING:
    from eosctl.clients.wire import Wire

SAMPLE_TOPICS: Final = {"config": "connect-configs", "offsets": "connect-offsets", "status": "connect-status"}
"""The names in Kafka's sample of a worker's file, by role: what is read where nothing gives a name."""
OPTIONS: Final = {"config": "--config-topic", "offsets": "--worker-offsets-topic", "status": "--status-topic"}
DEDICATED: Final = "-mm2"
"""The suffix of a dedicated MirrorMaker 2's group ID; the names of its topics are fixed (MirrorMaker)."""
TASK: Final = late_pattern(r"-\d+\Z", re.ASCII)
PATIENCE_S: Final = 5.0
LAST_OFFSETS: Final = 200
LAST_BYTES: Final = 1 << 16

T = TypeVar("T")
D = TypeVar("D")


class GroupBelongings:
    """`require` for the topics of one Kafka cluster; named are roles whose topic an option, variable or file names."""

    def __init__(self, wire: Callable[[], Wire], named: Collection[str]) -> None:
        self._wire, self._named = wire, named
        self._right: set[tuple[str, str, str]] = set()
        self._known: dict[str, tuple[str, ...]] = {}
        self._groups: Mapping[str, ListedGroup] | None = None
        self._ids: Sequence[TransactionListing] = ()

    def learn_groups(self, groups: Mapping[str, ListedGroup] | Skipped) -> Mapping[str, ListedGroup] | Skipped:
        """The same: all groups, which are not listed again."""
        self._groups = None if isinstance(groups, Skipped) else groups
        return groups

    def learn_ids(self, listed: ListedTransactions) -> ListedTransactions:
        """The same: IDs that may show a writer. A producer ID is of one transactional ID for ever."""
        self._ids = listed.transactions
        return listed

    def require(self, role: str, topic: str, group_id: str | None) -> None:
        """UsageError where the topic is another group's, or a default that nothing shows to be this group's.

        A topic is not refused if the broker does not answer.
        """
        if group_id is None or (role, topic, group_id) in self._right:
            return
        if role != "status" and self._has_own_producer(role, topic, group_id):
            self._right.add((role, topic, group_id))
            return
        batches: Sequence[record_batches.Batch] | None = _asked(lambda: tuple(_last_batches(self._wire(), topic)), None)
        if batches is None:  # there is no such topic, or it cannot be read: its reader says which
            return
        others = self._others(group_id)
        is_default = role not in self._named and topic == SAMPLE_TOPICS[role]
        if role == "status":
            is_own, foreign = self._has_members(group_id, batches), []
        else:
            writers = self._writers(batches)
            is_own = any(_is_of(role, each, group_id, others) for each in writers)
            foreign = [each for each in writers if _is_foreign(role, each, group_id, None if is_default else others)]
        if not is_own and foreign:
            raise _other_topic(role, topic, group_id, foreign)
        if not is_own and others and is_default:
            raise _unknown_topic(role, topic, group_id, others)
        self._right.add((role, topic, group_id))

    def strangers(self, urls: Sequence[str], group_id: str, timeout_s: float) -> Mapping[str, Skipped]:
        """The workers that are members of another Connect group, with the reason; a silent worker is not included."""
        others = self._others(group_id)
        groups = (
            _asked(lambda: kafka_groups.read_connect_groups(self._wire(), (group_id, *others)), {}) if others else {}
        )
        places = {name: _addresses(each) for name, each in groups.items() if isinstance(each, ConnectGroup)}
        own = places.pop(group_id, set())
        found: dict[str, Skipped] = {}
        for url in urls if any(places.values()) else ():
            seen = {host_port(url)}
            if not any(seen & each for each in (own, *places.values())):  # a name or balancer before it
                seen = _asked(partial(_shown_by, url, timeout_s), set())
            group = next((name for name, each in places.items() if seen & each and not seen & own), None)
            if group is not None:
                found[url] = Skipped(f"it is a worker of Connect group {group}, not of {group_id}", Cause.OTHER_GROUP)
        return found

    def _has_own_producer(self, role: str, topic: str, group_id: str) -> bool:
        """Whether leaders still remember a producer of the group: two requests, where batches take one a partition.

        False where none of the group's is found: then the batches decide.
        """
        ids = _asked(partial(_remembered, self._wire, topic), frozenset())
        writers = [each.transactional_id for each in self._ids if each.producer_id in ids]
        if ids and not writers:
            writers = _asked(lambda: _listed_at_once(self._wire(), ids), [])
        return any(_is_of(role, each, group_id, self._others(group_id)) for each in writers)

    def _others(self, group_id: str) -> tuple[str, ...]:
        if group_id not in self._known:
            self._known[group_id] = _asked(lambda: _other_groups(self._wire(), group_id, self._groups), ())
        return self._known[group_id]

    def _has_members(self, group_id: str, batches: Sequence[record_batches.Batch]) -> bool:
        members = _asked(lambda: kafka_groups.read_connect_group(self._wire(), group_id), NO_MEMBERS)
        return bool(_addresses(members) & set(_worker_ids(batches)))

    def _writers(self, batches: Sequence[record_batches.Batch]) -> Sequence[str]:
        """The transactional IDs that wrote these batches, as far as coordinators still list them."""
        ids = {batch.header.producer_id for batch in batches if batch.header.is_transactional}
        return sorted(_asked(lambda: _transactional_ids(self._wire(), ids), ())) if ids else ()


def _begins(role: str, group_id: str) -> str:
    return LEADER_PREFIX + group_id if role == "config" else f"{group_id}-"


def _is_of(role: str, transactional_id: str, group_id: str, others: Collection[str]) -> bool:
    """True if the group's leader, or one of its tasks, has the ID; False if another group's task may, as a-b-c-0."""
    if role == "config":
        return transactional_id == _begins(role, group_id)
    return [each for each in (group_id, *others) if transactional_id.startswith(_begins(role, each))] == [group_id]


def _is_foreign(role: str, transactional_id: str, group_id: str, others: Collection[str] | None) -> bool:
    """True if the leader or a task of one of the others (None: any other group) has the ID, and none of the group."""
    if others is not None:
        return any(_is_of(role, transactional_id, each, (group_id,)) for each in others)
    if role == "config":
        return transactional_id.startswith(LEADER_PREFIX) and not _is_of(role, transactional_id, group_id, ())
    return bool(TASK.search(transactional_id)) and not transactional_id.startswith(_begins(role, group_id))


def _asked(ask: Callable[[], T], unknown: D) -> T | D:
    try:
        return ask()
    except EosctlError:
        return unknown


def _transactional_ids(wire: Wire, producer_ids: Collection[int]) -> tuple[str, ...]:
    return tuple(
        each.transactional_id
        for each in listed_transactions.list_transactional_ids(wire, producer_ids=producer_ids).transactions
    )


def _listed_at_once(wire: Wire, producer_ids: Collection[int]) -> list[str]:
    """The same as far as coordinators list them now: others may be missing."""
    window = wire.window()
    for broker in wire.brokers():
        window.put(broker.node_id, broker.node_id, list_transactions(producer_ids=sorted(producer_ids)))
    answers = [each.response for each in window if each.response is not None and not each.response.error_code]
    return [each.transactional_id for answer in answers for each in answer.transaction_states]


def _remembered(wire: Callable[[], Wire], topic: str) -> frozenset[int]:
    """Producer IDs whose state the partitions' leaders have: of the last producer.id.expiration.ms."""
    leaders = partition_leaders(wire(), {topic}, heard_s=JUST_NOW_S)
    led = {each: leader for each, leader in leaders.items() if leader != NO_LEADER}
    answer = answering_producers(wire(), led, timeout_s=PATIENCE_S)
    return frozenset(each.producer.producer_id for each in answer.producers)


def _other_groups(wire: Wire, group_id: str, groups: Mapping[str, ListedGroup] | None) -> tuple[str, ...]:
    """The other Connect groups except dedicated MirrorMakers, which have their own names of topics."""
    listed = kafka_groups.listed_groups(wire) if groups is None else groups
    found = sorted(each.group_id for each in listed.values() if each.is_connect)
    others = [each for each in found if each != group_id]
    mirrors = {
        f"mm2-configs.{each.removesuffix(DEDICATED)}.internal": each for each in others if each.endswith(DEDICATED)
    }
    existing = (
        {mirrors[name] for name, facts in topic_facts(wire, tuple(mirrors)).items() if facts} if mirrors else set()
    )
    return tuple(each for each in others if each not in existing)


def _last_batches(wire: Wire, topic: str) -> Iterator[record_batches.Batch]:
    """Some of the last batches of each partition. Raises UsageError where there is no such topic."""
    leaders: Mapping[TopicPartition, int] = partition_leaders(wire, {topic}, heard_s=JUST_NOW_S)
    window = wire.window(in_flight=20)
    for place, bounds in kafka_log.offsets_or_skipped(wire, leaders).items():
        leader = leaders.get(place, NO_LEADER)
        if leader == NO_LEADER or isinstance(bounds, Skipped):
            continue
        first = max(bounds.log_start_offset, bounds.high_watermark - LAST_OFFSETS)
        if first < bounds.high_watermark:
            window.put(place, leader, fetch(place, first, LAST_BYTES, IsolationLevel.READ_UNCOMMITTED))
    for answer in window:
        part = None if answer.response is None else answer.response.responses[0].partitions[0]
        if part is not None and part.error_code == 0 and part.records:
            yield from record_batches.iter_batches(part.records, topic_partition=answer.item)


class _Status(Struct):
    worker_id: str = ""


def _worker_ids(batches: Sequence[record_batches.Batch]) -> Iterator[str]:
    for batch in batches:
        if batch.header.is_control:
            continue
        try:
            entries = record_batches.decode_entries(batch)
        except Undecodable:  # the topic's own reader says so
            continue
        for entry in entries:
            try:
                yield host_port(decode(entry.value or b"{}", type=_Status).worker_id)
            except MsgspecError:
                continue


def _addresses(group: ConnectGroup) -> set[str]:
    return {host_port(each.url) for each in group.members if each.url}


def _shown_by(url: str, timeout_s: float) -> set[str]:
    """The addresses of the workers that have the tasks, as this worker shows them."""
    found = connect_rest.read_connectors(url, min(timeout_s, PATIENCE_S))
    return {host_port(task.worker_id) for each in found.values() for task in each.tasks}


def _other_topic(role: str, topic: str, group_id: str, writers: Sequence[str]) -> UsageError:
    group = writers[0].removeprefix(LEADER_PREFIX) if role == "config" else ""
    known = f"give --group-id {group}" if group else f"check the spelling of --group-id {group_id}"
    return UsageError(
        f"{topic} is not the {role} topic of Connect group {group_id}: transactional ID "
        f"{first_few(writers, most=1)} writes to it, and no transactional ID of group {group_id}",
        hint=f"{known}; or {_hint(role, group_id)}",
    )


def _unknown_topic(role: str, topic: str, group_id: str, others: Sequence[str]) -> UsageError:
    return UsageError(
        f"the {role} topic of Connect group {group_id} is not known. This Kafka cluster has other Connect groups "
        f"({first_few(others)}), and no record shows which group writes to {topic}, the default",
        hint=_hint(role, group_id),
    )


def _hint(role: str, group_id: str) -> str:
    return f"give {OPTIONS[role]}, or --worker-config FILE of a worker of group {group_id}"

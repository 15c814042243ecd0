"""A cluster's transactions with their owners: what is listed, how long each has been open, and whose it is."""

import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final, Self

from msgspec import Struct, field

from eosctl.late_pattern import late_pattern
from eosctl.model.groups import (
    CONSUMER_PROTOCOL,
    STREAMS_PROTOCOL,
    STREAMS_THREAD,
    ConsumerMember,
    ConsumerMembers,
    ListedGroup,
)
from eosctl.model.names import FLINK_SINK, ConnectorTaskId, leader_transactional_id, stem_and_task
from eosctl.model.skipped import Skipped
from eosctl.model.text import first_few
from eosctl.model.transactions import (
    LeaderOwner,
    ListedTransaction,
    Owner,
    Ownership,
    Selection,
    TaskOwner,
    TransactionDescription,
    TransactionListing,
)

# Possible owners of a transactional ID, by its shape alone. A shape is only a hint: any client may use any ID.
#
# 1. `connect-cluster-<group.id>`: the leader of a Connect cluster; `connect-cluster-<alias>-mm2` of a dedicated
#    MirrorMaker 2 that mirrors from <alias>.
# 2. `<group.id>-<connector>-<task>`: a Connect source task; which dash ends the group ID is not known.
# 3. `<alias>-mm2-Mirror(Source|Checkpoint|Heartbeat)Connector-<task>`: a task of a dedicated MirrorMaker 2.
# 4. `<application.id>-<UUID>-<thread>`: a Kafka Streams thread (exactly_once_v2, KIP-447). UUID is the process's, which
#    a topology with persistent stores keeps in its state directory (StateDirectory.initializeProcessId), and thread is
#    the number behind `-StreamThread-` in the client.id of its consumer (ActiveTaskCreator). So the member of group
#    <application.id> with both is the thread, and its partitions are those that the thread reads.
#    `<application.id>-<subtopology>_<partition>`: a Kafka Streams task (exactly_once, until 3.9), which reads that
#    partition of each topic of the subtopology.
# 5. `<prefix>-<subtask>-<checkpoint>`, or with POOLING `<prefix>-<subtask>-<number in the pool>`: a Flink KafkaSink;
#    `<task name>-<operator ID, 32 hex digits>-<number>`: the older FlinkKafkaProducer.
# 6. `<prefix>(worker|coordinator)-txn-<UUID>-<task>`: Iceberg's sink, with a new UUID at each start of the connector.
# 7. `<prefix><group.id>.<topic>.<partition>`: a listener of Spring that has an ID for each partition;
#    `<prefix><number>`: one of a pool, as Spring's producer factory numbers them. Named only where nothing else fits.


UUID: Final = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
Words = Callable[[re.Match[str]], str]
_STREAMS_THREAD: Final = late_pattern(
    rf"(?P<application>.+)(?<!worker-txn)(?<!coordinator-txn)-(?P<process>{UUID})-(?P<thread>\d+)"
)
_STREAMS_TASK: Final = late_pattern(r"(?P<application>.+)-(?P<task>\d+_(?P<partition>\d+))")
READS_SHOWN: Final = 3

_TELLING: Final[tuple[tuple[re.Pattern[str], Words], ...]] = (
    (late_pattern(r"connect-cluster-(?P<alias>.+)-mm2"), lambda m: f"MirrorMaker 2 leader, from {m['alias']}"),
    (
        late_pattern(r"(?P<alias>.+)-mm2-(?P<connector>Mirror(?:Source|Checkpoint|Heartbeat)Connector)-(?P<task>\d+)"),
        lambda m: f"MirrorMaker 2 {m['connector']} task {m['task']}, from {m['alias']}",
    ),
    (
        late_pattern(rf"(?P<prefix>.*?)(?P<role>worker|coordinator)(?P<start>-txn-{UUID}-(?P<task>\d+))"),
        lambda m: f"Iceberg sink {m['role']}, task {m['task']}",
    ),
    (_STREAMS_THREAD, lambda m: f"Streams application {m['application']}"),
    (_STREAMS_TASK, lambda m: f"Streams application {m['application']}"),
    (late_pattern(r"(?P<name>.+)-[0-9a-f]{32}-(?P<number>\d+)"), lambda m: f"Flink producer {m['name']}"),
)
_VAGUE: Final[tuple[tuple[re.Pattern[str], Words], ...]] = (
    (late_pattern(r"connect-cluster-(?P<group>.+)"), lambda m: f"Connect leader of {m['group']}"),
    (late_pattern(r"(?P<stem>.+-.+)-(?P<task>\d+)"), lambda m: f"Connect task {m['task']} of {m['stem']}"),
    (FLINK_SINK, lambda m: f"Flink sink {m['prefix']}"),
)
_LAST: Final[tuple[tuple[re.Pattern[str], Words], ...]] = (
    (
        late_pattern(r"(?P<stem>.+)\.(?P<topic>[^.]+)\.(?P<partition>\d+)"),
        lambda m: f"Spring listener of {m['topic']}-{m['partition']}",
    ),
    (late_pattern(r"(?P<prefix>.*[^\d.])(?P<number>\d+)"), lambda m: f"pool {m['prefix']}*, as of Spring"),
)


def shapes_of(
    transactional_id: str,
    groups: Mapping[str, ListedGroup] = MappingProxyType({}),
    members: ConsumerMembers = MappingProxyType({}),
    starts: Mapping[str, str] = MappingProxyType({}),
) -> tuple[str, ...]:
    """Shapes of the ID, in words: only the one that is rare by chance, or all of them; empty if it has none.

    groups name a Streams application by its group, whose ID is its application.id; members are its threads. starts
    name the connector of the last start of an Iceberg sink, by the end of its IDs.
    """
    matched = [(words, match) for shape, words in _TELLING if (match := shape.fullmatch(transactional_id))]
    telling = [
        f"{words(match)}{_group_of(match, groups)}{_part_of(match, members)}{_connector_of(match, starts)}"
        for words, match in matched
    ]
    vague = [words(match) for shape, words in _VAGUE if (match := shape.fullmatch(transactional_id))]
    last = [words(match) for shape, words in _LAST if (match := shape.fullmatch(transactional_id))]
    return tuple(telling or vague or last)


def _group_of(match: re.Match[str], groups: Mapping[str, ListedGroup]) -> str:
    found = groups.get(match.groupdict().get("application", ""))
    return "" if found is None or not found.protocol_type else f" ({found.protocol_type} group, {found.state})"


def _part_of(match: re.Match[str], members: ConsumerMembers) -> str:
    """Which thread or task of a Streams application it is, and where the thread runs."""
    parts = match.groupdict()
    if "process" in parts:
        return f", thread {parts['thread']}{_at_work(match, members.get(parts['application']))}"
    if "partition" in parts:
        return f", task {parts['task']} (partition {parts['partition']})"
    return ""


def _at_work(match: re.Match[str], members: tuple[ConsumerMember, ...] | Skipped | None) -> str:
    if members is None or isinstance(members, Skipped):
        return ""
    found = next((each for each in members if _is_thread(each, match)), None)
    if found is None:
        return ", not in the group now"
    if found.partitions is None:
        return f" at {found.host}"
    return f" at {found.host}, reads {first_few(found.partitions, most=READS_SHOWN) or 'no partition'}"


def _is_thread(member: ConsumerMember, match: re.Match[str]) -> bool:
    process, suffix = match["process"], f"{STREAMS_THREAD}{match['thread']}-consumer"
    return member.client_id.endswith(suffix) and (member.process == process or process in member.client_id)


THREADS: Final = frozenset({CONSUMER_PROTOCOL, STREAMS_PROTOCOL})
"""The types of groups that threads of Kafka Streams form: group.protocol classic, and streams (KIP-1071)."""


def streams_applications(transactional_ids: Iterable[str], groups: Mapping[str, ListedGroup]) -> frozenset[str]:
    """The consumer and streams groups among these whose threads may have some of the IDs."""
    matched = (_STREAMS_THREAD.fullmatch(each) for each in transactional_ids)
    named = frozenset(match["application"] for match in matched if match is not None)
    return frozenset(each for each in named if each in groups and groups[each].protocol_type in THREADS)


def _connector_of(match: re.Match[str], starts: Mapping[str, str]) -> str:
    found = starts.get(match.groupdict().get("start", ""))
    return "" if found is None else f" of connector {found}"


# The owner of a transactional ID, by the known group IDs and connector names.
#
# Connect joins group ID, connector and task with dashes and escapes nothing, so an ID can be read in several ways:
# group `a` with connector `b-c` and group `a-b` with connector `c` share `a-b-c-0`, and group `connect` with connector
# `cluster-x` has the ID of the leader of group `x-0`. Hence every known reading is returned, never a guess.


class KnownNames(Struct, frozen=True):
    """Group IDs with their connectors, indexed so that an ID is resolved in constant time.

    starts are the connectors of Iceberg sinks by the end of the transactional IDs of their last start.
    """

    _leaders: Mapping[str, str] = field(default_factory=dict)
    _stems: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    groups: Mapping[str, ListedGroup] = field(default_factory=dict)
    members: ConsumerMembers = field(default_factory=dict)
    starts: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        clusters: Mapping[str, Iterable[str]],
        groups: Iterable[ListedGroup] = (),
        starts: Mapping[str, str] = MappingProxyType({}),
    ) -> Self:
        """An index over Connect clusters: group ID to connector names; and over the groups that are listed."""
        stems: dict[str, tuple[tuple[str, str], ...]] = {}
        for group_id, connectors in clusters.items():
            for connector in connectors:
                stem = f"{group_id}-{connector}"
                stems[stem] = (*stems.get(stem, ()), (group_id, connector))
        leaders = {leader_transactional_id(group_id): group_id for group_id in clusters}
        return cls(leaders, stems, {each.group_id: each for each in groups}, starts=starts)

    def owners(self, transactional_id: str) -> tuple[Owner, ...]:
        """Every known reading of the ID: none if unknown, more than one if ambiguous."""
        found: list[Owner] = []
        if transactional_id in self._leaders:
            found.append(LeaderOwner(self._leaders[transactional_id]))
        if (parts := stem_and_task(transactional_id)) is not None:
            named = self._stems.get(parts[0], ())
            found += [TaskOwner(group, ConnectorTaskId(connector, parts[1])) for group, connector in named]
        return tuple(found)


def ownership(transactional_id: str, names: KnownNames) -> Ownership:
    """The owner of the ID, or the ID's shapes where no owner is known."""
    owners = names.owners(transactional_id)
    shapes = () if owners else shapes_of(transactional_id, names.groups, names.members, names.starts)
    return Ownership(owners, shapes)


def owners_of(transactional_ids: Iterable[str | None], names: KnownNames) -> dict[str, Ownership]:
    """The ownership of each of these IDs; skips None."""
    return {each: ownership(each, names) for each in transactional_ids if each is not None}


def list_with_owners(
    listings: Iterable[TransactionListing],
    descriptions: Mapping[str, TransactionDescription],
    names: KnownNames,
    selection: Selection,
    as_of: int,
) -> tuple[ListedTransaction, ...]:
    """The listed IDs that the selection keeps, those with the oldest open transaction first, then by ID."""
    found = [_listed(each, descriptions.get(each.transactional_id), names, as_of) for each in listings]
    kept = [each for each in found if selection.keeps(each)]
    return tuple(
        sorted(kept, key=lambda each: (each.running_ms is None, -(each.running_ms or 0), each.transactional_id))
    )


def _listed(
    listing: TransactionListing, description: TransactionDescription | None, names: KnownNames, as_of: int
) -> ListedTransaction:
    # The description is the newer of the two answers.
    return ListedTransaction(
        transactional_id=listing.transactional_id,
        state=listing.state if description is None else description.state,
        producer_id=listing.producer_id if description is None else description.producer.producer_id,
        coordinator=listing.coordinator,
        description=description,
        ownership=ownership(listing.transactional_id, names),
        running_ms=running_ms(description, as_of),
    )


def running_ms(description: TransactionDescription | None, as_of: int) -> int | None:
    """How long a transaction has been open; None without one. Clocks may differ: never below 0."""
    if description is None or description.start_ms is None:
        return None
    return max(0, as_of - description.start_ms)

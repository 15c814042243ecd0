"""What `transactions lso` answers: last stable offsets and who holds them back, once or again and again."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

from eosctl.analysis.hanging import ALL_AGES, find_candidates
from eosctl.analysis.last_stable import stability
from eosctl.analysis.owners import owners_of
from eosctl.errors import UsageError
from eosctl.model.coverage import Coverage, Unread
from eosctl.model.groups import CONSUMER_OFFSETS
from eosctl.model.hanging import OpenTransaction
from eosctl.model.last_stable import GroupReading, LastStableOffsets
from eosctl.model.names import TopicPartition, coordinator_partition
from eosctl.model.near_names import did_you_mean
from eosctl.model.skipped import Cause, Skipped
from eosctl.operations.hanging import join_with_coordinators
from eosctl.operations.owners import ConnectNames, read_connect_names
from eosctl.operations.partitions import wanted_partitions
from eosctl.operations.reporter import Reporter
from eosctl.sources.cluster_reader import ClusterReader, Wanted


@dataclass(frozen=True, slots=True)
class StabilityRequest:
    """Which partitions (none: all that are held back), and how often to look at them.

    every_s is the time between two looks, None for a single one; looks bounds their number. group is a consumer group:
    without topics, the partitions are those that it committed offsets of.
    """

    topics: tuple[str, ...]
    config_topic: str
    every_s: float | None = None
    looks: int | None = None
    group: str | None = None


def last_stable_offsets(reader: ClusterReader, request: StabilityRequest) -> LastStableOffsets:
    """Offsets of the partitions named, or of all that are held back, with who holds them back."""
    return _look(reader, request, read_connect_names(reader, request.config_topic))


def watch_last_stable_offsets(
    reader: ClusterReader, request: StabilityRequest, show: Callable[[LastStableOffsets], None], console: Reporter
) -> LastStableOffsets:
    """The last look. Before it each look is shown, until there were as many as requested, or until Ctrl-C."""
    if request.every_s is None:
        if request.looks is not None:
            raise UsageError("--looks says how often to look, so it needs --watch")
        return last_stable_offsets(reader, request)
    pauses = reader.every(request.every_s)
    connect = read_connect_names(reader, request.config_topic)
    found, count = _look(reader, request, connect), 1
    try:
        while request.looks is None or count < request.looks:
            show(found)
            next(pauses)
            found, count = _look(reader, request, connect), count + 1
    except KeyboardInterrupt:
        console.narrate(f"watched {count} times")
    return found


def _look(reader: ClusterReader, request: StabilityRequest, connect: ConnectNames) -> LastStableOffsets:
    group = None if request.group is None else _read_group(reader, request.group)
    wanted = wanted_partitions(request.topics) or _committed_in(group)
    leaders = reader.partitions(wanted) if wanted or group is None else {}
    coordinator = {} if group is None else _coordinator_partition(reader, group.group_id)
    answered = reader.offsets(sorted({*leaders, *coordinator}))
    offsets = {place: each for place, each in answered.items() if not isinstance(each, Skipped)}
    held = {place: each for place, each in offsets.items() if each.held_back > 0}
    as_of = reader.now()
    asked = {**coordinator, **leaders}
    since = reader.first_timestamps({place: each.last_stable_offset for place, each in held.items()}, asked)
    seen = reader.producers({place: asked[place] for place in held}, quiet=True)
    joined = join_with_coordinators(reader, find_candidates(seen.producers, as_of, ALL_AGES))
    opened = (*joined.transactions, *joined.undecided)
    if any(each.transactional_id is None for each in opened):
        reader.access()  # the coverage keeps it if IDs may be hidden
    reasons = "; ".join(joined.reasons)
    if group is not None:
        group = replace(group, pending=_pending(reader, group.group_id, opened))
        if not group.pending:  # no commit of its own waits there
            offsets = {place: each for place, each in offsets.items() if place in leaders}
            held = {place: each for place, each in held.items() if place in leaders}
    return LastStableOffsets(
        as_of=as_of,
        cluster_id=reader.cluster_id,
        partitions=stability(offsets if wanted else held, opened, since),
        free=len(offsets) - len(held),
        owners=owners_of([each.transactional_id for each in opened], connect.names),
        not_searched=tuple(place for place, each in answered.items() if isinstance(each, Skipped)),
        notes=(*([f"which IDs hold back is not known of all: {reasons}"] if reasons else []), *connect.notes),
        coverage=reader.coverage + _unread_places(group, wanted),
        group=group,
    )


def _read_group(reader: ClusterReader, group_id: str) -> GroupReading:
    """Raises UsageError where the cluster has no such group, or it is that of Connect workers."""
    groups, committed = reader.groups(), reader.committed_offsets(group_id)
    if isinstance(groups, Skipped):
        return GroupReading(group_id, "", committed)
    if group_id not in groups and not committed:
        hint = did_you_mean(group_id, groups, "a sink connector's group is connect-NAME unless it has a group.id")
        raise UsageError(f"there is no group {group_id}, or it may not be described", hint=hint)
    if group_id in groups and groups[group_id].is_connect:
        raise UsageError(
            f"{group_id} is the group of Connect workers, which commits no offsets",
            hint="--group takes a consumer group, such as a sink connector's connect-NAME",
        )
    return GroupReading(group_id, groups[group_id].state if group_id in groups else "", committed)


def _unread_places(group: GroupReading | None, wanted: Wanted) -> Coverage:
    """What a group reads that has committed nothing, where nobody named it."""
    if group is None or wanted or isinstance(group.committed, Skipped):
        return Coverage()
    reason = "it has committed no offsets; name them with --topic"
    return Coverage((), (Unread(f"partitions that group {group.group_id} reads", reason, Cause.UNKNOWN),))


def _committed_in(group: GroupReading | None) -> Wanted:
    """The partitions that the group committed offsets of."""
    if group is None or isinstance(group.committed, Skipped):
        return {}
    topics = {each.topic for each in group.committed}
    return {topic: frozenset(each.partition for each in group.committed if each.topic == topic) for topic in topics}


def _coordinator_partition(reader: ClusterReader, group_id: str) -> Mapping[TopicPartition, int]:
    """The partition that holds the group's commits, with its leader; none before the first group."""
    if CONSUMER_OFFSETS not in reader.topic_names():
        return {}
    leaders = reader.partitions({CONSUMER_OFFSETS: None})
    place = TopicPartition(CONSUMER_OFFSETS, coordinator_partition(group_id, len(leaders)))
    return {place: leaders[place]}


def _pending(
    reader: ClusterReader, group_id: str, opened: Collection[OpenTransaction]
) -> tuple[TopicPartition, ...] | Skipped:
    """The partitions whose offsets of the group are in an open transaction."""
    waiting = [each for each in opened if each.topic_partition.topic == CONSUMER_OFFSETS]
    found: set[TopicPartition] = set()
    for commits in (reader.pending_commits(waiting) if waiting else {}).values():
        if isinstance(commits, Skipped):
            return commits
        found |= {place for commit in commits if commit.group_id == group_id for place in commit.partitions}
    return tuple(sorted(found))

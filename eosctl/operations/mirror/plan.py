"""The plan of a mirror's audit: bounds of both sides, read in the order in which nothing can be taken for a gap.

1. The mirror's offsets, and consumer groups' checkpoints. What they name is in the target: its records were committed
   before them, or with them.
2. The target's bounds. All that they enclose was in the source before.
3. The source's bounds. Records that are mirrored meanwhile lie behind what is compared, or count as lag.
4. The mirror's offsets again: what the source had deleted before 3 was read before, or never.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from eosctl.errors import UsageError
from eosctl.model.audit import AuditedTopic, AuditPlan, PartitionBounds, TopicRole
from eosctl.model.mirror import MirroredTopic, MirrorPlan, PartitionPair, TopicPair
from eosctl.model.names import TopicPartition
from eosctl.model.skipped import Skipped
from eosctl.model.topics import TopicDescription
from eosctl.operations.audit.bounds import SETTINGS, log_bounds, with_settings
from eosctl.operations.mirror.checkpoints import Checkpoints, read_checkpoints
from eosctl.operations.mirror.positions import Positions, read_isolation, read_positions
from eosctl.operations.mirror.request import MirrorRequest, topic_pairs
from eosctl.sources.cluster_reader import ClusterReader


class Planned(NamedTuple):
    """The plan, the sides' topics as readers of ranges need them, and the mirror's offsets when all was read."""

    plan: MirrorPlan
    source: AuditPlan
    target: AuditPlan
    positions: Positions | Skipped
    positions_after: Positions | Skipped
    checkpoints: Checkpoints | Skipped


def plan_mirror(source: ClusterReader, target: ClusterReader, request: MirrorRequest) -> Planned:
    """All that is to be compared, resolved once. Raises UsageError where no topic is mirrored to another."""
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
    """A topic that is compared with itself is always held."""
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
        described: Mapping[str, TopicDescription] = reader.topics(names, SETTINGS)
        self._topics = {
            name: with_settings(AuditedTopic(name, TopicRole.OUTPUT), each) for name, each in described.items()
        }
        places = [TopicPartition(name, number) for name, each in described.items() for number in range(each.partitions)]
        self.bounds = {place: log_bounds(each) for place, each in reader.bounds(places).items()}

    def topic(self, name: str) -> AuditedTopic:
        """The topic; one that was deleted meanwhile has no ID."""
        return self._topics.get(name, AuditedTopic(name, TopicRole.OUTPUT))

    def plan(self, as_of: int) -> AuditPlan:
        """What the reader of ranges needs: topics and their IDs."""
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
    """Partitions with records that one side only has, and which side that is."""
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

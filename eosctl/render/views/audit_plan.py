"""What an audit will read: topics with their roles, and the ranges of offsets."""

from collections import Counter
from typing import Final

from eosctl.model.audit import AuditPlan
from eosctl.model.counts import counted
from eosctl.model.times import rfc3339
from eosctl.render.document import Column, Document, Table, Tone, figure
from eosctl.render.documents.audit import AuditPlanData

TOPICS: Final = Table(
    "topics",
    (
        Column("TOPIC", "name", "the topic"),
        Column("ROLE", "role", "offsets: decoded; config: replayed; output: batch headers are enough"),
        figure("PARTITIONS", "partitions", "partitions that will be read"),
        figure("OFFSETS", "offsets", "offsets that will be read: at least the number of records"),
        Column("CLEANUP", "cleanup_policy", "the topic's cleanup.policy", tones={"unknown": Tone.WARN}),
        Column("CONNECTORS", "connectors", "who uses it; - for the worker's own topics"),
        Column("TOPIC-ID", "topic_id", "Kafka's ID of the topic; another one once it was created again"),
    ),
    empty="no topics",
)
RANGES: Final = Table(
    "ranges",
    (
        Column("TOPIC", "topic", "the topic"),
        figure("PARTITION", "partition", "the partition"),
        figure("FROM", "start", "the first offset to read"),
        figure("TO", "end", "the offset behind the last one to read"),
        figure("OFFSETS", "size", "offsets in it: at least the number of records"),
        Column("SETTLED", "settled", "no behind the last stable offset, where transactions are open"),
    ),
    title="Ranges",
    empty="nothing to read",
)


def view_audit_plan(plan: AuditPlan) -> Document:
    """`audit --plan`: topics, roles, ranges and sizes; nothing of it has been read yet."""
    return Document(
        kind="audit.plan",
        as_of=rfc3339(plan.as_of),
        cluster_id=plan.cluster_id,
        data=plan_data(plan),
        blocks=(TOPICS, RANGES),
        prose=(_summary(plan),),
        notes=tuple(f"not read: {name}: {each.reason}" for name, each in sorted(plan.unread.items())),
    )


def _summary(plan: AuditPlan) -> str:
    settled, behind = (sum(each.size for each in plan.ranges if each.settled is kind) for kind in (True, False))
    topics, partitions = counted(len(plan.topics), "topic"), counted(len(plan.bounds), "partition")
    return (
        f"{topics}, {partitions}: {counted(settled, 'offset')} to read, and {behind:,} behind the last stable offsets."
    )


def plan_data(plan: AuditPlan) -> AuditPlanData:
    """`data.plan` of a report, and the data of `audit --plan`."""
    offsets: Counter[str] = Counter()
    for each in plan.ranges:
        offsets[each.topic] += each.size
    partitions = Counter(each.topic for each in plan.bounds)
    return {
        "group_id": plan.group_id,
        "topics": [
            {
                "name": each.name,
                "role": each.role,
                "topic_id": each.topic_id,
                "cleanup_policy": each.cleanup_policy,
                "connectors": list(each.connectors),
                "partitions": partitions[each.name],
                "offsets": offsets[each.name],
            }
            for each in plan.topics
        ],
        "bounds": list(plan.bounds),
        "ranges": [
            {
                "topic": each.topic,
                "partition": each.partition,
                "start": each.start,
                "end": each.end,
                "settled": each.settled,
                "size": each.size,
            }
            for each in plan.ranges
        ],
        "connectors": plan.connectors,
        "holders": plan.holders,
        "unread": {name: each.reason for name, each in plan.unread.items()},
    }

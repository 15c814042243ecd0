"""Plans of moves and restores, and their undo, for each situation and wish: one line each, as data and without prose.

A step or a precondition is the capitals of its class: FP is FenceProducers, NLO is NoLiveOwner; ' is of the target.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any, Final

from msgspec.structs import replace

from eosctl.model.migration import MigrationFacts
from eosctl.model.names import ConnectorTaskId
from eosctl.model.plan import (
    CreateTopic,
    FenceProducers,
    ManualStep,
    OffsetsWrite,
    Plan,
    SetConnectorConfig,
    WriteOffsets,
)
from eosctl.model.planned import Planned
from eosctl.model.preconditions import ConnectorFacts, ConnectorStopped, TopicNow
from eosctl.model.skipped import Skipped
from eosctl.model.topics import TopicFacts
from eosctl.model.workers import LiveOwner, LiveOwners
from eosctl.planning.migration import plan_migration
from eosctl.planning.restore import plan_restore
from eosctl.planning.undo import undo_plan
from tests.planning.offsets_topics import topic_of
from tests.planning.test_migration import FACTS, KEY, TO_OWN, WISH, S, T
from tests.planning.test_restore import AT_9, BY_TWO, CREATED, HOME, RESTORE

STATES: Final = {
    "stopped": ConnectorFacts("STOPPED"),
    "running": ConnectorFacts("RUNNING", 2),
    "absent": ConnectorFacts(None),
    "unknown": Skipped("no worker was named"),
}
WISHES: Final = {
    "offsets": WISH,
    "stop": replace(WISH, stop=True),
    "config": replace(WISH, set_config=True),
    "resume": replace(WISH, resume=True),
    "all": replace(WISH, stop=True, set_config=True, resume=True),
}
BACK = replace(TO_OWN, setting=None, former_setting="old")
MOVES: Final[dict[str, dict[str, object]]] = {
    "to-own": {},
    "back": {"moves": (BACK,)},
    "renamed": {"moves": (replace(TO_OWN, new_name="d"),)},
    "unchanged": {"moves": (replace(TO_OWN, unchanged=True, setting="new"),)},
    "group": {"target_group_id": "h"},
    "cluster": {"other_cluster": True},
    "stays": {"other_cluster": True, "stays": True},
}
HELD = TopicNow(TopicFacts("new", 5, 1), "id-2")
OWNED = LiveOwners({("g-c", 0): (LiveOwner("x", ConnectorTaskId("c", 0), "w"),)})
UNREAD = LiveOwners(unknown={"g": Skipped("no access")})
NOTHING = {(S, "old"): topic_of("old", 3, []), (T, "new"): topic_of("new", 0, [])}


def target(**changed: Any) -> dict[str, object]:
    """The target topic is there, changed so, and empty."""
    topics = {**FACTS.topics, (T, "new"): replace(HELD, facts=replace(HELD.facts, **changed))}
    return {"topics": topics, "offsets": {**FACTS.offsets, (T, "new"): topic_of("new", 5, [])}}


OTHER: Final[dict[str, dict[str, object]]] = {
    "nothing-else": {},
    "topic-there": target(),
    "topic-of-another-size": target(partitions=9),
    "not-compact": target(settings={"cleanup.policy": "delete"}),
    "source-gone": {"topics": {(S, "old"): None, (T, "new"): None}},
    "ids-in-use": {"live_owners": {S: OWNED, T: LiveOwners()}},
    "ids-unknown": {"live_owners": {S: UNREAD, T: UNREAD}},
    "nothing-to-fence": {"fenced_ids": {}},
    "no-workers": {"source_workers": False},
    "one-broker": {"target_brokers": 1},
    "no-offsets": {"offsets": NOTHING},
    "answers-otherwise": {"answers": {"c": (AT_9,)}},
    "answers-unread": {"answers": {"c": Skipped("500")}},
}


def migrations() -> Iterator[tuple[str, Planned]]:
    for (move, changed), (wish, request), (state, now) in product(MOVES.items(), WISHES.items(), STATES.items()):
        facts = replace(
            FACTS, connectors={(S, "c"): now, (T, "c"): ConnectorFacts(None), (S, "d"): ConnectorFacts(None)}
        )
        yield f"move {move} {wish} {state}", plan_migration(replace(request, **changed), with_target(changed, facts))
    for (other, found), (move, changed) in product(OTHER.items(), MOVES.items()):
        facts = replace(FACTS, connectors=dict.fromkeys(((S, "c"), (T, "c"), (S, "d")), ConnectorFacts("STOPPED")))
        request = replace(WISHES["all"], **changed)
        yield f"move {move} all {other}", plan_migration(request, replace(with_target(changed, facts), **found))


def with_target(changed: dict[str, object], facts: MigrationFacts) -> MigrationFacts:
    return replace(facts, cluster_ids={S: "k", T: "k2"}) if "other_cluster" in changed else facts


RESTORES: Final = {
    "written": replace(RESTORE, offsets=(AT_9,)),
    "stop": replace(RESTORE, offsets=(AT_9,), stop=True),
    "resume": replace(RESTORE, offsets=(AT_9,), stop=True, resume=True),
    "kept": replace(RESTORE, offsets=(AT_9,), stop=True, kept=True),
    "deleted": replace(RESTORE, offsets=(AT_9._replace(offset=None),)),
    "nothing": RESTORE,
    "other-key": replace(RESTORE, offsets=(AT_9._replace(partition={"f": 2}),)),
    "made-key": replace(RESTORE, offsets=(AT_9._replace(partition={"f": 2}),), create_keys=True),
    "two-members": replace(RESTORE, offsets=(BY_TWO,)),
    "two-members-made": replace(RESTORE, offsets=(BY_TWO,), create_keys=True),
    "two-topics": replace(RESTORE, offsets=(AT_9,), topics=("new", "old"), own_topic=True),
    "new": replace(RESTORE, offsets=(AT_9,), new=CREATED, create_keys=True),
    "forced": replace(RESTORE, offsets=(AT_9,), force=True),
}
RECORDS: Final = {
    "empty": [],
    "held": [(HOME, KEY, b'{"p":1}')],
    "same": [(HOME, KEY, b'{"p":9}')],
    "ahead": [(HOME, KEY, b'{"p":12}')],
    "gone": [(HOME, KEY, None)],
    "elsewhere": [((HOME + 1) % 3, KEY, b'{"p":1}'), (HOME, KEY, b'{"p":2}')],
}  # fmt: skip


def restores() -> Iterator[tuple[str, Planned]]:
    topics = {(S, name): TopicNow(TopicFacts(name, 3, 1), "id") for name in ("old", "new")}
    for (wish, request), (held, records), (state, now) in product(RESTORES.items(), RECORDS.items(), STATES.items()):
        if held == "held" or state == "stopped":
            offsets = {(S, "old"): topic_of("old", 3, records), (S, "new"): topic_of("new", 3, records)}
            facts = replace(FACTS, connectors={(S, "c"): now}, topics=topics, offsets=offsets)
            yield f"restore {wish} {held} {state}", plan_restore(request, facts)


def line(name: str, planned: Planned) -> str:
    findings = " ".join(f"{each.name}:{each.severity}" for each in planned.findings)
    undo = " ".join(map(capitals, (each.step for each in undo_plan(planned.plan).steps)))
    return f"{name} | {', '.join(steps(planned.plan))} | undo {undo} | {len(planned.objections)} against | {findings}"


def capitals(value: object) -> str:
    return "".join(each for each in type(value).__name__ if each.isupper())


def steps(plan: Plan) -> Iterator[str]:
    """Each step's kind and distinguishing values, and the kinds of its preconditions."""
    for each in plan.steps:
        what = ""
        match each.step:
            case WriteOffsets(topic=topic, records=records):
                what = f"({topic} {' '.join(map(written, records))})"
            case FenceProducers(transactional_ids=ids) as fence:
                what = f"({fence.side} {' '.join(ids)})"
            case CreateTopic() as topic:
                what = f"({topic.topic} {topic.partitions} {topic.replication_factor})"
            case SetConnectorConfig() as config:
                what = f"({config.connector} {dict(config.changes)} from {config.copied_from})"
            case ManualStep() as step:
                what = f"({step.connector})"
        held = " ".join(f"{capitals(one)}{suffix(one)}" for one in each.preconditions)
        yield f"{capitals(each.step)}{what}[{held}]"


def written(record: OffsetsWrite) -> str:
    key, before, value = ("-" if each is None else each.decode() for each in (record.key, record.before, record.value))
    return f"{record.partition}:{key}:{before}>{value}"


def suffix(precondition: object) -> str:
    side = getattr(precondition, "side", None)
    return f"({precondition.connector})" if isinstance(precondition, ConnectorStopped) else "" if side is S else "'"


def lines() -> list[str]:
    return [line(*each) for each in (*migrations(), *restores())]

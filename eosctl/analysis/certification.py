"""Judges the records of read_committed consumers against the source.

1. A source record that no consumer got is lost. One that came more often than the source has it is doubled.
2. Within one source partition and one output partition, records come in the order of the source. The first time that a
   record comes counts: a repeat is doubled, and not out of order as well.
3. A change of the offsets begins a generation. Records behind the new offsets may come once more in it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from eosctl.model.certification import Anomaly, ClassFile, Delivered, Generation, Harm, Judgement

MOST_SUPERCLASSES: Final = 100
FIRST_GENERATION: Final = Generation({})
SOURCE_TASK: Final = "org/apache/kafka/connect/source/SourceTask"
SOURCE_CONNECTOR: Final = "org/apache/kafka/connect/source/SourceConnector"
OF_CONNECTORS: Final = ("exactlyOnceSupport", "canDefineTransactionBoundaries", "alterOffsets")
OF_TASKS: Final = ("commit", "commitRecord")


def overridden(connector_class: str, classes: Mapping[str, ClassFile]) -> Mapping[str, str]:
    """Methods that matter to exactly-once, and the class of the plugin that has each: the connector's and its tasks'.

    The tasks' classes are those that a connector's class names, or a class that it extends.
    """
    chain = _chain(connector_class.replace(".", "/"), classes)
    found = _first_of(OF_CONNECTORS, chain)
    for each in sorted({name for one in chain for name in one.mentioned}):
        tasks = _chain(each, classes)
        if tasks and tasks[-1].superclass == SOURCE_TASK:
            found |= {name: owner for name, owner in _first_of(OF_TASKS, tasks).items() if name not in found}
    return found


def is_source_connector(name: str, classes: Mapping[str, ClassFile]) -> bool:
    """Whether the class, by its name with slashes, extends Kafka Connect's SourceConnector."""
    return any(each.superclass == SOURCE_CONNECTOR for each in _chain(name, classes)[-1:])


def _chain(name: str, classes: Mapping[str, ClassFile]) -> list[ClassFile]:
    """The class and those that it extends, up to Kafka Connect's own, which a plugin may carry too."""
    found: list[ClassFile] = []
    known: str | None = name
    while known not in {None, SOURCE_CONNECTOR, SOURCE_TASK} and known in classes and len(found) < MOST_SUPERCLASSES:
        found.append(classes[known])
        known = classes[known].superclass
    return found


def _first_of(names: Iterable[str], chain: Sequence[ClassFile]) -> dict[str, str]:
    owners = {name: next((each.name for each in chain if name in each.methods), None) for name in names}
    return {name: owner.replace("/", ".") for name, owner in owners.items() if owner is not None}


class Expected(NamedTuple):
    """The source's records. is_ordered: in their order, which holds within each source partition."""

    identities: Sequence[str]
    is_ordered: bool


def judge(
    delivered: Iterable[Delivered],
    expected: Expected | None,
    generations: Sequence[Generation] = (FIRST_GENERATION,),
    *,
    knows_lanes: bool = True,
) -> Judgement:
    """Every fault of the records; missing ones are lost, if the source has been read to its end.

    knows_lanes: the source partition of each record is known. Otherwise no order is judged.
    """
    records = sorted(delivered, key=lambda each: each.place[:3])
    parts = _by_generation((each for each in records if each.identity is not None), generations)
    counts = Counter(() if expected is None else expected.identities)
    doubled = tuple(_doubled(parts, generations, counts))
    reordered = tuple(_reordered(parts, _order(expected, counts))) if knows_lanes else ()
    seen = {str(each.identity): each for part in reversed(parts) for each in reversed(part)}
    lost: tuple[Anomaly, ...] = ()
    missing = frozenset[str]()
    if expected is not None:
        missing = frozenset(counts.keys() - seen.keys())
        missing |= _skipped(parts, generations, expected) if knows_lanes else frozenset()
        lost = tuple(_lost(missing, expected, seen))
    return Judgement((*lost, *doubled, *reordered), missing)


def _by_generation(records: Iterable[Delivered], generations: Sequence[Generation]) -> list[list[Delivered]]:
    parts: list[list[Delivered]] = [[] for _ in generations]
    for each in records:
        place = each.place.topic, each.place.partition
        begun = [
            number
            for number, one in enumerate(generations)
            if not number or each.place.offset >= one.starts.get(place, 0)
        ]
        parts[begun[-1]].append(each)
    return parts


def _doubled(
    parts: Sequence[Sequence[Delivered]], generations: Sequence[Generation], counts: Mapping[str, int]
) -> Iterator[Anomaly]:
    last: dict[str, Delivered] = {}
    left: Counter[str] = Counter()
    for part, generation in zip(parts, generations, strict=True):
        before = set(last)
        came: Counter[str] = Counter()
        for each in part:
            identity = str(each.identity)
            came[identity] += 1
            left[identity] += 1
            again = generation.again is None or identity in generation.again
            allowed = counts.get(identity, 1) if again or identity not in before else 0
            if came[identity] > allowed:
                yield Anomaly(Harm.DOUBLED, identity, last.get(identity), each)
            last[identity] = each


def _order(expected: Expected | None, counts: Mapping[str, int]) -> Mapping[str, int]:
    """The place of each identity that the source has once."""
    if expected is None or not expected.is_ordered:
        return {}
    return {each: place for place, each in enumerate(expected.identities) if counts[each] == 1}


def _reordered(parts: Sequence[Sequence[Delivered]], order: Mapping[str, int]) -> Iterator[Anomaly]:
    for part in parts:
        furthest: dict[tuple[str, str, int], tuple[int, Delivered]] = {}
        came: set[str] = set()
        for each in part:
            identity = str(each.identity)
            place = order.get(identity) if each.order is None else each.order
            if place is None or identity in came:
                continue
            came.add(identity)
            lane = each.lane, each.place.topic, each.place.partition
            before = furthest.get(lane)
            if before is not None and place < before[0]:
                yield Anomaly(Harm.REORDERED, identity, before[1], each)
            else:
                furthest[lane] = place, each


def _skipped(
    parts: Sequence[Sequence[Delivered]], generations: Sequence[Generation], expected: Expected
) -> frozenset[str]:
    """Identities after the first repeated one in a generation that were not repeated themselves."""
    if not expected.is_ordered:
        return frozenset()
    found: set[str] = set()
    order = {each: place for place, each in enumerate(expected.identities)}
    before: set[str] = set()
    for part, generation in zip(parts, generations, strict=True):
        came = {str(each.identity) for each in part}
        again = before if generation.again is None else generation.again & before
        repeated = [order[each] for each in came & again if each in order]
        if repeated:
            first = min(repeated)
            found |= {each for each in again - came if order.get(each, -1) > first}
        before |= came
    return frozenset(found)


def _lost(missing: frozenset[str], expected: Expected, seen: Mapping[str, Delivered]) -> Iterator[Anomaly]:
    """Each with the nearest neighbours that arrived, where the source has an order."""
    before: Delivered | None = None
    waiting: list[tuple[str, Delivered | None]] = []
    reported: set[str] = set()
    for identity in expected.identities:
        if identity in missing and identity not in reported:
            reported.add(identity)
            waiting.append((identity, before if expected.is_ordered else None))
        elif identity in seen:
            before = seen[identity]
            yield from (
                Anomaly(Harm.LOST, each, first, before if expected.is_ordered else None) for each, first in waiting
            )
            waiting.clear()
    yield from (Anomaly(Harm.LOST, each, first, None) for each, first in waiting)


def unlike_truth(delivered: Sequence[Delivered], expected: Expected | None) -> str:
    """Why records and truth cannot be compared at all: no identity is in both. Empty: they can."""
    if not delivered or expected is None or not expected.identities:
        return ""
    seen = {each.identity for each in delivered if each.identity is not None}
    if not seen:
        return f"no record has the part that --identity names: see {delivered[0].place}"
    if seen.isdisjoint(expected.identities):
        return f"no record has an identity of the truth: {min(seen)!r} is none, {expected.identities[0]!r} is one"
    return ""


def outside_truth(delivered: Iterable[Delivered], expected: Expected | None) -> tuple[Delivered, ...]:
    """Records whose identity the truth does not have: only their repeats are judged."""
    known = frozenset(() if expected is None else expected.identities)
    return tuple(each for each in delivered if known and each.identity is not None and each.identity not in known)


def not_unique(found: Iterable[Anomaly], expected: Expected | None) -> str:
    """Why the identity of records is ambiguous in a round without faults; empty: it is not.

    If no truth says how often the source has a record, a repeated identity may be another source record.
    """
    doubled = next((each for each in found if each.harm is Harm.DOUBLED), None)
    if expected is not None or doubled is None or doubled.before is None or doubled.after is None:
        return ""
    places = f"{doubled.before.place} and {doubled.after.place}"
    return f"{doubled.identity!r} came at {places} without a fault: --identity may not be unique in the source"


def new_anomalies(judgement: Judgement, known: Iterable[Anomaly]) -> tuple[Anomaly, ...]:
    """The anomalies that were not known; a lost record stays the same when its neighbours change."""
    keys = {_key(each) for each in known}
    return tuple(each for each in judgement.anomalies if _key(each) not in keys)


def _key(anomaly: Anomaly) -> tuple[Harm, str, object]:
    place = anomaly.after.place[:3] if anomaly.after is not None and anomaly.harm is not Harm.LOST else None
    return anomaly.harm, anomaly.identity, place


def by_harm(anomalies: Iterable[Anomaly]) -> Mapping[Harm, int]:
    counts: defaultdict[Harm, int] = defaultdict(int)
    for each in anomalies:
        counts[each.harm] += 1
    return counts

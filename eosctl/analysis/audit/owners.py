"""Names the owners of transactions by all facts of a run; carried conclusions name no connector.

1. A transaction belongs only to the connectors whose producer wrote it. Data without offsets concern
   those that write to the topic, too: whose they are is the question.
2. Data without offsets concern no connector where none is known to write. By a producer that is none of a connector's
   tasks they are another writer's, if a transactional ID held the producer ID that no task of a known connector has.
   Otherwise the writer is unknown.
3. Committed in one partition and aborted in another by another writer: not what is audited here.
"""

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from eosctl.analysis.transactions import KnownNames
from eosctl.model.audit import (
    Anomaly,
    AuditPlan,
    ConfigSummary,
    KeySummary,
    Stall,
    Tally,
    TransactionSummary,
)
from eosctl.model.names import stem_and_task
from eosctl.model.skipped import Skipped
from eosctl.model.transaction_log import TransactionalIdHolder
from eosctl.model.transactions import TaskOwner


class AnomalyKind(StrEnum):
    DATA_WITHOUT_OFFSETS = "data-without-offsets"
    OFFSETS_WITHOUT_DATA = "offsets-without-data"
    MISSING_MARKER = "missing-marker"
    MIXED_MARKERS = "mixed-markers"
    UNCLEAR = "unclear"
    UNKNOWN_WRITER = "unknown-writer"
    OTHER_WRITER = "other-writer"
    UNJUDGED = "unjudged"


_WITHOUT_OFFSETS: Final = frozenset({AnomalyKind.DATA_WITHOUT_OFFSETS, AnomalyKind.UNCLEAR, AnomalyKind.UNJUDGED})
_OF_TOPIC: Final = _WITHOUT_OFFSETS | {AnomalyKind.UNKNOWN_WRITER, AnomalyKind.OTHER_WRITER}


class Owners(NamedTuple):
    """Known writers: connectors of producer IDs, and connectors that write their records to a topic.

    others are producer IDs that were held by transactional IDs of no known connector's task.
    """

    producers: Mapping[int, tuple[str, ...]]
    topics: Mapping[str, tuple[str, ...]]
    others: frozenset[int] = frozenset()

    def of(self, kind: AnomalyKind, producer_id: int, topic: str) -> tuple[str, ...]:
        """The connectors of the producer; for data without offsets, the connectors of the topic."""
        users = self.topics.get(topic, ()) if kind in _OF_TOPIC else ()
        return self.producers.get(producer_id) or users


def name_owners(producer_id: int, summary: TransactionSummary, owners: Owners) -> TransactionSummary:
    """The conclusions about one producer ID, with the connectors concerned."""
    mine = owners.producers.get(producer_id, ())
    return TransactionSummary(
        tuple(each._replace(connector=mine[0] if len(mine) == 1 else None) for each in summary.figures),
        tuple(_tallies(producer_id, summary, owners)),
        tuple(named for each in summary.anomalies if (named := name_trouble(each, owners)) is not None),
        tuple(name_stall(each, owners) for each in summary.stalls),
        summary.committed,
    )


def _tallies(producer_id: int, summary: TransactionSummary, owners: Owners) -> Iterator[Tally]:
    for each in summary.tallies:
        kind = _kind(AnomalyKind(each.kind), producer_id, each.topic, owners)
        if kind is not None:
            yield each._replace(kind=kind.value, connectors=owners.of(kind, producer_id, each.topic))


def name_trouble(anomaly: Anomaly, owners: Owners) -> Anomaly | None:
    """The same with the connectors concerned; None if it concerns none."""
    kind = _kind(AnomalyKind(anomaly.kind), anomaly.producer_id, anomaly.topic, owners)
    if kind is None:
        return None
    connectors = owners.of(kind, anomaly.producer_id, anomaly.topic)
    return anomaly._replace(kind=kind.value, connectors=connectors)


def name_stall(stall: Stall, owners: Owners) -> Stall:
    """The same, with the connector that wrote the transaction, if one did."""
    named = owners.producers.get(stall.producer_id, ())
    return stall._replace(connector=named[0] if len(named) == 1 else None)


def _kind(kind: AnomalyKind, producer_id: int, topic: str, owners: Owners) -> AnomalyKind | None:
    if kind is AnomalyKind.MIXED_MARKERS:
        return None if producer_id in owners.others else kind
    if kind not in _WITHOUT_OFFSETS:
        return kind
    if not owners.of(kind, producer_id, topic):
        return None
    if producer_id in owners.others:
        return AnomalyKind.OTHER_WRITER
    unknown = kind is not AnomalyKind.UNJUDGED and producer_id not in owners.producers
    return AnomalyKind.UNKNOWN_WRITER if unknown else kind


# Owners of producer IDs: connectors' tasks, or clients that are shown to be none of these.
#
# 1. A producer is that of the task whose transactional ID holds it, or held it. Connectors are those that exist, those
#    that have offsets and those that the config topic ever had.
# 2. An ID that ends like one of a connector's tasks, in whatever group, shows nothing: the group ID may be another one
#    than was reported.
# 3. Every other ID is another writer's, that of the leader included; a tool that wrote offsets is one, too.
# 4. Of the rest, a producer that wrote a connector's offsets is the connector's.


class Writers(NamedTuple):
    """Connectors by producer ID, and producer IDs of others; IDs that are in neither are unknown."""

    owners: Mapping[int, tuple[str, ...]]
    others: frozenset[int]


def find_writers(
    plan: AuditPlan, keys: KeySummary, config: ConfigSummary, earlier: Iterable[TransactionalIdHolder] = ()
) -> Writers:
    """As far as offsets, the coordinators now, and `earlier` holders show."""
    named = _names(plan, keys, config)
    names = KnownNames.of({} if plan.group_id is None else {plan.group_id: named})
    held: dict[int, set[str]] = {}
    for holder in (*(() if isinstance(plan.holders, Skipped) else plan.holders), *earlier):
        held.setdefault(holder.producer_id, set()).add(holder.transactional_id)
    owners: dict[int, set[str]] = {}
    others: set[int] = set()
    for producer_id, ids in held.items():
        tasks = [owner for each in ids for owner in names.owners(each) if isinstance(owner, TaskOwner)]
        if tasks:
            owners[producer_id] = {owner.task.connector for owner in tasks}
        elif not any(_ends_like_a_task(each, named) for each in ids):
            others.add(producer_id)
    for keyed in keys.connectors:
        if keyed.connector is None:
            continue
        for producer_id in set(keyed.producers).difference(others):
            owners.setdefault(producer_id, set()).add(keyed.connector)
    found = {producer_id: tuple(sorted(owners[producer_id])) for producer_id in sorted(owners)}
    return Writers(found, frozenset(others))


def _names(plan: AuditPlan, keys: KeySummary, config: ConfigSummary) -> tuple[str, ...]:
    named = set(() if isinstance(plan.connectors, Skipped) else plan.connectors)
    named |= {each.connector for each in keys.connectors if each.connector is not None}
    named |= {each.connector for each in config.connectors}
    named |= {name for topic in plan.topics for name in topic.connectors}
    return tuple(sorted(named))


def _ends_like_a_task(transactional_id: str, connectors: Iterable[str]) -> bool:
    parts = stem_and_task(transactional_id)
    return parts is not None and any(parts[0] == name or parts[0].endswith(f"-{name}") for name in connectors)

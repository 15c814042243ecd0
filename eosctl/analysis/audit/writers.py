"""Whose producer IDs are whose: those of connectors' tasks, and those that are shown to be none of theirs.

1. A producer is that of the task whose transactional ID holds it, or held it. Connectors are those that exist, those
   that have offsets and those that the config topic ever had.
2. An ID that ends like one of a connector's tasks, in whatever group, shows nothing: the group ID may be another one
   than was reported.
3. Every other ID is another writer's, that of the leader included; a tool that wrote offsets is one, too.
4. Of the rest, a producer that wrote a connector's offsets is the connector's.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from eosctl.analysis.owners import KnownNames
from eosctl.model.audit import AuditPlan, TransactionalIdHolder
from eosctl.model.audit_summaries import ConfigSummary, KeySummary
from eosctl.model.names import stem_and_task
from eosctl.model.skipped import Skipped
from eosctl.model.transactions import TaskOwner


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
        for producer_id in keyed.producers if keyed.connector is not None else ():
            if producer_id not in others:
                owners.setdefault(producer_id, set()).add(keyed.connector or "")
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

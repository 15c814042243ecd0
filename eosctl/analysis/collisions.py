"""Transactional IDs that two owners would share, and prefixes that hold the IDs of another owner.

Connect joins `<group.id>-<connector>-<task>` without escaping, and the leader's `connect-cluster-<group.id>`.

1. Two connectors share their IDs where `<group.id>-<connector>-` is the same text: group a, connector b-c and group
   a-b, connector c. Where the texts differ no two IDs are equal, because a task number holds no dash.
2. A leader's ID equals a task's where it is such a text and a number: the leader of group x-3 and task 3 of connector
   x in a group that is called connect-cluster.
3. A prefixed pattern `<group.id>-<connector>-` also holds the IDs of everybody whose text begins with it.

Sorted texts that begin alike lie together, so all of this costs sorting: each gets its nearest enclosing text.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from eosctl.model.names import leader_transactional_id, stem_and_task


@dataclass(frozen=True, slots=True)
class IdOwner:
    """Who uses transactional IDs that begin so: a connector of a group, or the leader of a group (connector None)."""

    group_id: str
    connector: str | None

    @property
    def text(self) -> str:
        """The beginning of a connector's IDs, with its last dash; the whole of a leader's."""
        if self.connector is None:
            return leader_transactional_id(self.group_id)
        return f"{self.group_id}-{self.connector}-"

    def __str__(self) -> str:
        if self.connector is None:
            return f"the leader of group {self.group_id}"
        return f"connector {self.connector} of group {self.group_id}"


@dataclass(frozen=True, slots=True)
class Collision:
    """Two owners; `shared` is the ID or beginning that both use. equal: they use the same IDs."""

    shared: str
    first: IdOwner
    second: IdOwner
    equal: bool


def find_collisions(connectors: Mapping[str, Iterable[str]]) -> Iterator[Collision]:
    """Collisions among source connectors by group.id and the groups' leaders."""
    groups = {group: tuple(dict.fromkeys(names)) for group, names in connectors.items()}
    tasks = [IdOwner(group, name) for group, names in groups.items() for name in names]
    leaders = [IdOwner(group, None) for group in groups]
    by_text: dict[str, IdOwner] = {}
    for owner in tasks:
        first = by_text.setdefault(owner.text, owner)
        if first is not owner:
            yield Collision(owner.text, first, owner, equal=True)
    for leader in leaders:
        parts = stem_and_task(leader.text)
        holder = None if parts is None else by_text.get(f"{parts[0]}-")
        if holder is not None:
            yield Collision(leader.text, holder, leader, equal=True)
    yield from _enclosing([*by_text.values(), *leaders])


def _enclosing(owners: Iterable[IdOwner]) -> Iterator[Collision]:
    open_texts: list[IdOwner] = []
    for owner in sorted(owners, key=lambda each: (each.text, each.connector is None)):
        while open_texts and not owner.text.startswith(open_texts[-1].text):
            open_texts.pop()
        if open_texts:
            yield Collision(open_texts[-1].text, open_texts[-1], owner, equal=False)
        if owner.connector is not None:
            open_texts.append(owner)

"""Who uses a transactional ID, as far as known group IDs and connector names show.

Connect joins group ID, connector and task with dashes and escapes nothing, so an ID can be read in several ways:
group `a` with connector `b-c` and group `a-b` with connector `c` share `a-b-c-0`, and group `connect` with connector
`cluster-x` has the ID of the leader of group `x-0`. Hence every known reading is returned, never a guess.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

from eosctl.analysis.id_shapes import shapes_of
from eosctl.model.names import ConnectorTaskId, leader_transactional_id, stem_and_task
from eosctl.model.transactions import LeaderOwner, Owner, Ownership, TaskOwner


@dataclass(frozen=True, slots=True)
class KnownNames:
    """Group IDs with their connectors, indexed so that an ID is resolved in constant time."""

    _leaders: Mapping[str, str] = field(default_factory=dict)
    _stems: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, clusters: Mapping[str, Iterable[str]]) -> Self:
        """An index over Connect clusters: group ID to connector names."""
        stems: dict[str, tuple[tuple[str, str], ...]] = {}
        for group_id, connectors in clusters.items():
            for connector in connectors:
                stem = f"{group_id}-{connector}"
                stems[stem] = (*stems.get(stem, ()), (group_id, connector))
        return cls({leader_transactional_id(group_id): group_id for group_id in clusters}, stems)

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
    """Who uses the ID, or the shapes that it has where no owner is known."""
    owners = names.owners(transactional_id)
    return Ownership(owners, () if owners else shapes_of(transactional_id))


def owners_of(transactional_ids: Iterable[str | None], names: KnownNames) -> dict[str, Ownership]:
    """The ownership of each of these IDs; None, an ID that is not known, is left out."""
    return {each: ownership(each, names) for each in transactional_ids if each is not None}

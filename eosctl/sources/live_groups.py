"""The groups of Connect workers as their coordinators answer now."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from eosctl.errors import EosctlError, UsageError
from eosctl.model.connect_groups import ConnectGroup, Groups, no_such_group
from eosctl.model.discovery import FoundWorkers
from eosctl.model.skipped import Skipped, not_asked, or_skipped
from eosctl.sources import connect_group
from eosctl.sources.coverage_log import asked
from eosctl.sources.kafka_groups import listed_groups
from eosctl.sources.live_partitions import LivePartitions

if TYPE_CHECKING:
    from eosctl.sources.discovery import Discovery


class LiveGroups(LivePartitions):
    """Asks again at each question; for the only group and its workers where nobody named them."""

    _group_id: str | None
    _discovery: Discovery | None

    @property
    def group_id(self) -> str | None:
        """As it was named, otherwise the only one; what is in the way of finding it is kept in the coverage."""
        if self._group_id is not None or self._discovery is None:
            return self._group_id
        try:
            found = self._discovery.group()
        except UsageError as error:
            found = not_asked(error.message)
        except EosctlError as error:
            found = Skipped.of(error)
        self.note("the Connect group", found)
        return None if isinstance(found, Skipped) else found

    def _find_workers(self) -> FoundWorkers:
        group_id, discovery = self.group_id, self._discovery
        if group_id is None or discovery is None:
            return FoundWorkers()
        try:
            return discovery.workers(group_id)
        except EosctlError as error:
            return FoundWorkers(unread={f"addresses by group {group_id}": Skipped.of(error)})

    def _processes(self) -> frozenset[str] | None:
        with self.adding():
            group_id = self.group_id
            return None if group_id is None else self._member_ids(group_id)

    @asked("members of group {0}", once=True)
    def _member_ids(self, group_id: str) -> frozenset[str] | None:
        """None where the group has no members, or does not show them."""
        group = or_skipped(lambda: connect_group.read_connect_group(self._connections.wire, group_id))
        return None if isinstance(group, Skipped) else frozenset(each.member_id for each in group.members) or None

    def connect_group(self, group_id: str) -> ConnectGroup | Skipped:
        """As its coordinator describes it. The coverage names the group that may be meant, where there is no such."""
        found = or_skipped(lambda: connect_group.read_connect_group(self._connections.wire, group_id))
        absent = isinstance(found, ConnectGroup) and found.lacking
        self.note(f"group {group_id}", self._absent(group_id) if absent else found)
        return found

    def _absent(self, group_id: str) -> Skipped:
        groups = or_skipped(lambda: listed_groups(self._connections.wire))
        known = [] if isinstance(groups, Skipped) else [each.group_id for each in groups.values() if each.is_connect]
        return no_such_group(group_id, known)

    @asked("Connect groups")
    def connect_groups(self, group_ids: Collection[str]) -> Groups | Skipped:
        """In one round, however many they are."""
        return or_skipped(lambda: connect_group.read_connect_groups(self._connections.wire, group_ids))

"""The groups of Connect workers as their coordinators answer now."""

from collections.abc import Collection

from eosctl.model.evidence import ConnectGroup, Groups, no_such_group
from eosctl.model.skipped import Skipped, or_skipped
from eosctl.sources import connect_group
from eosctl.sources.cluster_reader import asked
from eosctl.sources.kafka_groups import listed_groups
from eosctl.sources.live_partitions import LivePartitions


class LiveGroups(LivePartitions):
    """Asks again at each question."""

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

"""The groups of Connect workers as their coordinators answer now."""

from collections.abc import Collection

from eosctl.model.evidence import ConnectGroup, Groups
from eosctl.model.skipped import Skipped, or_skipped
from eosctl.sources import connect_group
from eosctl.sources.cluster_reader import asked
from eosctl.sources.live_partitions import LivePartitions


class LiveGroups(LivePartitions):
    """Asks again at each question."""

    @asked("group {0}")
    def connect_group(self, group_id: str) -> ConnectGroup | Skipped:
        """As its coordinator describes it."""
        return or_skipped(lambda: connect_group.read_connect_group(self._connections.wire, group_id))

    @asked("Connect groups")
    def connect_groups(self, group_ids: Collection[str]) -> Groups | Skipped:
        """In one round, however many they are."""
        return or_skipped(lambda: connect_group.read_connect_groups(self._connections.wire, group_ids))

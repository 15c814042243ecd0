"""Clocks, releases and features of the brokers as they answer now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from eosctl.model.skipped import Skipped, or_skipped
from eosctl.sources import kafka_clock, kafka_evidence
from eosctl.sources.coverage_log import asked
from eosctl.sources.live_topics import LiveTopics

if TYPE_CHECKING:
    from eosctl.model.clock import ClusterClock
    from eosctl.model.versions import Release
    from eosctl.sources.live_cluster import Connections


class LiveBrokers(LiveTopics):
    """Asks again at each question."""

    _connections: Connections

    def clock(self) -> ClusterClock | Skipped:
        """By one request; it is no gap where it fails, for what needs it says so."""
        return or_skipped(lambda: kafka_clock.read_clock(self._connections.wire, self._connections.now))

    @asked("broker releases")
    def broker_releases(self) -> Mapping[int, Release | Skipped] | Skipped:
        """Of every live broker, from the first answer on each connection."""
        return or_skipped(lambda: kafka_evidence.read_broker_releases(self._connections.wire))

    @asked("finalized features")
    def finalized_features(self) -> Mapping[str, int] | Skipped:
        """From the broker that answers first."""
        return or_skipped(lambda: kafka_evidence.read_finalized_features(self._connections.wire))

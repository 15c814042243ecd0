"""The brokers as what an engine reads from."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from eosctl.engines.local import LogSource
from eosctl.model.audit import AuditPlan, OffsetRange
from eosctl.model.client_properties import ClientProperties
from eosctl.sources.audit_log import LogItem, read_range


class ClusterSource(LogSource):
    """Fetches from the partition leaders, with the identity that the properties give."""

    def __init__(self, properties: ClientProperties, timeout_s: float) -> None:
        from eosctl.clients.wire import Wire

        self._wire: Wire = Wire(properties, timeout_s=timeout_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._wire.close()

    def read(self, plan: AuditPlan, offsets: OffsetRange) -> Iterator[LogItem]:
        """Everything in the range, in offset order."""
        return read_range(self._wire, offsets, plan.topic(offsets.topic).topic_id)


@dataclass(frozen=True, slots=True)
class OpenCluster:
    """Opens a ClusterSource; can be sent to other processes of this machine, secrets and all."""

    properties: ClientProperties
    timeout_s: float

    def __call__(self) -> ClusterSource:
        """A source of its own."""
        return ClusterSource(self.properties, self.timeout_s)

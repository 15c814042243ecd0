"""The Spark data source whose rows are the states of an audit's offset ranges: one partition for each range.

It runs in three places. The driver's Spark plans with `partitions`, in a Python process of its own: so the plan, with
its explicit offsets, comes as an option. Executors call `read`: they fetch, fold, and give the states as Arrow.
"""

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from eosctl.engines.cluster_source import ClusterSource
from eosctl.engines.scanning import scan_range
from eosctl.errors import EosctlError
from eosctl.model.audit import AuditPlan, OffsetRange, StateRow
from eosctl.spark.executor_access import ExecutorAccess
from eosctl.spark.executor_errors import carried
from eosctl.spark.state_rows import COLUMNS, encode_rows

FORMAT: Final = "eosctl-ranges"
PLAN: Final = "plan"
BATCH_BYTES: Final = 1 << 24

_PLANS: Final = msgspec.json.Decoder(AuditPlan)


def in_order(plan: AuditPlan) -> list[OffsetRange]:
    """The ranges in the order in which they are started: largest first, so that no executor is left with one."""
    return sorted(plan.ranges, key=lambda offsets: (-offsets.size, offsets))


def options(plan: AuditPlan, access: ExecutorAccess) -> dict[str, str]:
    """What the source is told. Options reach event logs: there is no credential among them."""
    return {PLAN: msgspec.json.encode(plan).decode(), **access.options()}


class RangeSource(DataSource):
    """The source, as Spark knows it by its name."""

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return FORMAT

    def schema(self) -> str:
        """The columns of StateRow."""
        return COLUMNS

    def reader(self, schema: object) -> "RangeReader":
        """What plans and reads."""
        return RangeReader(self.options)


class RangePartition(InputPartition):
    """One range, on its way to an executor."""

    def __init__(self, offsets: OffsetRange) -> None:
        super().__init__(tuple(offsets))
        self.offsets = offsets


class RangeReader(DataSourceReader):
    """Plans ranges on the driver, reads one on an executor."""

    def __init__(self, told: Mapping[str, str]) -> None:
        self._plan = _PLANS.decode(told[PLAN])
        self._access = ExecutorAccess.told(told)

    def partitions(self) -> list[InputPartition]:
        """One for each range of the plan."""
        return [RangePartition(offsets) for offsets in in_order(self._plan)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The states of a range; raises what `executor_errors.restored` can read on the driver."""
        assert isinstance(partition, RangePartition)
        offsets = partition.offsets
        try:
            with ClusterSource(self._access.client_properties(), self._access.timeout_s) as source:
                yield from _batches(scan_range(self._plan, offsets, source.read(self._plan, offsets)))
        except EosctlError as error:
            raise carried(error) from error


def _batches(rows: Iterator[StateRow]) -> Iterator[pa.RecordBatch]:
    """The rows in batches of about BATCH_BYTES."""
    held: list[StateRow] = []
    size = 0
    for row in rows:
        held.append(row)
        size += len(row.payload)
        if size >= BATCH_BYTES:
            yield from encode_rows(held).to_batches()
            held, size = [], 0
    yield from encode_rows(held).to_batches()

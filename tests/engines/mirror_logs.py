"""Logs of real batches in memory, as the reader of ranges gives them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from struct import pack_into

from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.util import calc_crc32c

from eosctl.codecs.record_batches import CODEC_AT, SHORTEST_BATCH, Codec, iter_batches
from eosctl.engines.mirroring import BothSides, PairJob
from eosctl.model.audit import AuditedTopic, AuditPlan, PartitionBounds, TopicRole
from eosctl.model.mirror import PartitionPair, TopicPair
from eosctl.model.topics import OffsetRange
from eosctl.sources.audit_log import DataBatch, LogItem, LogSource

CRC_AT = 17
LENGTH_AT = 8
LOG_APPEND_TIME = 0x08
PLAN = AuditPlan(0, None, None, tuple(AuditedTopic(each, TopicRole.OUTPUT, each.upper()) for each in "ab"), (), ())


@dataclass(frozen=True)
class Written:
    """A record as it was given to a producer."""

    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


def batch(
    records: Sequence[Written],
    deltas: Sequence[int],
    base: int,
    codec: Codec = Codec.NONE,
    *,
    append_time: bool = False,
) -> bytes:
    """A batch with these records at these distances from its base offset."""
    builder = DefaultRecordBatchBuilder(2, int(codec), 0, -1, -1, -1, 1 << 24)
    for delta, each in zip(deltas, records, strict=True):
        assert builder.append(delta, each.timestamp, each.key, each.value, list(each.headers)) is not None
    made = bytearray(builder.build())
    pack_into(">q", made, 0, base)
    made[CODEC_AT] |= LOG_APPEND_TIME * append_time
    return sealed(made)


def sealed(made: bytearray) -> bytes:
    """The same bytes with the length and the CRC that they need."""
    pack_into(">i", made, LENGTH_AT, len(made) - LENGTH_AT - 4)
    pack_into(">I", made, CRC_AT, calc_crc32c(bytes(made[CRC_AT + 4 :])))
    return bytes(made)


def with_records(made: bytes, records: bytes) -> bytes:
    """The batch with other bytes in the place of its records."""
    return sealed(bytearray(made[:SHORTEST_BATCH] + records))


@dataclass(frozen=True)
class Log(LogSource):
    """Batches; those at `aborted` places belong to aborted transactions."""

    batches: tuple[bytes, ...]
    aborted: frozenset[int] = frozenset()

    def __call__(self) -> "Log":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    @property
    def end(self) -> int:
        """The offset behind the last one."""
        return max((each.batch.header.next_offset for each in self.items()), default=0)

    def items(self) -> Iterator[DataBatch]:
        """All batches."""
        for number, data in enumerate(self.batches):
            (found,) = iter_batches(data)
            yield DataBatch(found, number in self.aborted)

    def read(self, plan: AuditPlan, offsets: OffsetRange) -> Iterator[LogItem]:
        """The batches whose last offset lies in the range."""
        return (each for each in self.items() if offsets.start <= each.batch.header.last_offset < offsets.end)


def pair(source: Log, target: Log) -> tuple[BothSides, PairJob]:
    """Both logs as sides of a mirror, from their beginnings."""
    bounds = [PartitionBounds(name, 0, 0, log.end, log.end, 0) for name, log in (("a", source), ("b", target))]
    return BothSides(source, target, PLAN, PLAN), PairJob(PartitionPair(TopicPair("a", "b"), 0, *bounds))

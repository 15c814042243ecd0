"""Pieces of mirrored pairs of partitions as a DataFrame: one task for each, which reads both clusters.

Digests are keyed by process: a task reads its piece of both sides, and gives offsets and counts.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Final, NamedTuple

import msgspec
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from eosctl.codecs.ledger import decode_audit_state, encode_audit_state
from eosctl.engines.mirroring import BothSides, PairPiece, compare_piece
from eosctl.errors import EosctlError
from eosctl.model.audit import AuditPlan, StateKind, StateRow
from eosctl.model.mirror import EqualPiece
from eosctl.sources.audit_log import ClusterSource
from eosctl.spark.engine import own_errors
from eosctl.spark.executor_access import ExecutorAccess
from eosctl.spark.range_frame import ARROW, Batches, Flagged, batches, carried, decode_rows, place_frame


class BothAccesses(NamedTuple):
    """How executors reach both clusters."""

    source: ExecutorAccess
    target: ExecutorAccess


class PieceWork(NamedTuple):
    """The topics of both sides, the number of context records, and the pieces, for all tasks."""

    source: AuditPlan
    target: AuditPlan
    window: int
    pieces: tuple[PairPiece, ...]


_WORK: Final = msgspec.json.Decoder(PieceWork)


class SparkPieces:
    """Compares pieces on the executors of `spark`, which reach the clusters by `accesses`."""

    def __init__(self, spark: SparkSession, accesses: BothAccesses) -> None:
        self._spark, self._accesses = spark, accesses

    def __call__(self, sides: BothSides, pieces: Sequence[PairPiece]) -> list[EqualPiece | None]:
        """The equal length of each piece, in their order. Raises read errors, and SparkFailed."""
        if not pieces:
            return []
        work = PieceWork(sides.source, sides.target, sides.window, tuple(pieces))
        with own_errors():
            rows = decode_rows(piece_frame(self._spark, work, self._accesses).select(*ARROW.names).toArrow())
            found = {row.bucket: decode_audit_state(row.payload, list[EqualPiece]) for row in rows}
        return [next(iter(found[place]), None) for place in range(len(pieces))]


def piece_frame(spark: SparkSession, work: PieceWork, accesses: BothAccesses) -> DataFrame:
    """A row for each piece, whose bucket is its place in the work."""
    return place_frame(spark, len(work.pieces), _task(work, accesses))


def _task(work: PieceWork, accesses: BothAccesses) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    encoded = msgspec.json.encode(work)

    def compare(places: Batches) -> Iterator[pa.RecordBatch]:
        return compare_places(encoded, accesses, places)

    return compare


def compare_places(encoded: bytes, accesses: BothAccesses, places: Batches) -> Iterator[pa.RecordBatch]:
    """On an executor: the pieces at these places. Raises what `executor_errors.restored` reads."""
    work = _decoded(encoded)
    source, target = (partial(_open, access) for access in accesses)
    sides = BothSides(source, target, work.source, work.target, work.window)
    for batch in places:
        for place in batch.column(0).to_pylist():
            asked = work.pieces[place]
            try:
                found = compare_piece(sides, asked)
            except EosctlError as error:
                raise carried(error) from error
            pair, payload = asked.pair, encode_audit_state([] if found is None else [found])
            where = (pair.topics.source, pair.partition, asked.piece.source_start)
            yield from batches([Flagged(True, StateRow(StateKind.MIRROR, place, *where, True, payload))])


def _open(access: ExecutorAccess) -> ClusterSource:
    return ClusterSource(access.client_properties(), access.timeout_s)


@lru_cache(maxsize=1)
def _decoded(encoded: bytes) -> PieceWork:
    """Once for all tasks of a Python worker."""
    return _WORK.decode(encoded)

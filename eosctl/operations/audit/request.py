"""The request of an audit, and the interface to what it reads."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from eosctl.model.audit import AuditPlan, StateKind, StateRow
from eosctl.model.coverage import Coverage
from eosctl.model.skipped import Skipped
from eosctl.model.spark_options import SparkOptions
from eosctl.model.transaction_log_history import TransactionLogHistory
from eosctl.operations.offset_stores import OffsetsRequest
from eosctl.sources.audit_log import OpenSource


@dataclass(frozen=True, slots=True)
class AuditRequest:
    """Which topics to audit (none: all that are known), on which engine, kept in which ledger, written to which files.

    offsets_topics are connectors' own ones, of now or before, beside those that configs name. log_directories are read
    instead of a cluster, if any are given.
    """

    offsets: OffsetsRequest
    topics: tuple[str, ...] = ()
    offsets_topics: tuple[str, ...] = ()
    engine: str = "local"
    processes: int | None = None
    store: str | None = None
    job: str = "audit"
    report: Path | None = None
    export: Path | None = None
    log_directories: tuple[Path, ...] = ()
    spark: SparkOptions = field(default_factory=SparkOptions)


class AuditInput(Protocol):
    """What an audit reads: a cluster, or log directories of brokers. Chosen once, then all the same to it."""

    def bounds(self) -> AuditPlan:
        """A plan without ranges, of this moment."""

    def open_source(self) -> OpenSource:
        """What opens the source of ranges, in this process and in others."""

    def decoded(self, kind: StateKind) -> Iterable[StateRow]:
        """States of what lies in no range because it is decoded already."""

    def transaction_log_history(self, plan: AuditPlan, producer_ids: frozenset[int]) -> TransactionLogHistory | Skipped:
        """What the transaction log says of these producer IDs; Skipped where it cannot be read."""

    @property
    def coverage(self) -> Coverage:
        """What was requested until now, and what of it was not read."""

"""The seam between the audit and what runs it: scan every range, then reduce the states kind by kind."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

from eosctl.engines.reducing import Reduced, Reduction
from eosctl.model.audit import AuditPlan, OffsetRange, StateRow


class Progress(NamedTuple):
    """A range has been scanned."""

    offsets: OffsetRange


Advance = Callable[[Progress], None]


class ScannedRows(Protocol):
    """The state rows of all ranges of a plan, wherever they lie."""

    def reduce(self, reduction: Reduction, carried: Iterable[StateRow]) -> Sequence[Reduced]:
        """One Reduced for each bucket that has rows of the reduction's kind, or carried ones; by bucket."""

    def close(self) -> None:
        """Let go of the rows."""


class Engine(Protocol):
    """Runs the audit's functions."""

    def scan(self, plan: AuditPlan, advance: Advance) -> ScannedRows:
        """Read every range of the plan once. Raises what reading raises."""

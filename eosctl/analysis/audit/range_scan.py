"""One range, read once: every fold that its topic's role asks for, fed from the same batches.

1. A batch belongs to the range in which its last offset lies, so a batch is never cut; the source sees to that.
2. Of an output topic the headers are enough. Of an offsets topic the committed records are decoded; records below the
   offset where the audit begins are left out. Of the config topic the records are kept as they are.
3. A tail range, behind the last stable offset, is read for headers only: what will be committed of it is open.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from eosctl.analysis.audit.batches import Decode, Entry, Header, Marker
from eosctl.analysis.audit.key_scan import KeyScan, Tracked, none_tracked
from eosctl.analysis.audit.log_scan import GapKind, LogScan
from eosctl.analysis.audit.sessions import SessionScan
from eosctl.analysis.audit.transaction_scan import TransactionScan
from eosctl.model.audit import OffsetRange, TopicRole
from eosctl.model.audit_states import KeyState, LogState, ProducerItems

Open = Callable[[], Iterable[Entry]]
"""Decodes the records of a batch; called only where they are needed."""


class ScannedRange(NamedTuple):
    """The states of one range."""

    log: LogState
    keys: tuple[KeyState, ...]
    transactions: tuple[ProducerItems, ...]


class RangeScan:
    """Give it the batches, markers and damages of one range in offset order, then ask for `result`."""

    def __init__(
        self,
        offsets: OffsetRange,
        role: TopicRole,
        gap_kind: GapKind,
        decode: Decode,
        tracked: Tracked = none_tracked,
    ) -> None:
        self._log = LogScan(offsets.start, offsets.end, gap_kind)
        self._sessions = SessionScan()
        self._transactions = TransactionScan()
        self._keys = KeyScan(decode, tracked) if role is TopicRole.OFFSETS and offsets.settled else None

    def add_data(self, header: Header, entries: Open, *, aborted: bool) -> None:
        """Take in a data batch; `entries` may raise, before anything is taken in. Where its records do, start again."""
        records = entries() if self._keys is not None and not aborted else None
        log, transactional = self._log, header.is_transactional
        log.add_batch(header)
        log.add_data(header, aborted=aborted)
        writer = self._sessions.writer(header)
        if transactional:
            self._transactions.add_data(header)
        if self._keys is not None and records is not None:
            tombstones = self._keys.add_batch(records, writer)
            if tombstones:
                log.add_tombstones(header, tombstones)

    def add_marker(self, header: Header, marker: Marker | None, *, committed: bool) -> None:
        """Take in a control batch; marker None is a control record of another kind."""
        self._log.add_batch(header)
        self._log.add_control(header)
        if marker is not None:
            self._sessions.mark(marker.producer_id, marker.producer_epoch, committed=committed)
            self._transactions.add_marker(marker, committed=committed)

    def add_damage(self, offset: int, next_offset: int, reason: str) -> None:
        """Take in offsets that could not be read."""
        self._log.add_damage(offset, next_offset, reason)

    def result(self) -> ScannedRange:
        """What was read."""
        keys = () if self._keys is None else tuple(self._keys.states())
        return ScannedRange(self._log.state(self._sessions.states()), keys, tuple(self._transactions.states()))

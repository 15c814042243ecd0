"""A cluster as what an audit reads, through its reader."""

from collections.abc import Collection, Iterator

from eosctl.analysis.audit.config_history import config_event
from eosctl.analysis.audit.transaction_log_history import fold_transaction_log_history
from eosctl.codecs.audit_states import encode_state
from eosctl.errors import EosctlError
from eosctl.model.audit import AuditPlan, StateKind, StateRow, TopicRole
from eosctl.model.coverage import Coverage
from eosctl.model.records import RecordState
from eosctl.model.skipped import Skipped
from eosctl.model.transaction_log_history import TransactionLogHistory
from eosctl.operations.audit.bounds import AuditScope, read_bounds
from eosctl.operations.audit.request import AuditRequest
from eosctl.operations.audit.topics import FoundTopics
from eosctl.sources.audit_log import OpenSource
from eosctl.sources.audit_segments import OpenSegments
from eosctl.sources.cluster_reader import ClusterReader


class ClusterInput:
    """A cluster, live or saved. Its topics are found once."""

    def __init__(self, reader: ClusterReader, request: AuditRequest) -> None:
        self._reader = reader
        found = FoundTopics(reader, request)
        self._scope = AuditScope(
            found.topics,
            found.connectors,
            found.unread,
            found.users,
            request.offsets.connectors,
            request.topics,
            found.left_out,
        )

    def bounds(self) -> AuditPlan:
        """As the partition leaders answer now."""
        return read_bounds(self._reader, self._scope)

    def open_source(self) -> OpenSource:
        """Record batches, where the reader has them; without them a plan has no ranges."""
        batches = self._reader.record_batches()
        return OpenSegments(()) if isinstance(batches, Skipped) else batches

    def decoded(self, kind: StateKind) -> Iterator[StateRow]:
        """The config topic's records, where the reader has no record batches."""
        config = next((each.name for each in self._scope.topics if each.role is TopicRole.CONFIG), None)
        if kind is StateKind.CONFIG and config is not None and isinstance(self._reader.record_batches(), Skipped):
            records = self._reader.config_topic(config).records
            events = [config_event(each) for each in records if each.origin.state is RecordState.COMMITTED]
            yield StateRow(StateKind.CONFIG, 0, config, 0, 0, True, encode_state(events))

    def transaction_log_history(self, plan: AuditPlan, producer_ids: frozenset[int]) -> TransactionLogHistory | Skipped:
        """Of the partitions that hold the IDs; all of them where the holder of one producer ID is not known."""
        try:
            log = self._reader.transaction_log(_holders(plan, producer_ids))
            unread = next(iter(log.unread.values()), None)
            return fold_transaction_log_history(log.records, producer_ids) if unread is None else unread
        except EosctlError as error:
            return Skipped.of(error)

    @property
    def coverage(self) -> Coverage:
        """That of the reader."""
        return self._reader.coverage


def _holders(plan: AuditPlan, producer_ids: Collection[int]) -> tuple[str, ...]:
    """The transactional IDs that hold these producer IDs; none where one of them is not known."""
    holders = () if isinstance(plan.holders, Skipped) else plan.holders
    known = {each.transactional_id: each.producer_id for each in holders if each.producer_id in producer_ids}
    return tuple(sorted(known)) if set(known.values()) == set(producer_ids) else ()

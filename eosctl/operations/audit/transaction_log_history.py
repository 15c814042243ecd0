"""Where an audit finds the transaction log: at the brokers, or in the log directories that it reads."""

from eosctl.errors import UsageError
from eosctl.model.audit import AuditPlan
from eosctl.model.skipped import Skipped
from eosctl.model.transaction_log import TRANSACTION_LOG
from eosctl.model.transaction_log_history import TransactionLogHistory
from eosctl.operations.audit.sites import AuditRequest
from eosctl.operations.session import Session
from eosctl.sources.audit_segments import find_segments, survey_segments
from eosctl.sources.transaction_log_history import read_history, read_segment_history


def history_of(
    session: Session, request: AuditRequest, plan: AuditPlan, producer_ids: frozenset[int]
) -> TransactionLogHistory | Skipped:
    """What the transaction log says of these producer IDs; Skipped where it cannot be read."""
    if not request.log_directories:
        return read_history(session.wire, producer_ids, plan.holders)
    try:
        found = find_segments(request.log_directories, [TRANSACTION_LOG])
    except UsageError as error:
        return Skipped.of(error)
    return read_segment_history((survey_segments(place, paths) for place, paths in found.items()), producer_ids)

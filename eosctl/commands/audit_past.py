"""Where an audit finds the transaction log: at the brokers, or in the log directories that it reads."""

from eosctl.commands.audit_sites import AuditQuestion
from eosctl.commands.context import Context
from eosctl.errors import UsageError
from eosctl.model.audit import AuditPlan
from eosctl.model.audit_past import Past
from eosctl.model.skipped import Skipped
from eosctl.model.transaction_log import TRANSACTION_LOG
from eosctl.sources.audit_segments import find_segments, survey_segments
from eosctl.sources.past_transactions import read_past, read_past_segments


def past_of(context: Context, question: AuditQuestion, plan: AuditPlan, producer_ids: frozenset[int]) -> Past | Skipped:
    """What the transaction log says of these producer IDs; Skipped where it cannot be read."""
    if not question.log_directories:
        return read_past(context.wire, producer_ids, plan.holders)
    try:
        found = find_segments(question.log_directories, [TRANSACTION_LOG])
    except UsageError as error:
        return Skipped(error.message)
    return read_past_segments((survey_segments(place, paths) for place, paths in found.items()), producer_ids)

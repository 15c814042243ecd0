"""An audit's report as the JSON that a ledger keeps: what `-o json` writes."""

from eosctl.model.audit_report import AuditReport
from eosctl.render.formats import Output, text_of_envelope
from eosctl.render.views.audit import view_audit


def render_audit_json(report: AuditReport) -> str:
    """The whole answer with its envelope, in one text."""
    return text_of_envelope(
        view_audit(report).with_unread(report.coverage, complete=report.complete).envelope(), Output.JSON
    )

"""An audit's report as the JSON that a ledger keeps: what `-o json` writes."""

from eosctl.model.audit import AuditReport
from eosctl.model.mirror import MirrorReport
from eosctl.render.answers.audit import view_audit
from eosctl.render.answers.mirror import view_mirror
from eosctl.render.document import Document
from eosctl.render.formats import Output, text_of_envelope


def render_audit_json(report: AuditReport) -> str:
    """The whole answer with its envelope, in one text."""
    return _text(view_audit(report), report)


def render_mirror_json(report: MirrorReport) -> str:
    """The same of a mirror's audit."""
    return _text(view_mirror(report), report)


def _text(shown: Document, report: AuditReport | MirrorReport) -> str:
    return text_of_envelope(shown.with_unread(report.coverage, complete=report.complete).envelope(), Output.JSON)

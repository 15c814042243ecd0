"""An audit's report as one HTML file that needs nothing else."""

from eosctl.render.audit_page.page import render_audit_page

__all__ = ["render_audit_page"]

"""Draws the pictures of the audit's page in docs/pictures: `make pictures`. Not collected by an ordinary run.

The report is the one that the tests of the page have: six connectors that do not exist, on a cluster that does not.
"""

from pathlib import Path

from eosctl.render.audit_page import render_audit_page
from tests.render.audit_reports import rich_report
from tests.render.browser import Browser, Page

PICTURES = Path(__file__).resolve().parents[2] / "docs" / "pictures"


def test_draw(tmp_path):
    file = tmp_path / "audit.html"
    file.write_text(render_audit_page(rich_report()), "utf-8")
    with Browser(tmp_path) as browser:
        Page(browser).shape(1100, 1000).open(file).screenshot(PICTURES / "audit-page.png", whole=False)
        plots = Page(browser).shape(1100, 1290, dark=True).open(file)
        plots.evaluate("document.getElementById('timeline').scrollIntoView()")
        plots.screenshot(PICTURES / "audit-page-plots.png", whole=False)

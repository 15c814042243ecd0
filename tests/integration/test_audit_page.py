"""The page and the Parquet files of a real audit."""

import stat
from pathlib import Path

import pytest
from pyarrow import parquet

from eosctl.sandbox.properties import SandboxSpec
from tests.faulty_sandbox import Sandbox
from tests.integration.audit_site import AuditSite, Eosctl
from tests.render.browser import Browser, Page
from tests.shared_sandboxes import SharedSandboxes

pytestmark = pytest.mark.kafka


@pytest.fixture(scope="module")
def here(shared_sandboxes: SharedSandboxes) -> Sandbox:
    """That of the tests that move connectors, of the newest version."""
    return shared_sandboxes.of(SandboxSpec(workers=1))


def test_a_page_and_parquet_files_of_a_real_audit(here: Sandbox, eosctl: Eosctl, tmp_path: Path):
    site = AuditSite(here, eosctl, tmp_path, "paged")
    site.transaction("copier", lambda producer: site.write_offset(producer, 7))
    page_file, tables = tmp_path / "audit.html", tmp_path / "tables"
    audited = site.audit("--report", page_file, "--export", tables)
    assert audited.verdict == "broken"
    assert stat.S_IMODE(page_file.stat().st_mode) == 0o600
    with Browser(tmp_path) as browser:
        page = Page(browser).shape(390, phone=True).open(page_file)
        assert (page.complaints(), page.requests()) == ([], [page_file.as_uri()])
        rows = page.evaluate("[...document.querySelectorAll('#connector-rows li')].map(row => row.textContent)")
        assert any(site.name in row and "broken" in row for row in rows)
        drawn = (
            "[...document.querySelectorAll('.plot')].filter(each => each.querySelector('.trace')).map(each => each.id)"
        )
        assert {"plot-timeline", "plot-sizes", "plot-epochs", "plot-growth"} <= set(page.evaluate(drawn))
        assert page.evaluate("document.documentElement.scrollWidth") == 390
    found = parquet.read_table(tables / "findings.parquet").to_pylist()
    assert [each["id"] for each in found] == [each["id"] for each in audited.data["findings"]]
    assert parquet.read_metadata(tables / "ranges.parquet").num_rows == len(audited.data["ranges"])
    site.connectors.delete(site.name)

"""The audit's page, and the timeline's, as a real browser shows them."""

from pathlib import Path

import pytest

from eosctl.model.audit import AuditReport
from eosctl.model.report import Severity
from eosctl.render.audit_page import render_audit_page
from eosctl.render.timeline_page import render_timeline_page
from tests.render.audit_reports import HOSTILE_NAMES, build_report, large_report, rich_report
from tests.render.browser import Browser, Page
from tests.render.test_timeline_page import event, timeline

PLOTS = ["timeline", "stalls", "sizes", "durations", "epochs", "growth"]
SHOWN = "[...document.querySelectorAll('#{} [data-row]')].filter(row => !row.hidden).length"
FINDINGS = SHOWN.format("finding-rows")


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("browser")) as started:
        yield started


@pytest.fixture(scope="module")
def rich(tmp_path_factory) -> Path:
    return written(tmp_path_factory, rich_report())


def written(tmp_path_factory, report: AuditReport) -> Path:
    file = tmp_path_factory.mktemp("page") / "audit.html"
    file.write_text(render_audit_page(report), "utf-8")
    return file


def type_into(page: Page, place: str, text: str) -> None:
    page.evaluate(
        f"(box => {{ box.value = {text!r}; box.dispatchEvent(new Event('input')) }})"
        f"(document.querySelector('[data-filters={place}]'))"
    )


@pytest.fixture(scope="module")
def desktop(browser, rich) -> Page:
    return Page(browser).shape(1280).open(rich)


@pytest.fixture(scope="module")
def phone(browser, rich) -> Page:
    return Page(browser).shape(390, phone=True).open(rich)


def test_it_asks_the_network_for_nothing_complains_about_nothing_and_draws_all(desktop, phone, rich):
    for page in (desktop, phone):
        assert page.complaints() == []
        assert page.requests() == [rich.as_uri()]
        drawn = "[...document.querySelectorAll('.plot')].filter(each => each.querySelector('.main-svg .trace'))"
        assert page.evaluate(f"{drawn}.map(each => each.id.slice(5))") == PLOTS
        assert page.evaluate("document.getElementById('no-plots').hidden") is True


@pytest.mark.parametrize("width", [320, 390, 844])
def test_a_phone_never_scrolls_sideways(phone, width):
    phone.shape(width, phone=True)
    edges = (
        "Math.max(...[...document.querySelectorAll('svg.main-svg')].map(each => each.getBoundingClientRect().right))"
    )
    phone.wait_for(f"{edges} <= {width}")
    assert phone.evaluate("[document.documentElement.scrollWidth, innerWidth]") == [width, width]


def test_a_desktop_never_scrolls_sideways(desktop):
    assert desktop.evaluate("[document.documentElement.scrollWidth, innerWidth]") == [1280, 1280]


def test_words_and_severities_filter_findings(desktop):
    assert desktop.evaluate(FINDINGS) == 6
    type_into(desktop, "finding-rows", "INVOICES 9917")
    assert desktop.evaluate(FINDINGS) == 2
    desktop.evaluate("document.querySelector('[data-severity=warning]').click()")
    assert desktop.evaluate(FINDINGS) == 1
    assert desktop.evaluate("document.querySelector('[data-counts=finding-rows]').textContent") == "1 of 6"
    type_into(desktop, "finding-rows", "")
    assert desktop.evaluate(FINDINGS) == 4
    desktop.evaluate("document.querySelector('[data-severity=warning]').click()")
    assert desktop.evaluate(FINDINGS) == 6


def test_evidence_of_a_connector_leads_to_its_findings(desktop):
    desktop.evaluate("document.querySelector('[data-find=EOS200]').click()")
    assert desktop.evaluate(FINDINGS) == 1
    assert desktop.evaluate("location.hash") == "#findings"


def test_tables_are_sorted_by_figures_not_by_text(desktop):
    column = "[...document.querySelectorAll('#transaction-rows tr')].map(row => row.cells[1].textContent)"
    button = "document.querySelectorAll('#transactions th button')[1]"
    desktop.evaluate(f"{button}.click()")
    rising = desktop.evaluate(column)
    assert [int(each.replace(",", "")) for each in rising] == sorted(int(each.replace(",", "")) for each in rising)
    assert rising[0] == "9,632"
    desktop.evaluate(f"{button}.click()")
    assert desktop.evaluate(column) == rising[::-1]
    assert desktop.evaluate(f"{button}.parentElement.getAttribute('aria-sort')") == "descending"


def luminance(colour: list[int]) -> float:
    parts = [part / 255 / 12.92 if part / 255 <= 0.04045 else ((part / 255 + 0.055) / 1.055) ** 2.4 for part in colour]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(one: list[int], other: list[int]) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


COLOURS = """(() => {
  const parse = text => text.match(/[\\d.]+/g).map(Number);
  const behind = node => { for (; node; node = node.parentElement) {
    const colour = parse(getComputedStyle(node).backgroundColor);
    if (colour.length < 4 || colour[3] > 0) return colour; } };
  const texts = 'h1,h2,h3,p,a,td,th,dt,dd,li,label,span,b,code,summary,legend,figcaption,output';
  const html = [...document.querySelectorAll(texts)].filter(each => each.offsetParent && each.textContent.trim())
    .map(each => [each.tagName + '.' + each.className, parse(getComputedStyle(each).color), behind(each)]);
  const svg = [...document.querySelectorAll('.plot text')].filter(each => !each.closest('.hoverlayer'))
    .map(each => ['text.' + each.className.baseVal, parse(getComputedStyle(each).fill), behind(each.closest('.plot'))]);
  return [...html, ...svg];
})()"""


@pytest.mark.parametrize("dark", [False, True])
def test_every_text_can_be_read_against_what_lies_behind(desktop, dark):
    paper = "rgb(15, 18, 23)" if dark else "rgb(245, 246, 248)"
    desktop.shape(1280, dark=dark).wait_for(f"getComputedStyle(document.body).backgroundColor === '{paper}'")
    texts = desktop.evaluate(COLOURS)
    assert len(texts) > 300
    assert {name for name, ink, paper in texts if contrast(ink[:3], paper[:3]) < 4.5} == set()


def test_a_point_has_a_description(desktop):
    desktop.evaluate("Plotly.Fx.hover('plot-timeline', [{curveNumber: 0, pointNumber: 0}])")
    desktop.wait_for("document.querySelector('#plot-timeline .hovertext')")
    assert desktop.evaluate("document.querySelector('#plot-timeline .hovertext').textContent").startswith(
        "invoices-cdctask commits"
    )


def test_every_plot_has_a_name_and_a_table_for_those_who_do_not_see_it(desktop):
    nodes = desktop.accessible()
    images = [each["name"]["value"] for each in nodes if each["role"]["value"] == "image" and each["name"]["value"]]
    assert [each.split(".")[0] for each in images] == [
        "Starts and rounds of fencing",
        "Periods in which the last stable offset did not move",
        "Records in a transaction",
        "Duration of a transaction",
        "Epochs of producers",
        "Growth and tombstones",
    ]
    assert desktop.evaluate("document.querySelectorAll('figure details table tbody tr').length") > 40
    assert unnamed(desktop) == []


def unnamed(page: Page) -> list[str]:
    """Roles of interactive elements without a name for a screen reader."""
    return [
        each["role"]["value"]
        for each in page.accessible()
        if not each["ignored"]
        and each["role"]["value"] in {"button", "link", "searchbox", "checkbox", "region"}
        and not each.get("name", {}).get("value")
    ]


def test_the_timeline_is_drawn_filtered_and_read_aloud_as_the_audit_is(browser, tmp_path):
    file = tmp_path / "timeline.html"
    failed = event(3, connector="orders", task=1, severity=Severity.ERROR)
    file.write_text(render_timeline_page(timeline(event(1, connector="orders", task=0), event(2), failed)), "utf-8")
    page = Page(browser).shape(390, phone=True).open(file)
    assert (page.complaints(), page.requests()) == ([], [file.as_uri()])
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert page.evaluate("document.querySelectorAll('#plot-lanes .scatterlayer .trace').length") == 2
    images = [each["name"]["value"] for each in page.accessible() if each["role"]["value"] == "image"]
    assert [each.split(".")[0] for each in images if each] == ["Lanes of workers, connectors, tasks and producers"]
    assert unnamed(page) == []
    reached = "document.querySelectorAll('a[href], input, summary, button, [tabindex=\"0\"]').length"
    assert page.evaluate(reached) > 12, "by the keyboard"
    page.evaluate("document.querySelector('[data-of=event-rows][data-severity=info]').click()")
    assert page.evaluate(SHOWN.format("event-rows")) == 1
    assert page.evaluate(FINDINGS) == 1


def test_names_do_nothing(browser, tmp_path_factory):
    file = written(tmp_path_factory, build_report(HOSTILE_NAMES, days=2, restarts_a_day=2, seed=5))
    page = Page(browser).shape(1280).open(file)
    assert page.evaluate("document.title").startswith("Exactly-once audit: broken")
    assert (page.complaints(), page.requests()) == ([], [file.as_uri()])
    assert page.evaluate("document.querySelectorAll('main img, main bdi *, .plot a, .plot b').length") == 0
    labels = page.evaluate("[...document.querySelectorAll('#plot-timeline .ytick')].map(each => each.textContent)")
    assert "naïve-Ünïcode-漢字-🦆…u2028line" in labels
    assert len(labels) == len(HOSTILE_NAMES)
    names = page.evaluate("[...document.querySelectorAll('#connector-rows h3')].map(each => each.textContent)")
    assert "</script><script>document.title='owned'</script>" in names


def test_a_script_that_got_into_the_page_would_not_run(browser, rich, tmp_path):
    file = tmp_path / "tampered.html"
    file.write_text(rich.read_text("utf-8").replace("</main>", "<script>document.title = 'owned'</script></main>"))
    page = Page(browser).shape(1280).open(file)
    assert page.evaluate("document.title").startswith("Exactly-once audit")
    assert any("Content Security Policy" in each for each in page.complaints())


def test_an_empty_audit_has_a_page_too(browser, tmp_path_factory):
    file = written(tmp_path_factory, AuditReport(rich_report().plan, (), (), ()))
    page = Page(browser).shape(390, phone=True).open(file)
    assert (page.complaints(), page.requests()) == ([], [file.as_uri()])
    assert page.evaluate("document.querySelectorAll('.nothing').length") == len(PLOTS)
    assert page.evaluate("document.documentElement.dataset.plots") == "0"


def test_hundreds_of_connectors_and_thousands_of_findings_stay_usable(browser, tmp_path_factory):
    page = Page(browser).shape(390, phone=True).open(written(tmp_path_factory, large_report()))
    assert (page.complaints(), page.evaluate(FINDINGS)) == ([], 5000)
    type_into(page, "finding-rows", "number 4321:")
    assert page.evaluate(FINDINGS) == 1
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert page.evaluate("document.querySelectorAll('.plot *').length") < 40_000


def test_it_can_be_printed(desktop):
    printed = desktop.shape(1280, dark=True).printed()
    assert printed.startswith(b"%PDF")
    assert len(printed) > 50_000


def test_a_capture_and_a_print_show_the_whole_page(browser, tmp_path_factory):
    """Lists of hundreds scroll within themselves on a screen; up to 200 entries, and in print, all is laid out."""
    skipped = (
        "[...document.querySelectorAll('.finding, .connectors li')]"
        ".filter(each => getComputedStyle(each).contentVisibility !== 'visible').length"
    )
    lists = "[...document.querySelectorAll('#finding-rows')]"
    cut = f"{lists}.filter(each => each.scrollHeight > each.clientHeight + 1).length"
    small, large = (
        Page(browser).shape(1280).open(written(tmp_path_factory, large_report(250, findings, days=1)))
        for findings in (150, 300)
    )
    assert (small.evaluate(FINDINGS), small.evaluate(skipped), small.evaluate(cut)) == (150, 250, 0)
    assert (large.evaluate(skipped), large.evaluate(cut)) == (550, 1)
    large.media("print")
    assert (large.evaluate(skipped), large.evaluate(cut)) == (0, 0)

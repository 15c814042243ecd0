"""docs/dev/scale.md says what was measured."""

import json

from benchmarks.audit import missed, ratios
from benchmarks.growth_picture import growth_picture
from benchmarks.scale import FIGURES, PAGE, PICTURE, grown, measured, with_figures


def test_every_figure_of_the_page_is_that_of_the_last_measurement():
    page = PAGE.read_text(encoding="utf-8")

    assert all(f"<!-- {name} -->" in page for name in FIGURES)
    assert with_figures(page, measured()) == page
    assert PICTURE.read_text(encoding="utf-8") == growth_picture(grown(measured()))


def test_the_result_holds_its_ratios_and_the_bars_that_were_missed():
    result = measured()

    assert result["ratios"] == ratios(result["taken"], result["cores"])
    assert result["missed"] == missed(result["ratios"])


def test_figures_follow_the_measurement():
    twice = json.loads(json.dumps(measured()))
    twice["dates"]["read"] = "2001-01-01"

    assert "read 2001-01-01 (" in with_figures(PAGE.read_text(encoding="utf-8"), twice)


def test_an_unmeasured_figure_is_reported_as_missing():
    nothing = {**measured(), "taken": {}}

    page = "<!-- billion -->\nold\n<!-- end -->"
    assert with_figures(page, nothing) == "<!-- billion -->\nNot measured yet: 'headers'.\n<!-- end -->"

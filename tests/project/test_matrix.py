"""The page of tested Kafka versions says what was seen."""

import json

from tests.project import matrix

JUNIT = """<testsuites><testsuite name="pytest" timestamp="2026-01-31T12:00:00.000000+00:00">
<testcase classname="tests.integration.test_fence_states" name="test_open[3.3.2]"/>
<testcase classname="tests.integration.test_fence_states" name="test_open[4.3.1]"/>
<testcase classname="tests.integration.test_fence_states" name="test_done[4.3.1-Empty]"/>
<testcase classname="tests.integration.test_fence_states" name="test_done[Ongoing-4.3.1]">
<failure message="no"/></testcase>
<testcase classname="tests.sources.test_kafka_log" name="test_reads[4.3.1]"><error message="no"/></testcase>
<testcase classname="tests.sources.test_kafka_log" name="test_pure[1.0]"/>
</testsuite></testsuites>"""


def test_the_page_says_what_the_last_result_says(root):
    result = json.loads((root / matrix.RESULT).read_text("utf-8"))
    assert matrix.page(result) == (root / matrix.PAGE).read_text("utf-8")


def test_a_result_counts_by_area_and_version(tmp_path):
    (tmp_path / "docs").mkdir()
    junit = tmp_path / "matrix.xml"
    junit.write_text(JUNIT)
    assert matrix.main([junit], tmp_path) == 1
    lines = (tmp_path / matrix.PAGE).read_text().splitlines()
    assert lines[6:] == [
        "| | 3.3.2 | 4.3.1 |",
        "|---|---|---|",
        "| fence states | 1 passed | **1 failed**, 2 |",
        "| kafka log | – | **1 failed**, 0 |",
    ]
    junit.write_text(JUNIT.replace('<failure message="no"/>', "").replace('<error message="no"/>', ""))
    assert matrix.main([junit], tmp_path) == 0


def test_a_pair_of_versions_has_a_column_of_its_own_beside_that_of_its_brokers(tmp_path):
    (tmp_path / "docs").mkdir()
    junit = tmp_path / "matrix.xml"
    junit.write_text(JUNIT.replace("[3.3.2]", "[4.3.1/3.6.2]").replace("[Ongoing-4.3.1]", "[Ongoing-4.4.0/4.3.1]"))
    matrix.main([junit], tmp_path)
    lines = (tmp_path / matrix.PAGE).read_text().splitlines()
    assert lines[6:9] == [
        "`4.3.1/3.6.2` is brokers of 4.3.1 with workers of 3.6.2.",
        "",
        "| | 4.3.1 | 4.3.1/3.6.2 | 4.4.0/4.3.1 |",
    ]


def test_an_area_that_ran_again_counts_as_it_ran_last(tmp_path):
    (tmp_path / "docs").mkdir()
    first, again = tmp_path / "first.xml", tmp_path / "again.xml"
    first.write_text(JUNIT)
    passing = JUNIT.replace('<failure message="no"/>', "").replace('<error message="no"/>', "")
    again.write_text(passing.replace("2026-01-31", "2026-02-01"))
    assert matrix.main([first, again], tmp_path) == 0
    assert matrix.main([again, first], tmp_path) == 1
    kept = json.loads((tmp_path / matrix.RESULT).read_text())
    assert (kept["date"], sorted(kept["areas"])) == ("2026-02-01", ["fence states", "kafka log"])


def test_a_run_of_nothing_is_no_success(tmp_path):
    (tmp_path / "docs").mkdir()
    junit = tmp_path / "matrix.xml"
    junit.write_text('<testsuites><testsuite timestamp="2026-01-31T12:00:00"/></testsuites>')
    assert matrix.main([junit], tmp_path) == 1

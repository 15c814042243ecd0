"""The page of tested Kafka versions agrees with the results."""

import json

import pytest

from eosctl.version import __version__
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


def test_the_page_shows_the_last_result(root):
    result = json.loads((root / matrix.RESULT).read_text("utf-8"))
    assert matrix.page(result) == (root / matrix.PAGE).read_text("utf-8")


PASSING = JUNIT.replace('<failure message="no"/>', "").replace('<error message="no"/>', "")


@pytest.fixture
def keep(tmp_path):
    """Keeps what a run of these versions left, and returns the exit code, the rows and the page."""
    (tmp_path / "docs" / "dev").mkdir(parents=True)

    def kept(versions, *junits):
        files = [tmp_path / f"{number}.xml" for number in range(len(junits))]
        for file, text in zip(files, junits, strict=True):
            file.write_text(text)
        code = matrix.main(versions.split(","), files, tmp_path)
        lines = (tmp_path / matrix.PAGE).read_text().splitlines()
        return code, [each for each in lines if each.startswith("| ")], lines

    return kept


def seen(version, date):
    return f"| {version} | {__version__} | {date} |"


SEEN, AREAS = "| version | eosctl | seen |", "| area | tests that passed |"


def test_a_result_counts_by_area_and_version(keep):
    code, table, _ = keep("3.3.2,4.3.1", JUNIT)
    assert code == 1
    assert table == [
        SEEN,
        seen("3.3.2", "2026-01-31"),
        seen("4.3.1", "2026-01-31"),
        AREAS,
        "| fence states | 1 on 3.3.2; **1 failed**, 2 on 4.3.1 |",
        "| kafka log | **1 failed**, 0 on 4.3.1 |",
    ]
    assert keep("3.3.2,4.3.1", PASSING)[0] == 0


def test_a_pair_of_versions_has_a_row_of_its_own_after_its_brokers(keep):
    junit = JUNIT.replace("[3.3.2]", "[4.3.1/3.6.2]").replace("[Ongoing-4.3.1]", "[Ongoing-4.4.0/4.3.1]")
    _, table, lines = keep("4.3.1/3.6.2,4.3.1,4.4.0/4.3.1", junit)
    assert "`4.3.1/3.6.2` is brokers of 4.3.1 with workers of 3.6.2." in lines
    assert table == [
        SEEN,
        *(seen(each, "2026-01-31") for each in ("4.3.1", "4.3.1/3.6.2", "4.4.0/4.3.1")),
        AREAS,
        "| fence states | 2 on 4.3.1; 1 on 4.3.1/3.6.2; **1 failed**, 0 on 4.4.0/4.3.1 |",
        "| kafka log | **1 failed**, 0 on 4.3.1 |",
    ]


def test_a_version_that_ran_again_is_replaced_and_the_others_stay(keep):
    keep("3.3.2,4.3.1", JUNIT)
    code, table, _ = keep("3.3.2", PASSING.replace("2026-01-31", "2026-02-01").replace("test_fence_states", "test_new"))
    assert code == 0, "what failed in another version was said when that ran"
    assert table == [
        SEEN,
        seen("3.3.2", "2026-02-01"),
        seen("4.3.1", "2026-01-31"),
        AREAS,
        "| fence states | **1 failed**, 2 on 4.3.1 |",
        "| kafka log | **1 failed**, 0 on 4.3.1 |",
        "| new | 1 on 3.3.2 |",
    ]


def test_an_area_that_ran_again_counts_as_it_ran_last(keep):
    again = PASSING.replace("2026-01-31", "2026-02-01")
    code, table, _ = keep("4.3.1", JUNIT, again)
    areas = ["| fence states | 3 on all |", "| kafka log | 1 on all |"]
    assert (code, table) == (0, [SEEN, seen("4.3.1", "2026-02-01"), AREAS, *areas])
    assert keep("4.3.1", again, JUNIT)[0] == 1


def test_a_version_of_which_nothing_ran_is_no_success(keep):
    assert keep("3.3.2,3.9.2", PASSING)[0] == 1

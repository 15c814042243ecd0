"""The table of what ran on clusters, in the page."""

from tests.spark.printed_submissions import PAGE
from tests.spark.spark_table import kept_rows, part, with_clusters

ROW = {
    "master": "yarn", "deploy_mode": "client", "fault": "executor killed", "status": "SUCCEEDED", "exit_code": 0,
    "attempts": 1, "tasks_lost": 2, "runs_in_ledger": 1, "elapsed_s": 100, "date": "2001-01-01", "versions": "Spark 4",
}  # fmt: skip


def test_the_page_has_what_was_seen_last():
    page = PAGE.read_text("utf-8")

    assert with_clusters(page, kept_rows()) == page


def test_the_page_has_every_kind_of_master_and_deploy_mode_that_it_prints():
    seen = {(each["master"], each["deploy_mode"]) for each in kept_rows()}

    assert seen == {("standalone", "client"), ("yarn", "client"), ("yarn", "cluster")}


def test_a_row_says_what_came_of_a_fault():
    lines = part([ROW]).splitlines()

    assert lines[0] == "Seen with Spark 4:"
    assert lines[-1] == "| yarn | client | executor killed | SUCCEEDED | 0 | 1 | 2 | 1 | 2001-01-01 |"

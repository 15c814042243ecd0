"""The pages of the exporter: OpenMetrics text that its parser reads, 503 before there is any, and nothing too old."""

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from eosctl.analysis.metrics.catalogue import METRICS, UNREAD_FACTS
from eosctl.exporter.exporter import Board, Exporter, Exposition
from eosctl.model.watch import Cycle, Metric, Observation, Sample

LAG = Metric("eosctl_test_lag", "How far it is behind.", ("topic", "partition"), 10)
OTHER = Metric("eosctl_test_other", "Another one.")
CYCLE = Cycle(1_790_000_000_000, 10, {})
STALE = (Sample(UNREAD_FACTS, (), 1),)


def observation(profile, *samples):
    return Observation(profile=profile, cycle=CYCLE, cluster_id="K", samples=samples, when_stale=STALE)


class Pages:
    """The pages of a board, and how it is published on it."""

    def __init__(self):
        board = Board()
        self.publish, self.page = board.publish, Exporter(board, Exposition((LAG, OTHER, *METRICS))).page


def parsed(page):
    """Each series by name and labels, as Prometheus' own parser for OpenMetrics reads the page."""
    families = text_string_to_metric_families(page.body.decode())
    return {(each.name, tuple(sorted(each.labels.items()))): each.value for f in families for each in f.samples}


def test_metrics_of_all_profiles_are_on_one_page():
    pages = Pages()
    pages.publish(observation("east", Sample(LAG, ("orders", "0"), 5), Sample(OTHER, (), 1.5)), 60)
    pages.publish(observation("west", Sample(LAG, ("orders", "0"), 7)), 60)
    page = pages.page("/metrics")
    assert (page.status, page.content_type.partition(";")[0]) == (200, "application/openmetrics-text")
    place = (("partition", "0"),)
    assert parsed(page) == {
        ("eosctl_test_lag", (*place, ("profile", "east"), ("topic", "orders"))): 5,
        ("eosctl_test_lag", (*place, ("profile", "west"), ("topic", "orders"))): 7,
        ("eosctl_test_other", (("profile", "east"),)): 1.5,
    }
    assert page.body.count(b"# TYPE eosctl_test_lag gauge") == 1


def test_names_of_any_text_are_read_back_as_they_are():
    name = 'a "quoted"\\ name\nin two lines, ümlaut {}'
    pages = Pages()
    pages.publish(observation("", Sample(LAG, (name, "0"), 1)), 60)
    [(_, labels)] = parsed(pages.page("/metrics"))
    assert dict(labels)["topic"] == name


def test_a_name_that_is_no_text_does_not_spoil_the_page():
    pages = Pages()
    pages.publish(observation("", Sample(LAG, ("a\udce4", "0"), 1)), 60)
    [(_, labels)] = parsed(pages.page("/metrics"))
    assert dict(labels)["topic"] == "a\\udce4"


def test_nothing_is_ready_before_the_first_cycle_and_the_process_is_healthy():
    pages = Pages()
    assert {path: pages.page(path).status for path in ("/metrics", "/readyz", "/healthz")} == {
        "/metrics": 503,
        "/readyz": 503,
        "/healthz": 200,
    }
    pages.publish(observation("east"), 60)
    assert [pages.page(path).status for path in ("/metrics", "/readyz")] == [200, 200]
    assert pages.page("/") is None


@pytest.mark.parametrize(("lifetime_s", "shown"), [(60, {"eosctl_test_other": 3}), (0, {"eosctl_unread_facts": 1})])
def test_samples_that_are_too_old_are_no_longer_shown(lifetime_s, shown):
    pages = Pages()
    pages.publish(observation("", Sample(OTHER, (), 3)), lifetime_s)
    assert {name: value for (name, _), value in parsed(pages.page("/metrics")).items()} == shown


def test_a_second_observation_takes_the_place_of_the_first():
    pages = Pages()
    pages.publish(observation("", Sample(LAG, ("orders", "0"), 5)), 60)
    pages.publish(observation("", Sample(OTHER, (), 1)), 60)
    assert [name for name, _ in parsed(pages.page("/metrics"))] == ["eosctl_test_other"]

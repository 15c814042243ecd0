"""The timeline's page: every event in its lanes and in a table, and nothing that a name could break."""

import json
import re
from typing import Any

from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.report import Severity
from eosctl.model.skipped import Cause, Coverage, Unread
from eosctl.model.timeline import Actor, Event, EventKind, EventSource, Run, Timeline, TimelineFacts
from eosctl.render.timeline_page import MOST_LANES, MOST_POINTS, MOST_ROWS, lanes_figure, render_timeline_page

HOSTILE = "<script>alert(1)</script>\u202eorders"
PRODUCER = ProducerIdAndEpoch(9, 1)


def event(at: int, source: EventSource = EventSource.STATUS, **more: Any) -> Event:
    return Event(at, source, EventKind.TASK_STATE, "RUNNING", place=TopicPartition("t", 0), offset=at, **more)


def timeline(*events: Event, unread: tuple[Unread, ...] = ()) -> Timeline:
    return Timeline(
        as_of=10_000_000,
        cluster_id="K",
        group_id="g",
        connectors=(),
        since=None,
        until=None,
        facts=TimelineFacts(None, events, ()),
        coverage=Coverage((), unread),
    )


def lanes(*events: Event) -> list[str]:
    return [str(row[0]) for row in lanes_figure(events).rows]


def test_a_status_is_in_the_lanes_of_its_worker_and_its_task() -> None:
    status = event(1, connector="orders", task=0, actor=Actor(worker="w1:8083"))
    assert lanes(status) == ["worker w1:8083", "orders-0"]


def test_workers_come_first_then_connectors_and_tasks_then_producers() -> None:
    found = lanes(
        event(1, EventSource.TRANSACTIONS, connector="a", task=0, actor=Actor(None, "g-a-0", PRODUCER)),
        event(2, EventSource.CONFIG, connector="a"),
        event(3, EventSource.GROUP, actor=Actor(worker="w:1")),
        event(4, EventSource.OUTPUT, actor=Actor(producer=PRODUCER)),
        event(5, EventSource.CONFIG),
    )
    assert found == ["worker w:1", "a", "g-a-0", "producer 9/1", "topic t"]


def test_a_lane_with_an_error_is_never_left_out() -> None:
    quiet = [event(n, connector=f"c{n // 50:03}") for n in range(50 * 2 * MOST_LANES)]
    figure = lanes_figure([*quiet, event(1, connector="broken", severity=Severity.ERROR)])
    assert len(figure.rows) == MOST_LANES
    assert "broken" in [row[0] for row in figure.rows]
    assert any("omitted" in note for note in figure.notes)


def test_very_many_events_are_few_marks_and_the_table_keeps_errors() -> None:
    events = [event(n, connector=f"c{n % 7}") for n in range(20_000)]
    events[3] = events[3]._replace(severity=Severity.ERROR, what="the first error")
    marks = sum(len(trace["x"]) for trace in lanes_figure(events).traces if trace["name"] != "runs")
    assert marks <= 2 * MOST_POINTS
    page = render_timeline_page(timeline(*events))
    assert page.count("<tr data-row") == MOST_ROWS
    assert "the first error" in page


def test_a_run_is_one_line_with_its_number_of_events() -> None:
    run = event(1_000, connector="orders", run=Run(1_204, 2_527_300, 9, 2_100))
    figure = lanes_figure([run])
    (line,) = [trace for trace in figure.traces if trace["name"] == "runs"]
    assert line["x"] == [1_000, 2_527_300, None]
    assert "RUNNING; 1,204 times, every 2.1 s" in render_timeline_page(timeline(run))


def test_names_are_text_wherever_they_stand() -> None:
    page = render_timeline_page(timeline(event(1, connector=HOSTILE, actor=Actor(worker=HOSTILE))))
    assert "<script>alert" not in page
    assert "\u202e" not in page
    (plots,) = re.findall(r'<script type="application/json" id="plots">(.*?)</script>', page, re.DOTALL)
    assert json.loads(plots)[0]["key"] == "lanes"


def test_events_without_a_time_and_unread_topics_are_named() -> None:
    unread = Unread("the status topic", "no Read", Cause.DENIED)
    page = render_timeline_page(timeline(event(-1, connector="orders"), unread=(unread,)))
    assert "1 of them have no valid timestamp" in page
    assert "the status topic</bdi>: no Read" in page

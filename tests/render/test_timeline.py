"""Events in rows and in words: runs, times that are not there, and what the summary counts."""

import pytest
from msgspec.structs import replace

from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.timeline import Actor, Clock, EventSource, ReadPartition, Run
from eosctl.render.answers.timeline import (
    EVENTS,
    OF_ONE_CONNECTOR,
    event_row,
    summary_of,
    timeline_notes,
    view_timeline,
    words,
)
from tests.render.test_timeline_page import event, timeline


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (None, "RUNNING"),
        (Run(3, 20_000, 9, 10_000), "RUNNING; 3 times, every 10 s"),
        (Run(3, 20_000, 9, 20_000), "RUNNING; 3 times, every 10 s"),
        (Run(3, 20_000, 9, 20_001), "RUNNING; 3 times, every 10 s, the longest pause 20 s"),
        (Run(1_205, 1_204_000, 9, 1), "RUNNING; 1,205 times, every 1000 ms"),
    ],
)
def test_a_run_is_told_with_its_mean_and_a_pause_of_more_than_twice_that(run, said):
    assert words(event(0, run=run)) == said


def test_a_run_is_a_row_with_its_first_and_its_last():
    row = event_row(event(1_000, run=Run(3, 5_000, 9, 3_000)))
    assert (row.count, row.offset, row.last_offset) == (3, 1_000, 9)
    assert (row.every_ms, row.longest_pause_ms) == (2_000, 3_000)
    assert (row.at, row.last_at) == ("1970-01-01T00:00:01.000Z", "1970-01-01T00:00:05.000Z")


def test_an_event_alone_is_one_and_its_own_last():
    row = event_row(event(1_000))
    assert (row.count, row.last_offset, row.every_ms, row.longest_pause_ms) == (1, 1_000, None, None)
    assert row.last_at == row.at
    assert (row.who, row.producer_id, row.producer_epoch, row.misdated) == (None, None, None, False)
    assert (row.topic, row.partition) == ("t", 0)


def test_what_an_event_does_not_have_is_null():
    row = event_row(event(-1)._replace(place=None, order=0))
    assert (row.at, row.topic, row.partition, row.misdated) == (None, None, None, True)
    assert event_row(event(0)).at == "1970-01-01T00:00:00.000Z"
    named = event_row(event(0, actor=Actor("w:1", "g-c-0", ProducerIdAndEpoch(0, 0))))
    assert (named.producer_id, named.producer_epoch, named.worker) == (0, 0, "w:1")
    assert named.who == "worker w:1, g-c-0 0/0"


@pytest.mark.parametrize(
    ("actor", "who"),
    [
        (Actor(), ""),
        (Actor(worker="w:1"), "worker w:1"),
        (Actor(transactional_id="g"), "g"),
        (Actor(producer=ProducerIdAndEpoch(9, 1)), "producer 9/1"),
        (Actor("w:1", "g", ProducerIdAndEpoch(9, 1)), "worker w:1, g 9/1"),
        (Actor("", "", None), ""),
    ],
)
def test_an_author_is_named_as_far_as_the_records_name_it(actor, who):
    assert str(actor) == who


READ = ReadPartition(EventSource.STATUS, TopicPartition("t", 0), 0, 9, 0, 7, 2, (Clock.CREATE_TIME,))


@pytest.mark.parametrize(
    ("events", "connectors", "summary"),
    [
        ((), (), "0 events, from 7 records."),
        ((event(1),), (), "1 event, from 7 records."),
        ((event(1), event(2, run=Run(3, 9, 9, 4))), (), "4 events in 2 rows, from 7 records."),
        ((event(2, run=Run(3, 9, 9, 4)),), ("a", "b"), "3 events of a, b in 1 row, from 7 records."),
    ],
)
def test_the_summary_counts_events_and_rows_where_these_are_fewer(events, connectors, summary):
    found = timeline(*events)
    assert summary_of(replace(found, connectors=connectors, facts=replace(found.facts, partitions=(READ,)))) == summary


PLACED = " that its offset contradicts; its offset decides its place"


@pytest.mark.parametrize(
    ("coarse", "orders", "notes"),
    [
        (0, (None,), []),
        (
            120_000,
            (None,),
            ["events of one kind within 2.0 min are one row, because there are very many: name --connector"],
        ),
        (
            0,
            (5, None),
            ["clocks disagree: 1 event has a time" + PLACED],
        ),
        (0, (0, 5), ["clocks disagree: 2 events have times" + PLACED]),
    ],
)
def test_merged_and_misdated_events_are_noted(coarse, orders, notes):
    found = timeline(*(event(1, order=each) for each in orders))
    assert timeline_notes(replace(found, facts=replace(found.facts, coarse_ms=coarse))) == notes


@pytest.mark.parametrize(
    ("connectors", "since", "until", "table"),
    [((), None, 0, EVENTS), (("a",), 0, None, OF_ONE_CONNECTOR), (("a", "b"), 0, 0, EVENTS)],
)
def test_of_one_connector_the_rows_do_not_repeat_its_name(connectors, since, until, table):
    document = view_timeline(replace(timeline(), connectors=connectors, since=since, until=until))
    assert document.blocks == (table,)
    epoch = "1970-01-01T00:00:00.000Z"
    assert document.data["since"] == (None if since is None else epoch)
    assert document.data["until"] == (None if until is None else epoch)


def test_only_the_column_of_the_connector_is_brief():
    briefs = {each.path: each.brief for each in OF_ONE_CONNECTOR.columns}
    assert briefs["connector"]({"connector": "orders"}) == "-"
    assert {each.path: each.brief for each in EVENTS.columns if each.path != "connector"} == {
        path: brief for path, brief in briefs.items() if path != "connector"
    }

"""A plan of a connector that runs, and what it becomes with the offsets that are found once it is stopped."""

import pytest
from msgspec.structs import replace

from eosctl.codecs.offsets_topic import entries_by_connector
from eosctl.codecs.plan import decode_plan, encode_plan
from eosctl.errors import Refused
from eosctl.model.migration import MigrationFacts
from eosctl.model.plan import ConnectorStopped
from eosctl.model.step_descriptions import lacking
from eosctl.planning.found_positions import is_read_again, places_read, reading_again, with_found
from eosctl.planning.migration import plan_migration
from tests.planning.offsets_topics import topic_of
from tests.planning.test_migration import ALL, FACTS, KEY, RUNNING, S, T, kinds

OTHER = b'["c",{"f":2}]'
PLANNED = plan_migration(ALL, RUNNING).plan


def at(records: list[tuple[int, bytes, bytes | None]]) -> MigrationFacts:
    """The connector is stopped, and its topic has these records."""
    offsets = {(S, "old"): topic_of("old", 3, records), (T, "new"): topic_of("new", 0, [])}
    return replace(FACTS, as_of=7, offsets=offsets)


def found(facts: MigrationFacts):
    return {
        (side, topic, name): entries_by_connector(facts.offsets[side, topic]).get(name, ())
        for side, topic, name in places_read(PLANNED)
    }


def test_it_stops_first_and_then_reads_again():
    plan = reading_again(PLANNED)
    assert plan is not None
    assert (is_read_again(plan), is_read_again(PLANNED), lacking(plan)) == (True, False, ())
    assert kinds(plan)[:3] == ["StopConnector", "ReadAgain", "FenceProducers"]
    assert decode_plan(encode_plan(plan)) == plan


@pytest.mark.parametrize(
    "records",
    [
        [(0, KEY, b"1")],
        [(0, KEY, b"1"), (0, KEY, b"2")],
        [(0, KEY, b"1"), (0, KEY, None)],
        [(0, KEY, b"1"), (1, OTHER, b"5")],
    ],
    ids=["unchanged", "moved on", "deleted", "with a new source partition"],
)
def test_it_becomes_the_plan_that_is_made_of_the_stopped_connector(records):
    facts = at(records)
    plan = reading_again(PLANNED)
    assert plan is not None
    stopped = replace(ALL, just_stopped=(ConnectorStopped(S, "c"),))
    assert with_found(plan, found(facts), 7) == plan_migration(stopped, facts).plan


def test_it_is_refused_where_the_target_has_other_offsets_by_then():
    plan = reading_again(PLANNED)
    assert plan is not None
    there = found(at([(0, KEY, b"1")]))
    held = entries_by_connector(topic_of("new", 5, [(0, KEY, b"9")]))["c"]
    with pytest.raises(Refused, match=r"nothing is written|both values would live on"):
        with_found(plan, {**there, (T, "new", "c"): held}, 7)


def test_a_plan_that_stops_nobody_is_left_as_it_is():
    assert reading_again(plan_migration(ALL, FACTS).plan) is None

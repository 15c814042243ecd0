"""What workers answer beside what a topic holds: contradictions, and the digest that lets a connector be resumed."""

from msgspec.structs import replace

from eosctl.codecs.offsets_topic import entries_by_connector
from eosctl.model.migration import MigrationFacts, MigrationRequest, Move
from eosctl.model.offsets import ConnectorOffset, OffsetsTopic
from eosctl.model.plan import Side
from eosctl.model.records import RecordState
from eosctl.model.skipped import Skipped
from eosctl.planning.migration import contradiction, contradictions
from tests.planning.offsets_topics import topic_of

MOVE = Move("c", "c", "old", "new", "new")
A, B, NULL = b'["c",{"f":"a"}]', b'["c",{"g":1.0,"f":"b"}]', b'["c",null]'
A_AT_1, B_AT_2 = ConnectorOffset({"f": "a"}, {"p": 1}), ConnectorOffset({"f": "b", "g": 1.0}, {"p": 2})
LONG, B_LONG = b'["c",{"g":1,"f":"b"}]', ConnectorOffset({"f": "b", "g": 1}, {"p": 2})
HELD = topic_of("old", 1, [(0, A, b'{"p":1}'), (0, B, b'{"p":2}'), (0, NULL, b'{"p":3}')])


def told(
    answer: tuple[ConnectorOffset, ...] | Skipped | None, held: OffsetsTopic = HELD, move: Move = MOVE
) -> list[str]:
    """Severity and message of each contradiction."""
    answers = {} if answer is None else {"c": answer}
    facts = MigrationFacts(1, {Side.SOURCE: "k"}, {}, {}, {(Side.SOURCE, "old"): held}, answers=answers)
    return [f"{each.severity}: {each.message}" for each in contradictions(MigrationRequest((move,), "g", "g"), facts)]


def test_the_same_offsets_contradict_nothing():
    assert told((B_AT_2, A_AT_1)) == []
    assert told(None) == [], "workers before 3.5 do not tell"


def test_workers_that_fail_to_answer_are_reported():
    [found] = told(Skipped("http://w answered 500"))
    assert found.startswith("warning: what the workers answer for connector c (GET /connectors/c/offsets) could not be")
    assert "compared with topic old: http://w answered 500" in found


def test_an_error_is_expected_of_workers_where_a_value_cannot_be_used():
    assert told(Skipped("http://w answered 500"), topic_of("old", 1, [(0, A, b"[1]")])) == []


def test_another_offset_is_a_contradiction():
    [found] = told((A_AT_1._replace(offset={"p": 9}), B_AT_2))
    assert found.startswith("error: of topic old the workers of connector c answer 1 offset that is not there")
    assert '{"f": "a"} is {"p": 9}' in found


def test_an_offset_that_the_topic_lacks_is_a_contradiction():
    assert "answer 1 offset that is not there" in told((A_AT_1,), topic_of("old", 1, []))[0]


def test_offsets_that_the_workers_do_not_list_are_a_contradiction():
    """The topic of another Connect cluster that has a connector of the same name."""
    assert "answer none for 1 source partition" in told(())[0]


def test_a_topic_that_the_user_named_is_the_users_wish():
    assert told((), move=replace(MOVE, named=True))[0].startswith("warning: ")


def test_a_null_in_the_shadow_contradicts_nothing():
    assert told((A_AT_1._replace(offset=None), B_AT_2)) == []


def test_a_long_is_no_double():
    assert told((A_AT_1._replace(offset={"p": 1.0}), B_AT_2)) != []


def test_a_worker_that_reads_uncommitted_answers_what_was_aborted():
    committed, aborted = HELD.partitions[0].keys[A], topic_of("old", 1, [(0, A, b'{"p":7}')], RecordState.ABORTED)
    both = committed._replace(aborted=aborted.partitions[0].keys[A].aborted)
    part = replace(HELD.partitions[0], keys={**HELD.partitions[0].keys, A: both})
    held = replace(HELD, partitions=(part,))
    assert told((A_AT_1._replace(offset={"p": 7}), B_AT_2), held) == []
    assert told((A_AT_1, B_AT_2), held) == []


def test_where_it_is_to_be_resumed_what_workers_can_find_must_be_answered():
    """B's members are in another order than a HashMap's, so workers write another key and find nothing under it."""
    entries = entries_by_connector(HELD)["c"]
    b_in_vain = B_LONG._replace(offset=None)
    held = entries_by_connector(topic_of("old", 1, [(0, A, b'{"p":1}'), (0, LONG, b'{"p":2}'), (0, NULL, b"{}")]))["c"]
    assert contradiction([A_AT_1, b_in_vain], held, nulls=False) is None
    assert contradiction([A_AT_1._replace(offset=None), B_LONG], held) is None
    told = contradiction([A_AT_1._replace(offset=None), B_LONG], held, nulls=False)
    assert told == 'none for 1 source partition (the first: {"f": "a"})'
    assert contradiction([A_AT_1], entries, nulls=False) is None, "a double comes back changed, and is not compared"


def test_nothing_is_compared_where_a_value_cannot_be_used():
    held = entries_by_connector(topic_of("old", 1, [(0, A, b"[1]")]))["c"]
    assert contradiction([], held, nulls=False) is None

"""Offsets in rows and in words: tombstones, values that are no JSON, and what is hidden."""

import math

import pytest

from eosctl.model.offsets import finite
from eosctl.model.records import RecordState
from eosctl.render.answers.offsets import view_offsets
from tests.analysis.offset_records import record, report, topic

A, B = '["a",{"f":1}]', '["b",{"f":1}]'


def shown(*records, own=None, tombstones: bool = False):
    configs = {name: {"offsets.storage.topic": "own"} if own else {} for name in ("a", "b")}
    found = report(topic("global", records), *([topic("own", own)] if own else []), configs=configs)
    return view_offsets(found, tombstones=tombstones)


@pytest.mark.parametrize(("tombstones", "keys", "note"), [(False, 1, True), (True, 2, False)])
def test_keys_of_tombstones_alone_are_counted_or_shown(tombstones: bool, keys: int, note: bool) -> None:
    document = shown(record(0, A, '{"p":1}'), record(1, B, None), tombstones=tombstones)
    assert len(list(document.data["offsets"])) == keys
    assert ("1 key holds nothing but tombstones: --tombstones shows them" in document.notes) is note
    assert document.data["tombstones_left_out"] == int(note)
    assert [each["offsets"] for each in document.data["connectors"]] == [1, 0]


def test_a_value_that_cannot_be_used_is_said_and_not_shown() -> None:
    [bad, deleted] = shown(record(0, A, "[1]"), record(1, B, None), tombstones=True).data["offsets"]
    assert (bad["worker_global"]["value"], bad["worker_global"]["malformed"] is None) == (None, False)
    assert (deleted["worker_global"]["value"], deleted["worker_global"]["malformed"]) == (None, None)
    [open_one] = shown(record(0, A, '{"p":1}', RecordState.COMMITTED)).data["offsets"]
    assert open_one["worker_global"]["value"] == {"p": 1}


def test_a_double_that_json_cannot_write_is_text() -> None:
    assert finite({"a": math.inf, "b": -math.inf, "c": 1.5, "d": 7, "e": None, "f": True}) == {
        "a": "inf", "b": "-inf", "c": 1.5, "d": 7, "e": None, "f": True,
    }  # fmt: skip
    [row] = shown(record(0, '["a",{"f":-1e400}]', '{"p":1e400}')).data["offsets"]
    assert (row["partition"], row["kafka_effective"]["value"]) == ({"f": "-inf"}, {"p": "inf"})


@pytest.mark.parametrize(
    ("deleted", "words"),
    [
        ((A, B), "2 offsets of 2 connectors."),
        ((A,), "2 offsets of 2 connectors; 1 of them is hidden from its connector."),
        ((), "2 offsets of 2 connectors; 2 of them are hidden from their connectors."),
    ],
)
def test_offsets_that_an_own_topic_without_them_hides_are_counted(deleted: tuple[str, ...], words: str) -> None:
    own = [record(at, each, None) for at, each in enumerate(deleted)]
    both = [record(0, A, '{"p":1}'), record(1, B, '{"p":1}')]
    [said] = shown(*both, own=own or [record(0, '["c",{}]', None)]).prose
    assert said.endswith(words)

"""Formats of an answer: tables, arranged columns, streamed rows, ACLs."""

import json
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import cycle, islice
from typing import Annotated

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec import UNSET, Struct, UnsetType

from eosctl.errors import UsageError
from eosctl.model.skipped import Cause, Coverage, Skipped, Unread
from eosctl.model.text import UNSEEN
from eosctl.model.times import rfc3339
from eosctl.render.cells import Page
from eosctl.render.document import (
    Align,
    Column,
    Document,
    Fields,
    Findings,
    RowStream,
    Table,
    Tone,
    col,
    columns,
    figure,
    look_up,
    row_of,
    tree,
)
from eosctl.render.formats import Output, pieces_of, text_of, text_of_envelope

PIPED = Page(None, colour=False)

CONNECTORS = Table(
    "connectors",
    (
        Column("CONNECTOR", "name"),
        figure("TASKS", "task_count"),
        Column("NEXT-START", "next_start.rule", tones={"fence": Tone.WARN}),
        Column("PENDING", "pending_fencing"),
        Column("LSO", "lso"),
    ),
)

DOCUMENT = Document(
    kind="inspect-config",
    as_of="2026-01-31T12:00:00.000Z",
    cluster_id="q1Sh-9_ISia_zwGINzRvyQ",
    data={
        "group_id": "connect-cluster",
        "connectors": [
            {
                "name": "orders",
                "task_count": 3,
                "next_start": {"rule": "fence"},
                "pending_fencing": True,
                "lso": {"skipped": "User:tool may not DESCRIBE on topic orders"},
            },
            {
                "name": "a\tb\\c\x1b[2J",
                "task_count": None,
                "next_start": {"rule": "none"},
                "pending_fencing": False,
                "lso": 12,
            },
        ],
        "findings": [
            {
                "id": "EOS069",
                "name": "task-count-mismatch",
                "severity": "error",
                "subject": "orders",
                "message": "the task count record says 2, but there are 3 task configs",
                "cure": "restart the connector",
                "evidence": {},
                "waiver": None,
                "new": None,
            }
        ],
    },
    prose=("the next start of orders will fence 3 producers",),
    blocks=(CONNECTORS, Findings()),
    notes=("read at offset 17",),
)

TABLE = r"""the next start of orders will fence 3 producers

CONNECTOR         TASKS  NEXT-START  PENDING  LSO
orders                3  fence       yes      unknown
a\tb\c\x1b[2J         -  none        no       12

Findings
error EOS069 task-count-mismatch orders
  the task count record says 2, but there are 3 task configs
  fix: restart the connector

unknown: User:tool may not DESCRIBE on topic orders

read at offset 17
""".replace("CONNECTOR         TASKS", "CONNECTOR      TASKS").replace(
    "orders                3", "orders             3"
)


def test_a_table_as_wide_as_it_needs_to_be():
    expected = TABLE.replace(r"a\tb\c\x1b[2J         -", r"a\tb\c\x1b[2J      -")
    assert text_of(DOCUMENT, Output.TABLE, PIPED) == expected


@pytest.mark.parametrize("width", [80, 200])
def test_a_terminal_that_is_wide_enough_shows_the_same(width):
    assert text_of(DOCUMENT, Output.TABLE, Page(width, colour=False)) == text_of(DOCUMENT, Output.TABLE, PIPED)


def test_plain_is_tab_separated_and_reversible():
    assert text_of(DOCUMENT, Output.PLAIN, PIPED) == (
        "orders\t3\tfence\tyes\tunknown\na\\tb\\\\c\\x1b[2J\t-\tnone\tno\t12\n"
    )


def test_json_is_one_document_and_yaml_the_same_tree():
    text = text_of(DOCUMENT, Output.JSON, PIPED)
    assert json.loads(text) == DOCUMENT.envelope()
    assert text.endswith("}\n")
    assert yaml.safe_load(text_of(DOCUMENT, Output.YAML, PIPED)) == DOCUMENT.envelope()


def test_jsonl_is_the_envelope_with_counts_and_then_every_row_with_its_kind():
    lines = [json.loads(line) for line in text_of(DOCUMENT, Output.JSONL, PIPED).splitlines()]
    assert lines[0] == DOCUMENT.envelope() | {"data": {"group_id": "connect-cluster", "connectors": 2, "findings": 1}}
    assert [line["kind"] for line in lines[1:]] == [
        "inspect-config/connectors",
        "inspect-config/connectors",
        "inspect-config/findings",
    ]
    assert lines[1]["data"] == DOCUMENT.data["connectors"][0]
    assert lines[3]["data"] == DOCUMENT.data["findings"][0]


def test_fields_are_a_line_each():
    document = Document(
        "sandbox.env",
        {"bootstrap_servers": "127.0.0.1:9092", "urls": ["http://a", "http://b"]},
        blocks=(Fields((Column("BROKERS", "bootstrap_servers"), Column("CONNECT", "urls"))),),
    )
    assert text_of(document, Output.TABLE, PIPED) == "BROKERS  127.0.0.1:9092\nCONNECT  http://a,http://b\n"
    assert text_of(document, Output.PLAIN, PIPED) == "BROKERS\t127.0.0.1:9092\nCONNECT\thttp://a,http://b\n"


def test_a_list_of_steps_is_a_line_for_each_command_and_each_sentence():
    steps = ["restart the task: POST /connectors/a/tasks/0/restart", "eosctl doctor"]
    document = Document("explain", {"commands": steps}, blocks=(Fields((Column("NEXT", "commands"),)),))
    assert text_of(document, Output.TABLE, PIPED) == f"NEXT  {steps[0]}\n      {steps[1]}\n"


def test_a_part_that_was_not_read_is_named_once():
    coverage = Coverage(("topic a",), (Unread("topic a", "denied", Cause.DENIED),))
    document = Document("k", {}, notes=("not read: topic a: denied",)).with_unread(coverage)
    assert document.notes == ("not read: topic a: denied",)


def test_an_empty_answer_is_reported_as_empty():
    document = Document(
        "k", {"rows": [], "findings": []}, blocks=(Table("rows", (Column("A", "a"),), "Rows", "no rows"), Findings())
    )
    assert text_of(document, Output.TABLE, PIPED) == "Rows\nno rows\n\nFindings\nno findings\n"
    assert text_of(document, Output.PLAIN, PIPED) == ""


def test_prose_alone_is_an_answer():
    document = Document("k", {}, prose=("all is well",))
    assert text_of(document, Output.TABLE, PIPED) == "all is well\n"
    assert text_of(document, Output.PLAIN, PIPED) == "all is well\n"


IDS = Document(
    "fence",
    {
        "results": [
            {"id": f"connect-cluster-inventory-{task}", "state": state, "owner": f"task {task} of connector inventory"}
            for task, state in enumerate(("Ongoing", "Empty"))
        ]
    },
    blocks=(Table("results", (Column("TRANSACTIONAL-ID", "id"), Column("STATE", "state"), Column("OWNER", "owner"))),),
)


def test_long_cells_wrap_at_words_where_the_terminal_is_narrow():
    assert text_of(IDS, Output.TABLE, Page(54, colour=False)) == (
        "TRANSACTIONAL-ID             STATE    OWNER\n"
        "connect-cluster-inventory-0  Ongoing  task 0 of\n"
        "                                      connector\n"
        "                                      inventory\n"
        "connect-cluster-inventory-1  Empty    task 1 of\n"
        "                                      connector\n"
        "                                      inventory\n"
    )


def test_a_table_that_cannot_share_the_width_is_drawn_row_by_row_and_names_stay_whole():
    assert text_of(IDS, Output.TABLE, Page(34, colour=False)) == (
        "TRANSACTIONAL-ID  connect-cluster-inventory-0\n"
        "STATE             Ongoing\n"
        "OWNER             task 0 of connector\n"
        "                  inventory\n"
        "\n"
        "TRANSACTIONAL-ID  connect-cluster-inventory-1\n"
        "STATE             Empty\n"
        "OWNER             task 1 of connector\n"
        "                  inventory\n"
    )


def test_colours_change_nothing_but_colours():
    import re

    coloured = text_of(DOCUMENT, Output.TABLE, Page(80, colour=True))
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == text_of(DOCUMENT, Output.TABLE, Page(80, colour=False))
    assert "\x1b[1mCONNECTOR\x1b[0m" in coloured
    assert "\x1b[33mfence\x1b[0m" in coloured
    assert "\x1b[1;31merror\x1b[0m" in coloured


ANY_TEXT = st.text(st.characters(exclude_categories=()))
ANY_TREE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=8,
)


def test_many_rows_are_a_line_each_in_json():
    rows = [{"number": number, "value": {"position": [number]}} for number in range(1001)]
    text = text_of_envelope({"data": {"rows": rows, "left": []}}, Output.JSON)
    assert json.loads(text) == {"data": {"rows": rows, "left": []}}
    assert text.splitlines()[2:4] == ['    "rows": [', '      {"number": 0, "value": {"position": [0]}},']
    assert len(text.splitlines()) == 1001 + 7


def test_a_value_that_two_rows_share_is_written_twice():
    """An anchor of YAML would be a form that json has not."""
    store = {"offset": 7}
    text = text_of_envelope({"rows": [{"a": store, "b": store}]}, Output.YAML)
    assert text == "rows:\n- a:\n    offset: 7\n  b:\n    offset: 7\n"


def test_json_is_what_python_writes():
    value = {
        "a": {},
        "b": [],
        "c": [1, {"x": [{"y": None}]}],
        "d": {"e": "ü\n", "f": 1.5, "g": True},
        "": [[]],
        "h": [{}],
    }
    assert text_of_envelope(value, Output.JSON) == json.dumps(value, ensure_ascii=False, indent=2) + "\n"


@given(ANY_TREE)
def test_any_tree_reads_back_from_json_without_a_control_character(value):
    text = text_of_envelope({"data": value}, Output.JSON)
    assert json.loads(text) == {"data": value}
    text.encode()
    assert not [char for char in text if (ord(char) < 32 and char != "\n") or 0x7F <= ord(char) < 0xA0]


@given(ANY_TREE)
def test_any_tree_reads_back_from_yaml(value):
    assert yaml.safe_load(text_of_envelope({"data": value}, Output.YAML)) == {"data": value}


@given(
    st.lists(st.lists(ANY_TEXT, min_size=2, max_size=2), min_size=1, max_size=4), st.sampled_from([None, 20, 40, 80])
)
def test_no_value_can_forge_a_line_or_reach_the_terminal(rows, width):
    data = {"rows": [{"a": a, "b": b} for a, b in rows]}
    document = Document("k", data, blocks=(Table("rows", (Column("A", "a"), Column("B", "b"))),))
    plain = text_of(document, Output.PLAIN, PIPED)
    assert [line.count("\t") for line in plain.split("\n")[:-1]] == [1] * len(rows)
    for text in (plain, text_of(document, Output.TABLE, Page(width, colour=False))):
        text.encode()
        assert not [char for char in text if ord(char) < 32 and char not in "\n\t"]
    assert len(text_of(document, Output.TABLE, PIPED).split("\n")) == len(rows) + 2


def test_a_sentence_with_a_column_of_few_characters_makes_blocks_of_the_rows():
    """Row by row the table takes fewer lines, and each sentence is read from left to right."""
    rows = [
        {
            "name": f"orders-of-2026-{tasks}",
            "at": f"2026-11-24T16:10:0{tasks}Z",
            "what": f"commit of {tasks} tasks: the next start fences nothing, as there is no task count record as yet",
        }
        for tasks in (2, 3)
    ]
    columns = (Column("NAME", "name"), Column("AT", "at"), Column("WHAT", "what"))
    wordy = Document("k", {"rows": rows}, blocks=(Table("rows", columns),))
    narrow = text_of(wordy, Output.TABLE, Page(50, colour=False)).splitlines()
    assert narrow[:4] == [
        "NAME  orders-of-2026-2",
        "AT    2026-11-24T16:10:02Z",
        "WHAT  commit of 2 tasks: the next start fences",
        "      nothing, as there is no task count record as",
    ]
    assert text_of(wordy, Output.TABLE, Page(80, colour=False)).startswith(
        "NAME              AT                    WHAT\n"
    )


@given(st.lists(ANY_TEXT, min_size=1, max_size=4), st.integers(min_value=40, max_value=120))
@example(["0" * 41] * 2, 40)  # one column of equal rows that is too wide
def test_a_table_keeps_to_the_width_but_for_words_that_are_longer(values, width):
    from eosctl.render.cells import columns_across

    data = {"rows": [{"a": value, "b": value * 3, "c": 1} for value in values]}
    columns = (Column("A", "a"), Column("B", "b"), figure("C", "c"))
    text = text_of(Document("k", data, blocks=(Table("rows", columns),)), Output.TABLE, Page(width, colour=False))
    for line in text.split("\n"):
        longest = max(map(columns_across, line.split(" ")))
        assert columns_across(line) <= max(width, longest + len("A  ")), line


ROWS = [
    {"name": "b", "count": 10, "lag": {"skipped": "unreachable"}},
    {"name": "a", "count": 9, "lag": 4},
    {"name": "c", "count": None, "lag": 40},
]
COUNTED = Table("rows", (Column("NAME", "name"), figure("COUNT", "count"), figure("LAG", "lag")))
OTHER = Table("inner.more", (Column("TOPIC", "topic"),))


def document(rows: list[dict[str, object]] | None = None) -> Document:
    data = {"rows": ROWS if rows is None else rows, "inner": {"more": [{"topic": "t"}, {"topic": "s"}]}}
    return Document("k", data, blocks=(COUNTED, OTHER))


def names(sort: str | None, limit: int | None = None) -> list[str]:
    return [row["name"] for row in document().arranged(sort, limit).data["rows"]]


def test_figures_are_sorted_by_size_and_what_is_not_known_comes_last():
    assert names("count") == ["a", "b", "c"]
    assert names("LAG") == ["a", "c", "b"]
    assert names("-name") == ["c", "b", "a"]


def test_a_limit_keeps_the_first_rows_and_shows_their_number():
    limited = document().arranged("name", 2)
    assert limited.data["rows_left_out"] == 1
    assert text_of(limited, Output.TABLE, PIPED).endswith("\n2 of 3 rows are shown (--limit)\n")
    assert [row["name"] for row in json.loads(text_of(limited, Output.JSON, PIPED))["data"]["rows"]] == ["a", "b"]
    assert text_of(limited, Output.NAME, PIPED) == "a\nb\n"
    assert names(None, 0) == []


def test_the_table_that_has_the_column_is_sorted():
    inner = document().arranged("topic", 1).data
    assert ([row["topic"] for row in inner["inner"]["more"]], len(inner["rows"])) == (["s"], 3)


def test_without_either_nothing_changes():
    same = document()
    assert same.arranged(None, None) is same


def test_a_column_that_does_not_exist_is_named_with_those_that_do():
    with pytest.raises(UsageError, match="--sort: there is no column OWNER") as raised:
        document().arranged("owner", None)
    assert raised.value.hint == "the columns are: NAME, COUNT, LAG"


def test_streamed_rows_are_equal_to_the_same_rows_and_to_no_others() -> None:
    rows = RowStream(3, lambda: ROWS)
    assert rows == list(ROWS) == RowStream(3, lambda: ROWS)
    assert rows != RowStream(2, lambda: ROWS[:2])


def test_rows_that_are_streamed_are_sorted_and_limited_too():
    streamed = Document("k", {"rows": RowStream(3, lambda: ROWS)}, blocks=(COUNTED,)).arranged("name", 2)
    assert text_of(streamed, Output.NAME, PIPED) == "a\nb\n"


NAMES_ONLY = Table("connectors", (Column("CONNECTOR", "name"), figure("LSO", "lso")))


def streamed(count: int) -> Document:
    rows = RowStream(count, lambda: ({"name": f"ü{number}", "lso": number} for number in range(count)))
    return Document("many", {"connectors": rows, "count": count}, blocks=(NAMES_ONLY,), prose=("many",))


@pytest.mark.parametrize("output", Output)
@pytest.mark.parametrize("count", [0, 1, 3, 1500])
def test_rows_that_are_streamed_are_written_as_a_list_is(output: Output, count: int) -> None:
    document = streamed(count)
    kept = Document(
        "many", {"connectors": list(streamed(count).data["connectors"]), "count": count}, blocks=(NAMES_ONLY,),
        prose=("many",),
    )  # fmt: skip
    assert text_of(document, output, PIPED) == text_of(kept, output, PIPED)
    assert text_of(document, output, PIPED) == text_of(document, output, PIPED), "rows are made again each time"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec=None, exclude_categories=())),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=4,
)  # fmt: skip


@settings(max_examples=15)
@given(st.lists(VALUES, min_size=1, max_size=40))
def test_a_streamed_row_reads_as_the_value_that_it_is(values: list[object]) -> None:
    """Whatever text, number or half of a surrogate pair Kafka holds."""
    rows = [{"name": each, "lso": 1} for each in islice(cycle(values), 1001)]
    document = Document("many", {"connectors": RowStream(len(rows), lambda: rows)}, blocks=(NAMES_ONLY,))
    whole, (_, *lines) = text_of(document, Output.JSON, PIPED), text_of(document, Output.JSONL, PIPED).splitlines()
    assert not any(map(UNSEEN.search, [*whole.splitlines(), *lines]))
    assert json.loads(whole)["data"]["connectors"] == [json.loads(each)["data"] for each in lines] == rows


def test_rows_are_streamed_only_where_a_block_shows_them() -> None:
    with pytest.raises(TypeError, match="no block shows the rows that are streamed at 'connectors'"):
        Document("many", {"connectors": RowStream(1, lambda: [{"name": "a"}])})


def test_rows_that_are_streamed_are_made_one_at_a_time() -> None:
    made: list[int] = []

    def make():
        for number in range(5000):
            made.append(number)
            yield {"name": "a", "lso": number}

    document = Document("many", {"connectors": RowStream(5000, make)}, blocks=(NAMES_ONLY,))
    for output in (Output.JSON, Output.JSONL, Output.PLAIN):
        made.clear()
        pieces = pieces_of(document, output, PIPED)
        while "4" not in next(pieces):
            pass
        assert len(made) <= 6, f"{output} went through the rows before it wrote the first"


class State(StrEnum):
    OPEN = "open"


class Place(Struct, frozen=True):
    topic: str
    offset: int | Skipped


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (State.OPEN, "open"),
        (Skipped("no ACL"), {"skipped": "no ACL"}),
        ((1, 2.5), [1, 2.5]),
        ({"b", "a"}, ["a", "b"]),
        ({State.OPEN: (), 3: None}, {"open": [], "3": None}),
        (Place("orders", Skipped("too late")), {"topic": "orders", "offset": {"skipped": "too late"}}),
    ],
)
def test_values_become_json_types(value, expected):
    made = tree(value)
    assert made == expected
    assert type(made) is type(expected)


@pytest.mark.parametrize("value", [b"bytes", datetime(2026, 1, 1, tzinfo=UTC), {(1, 2): 3}, object()])
def test_a_value_without_an_obvious_form_is_refused(value):
    with pytest.raises(TypeError):
        tree({"deep": [value]})


def test_look_up_follows_a_path_and_stops_at_null_and_unknown():
    data = {"next": {"rule": "fence"}, "none": None, "unknown": {"skipped": "no ACL"}}
    assert look_up(data, "") == data
    assert look_up(data, "next.rule") == "fence"
    assert look_up(data, "none.rule") is None
    assert look_up(data, "unknown.rule") == {"skipped": "no ACL"}
    with pytest.raises(KeyError, match=r"no 'rul' on the way to 'next\.rul'"):
        look_up(data, "next.rul")


def test_a_header_is_one_word():
    with pytest.raises(ValueError, match="one word"):
        Column("LAST SEEN", "seen")


@pytest.mark.parametrize("block", [Table("rows", ()), Fields((), at="names")])
def test_a_block_must_find_its_place(block):
    with pytest.raises(TypeError, match="a block shows"):
        Document("k", {"rows": {}, "names": []}, blocks=(block,))


def test_the_envelope_has_five_fields():
    document = Document("k", {"n": 1}, as_of="2026-01-31T12:00:00.000Z", cluster_id="c1", version=2)
    assert document.envelope() == {
        "kind": "k",
        "version": 2,
        "as_of": "2026-01-31T12:00:00.000Z",
        "cluster_id": "c1",
        "data": {"n": 1},
    }


@pytest.mark.parametrize(
    ("timestamp_ms", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1769860800007, "2026-01-31T12:00:00.007Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (2**62, f"invalid:{2**62}"),
    ],
)
def test_times_are_rfc_3339_in_utc(timestamp_ms, text):
    assert rfc3339(timestamp_ms) == text


@given(st.integers(min_value=0, max_value=253402300799999))
def test_a_time_reads_back_as_itself(timestamp_ms):
    read = datetime.fromisoformat(rfc3339(timestamp_ms))
    assert divmod(read - datetime(1970, 1, 1, tzinfo=UTC), timedelta(milliseconds=1)) == (timestamp_ms, timedelta())


class Producer(Struct, frozen=True):
    epoch: Annotated[int | None, "its epoch"]
    state: Annotated[State, col("what it does", "DOES", tones={"open": Tone.WARN})]


class Row(Struct, frozen=True):
    topic_name: Annotated[str, "the topic"]
    is_open: Annotated[bool, "whether a transaction is open"]
    producers: Producer | Skipped | None = None
    offset: int | UnsetType = UNSET


def test_columns_take_header_meaning_side_and_colours_from_the_fields():
    own = Column("OWN", "is_open", "the table's sense")
    assert columns(Row, "producers.epoch topic_name", own, "producers.state") == (
        Column("EPOCH", "producers.epoch", "its epoch", align=Align.RIGHT),
        Column("TOPIC-NAME", "topic_name", "the topic"),
        own,
        Column("DOES", "producers.state", "what it does", tones={"open": Tone.WARN}),
    )


def test_a_flag_is_no_figure():
    assert [each.align for each in columns(Row, "is_open")] == [Align.LEFT]


@pytest.mark.parametrize("path", ["gone", "producers.gone", "topic_name.upper"])
def test_a_table_shows_no_field_that_its_rows_do_not_have(path):
    with pytest.raises(TypeError, match=f"Row has no field {path}"):
        columns(Row, path)


def test_a_row_takes_values_of_the_same_name_and_leaves_out_what_is_unset():
    made = row_of(Row, Place("orders", 3), topic_name="orders", is_open=True, producers=None)
    assert tree(made) == {"topic_name": "orders", "is_open": True, "producers": None, "offset": 3}
    assert tree(Row("orders", is_open=False)) == {"topic_name": "orders", "is_open": False, "producers": None}

"""One document in five formats, exactly."""

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from eosctl.render.document import Column, Document, Fields, Findings, Table, Tone, figure
from eosctl.render.formats import Output, text_of, text_of_envelope
from eosctl.render.layout import Page

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


def test_nothing_to_show_is_said():
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
    assert text_of(IDS, Output.TABLE, Page(38, colour=False)) == (
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


def test_what_two_rows_share_is_written_twice():
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


@given(st.lists(ANY_TEXT, min_size=1, max_size=4), st.integers(min_value=40, max_value=120))
def test_a_table_keeps_to_the_width_but_for_words_that_are_longer(values, width):
    from eosctl.render.layout import columns_across

    data = {"rows": [{"a": value, "b": value * 3, "c": 1} for value in values]}
    columns = (Column("A", "a"), Column("B", "b"), figure("C", "c"))
    text = text_of(Document("k", data, blocks=(Table("rows", columns),)), Output.TABLE, Page(width, colour=False))
    for line in text.split("\n"):
        longest = max(map(columns_across, line.split(" ")))
        assert columns_across(line) <= max(width, longest + len("A  ")), line

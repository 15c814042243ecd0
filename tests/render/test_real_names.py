"""Tables at 80 and 120 columns with connectors of 40 characters, topics of 60 and Debezium's offsets."""

import csv
from io import StringIO

import pytest
from msgspec.structs import replace

from eosctl.render.cells import Page, brief_of, brief_owner
from eosctl.render.document import Column, Document, Table, Tone, figure
from eosctl.render.formats import Output, text_of
from tests.render import real_names
from tests.render.real_names import ANSWERS, CONNECTORS, GOLDEN, TOPIC, WIDTHS, shown

PIPED = Page(None, colour=False)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_equals_its_golden_file(name: str, width: int) -> None:
    text = shown(name, width)
    assert text == (GOLDEN / f"{name}-{width}.txt").read_text()
    assert max(map(len, text.splitlines())) <= width


@pytest.mark.parametrize("width", [40, *WIDTHS])
def test_no_identifier_is_broken(width: int) -> None:
    assert all(text in shown("offsets-show", width) for text in (*CONNECTORS, "lsn=0/16F1C00", "position=3943"))
    assert TOPIC in shown("doctor", width)
    listed = shown("transactions-list", width)
    assert all(f"connect-commerce-{name}-{task}" in listed for name in CONNECTORS[:2] for task in range(2))


@pytest.mark.parametrize("name", ANSWERS)
def test_wide_is_what_a_pipe_gets(name: str) -> None:
    document = ANSWERS[name]()
    assert text_of(document, Output.WIDE, Page(80, colour=False)) == text_of(document, Output.TABLE, PIPED)


def test_wide_has_offsets_and_owners_whole() -> None:
    assert '"lsn": 24058880' in text_of(ANSWERS["offsets-show"](), Output.WIDE, PIPED)
    owner = f"task 0 of connector {CONNECTORS[0]} in Connect cluster connect-commerce"
    assert owner in text_of(ANSWERS["transactions-list"](), Output.WIDE, PIPED)


def test_csv_has_a_header_and_every_value_whole() -> None:
    rows = list(csv.DictReader(StringIO(text_of(ANSWERS["transactions-list"](), Output.CSV, PIPED))))
    assert [row["TRANSACTIONAL-ID"] for row in rows][:1] == [f"connect-commerce-{CONNECTORS[0]}-0"]
    assert (rows[0]["RUNNING-S"], rows[1]["RUNNING-S"], rows[5]["OWNER"]) == (
        *("", "12.3"),
        "unknown, shape of Kafka Streams",
    )


def test_name_has_the_first_column_only() -> None:
    assert text_of(ANSWERS["inspect-config"](), Output.NAME, PIPED).splitlines() == list(CONNECTORS)
    assert text_of(ANSWERS["doctor"](), Output.NAME, PIPED).splitlines()[-1] == CONNECTORS[2]


@pytest.mark.parametrize("output", [Output.CSV, Output.NAME])
def test_no_name_can_forge_a_row(output: Output) -> None:
    table = Table("rows", (Column("A", "a"), Column("B", "b")))
    hostile = Document("k", {"rows": [{"a": "x\n\x1b[2J\u202ey", "b": 'a"b,c\rd'}]}, blocks=(table,))
    lines = text_of(hostile, output, PIPED).splitlines()
    assert lines[-1].startswith(r"x\n\x1b[2J\u202ey")
    assert len(lines) == (2 if output is Output.CSV else 1)


LONG = tuple(f"{name[:39]}.{name[:38]}-{number}" for number, name in enumerate(CONNECTORS))


@pytest.mark.parametrize("name", sorted(ANSWERS.keys() - {"audit"}))
def test_a_connector_with_a_name_as_long_as_the_line_stands_whole_and_widens_nothing_else(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a name is a value on a separate line: the text beside it on a line is no longer than a label."""
    assert {len(each) for each in LONG} == {80}
    monkeypatch.setattr(real_names, "CONNECTORS", LONG)
    shown_lines = shown(name, 80).splitlines()
    assert any(each in line for line in shown_lines for each in LONG)
    assert [line for line in shown_lines if len(line) > 80 and not any(each[:-1] in line for each in LONG)] == []
    assert max(len(line.rstrip()) for line in shown_lines) <= 80 + len("TRANSACTIONAL-ID  connect-commerce--0")


def test_one_connector_with_a_long_name_does_not_make_a_table_a_list() -> None:
    rows = [row("a"), row("b", note="fine"), row(LONG[0], "sink", 3)]
    assert [line.split() for line in lines(*rows, width=80)] == [
        ["NAME", "KIND", "COUNT", "NOTE"],
        ["a", "source", "1", "-"],
        ["b", "source", "1", "fine"],
        [LONG[0]],
        ["sink", "3", "-"],
    ]


def test_a_question_that_nothing_answers_is_answered_in_one_line() -> None:
    """ "Does anything hang?": the summary says no, and a table that says it again is one line too many."""
    asked = Document("k", {"rows": []}, blocks=(Table("rows", COLUMNS, empty="nothing hangs"),))
    assert text_of(replace(asked, prose=("0 of 25 partitions.",)), Output.TABLE, PIPED) == "0 of 25 partitions.\n"
    assert text_of(asked, Output.TABLE, PIPED) == "nothing hangs\n", "without a summary the table says it"
    noted = replace(asked, prose=("0 of 25 partitions.",), notes=("1 was not read",))
    assert text_of(noted, Output.TABLE, PIPED) == "0 of 25 partitions.\n\n1 was not read\n", "unknown is not fine"


COLUMNS = (Column("NAME", "name"), Column("KIND", "kind"), figure("COUNT", "count"), Column("NOTE", "note"))


def lines(*rows: dict[str, object], width: int | None, most: int | None = None) -> list[str]:
    table = Table("rows", COLUMNS, most=most)
    return text_of(Document("k", {"rows": list(rows)}, blocks=(table,)), Output.TABLE, Page(width, False)).splitlines()


def row(name: str, kind: str = "source", count: int = 1, note: str | None = None) -> dict[str, object]:
    return {"name": name, "kind": kind, "count": count, "note": note}


def test_a_column_without_a_value_continues_a_terminal_only() -> None:
    assert lines(row("a"), row("b", "sink"), width=80)[0].split() == ["NAME", "KIND", "COUNT"]
    assert lines(row("a"), row("b", "sink"), width=None)[0].split() == ["NAME", "KIND", "COUNT", "NOTE"]


def test_a_column_with_one_value_stays_if_it_fits_and_moves_above_the_table_otherwise() -> None:
    assert lines(row("a"), row("b"), width=80)[0].split() == ["NAME", "KIND", "COUNT"]
    assert lines(row("a" * 30), row("b" * 30, count=2), width=40) == [
        f"{'NAME':30}  COUNT",
        f"{'a' * 30}      1",
        f"{'b' * 30}      2",
        "all: KIND source",
    ]


def test_a_value_that_is_a_warning_stays_in_its_column() -> None:
    table = Table("rows", (Column("NAME", "name"), Column("WELL", "well", tones={"no": Tone.BAD})))
    rows = [{"name": "a" * 18, "well": "no"}, {"name": "b" * 18, "well": "no"}]
    text = text_of(Document("k", {"rows": rows}, blocks=(table,)), Output.TABLE, Page(20, colour=False))
    assert "all:" not in text


def test_of_many_rows_five_are_shown_with_a_count_and_all_in_a_pipe() -> None:
    rows = [row(f"n{number}", count=number) for number in range(9)]
    assert lines(*rows, width=80, most=5)[-2:] == ["n4    source      4", "and 4 more: -o wide shows all"]
    assert len(lines(*rows, width=None, most=5)) == 10
    assert len(lines(*rows[:6], width=80, most=5)) == 7, "one more is shown, not counted"


def test_a_statement_about_all_rows_is_true_of_hidden_rows_too() -> None:
    rows = [row("n" * 40 + str(number), "sink" if number == 8 else "source") for number in range(9)]
    assert not any("KIND source" in line for line in lines(*rows, width=50, most=5))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"position": 3943}, "position=3943"),
        ({"lsn": 24_058_880, "txId": 771, "ts_usec": 1}, "lsn=0/16F1C00"),
        ({"lsn": 24_058_880, "ts_usec": 1, "snapshot": True}, "lsn=0/16F1C00,snapshot"),
        ({"lsn": 24_058_880}, "lsn=24058880"),
        ({"file": "mysql-bin.000003", "pos": 154, "ts_sec": 1, "row": 1}, "file=mysql-bin.000003,pos=154"),
        ({"a": 1, "b": None}, "a=1,b=-"),
        ({"a\x1b[2J": "b\u202e"}, r"a\x1b[2J=b\u202e"),
        ({}, "{}"),
        (None, "-"),
        ({"skipped": "why"}, "unknown"),
    ],
)
def test_an_offset_in_short(value: object, text: str) -> None:
    assert brief_of("value")({"value": value}) == text


def test_two_offsets_that_differ_never_look_the_same() -> None:
    a, b = {"lsn": 24_058_880, "txId": 771}, {"lsn": 24_058_880, "txId": 772}
    row = {"a": a, "b": b}
    assert (brief_of("a", "b")(row), brief_of("b", "a")(row)) == ("lsn=24058880,txId=771", "lsn=24058880,txId=772")
    assert brief_of("a", "b")({"a": a, "b": dict(a)}) == "lsn=0/16F1C00"


def test_an_owner_in_short() -> None:
    task, leader = {"connector": "orders", "task": 0}, {"connector": None, "task": None}
    assert brief_owner({"owner": "task 0 …", "owners": [task]}) == "orders/0"
    assert brief_owner({"owner": "…", "owners": [task, leader]}) == "orders/0 or leader"
    assert brief_owner({"owner": "unknown", "owners": []}) == "unknown"
    assert brief_owner({"owner": "…", "owners": [{"connector": "a\x1b[2J", "task": 1}]}) == r"a\x1b[2J/1"


def test_one_long_name_stands_above_its_row_and_the_others_stay_a_table() -> None:
    name = "commerce.checkout.postgresql-change-data-capture.europe-west-1.production"
    rows = [
        {"name": "orders", "kind": "sink", "count": 3, "note": "runs"},
        {"name": name, "kind": "source", "count": 12, "note": "stands"},
        {"name": "payments", "kind": "source", "count": 3, "note": "runs"},
    ]
    assert lines(*rows, width=60) == [
        "NAME      KIND    COUNT  NOTE",
        "orders    sink        3  runs",
        name,
        "          source     12  stands",
        "payments  source      3  runs",
    ]
    assert lines(rows[1], rows[1] | {"count": 1}, rows[2], width=60) == [
        "NAME      COUNT  NOTE",
        name,
        "             12  stands",
        name,
        "              1  stands",
        "payments      3  runs",
        "all: KIND source",
    ]


def test_a_row_with_two_long_names_makes_blocks_of_the_rows_and_names_alone_a_list() -> None:
    other = LONG[1]
    assert lines(row(LONG[0], other), row("b"), width=60)[:2] == [f"NAME  {LONG[0]}", f"KIND  {other}"]
    assert lines(row(LONG[0]), row(LONG[1]), width=60) == ["NAME", *LONG[:2], "all: KIND source, COUNT 1"]


def test_a_long_name_in_another_column_stands_above_its_row_too() -> None:
    assert lines(row("a", LONG[0], 12), row("b"), width=60) == [
        "NAME  KIND    COUNT",
        LONG[0],
        "a                12",
        "b     source      1",
    ]


def test_rows_that_share_their_first_cell_stand_below_it_where_the_page_is_too_narrow() -> None:
    columns = tuple(Column(name.upper(), name) for name in ("who", "does", "what"))
    table = Table("rows", (*columns, Column("STATE", "state", tones={"unknown": Tone.WARN})))
    rows = [
        {"who": who, "does": does, "what": f"connect-cluster-{does.lower()}-0", "state": "unknown"}
        for who in ("User:connect-worker", "User:b")
        for does in ("Read", "Write")
    ]
    text = text_of(Document("k", {"rows": rows}, blocks=(table,)), Output.TABLE, Page(40, colour=False))
    assert text.splitlines() == [
        "WHO",
        "  DOES   WHAT",
        "User:connect-worker",
        "  Read   connect-cluster-read-0",
        "  Write  connect-cluster-write-0",
        "User:b",
        "  Read   connect-cluster-read-0",
        "  Write  connect-cluster-write-0",
        "all of these: STATE unknown",
    ]

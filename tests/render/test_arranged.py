"""`--sort` and `--limit`: the rows of one table, in every format."""

import json

import pytest

from eosctl.errors import UsageError
from eosctl.render.document import Column, Document, RowStream, Table, figure
from eosctl.render.formats import Output, text_of
from eosctl.render.layout import Page

ROWS = [
    {"name": "b", "count": 10, "lag": {"skipped": "unreachable"}},
    {"name": "a", "count": 9, "lag": 4},
    {"name": "c", "count": None, "lag": 40},
]
TABLE = Table("rows", (Column("NAME", "name"), figure("COUNT", "count"), figure("LAG", "lag")))
OTHER = Table("inner.more", (Column("TOPIC", "topic"),))
PIPED = Page(None, colour=False)


def document(rows: list[dict[str, object]] | None = None) -> Document:
    data = {"rows": ROWS if rows is None else rows, "inner": {"more": [{"topic": "t"}, {"topic": "s"}]}}
    return Document("k", data, blocks=(TABLE, OTHER))


def names(sort: str | None, limit: int | None = None) -> list[str]:
    return [row["name"] for row in document().arranged(sort, limit).data["rows"]]


def test_figures_are_sorted_by_size_and_what_is_not_known_comes_last():
    assert names("count") == ["a", "b", "c"]
    assert names("LAG") == ["a", "c", "b"]
    assert names("-name") == ["c", "b", "a"]


def test_a_limit_keeps_the_first_and_says_how_many_there_are():
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


def test_rows_that_are_streamed_are_sorted_and_limited_too():
    streamed = Document("k", {"rows": RowStream(3, lambda: ROWS)}, blocks=(TABLE,)).arranged("name", 2)
    assert text_of(streamed, Output.NAME, PIPED) == "a\nb\n"

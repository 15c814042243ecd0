"""Rows that are made while they are written give the answer that a list of them gives."""

import pytest

from eosctl.render.document import Column, Document, RowStream, Table, figure
from eosctl.render.formats import Output, pieces_of, text_of
from eosctl.render.layout import Page

PIPED = Page(None, colour=False)
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

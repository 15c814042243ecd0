"""`--csv-text`: no cell of CSV is a formula, and each reads back as its value."""

import csv
import io

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eosctl.model.acls import AclBinding, Operation, topic
from eosctl.render.answers.acls import AclFormat, EmitOptions, emit_acls
from eosctl.render.cells import cell
from eosctl.render.document import Column, Document, Table
from eosctl.render.formats import Output, pieces_of
from eosctl.render.layout import Page

FORMULAS = ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "  =1", "'=1", "'", "''a", "\uff1d1", "=cmd|' /C calc'!A0")
BEGINNINGS = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
NAMES = st.sampled_from(FORMULAS) | st.text(st.sampled_from("=+-@'\t\r\n a,\"") | st.characters(codec="utf-8"))


def rows(text):
    return list(csv.reader(io.StringIO(text, newline="")))


def value_of(content):
    """What docs/scripting.md says: one apostrophe is taken away."""
    return content.removeprefix("'")


@given(NAMES)
@example("=1+1")
@example("'=1")
def test_no_cell_of_an_answer_is_a_formula_and_each_reads_back(name):
    table = Table("rows", (Column("NAME", "name"), Column("COUNT", "count"), Column("NONE", "none")))
    document = Document("x", {"rows": [{"name": name, "count": -1, "none": None}]}, blocks=(table,))
    [_, [found, count, none]] = rows("".join(pieces_of(document, Output.CSV, Page(80, False), text_cells=True)))
    assert not found.lstrip(" ").startswith(BEGINNINGS)
    assert value_of(found) == cell(name)
    assert (count, none) == ("-1", "")


@pytest.mark.parametrize("name", [name for name in FORMULAS if name.isprintable()])
def test_no_cell_of_emitted_acls_is_a_formula_and_each_reads_back(name):
    binding = AclBinding(f"={name}", Operation.READ, topic(name))
    text = emit_acls((binding,), AclFormat.CSV, EmitOptions(text_cells=True))
    [found] = rows(text)[1:]
    assert [value_of(each) for each in found] == [f"={name}", "Allow", "Read", "Topic", name, "literal", "*"]
    assert not any(each.lstrip(" ").startswith(BEGINNINGS) for each in found)

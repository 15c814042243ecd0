"""Names that would look like others, or drive the terminal: what a person reads and agrees to is what is there."""

import random
import unicodedata
from io import StringIO

import pytest

from eosctl.errors import Refused
from eosctl.render.cells import cell, escape_controls
from eosctl.render.console import Console, OutputOptions, Stream, Terminal
from eosctl.render.document import Column, Document, Table
from eosctl.render.formats import Output, text_of
from eosctl.render.layout import Page

HOSTILE = (
    *("\x1b[2J", "\r", "\x9b", "\u2028", "\ud800", "\x00"),
    *("\u202e", "\u2066", "\u2069", "\u200f", "\u061c"),
    *("\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u034f", "\u180e", "\ufe0f", "\u3164", "\U000e0041"),
)


def hostile_name(seed):
    """A name with some of these in it."""
    chosen = random.Random(seed)
    return "".join(chosen.choice((*HOSTILE, "orders", "ö", "日", "-")) for _ in range(8))


def is_seen(char):
    return char not in HOSTILE and unicodedata.category(char) not in {"Cc", "Cs", "Zl", "Zp", "Cf"}


@pytest.mark.parametrize("char", HOSTILE, ids=ascii)
def test_a_character_that_is_not_seen_is_written_as_an_escape(char):
    shown = cell(f"a{char}b")
    assert shown.startswith("a\\")
    assert all(map(is_seen, shown))


def test_names_in_any_script_are_left_alone():
    for name in ("Ötztal", "заказы", "注文", "طلبات", "הזמנות", "नमस्ते", "e\u0301"):
        assert escape_controls(name) == name


@pytest.mark.parametrize("seed", range(20))
def test_tables_warnings_narration_and_questions_show_names_as_they_are(seed):
    name = hostile_name(seed)
    table = Table("rows", (Column("NAME", "name"),))
    said = text_of(Document("x", {"rows": [{"name": name}]}, blocks=(table,)), Output.TABLE, Page(80, False))
    out, err = StringIO(), StringIO()
    streams = (Stream(StringIO("n\n"), 80), Stream(out, 80), Stream(err, 80))
    console = Console(Terminal(*streams, no_color=True), OutputOptions())
    console.warn(name)
    console.narrate(name)
    with pytest.raises(Refused):
        console.confirm(f"stop {name}?", yes=False)
    for text in (said, err.getvalue()):
        assert [ascii(char) for char in text if char != "\n" and not is_seen(char)] == []

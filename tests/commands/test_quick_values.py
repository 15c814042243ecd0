"""Words that are read without Typer's converters become what Typer would make of them."""

from enum import StrEnum
from math import inf
from pathlib import Path
from typing import Annotated

import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.main import get_command

from eosctl.shell.help import UNKNOWN, plain_value, read_plain_words_quickly


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


KINDS = {
    "whole": Annotated[int, typer.Option(min=-5, max=50)],
    "decimal": Annotated[float, typer.Option(min=0.001)],
    "colour": Annotated[Colour, typer.Option()],
    "file": Annotated[Path, typer.Option()],
    "text": Annotated[list[str], typer.Option()],
    "colours": Annotated[list[Colour], typer.Option()],
    "flag": Annotated[bool, typer.Option()],
}


def read(kind: str, word: str, *, quick: bool) -> object:
    """The value that a command with this option gets for the word, or the words in which it is refused."""
    app = typer.Typer()
    got: list[object] = []

    def command(value: object) -> None:
        got.append(value)

    command.__annotations__["value"] = KINDS[kind]
    app.command()(command)
    made = get_command(app)
    if quick:
        for each in made.params:
            read_plain_words_quickly(each)
    try:
        made.main([] if kind == "flag" else [f"--value={word}"], standalone_mode=False)
    except Exception as error:  # noqa: BLE001  # whatever Typer raises
        return type(error).__name__, str(error)
    return got


WORDS = st.one_of(
    st.integers(-100, 100).map(str),
    st.floats(-10, 100).map(str),
    st.text(max_size=5),
    st.sampled_from(["red", "RED", "0x1", "1_0", " 1", "1 ", "٣", "-0", "1e3", "inf", "/", "/etc/passwd", "-"]),
)


NUMBERS = {"whole", "decimal"}


@settings(max_examples=40)
@given(st.sampled_from(sorted(KINDS)), WORDS.filter(bool))  # an empty word is refused
def test_a_word_is_read_as_typer_reads_it(kind, word):
    quick, slow = read(kind, word, quick=True), read(kind, word, quick=False)
    if kind in NUMBERS and (isinstance(slow, tuple) or slow == [inf]):
        assert quick[0] == "BadParameter"
        assert quick[1].startswith((f"{word!r} is not a ", f"{word!r} is too large: give at most 1000000000"))
    else:
        assert repr(quick) == repr(slow)


@pytest.mark.parametrize(("kind", "word"), [(int, "12"), (float, "0.5"), (Colour, "red"), (str, "a"), (Path, "/gone")])
def test_plain_words_do_not_wait_for_pydantic(kind, word):
    assert plain_value(word, kind, typer.Option()) is not UNKNOWN

"""The README's pictures are those that `make pictures` draws."""

import re
from html import unescape
from pathlib import Path

from eosctl.cli import root_command
from tests.integration.pictures import SHOWN


def test_every_picture_is_of_the_command_in_its_title(root: Path):
    for name, command in SHOWN.items():
        text = unescape((root / "docs" / "pictures" / f"{name}.svg").read_text("utf-8")).replace("\xa0", " ")
        assert f"$ {command}" in text
        assert command.split()[1] in root_command().commands


def test_every_picture_that_a_page_shows_exists_and_every_picture_is_shown(root: Path):
    pages = {page: page.read_text("utf-8") for page in (root / "README.md", *(root / "docs").rglob("*.md"))}
    shown = {
        (page.parent / link).resolve()
        for page, text in pages.items()
        for link in re.findall(r"!\[[^\]]*\]\((.*?)\)", text)
    }
    assert {path for path in shown if not path.is_file()} == set()
    assert set((root / "docs" / "pictures").glob("*.svg")) - shown == set()


def test_no_picture_loads_anything_from_elsewhere(root: Path):
    for picture in (root / "docs" / "pictures").glob("*.svg"):
        text = re.sub(r'xmlns(:\w+)?="[^"]*"|<!--.*?-->', "", picture.read_text("utf-8"))
        assert "http:" not in text.replace("http://127.0.0.1", "")
        assert "https:" not in text
        assert "@font-face" not in text

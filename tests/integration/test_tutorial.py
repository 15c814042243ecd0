"""The tutorial, word by word, as a new user would follow it."""

from pathlib import Path

import pytest

from eosctl.sandbox.supervisor import take_down
from tests.integration.pages import not_seen, shell, steps_of

TUTORIAL = Path(__file__).resolve().parents[2] / "docs" / "tutorial.md"


@pytest.mark.kafka
def test_the_tutorial_shows_its_documented_output(tmp_path, columns: str):
    steps = list(steps_of(TUTORIAL))
    assert len(steps) > 20
    environment = {"COLUMNS": columns} | {name: str(tmp_path / name) for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME")}
    working = tmp_path / "tutorial"
    working.mkdir()
    try:
        with shell(working, environment) as bash:
            for step in steps:
                bash.follow(step)
    finally:
        take_down(working / "kafka")


def test_a_hidden_part_is_noticed():
    output = "TOPIC  PARTITION  LAST\ncopied         0  1001\ndone"
    assert not_seen(("…", "copied 0 1001"), output) is None
    assert not_seen(("TOPIC …", "done"), output) is None
    assert not_seen(("copied 0 2002",), output) == "copied 0 2002"
    assert not_seen(("done", "copied … 1001"), output) == "copied … 1001"


def test_at_another_width_words_may_be_arranged_differently_and_none_may_be_missing():
    shown = ("CONNECTOR  moved", "TASKS      1 …")
    wide = "CONNECTOR  TASKS\nmoved          1"
    assert not_seen(shown, wide, same_lines=False) is None
    assert not_seen(shown, wide) == "CONNECTOR  moved"
    assert not_seen(shown, wide.replace("1", "12"), same_lines=False) == "TASKS      1 …"

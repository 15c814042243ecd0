"""What a live screen has below its clusters: the last narration, and the last warning since."""

from types import SimpleNamespace

import pytest

from eosctl.render.live import LiveScreen

PLACE, WARNING = "metrics at http://127.0.0.1:9/metrics", "not read: doctor"


@pytest.mark.parametrize(
    ("said", "below"),
    [
        ([], []),
        ([("narrate", PLACE)], [PLACE]),
        ([("narrate", PLACE), ("warn", WARNING)], [PLACE, f"warning: {WARNING}"]),
        ([("narrate", PLACE), ("warn", WARNING), ("warn", "later")], [PLACE, "warning: later"]),
        ([("narrate", PLACE), ("warn", WARNING), ("narrate", "all was read again")], ["all was read again"]),
        ([("warn", "x" * 100)], [f"warning: {'x' * 71}"]),
    ],
)
def test_a_warning_leaves_the_last_narration_where_it_is(said, below):
    frames = []
    terminal = SimpleNamespace(draw=lambda frame, _: frames.append(frame(80, 40)))
    screen = LiveScreen(SimpleNamespace(whole_terminal=lambda _: terminal), lambda: 0)
    for how, text in said:
        getattr(screen, how)(text)
    screen.show(["prod"], dict)
    assert frames[0].splitlines() == ["prod: no cycle has ended yet; q ends it", *([""] if below else []), *below]

"""Draws docs/pictures from real runs: `make pictures`. An ordinary run does not collect it.

A sandbox is brought into the states of the pictures, each command runs in a terminal, and its output becomes a picture
with the command as its title.
"""

import re
import shlex
from collections.abc import Sequence
from io import StringIO
from pathlib import Path

import pytest
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from eosctl.clients.wire import Wire
from eosctl.codecs.client_properties import client_properties
from eosctl.model.names import TopicPartition
from eosctl.sandbox.properties import SandboxSpec
from tests.faulty_sandbox import Sandbox
from tests.integration.hanging import UNVERIFIED, hang
from tests.integration.pages import shell, steps_of
from tests.integration.terminal import in_terminal
from tests.waiting import eventually

PICTURES = Path(__file__).resolve().parents[2] / "docs" / "pictures"
COLUMNS = 118
SHOWN = {
    "offsets-show": "eosctl offsets show --connector orders --offsets-topic orders-offsets",
    "migrate-offsets": "eosctl migrate-offsets --connector orders --to-topic orders-offsets --stop --dry-run",
    "inspect-config": "eosctl inspect-config",
    "fence": "eosctl fence --connector payments --dry-run",
    "transactions-hanging": "eosctl transactions hanging --max-transaction-timeout 0",
    "doctor": "eosctl doctor",
    "audit": "eosctl audit --connector orders",
}
"""The command of each picture."""
TOUR = ("offsets-show", "migrate-offsets", "audit")
"""The pictures that the README shows one after the other."""
SECONDS_A_PICTURE = 6
SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
FONT = 'Menlo, Consolas, "DejaVu Sans Mono", monospace'


def without_foreign_fonts(svg_format: str) -> str:
    """Rich's own frame, which loads a font from a host, with the viewer's fonts instead."""
    plain = re.sub(r"@font-face \{\{.*?\}\}\n", "", svg_format, flags=re.DOTALL)
    return plain.replace("Fira Code, monospace", FONT)


def draw(name: str, command: str, screen: str) -> None:
    """docs/pictures/NAME.svg: a terminal with that screen."""
    console = Console(record=True, width=COLUMNS, file=StringIO(), force_terminal=True, legacy_windows=False)
    console.print(Text.from_ansi(screen.rstrip("\n")), soft_wrap=False)
    frame = without_foreign_fonts(CONSOLE_SVG_FORMAT)
    svg = console.export_svg(title=f"$ {command}", theme=MONOKAI, code_format=frame, unique_id=name)
    (PICTURES / f"{name}.svg").write_text("".join(f"{line.rstrip()}\n" for line in svg.splitlines()), "utf-8")


def animate(name: str, shown: Sequence[str]) -> None:
    """docs/pictures/NAME.svg: these pictures in turn; only the first for viewers who want no motion."""
    pictures = [(PICTURES / f"{each}.svg").read_text("utf-8") for each in shown]
    sizes = [tuple(map(float, re.findall(r'viewBox="0 0 (\S+) (\S+)"', each)[0])) for each in pictures]
    width, height = (max(side) for side in zip(*sizes, strict=True))
    frames = [
        f'<g class="frame" style="animation-delay: {number * SECONDS_A_PICTURE}s">\n'
        + picture.replace("<svg ", f'<svg width="{size[0]}" height="{size[1]}" ', 1)
        + "</g>\n"
        for number, (picture, size) in enumerate(zip(pictures, sizes, strict=True))
    ]
    turn = len(shown) * SECONDS_A_PICTURE
    style = (
        f".frame {{opacity: 0; animation: turn {turn}s step-end infinite}}\n"
        f"@keyframes turn {{0% {{opacity: 1}} {100 / len(shown):.3f}% {{opacity: 0}}}}\n"
        "@media (prefers-reduced-motion: reduce)"
        " {.frame {animation: none} .frame:first-of-type {opacity: 1}}\n"
    )
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">\n<style>\n{style}</style>\n'
    head += f'<rect width="{width}" height="{height}" rx="8" fill="#0c0c0c"/>\n'  # behind pictures that are less high
    (PICTURES / f"{name}.svg").write_text(f"{head}{''.join(frames)}</svg>\n", "utf-8")


def settings_for(sandbox: Sandbox, directory: Path) -> dict[str, str]:
    """The environment in which commands need no options for this cluster, and find no profile of the user's."""
    return {
        "EOSCTL_BOOTSTRAP_SERVER": sandbox.bootstrap_servers,
        "EOSCTL_CONNECT_URL": sandbox.connect_url(1),
        "EOSCTL_GROUP_ID": "connect-cluster",
        "XDG_CONFIG_HOME": str(directory / "config"),
    }


@pytest.mark.timeout(600)
def test_draw(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the worker's directory too: file names in the pictures are those of no machine
    spec = SandboxSpec(workers=1, broker_config=UNVERIFIED, directory=tmp_path / "kafka")
    with Sandbox(spec) as sandbox:
        cluster = settings_for(sandbox, tmp_path)
        _set_the_stage(sandbox, tmp_path, cluster)
        for name, command in SHOWN.items():
            code, screen = in_terminal(shlex.split(command)[1:], COLUMNS, tmp_path, cluster, narrate=False)
            assert code in {0, 1}, screen
            draw(name, command, screen)
    animate("tour", TOUR)


def _set_the_stage(sandbox: Sandbox, directory: Path, cluster: dict[str, str]) -> None:
    """orders copies lines and runs; payments is stopped with one task's producer behind it; a transaction hangs."""
    with shell(directory, cluster) as bash:
        for step in steps_of(PICTURES.parent / "tutorial.md"):
            if step.commands.startswith("rest()"):
                bash.follow(step)
        for name in ("orders", "payments"):
            lines = directory / f"{name}.txt"
            lines.write_text("".join(f"{name} {number}\n" for number in range(1000)))
            config = f'{{"connector.class": "{SOURCE}", "file": "{name}.txt", "topic": "{name}"}}'
            bash.run(f"rest PUT /connectors/{name}/config '{config}'")
            eventually(
                lambda name=name: "1001" in bash.run(f"eosctl transactions lso --topic {name} || true"),
                f"lines in {name}",
            )
        bash.run("rest PUT /connectors/payments/stop")
        eventually(
            lambda: "STOPPED" in bash.run("eosctl inspect-config --connector payments || true"), "payments to stop"
        )
    with Wire(client_properties(bootstrap_server=sandbox.bootstrap_servers), timeout_s=30) as wire:
        hang(wire, TopicPartition("payments", 0), "connect-cluster-payments-0")

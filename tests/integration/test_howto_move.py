"""How to move a connector: each step of the page, in its order, what it says of a move that is cut short included."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from eosctl.sandbox.properties import SandboxSpec
from tests.faulty_sandbox import Sandbox
from tests.integration.file_connectors import values_in
from tests.integration.moves import CREATES_STOPPED, SETTING, STOPPABLE, Eosctl, Home, Lines, Place
from tests.integration.pages import Howto, shell
from tests.kafka_versions import spec_of

pytestmark = [pytest.mark.kafka, pytest.mark.workers, pytest.mark.variation, pytest.mark.timeout(600)]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "howto" / "move-a-connector.md"
FOUND = (0, 1, 3)


@pytest.fixture
def home(kafka_version: str) -> Iterator[Home]:
    """A worker: before 3.7 it cannot create stopped connectors, before 3.5 it cannot stop one."""
    with Sandbox(spec_of(kafka_version, workers=1)) as sandbox:
        yield Home(sandbox)


@pytest.fixture
def orders(home: Home, tmp_path: Path) -> Lines:
    return Lines(home, "orders", tmp_path)


def names(home: Home, directory: Path) -> dict[str, str]:
    """The page's names, and those here; the files that it names are laid out."""
    worker = home.sandbox.directory / "worker-1" / "worker.properties"
    (directory / "worker.properties").write_bytes(worker.read_bytes())
    return {"broker:9092": home.servers, "http://worker:8083": home.url}


def test_the_page_moves_a_connector_and_takes_it_back(home: Home, orders: Lines, tmp_path: Path, columns: str) -> None:
    moved = {"name": "orders", "config": orders.config(home) | {SETTING: "orders-offsets"}}
    (tmp_path / "moved.json").write_text(json.dumps(moved))
    with shell(tmp_path, {"XDG_STATE_HOME": str(tmp_path / "state"), "COLUMNS": columns}) as bash:
        page = Howto(PAGE, bash, names(home, tmp_path))
        page.follow("eosctl offsets show", codes=FOUND, shows="orders")
        page.follow("eosctl offsets export")
        page.follow("eosctl acl-plan")
        page.follow("eosctl apply acls.plan", "--yes")
        if home.version < STOPPABLE:
            by_hand(page, orders)
            return
        page.follow("eosctl migrate-offsets", shows="replication factor 1")
        cut_short(page, tmp_path)
        page.follow("eosctl apply PLAN", "--yes")
        orders.place = Place(home, "orders", "orders-offsets")
        compared = page.follow("eosctl offsets diff", codes=FOUND)
        assert "0 offsets differ" in compared
        orders.check_exactly_once()
        if home.version >= CREATES_STOPPED:
            renamed_and_taken_back(page, orders, tmp_path)


def by_hand(page: Howto, orders: Lines) -> None:
    """Workers that cannot stop a connector: the page's line is refused, and says what to do instead."""
    page.line("eosctl migrate-offsets")
    line, home = page.line("eosctl migrate-offsets"), orders.place.home
    refused = page.type(f"{line} --yes", codes=(6,))
    assert "delete connector orders (its offsets stay in the topic), run this again without --stop" in refused
    home.delete("orders")
    page.type(f"{line.replace('--stop --set-config --resume', '--yes')}", shows="left to do by hand: create connector")
    home.create("orders", orders.config(home) | {SETTING: "orders-offsets"})
    orders.place = Place(home, "orders", "orders-offsets")
    orders.check_exactly_once()


KILLED_BEFORE_THE_CONFIG = """
import os, signal
from eosctl.executors import performers
performers.set_connector_config = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
from eosctl.__main__ import main
main()
"""


def cut_short(page: Howto, directory: Path) -> None:
    """The page's move, killed after the offsets were written and before the config is changed; then named again."""
    line = page.line("eosctl migrate-offsets")
    environment = {**os.environ, "XDG_STATE_HOME": str(directory / "state")}
    killed = subprocess.run(
        [sys.executable, "-c", KILLED_BEFORE_THE_CONFIG, *page.real(line).split()[1:], "--yes"],
        cwd=directory,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert re.search(r"\d+\. done: \d+ offset", killed.stderr)
    [plan] = re.findall(r"the plan is kept in (\S+);", killed.stderr)
    page.call(PLAN=plan)
    again = page.type(f"{line} --dry-run", codes=FOUND)
    assert f"an earlier run was cut short: `eosctl apply {Path(plan).name} -b " in again


def renamed_and_taken_back(page: Howto, orders: Lines, directory: Path) -> None:
    """To a new name, back with the undo that the move names, there again, and the old connector deleted."""
    home = orders.place.home
    page.type("rm -r before && eosctl offsets export before/ -b broker:9092 --connect-url http://worker:8083")
    stay = page.follow("eosctl migrate-offsets", "--yes", stay=True)
    [undo] = re.findall(r"to roll it back[^:]*: eosctl undo\s+(\S+)", stay)
    assert "delete connector orders once orders2 runs" in stay
    diff = "eosctl offsets diff before/ live -b broker:9092 --connect-url http://worker:8083"
    page.type(f"{diff} --connector orders --rename-to orders2", shows="0 offsets differ")
    page.call(**{"PLAN.undo": undo})
    left = page.last("eosctl undo", "--yes")
    assert "delete connector orders2" in left
    page.type("curl -X DELETE http://worker:8083/connectors/orders2")
    page.type(diff, shows="0 offsets differ")
    orders.check_exactly_once()
    page.follow("eosctl migrate-offsets", "--yes")
    page.follow("curl -X DELETE")
    assert home.ask("GET", "/connectors/orders") == 404
    orders.place = Place(home, "orders2", "orders-offsets")
    orders.check_exactly_once()
    assert [each.split()[:2] for each in page.left] == [["eosctl", "undo"]]


def test_a_move_to_another_cluster_is_taken_back_as_the_page_says(
    eosctl: Eosctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with Sandbox(SandboxSpec(workers=1)) as first, Sandbox(SandboxSpec(workers=1)) as second:
        here, there = Home(first), Home(second)
        orders = Lines(here, "orders", tmp_path)
        moved = eosctl(
            "migrate-offsets", "-b", here.servers, "--group-id", here.group_id, "--connect-url", here.url,
            "--connector", "orders", "--to-bootstrap-server", there.servers, "--to-connect-url", there.url,
            "--to-config-topic", there.config_topic, "--to-topic", "orders-offsets",
            "--stop", "--set-config", "--resume", "--yes",
        )  # fmt: skip
        assert moved.exit_code == 0, moved.stderr
        [printed] = re.findall(r"to roll it back[^:]*: eosctl (.+)", moved.stdout)
        taken_back = eosctl(*shlex.split(printed), "--yes")
        assert taken_back.exit_code == 0, taken_back.stderr
        assert "delete connector orders, which the plan created" in taken_back.stdout
        assert there.ask("DELETE", "/connectors/orders") == 204
        orders.check_exactly_once()
        assert values_in(there.servers, "orders") == []

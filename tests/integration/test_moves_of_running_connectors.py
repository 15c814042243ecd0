"""Moves of a connector that keeps copying: the output is true at that moment, and works when it is pasted."""

import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from eosctl.executors import connectors
from tests.commands.conftest import Eosctl, Ran
from tests.conftest import FreshName
from tests.faulty_sandbox import Sandbox
from tests.integration.moves import SETTING, Home, Lines, flowing, worker_of
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(180)]


@pytest.fixture
def lines(connect_sandbox: Sandbox, fresh_name: FreshName, tmp_path: Path) -> Iterator[Lines]:
    """A running connector that has copied all records so far."""
    home = Home(connect_sandbox)
    made = Lines(home, fresh_name("flowing"), tmp_path)
    yield made
    home.delete_now(made.topic)


@pytest.fixture
def move(lines: Lines, eosctl: Eosctl) -> Callable[..., Ran]:
    """`move("--stop", …)`: to a topic of its own."""
    home = lines.place.home
    here = ("-b", home.servers, "--group-id", home.group_id, "--connector", lines.topic)
    size = ("--partitions", 1, "--replication-factor", 1)
    return lambda *more: eosctl("migrate-offsets", *here, "--to-topic", f"{lines.topic}-own", *size, *more)


def own_topic(lines: Lines) -> str | None:
    """The offsets topic that its config names."""
    return worker_of(lines.place.home).ask("GET", f"/connectors/{lines.topic}/config").get(SETTING)


def test_an_undo_after_the_connector_continued_names_the_command_that_takes_it_back(
    lines: Lines, move: Callable[..., Ran], eosctl: Eosctl
):
    url = ("--connect-url", lines.place.home.url)
    with flowing(lines):
        undo, later = printed(move(*url, "--stop", "--set-config", "--resume", "--yes"), lines)
        eventually(lambda: eosctl(*shlex.split(undo), "--dry-run").exit_code == 8, "the connector to have gone on")
        refused = eosctl(*shlex.split(undo), "--yes")
        assert refused.exit_code == 8
        [named] = re.findall(
            rf"hint: connector {lines.topic} has written newer offsets; `eosctl (.+)` moves its present", refused.stderr
        )
        assert named == later
        back = eosctl(*shlex.split(named), "--yes")
        assert back.exit_code == 0, back.stderr
    assert own_topic(lines) is None
    lines.check_exactly_once()


def printed(ran: Ran, lines: Lines) -> tuple[str, str]:
    """The command that rolls a move back while the connector has not gone on, and the one for afterwards."""
    assert ran.exit_code == 0, ran.stderr
    condition = f"to roll it back, until connector {lines.topic} writes newer offsets: eosctl "
    [undo] = re.findall(re.escape(condition) + "(.+)", ran.stdout)
    [later] = re.findall(r"to go back after that: eosctl (.+)", ran.stdout)
    return undo, later


def check_refused_once_gone_on(command: str, lines: Lines, eosctl: Eosctl) -> None:
    """The printed command is possible until the connector writes newer offsets, and changes nothing afterwards."""
    assert eosctl(*shlex.split(command), "--dry-run").exit_code == 0
    lines.write(60)
    eventually(lambda: f"line {lines.count - 1}".encode() in lines.copied(), "the connector to have gone on")
    refused = eosctl(*shlex.split(command), "--yes")
    assert (refused.exit_code, f"connector {lines.topic} has written newer offsets" in refused.stderr) == (8, True)
    assert own_topic(lines) is None
    lines.check_exactly_once()


def test_a_move_that_had_nothing_to_write_is_not_rolled_back_once_the_connector_has_continued(
    lines: Lines, move: Callable[..., Ran], eosctl: Eosctl
):
    """Both topics hold the same offsets then; later the other one holds old ones, which would repeat records."""
    _, later = printed(
        move("--connect-url", lines.place.home.url, "--stop", "--set-config", "--resume", "--yes"), lines
    )
    back = eosctl(*shlex.split(later), "--yes")
    undo, _ = printed(back, lines)
    assert f"topic {lines.place.home.offsets_topic} held the offsets already" in back.stdout
    check_refused_once_gone_on(undo, lines, eosctl)


def test_the_roll_back_of_a_roll_back_is_refused_once_the_connector_has_continued(
    lines: Lines, move: Callable[..., Ran], eosctl: Eosctl
):
    """It would write the offsets of the first plan into its own topic again."""
    undo, _ = printed(move("--connect-url", lines.place.home.url, "--stop", "--set-config", "--resume", "--yes"), lines)
    redo, _ = printed(eosctl(*shlex.split(undo), "--yes"), lines)
    check_refused_once_gone_on(redo, lines, eosctl)


def test_a_plan_of_a_running_connector_takes_the_offsets_that_are_found_when_apply_has_stopped_it(
    lines: Lines, move: Callable[..., Ran], eosctl: Eosctl, tmp_path: Path
):
    file, here = tmp_path / "flowing.plan", ("-b", lines.place.home.servers, "--connect-url", lines.place.home.url)
    with flowing(lines):
        made = move("--connect-url", lines.place.home.url, "--stop", "--set-config", "--resume", "--plan-file", file)
        assert made.exit_code == 0, made.stderr
        assert f"read the offsets of connector {lines.topic} again, and plan the rest with them" in made.stdout
        lines.write(300)
        tried = eosctl("apply", file, *here, "--dry-run")
        assert tried.exit_code == 0, tried.stderr
        assert "planned again after the stop" in tried.stdout
        applied = eosctl("apply", file, *here, "--yes")
        assert applied.exit_code == 0, applied.stderr
        assert own_topic(lines) == f"{lines.topic}-own"
        again = eosctl("apply", file, *here, "--yes")
        assert (again.exit_code, "was carried out before" in again.stderr) == (8, True)
    lines.check_exactly_once()
    [state] = [
        row.split(",")[3] for row in eosctl("plans", "list", "-o", "csv").stdout.splitlines() if lines.topic in row
    ]
    assert state == "done"


def test_a_plan_of_a_restore_of_a_running_connector_is_reviewed_while_it_runs_and_goes_back_to_the_file(
    lines: Lines, eosctl: Eosctl, tmp_path: Path
):
    before, plan, count = tmp_path / "before.json", tmp_path / "back.plan", lines.count
    here = ("-b", lines.place.home.servers, "--connect-url", lines.place.home.url)
    group = (*here, "--group-id", lines.place.home.group_id)
    exported = eosctl("offsets", "export", before, "--connector", lines.topic, *group)
    assert exported.exit_code == 0, exported.stderr
    with flowing(lines):
        restore = ("offsets", "restore", before, "--connector", lines.topic, *group, "--stop", "--resume")
        made = eosctl(*restore, "--plan-file", plan)
        assert made.exit_code == 0, made.stderr
        steps = [f"stop connector {lines.topic}", f"read the offsets of connector {lines.topic} again, and plan the"]
        places = [made.stdout.find(each) for each in steps]
        assert -1 < places[0] < places[1], made.stdout
        lines.write(300)
        last = f"line {lines.count - 1}".encode()
        eventually(lambda: last in lines.copied(), "the connector to have gone on after its plan was made")
        applied = eosctl("apply", plan, *here, "--yes")
        assert applied.exit_code == 0, applied.stderr
    again = f"line {count}".encode()
    eventually(lambda: lines.copied().count(again) == 2, "the first line behind the file's position to come again")
    assert lines.copied().count(f"line {count - 1}".encode()) == 1


def test_each_step_including_the_stop_is_reported_once(lines: Lines, move: Callable[..., Ran]):
    moved = move("--connect-url", lines.place.home.url, "--stop", "--yes", "-o", "json")
    assert moved.exit_code == 0, moved.stderr
    assert moved.stderr.count(f"connector {lines.topic} is STOPPED and has no tasks") == 1
    assert f"stopping connector {lines.topic}" in moved.stderr


def test_ctrl_c_during_the_stop_names_the_connector_and_the_next_step(
    lines: Lines, move: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
):
    url = lines.place.home.url
    send_stop = connectors.send_stop

    def interrupted(rest: object, connector: str) -> None:
        send_stop(rest, connector)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(connectors, "send_stop", interrupted)
        ran = move("--connect-url", url, "--stop", "--set-config", "--resume", "--yes")
    assert ran.exit_code == 130
    assert (
        f"eosctl: error: interrupted in step 1, stop connector {lines.topic} and wait until it has no tasks: whether "
        "it was done is not known\n"
    ) in ran.stderr
    [request] = re.findall(
        r"hint: run the same command again, or resume it with its old offsets: curl (.+)", ran.stderr
    )
    assert request == f"-X PUT {url}/connectors/{lines.topic}/resume"
    assert lines.place.home.ask("PUT", request.removeprefix(f"-X PUT {url}")) < 400
    lines.check_exactly_once()
    assert move("--connect-url", url, "--stop", "--set-config", "--resume", "--yes").exit_code == 0
    lines.check_exactly_once()


def test_a_worker_that_is_needed_is_named_and_not_written_to_before_the_user_names_it(
    lines: Lines, move: Callable[..., Ran]
):
    ran = move("--stop", "--yes")
    assert ran.exit_code == 8
    url = lines.place.home.url
    hint = f"hint: give --connect-url {url}, if it is one of your workers: members of the Connect group"
    assert hint in ran.stderr
    assert "Plan migrate-offsets" not in ran.stderr
    lines.check_exactly_once()

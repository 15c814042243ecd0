"""`eosctl connector show` and `list` beside real workers: each state, and printed commands run unchanged."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.commands.conftest import Typed
from tests.conftest import FreshName
from tests.faults.site import BREAKING
from tests.faulty_sandbox import Sandbox
from tests.integration.audit_site import Eosctl
from tests.integration.connect import PARTITIONS, Mirror, Worker
from tests.integration.debezium import Table, debezium_spec
from tests.integration.file_connectors import FileConnectors, wait_for
from tests.integration.moves import Home
from tests.integration.producers import create_topic
from tests.shared_sandboxes import SharedSandboxes

pytestmark = [pytest.mark.kafka, pytest.mark.workers]

ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
BUGS = "EOS003"
SCREEN = (80, 42)
"""Columns and lines that an ordinary connector takes."""
LABEL = 18
"""Columns before a name that has a line of its own."""


class Site:
    """The connectors of one worker, and what eosctl says of them."""

    def __init__(self, sandbox: Sandbox, eosctl: Eosctl, directory: Path) -> None:
        self._eosctl, self.servers, self.url = eosctl, sandbox.bootstrap_servers, sandbox.connect_url(1)
        self.sandbox = sandbox
        self.connectors = FileConnectors(self.url, self.servers, directory)
        self.options = ["-b", self.servers, "--connect-url", self.url, "--group-id", "connect-cluster"]

    def create(self, name: str, **more: str) -> str:
        self.connectors.file(name).write_text("".join(f"line {number}\n" for number in range(5)))
        self.connectors.create(name, {"exactly.once.support": "required", **more})
        return name

    def run(self, *args: str) -> tuple[int, Any]:
        ran = self._eosctl(*args, "-o", "json")
        return ran.exit_code, json.loads(ran.stdout)

    def show(self, name: str, *more: str) -> tuple[int, Any]:
        """The exit code and the answer, without the bugs of older workers, which concern each source."""
        code, document = self.run("connector", "show", name, *(more or self.options))
        shown = document["data"]["connector"]
        kept = {part: [each for each in shown[part] if BUGS not in str(each)] for part in ("findings", "next")}
        return 0 if code == 1 and not ids(kept) else code, {**shown, **kept}

    def screen(self, name: str, *more: str) -> list[str]:
        """The lines at a terminal; none is wider but for commands, and for names, which stay whole to be copied.

        Without the bugs of older workers, which concern each source.
        """
        shown = Typed(SCREEN[0]).run("connector", "show", name, *(more or self.options)).stdout
        lines = [ESCAPE.sub("", line) for line in shown.splitlines()]
        wide = [line for line in lines if len(line) > SCREEN[0] and len(line) - len(max(line.split(), key=len)) > LABEL]
        assert [line for line in wide if not line.strip().startswith(("eosctl ", "curl ", "kafka-"))] == []
        blocks = "\n".join(lines).split("\n\n")
        return "\n\n".join(each for each in blocks if BUGS not in each).splitlines()

    def status(self, name: str) -> Any:  # what the worker answers
        return httpx.get(f"{self.url}/connectors/{name}/status", timeout=60).json()

    def await_states(self, name: str, *states: str) -> None:
        wait_for(lambda: self.connectors.states(name), lambda found: found == [*states], f"tasks of {name}")

    def request(self, method: str, path: str) -> None:
        assert httpx.request(method, f"{self.url}/connectors/{path}", timeout=60).is_success


@pytest.fixture
def site(moves_home: Sandbox, eosctl: Eosctl, tmp_path: Path) -> Iterator[Site]:
    found = Site(moves_home, eosctl, tmp_path)
    yield found
    for name in [each.stem for each in tmp_path.glob("*.txt")]:
        found.connectors.delete(name)


def ids(connector: Any) -> list[str]:  # data.connector
    return [each["id"] for each in connector["findings"] if each["severity"] != "info"]


def test_a_healthy_connector_with_its_id_its_offset_and_its_topic(site: Site, fresh_name: FreshName):
    name = site.create(fresh_name("shown"))
    site.connectors.await_last(name, "line 4")
    code, shown = site.show(name)
    [task] = site.status(name)["tasks"]
    assert [(each["id"], each["state"], each["worker"]) for each in shown["tasks"]] == [
        (0, "RUNNING", task["worker_id"])
    ]
    [own] = shown["transactional_ids"]
    assert (own["transactional_id"], own["state"]) == (f"connect-cluster-{name}-0", "CompleteCommit")
    [offset] = shown["offsets"]
    assert offset["kafka_effective"]["value"] == site.connectors.offsets(name)[0]["offset"]
    assert [each["topic"] for each in shown["output_topics"]] == [name]
    assert shown["exactly_once"]["effective"] == "yes"
    assert (code, ids(shown), shown["next"], shown["state"]) == (0, [], [], "RUNNING")
    assert len(site.screen(name)) <= SCREEN[1]


def test_a_failed_connector_whose_printed_commands_explain_and_restart_it(
    site: Site, fresh_name: FreshName, tmp_path: Path
):
    name = site.create(fresh_name("failing"), **BREAKING)
    site.await_states(name, "FAILED")
    code, shown = site.show(name)
    trace = site.status(name)["tasks"][0]["trace"]
    assert shown["tasks"][0]["trace"] == trace.splitlines()[0]
    assert shown["tasks"][0]["cause"] in trace
    assert (code, shown["state"], ids(shown)) == (1, "FAILED", ["EOS108"])
    assert "not exist: nothing was written there yet" in shown["output_topics"]["skipped"]
    explain, restart = [each["command"] for each in shown["next"]]
    code, document = site.run(*explain.removeprefix("eosctl ").split())
    assert (code, document["data"]["next"][-1]["command"]) == (0, restart)
    saved = str(tmp_path / "saved.snapshot")
    assert site.run("snapshot", "save", saved, *site.options)[0] in {0, 3}
    assert site.show(name, "--snapshot", saved)[1]["tasks"] == shown["tasks"]
    site.connectors.create(name, {"errors.tolerance": "all", **BREAKING})
    site.await_states(name, "RUNNING")


def test_the_restart_that_is_printed_is_done_as_it_stands(site: Site, fresh_name: FreshName):
    name = site.create(fresh_name("again"))
    site.connectors.await_last(name, "line 4")
    fenced = site.run("fence", "--connector", name, "--force", "--yes", *site.options)
    assert fenced[0] == 0
    with site.connectors.file(name).open("a") as file:
        file.write("one more\n")
    site.await_states(name, "FAILED")
    command = site.show(name)[1]["next"][-1]["command"]
    subprocess.run(command, shell=True, check=True, capture_output=True, timeout=60)  # as it is printed
    site.await_states(name, "RUNNING")
    site.connectors.await_last(name, "one more")


def test_a_paused_connector_is_resumed_as_printed(site: Site, fresh_name: FreshName):
    name = site.create(fresh_name("paused"))
    site.connectors.await_last(name, "line 4")
    site.request("PUT", f"{name}/pause")
    site.await_states(name, "PAUSED")
    code, shown = site.show(name)
    assert (code, shown["state"], shown["target_state"]) == (0, "PAUSED", "PAUSED")
    subprocess.run(shown["next"][-1]["command"], shell=True, check=True, capture_output=True, timeout=60)
    site.await_states(name, "RUNNING")


def test_a_sink_is_shown_by_what_its_group_has_read(site: Site, fresh_name: FreshName):
    source, name = site.create(fresh_name("written")), fresh_name("sunk")
    site.connectors.await_last(source, "line 4")
    sink = {"connector.class": "FileStreamSink", "topics": source, "file": str(site.connectors.directory / "out")}
    site.create(name, **sink)
    site.await_states(name, "RUNNING")

    def read() -> Any:  # data.connector
        return site.show(name)[1]

    def has_read(found: Any) -> bool:
        return isinstance(found["output_topics"], list) and bool(found["output_topics"])

    shown = wait_for(read, has_read, "commits of the sink")
    assert (shown["type"], shown["findings"]) == (
        "sink",
        [each for each in shown["findings"] if each["id"] == "EOS121"],
    )
    assert "skipped" in shown["exactly_once"]
    assert [each["topic"] for each in shown["output_topics"]] == [source]


def test_while_no_worker_answers_state_and_tasks_are_those_of_the_status_topic(
    site: Site, fresh_name: FreshName, tmp_path: Path
):
    name = site.create(fresh_name("unanswered"), **BREAKING)
    site.await_states(name, "FAILED")
    reported, saved = site.show(name)[1], str(tmp_path / "saved.snapshot")
    [row] = [
        each for each in site.run("connector", "list", *site.options)[1]["data"]["connectors"] if each["name"] == name
    ]
    site.sandbox.pause_worker(1)
    try:
        ran = site.run("connector", "show", name, "--timeout", "3", *site.options)
        listed = site.run("connector", "list", "--timeout", "3", *site.options)
        assert site.run("snapshot", "save", saved, "--timeout", "3", *site.options)[0] == 3
    finally:
        site.sandbox.resume_worker(1)
    data = ran[1]["data"]
    shown = data["connector"]
    assert (reported["state_written"], shown["state_written"] is None) == (None, False)
    assert [shown[each] for each in ("state", "worker", "tasks")] == [
        reported[each] for each in ("state", "worker", "tasks")
    ]
    assert shown["words"].startswith("by the status topic, last written ")
    assert "whether this is so now is unknown" in shown["words"]
    assert (ran[0] in {1, 3}, data["complete"]) == (True, False)
    assert ["eosctl", "timeline"] in [each["command"].split()[:2] for each in shown["next"]]
    assert not [each["command"] for each in shown["next"] if each["command"].startswith("curl")], "no worker answers"
    later = site.show(name, "--snapshot", saved)[1]
    assert [later[each] for each in ("state", "state_written", "tasks")] == [
        shown[each] for each in ("state", "state_written", "tasks")
    ]
    for code, document in (listed, site.run("connector", "list", "--snapshot", saved)):
        [found] = [each for each in document["data"]["connectors"] if each["name"] == name]
        assert (code, found["state_written"]) == (3, shown["state_written"])
        assert [found[each] for each in ("state", "tasks", "cause", "type")] == [
            row[each] for each in ("state", "tasks", "cause", "type")
        ]


def test_a_name_that_is_no_connector_and_one_that_was_deleted(site: Site, fresh_name: FreshName):
    name = site.create(fresh_name("deleted"))
    site.connectors.await_last(name, "line 4")
    code, listed = site.run("connector", "list", *site.options)
    assert (code, name in [each["name"] for each in listed["data"]["connectors"]]) == (0, True)
    code, document = site.run("connector", "show", f"{name}x", *site.options)
    assert (code, document["error"]["hint"]) == (2, f"did you mean {name}?")
    site.connectors.delete(name)
    wait_for(lambda: site.status(name).get("error_code"), lambda code: code == 404, f"{name} to be gone")
    code, document = site.run("connector", "show", name, *site.options)
    assert code == 2
    assert "has only its leftover records" in document["error"]["message"]
    site.create(name)


def test_a_wrong_group_is_refused_by_both_with_what_to_give_instead(site: Site):
    wrong = ["-b", site.servers, "--connect-url", site.url, "--group-id", "wrong"]
    hints = {
        ("list",): "give the group.id of these workers as --group-id, or leave --group-id out",
        ("show", "any"): "give --group-id connect-cluster; or ",
    }
    for command, hint in hints.items():
        code, document = site.run("connector", *command, *wrong)
        assert code == 2
        assert document["error"]["hint"].startswith(hint), command


def test_a_shadowed_connector_would_begin_from_nothing_live_and_from_a_snapshot(
    site: Site, fresh_name: FreshName, tmp_path: Path
):
    name = site.create(fresh_name("shadowed"))
    site.connectors.await_last(name, "line 4")
    site.request("PUT", f"{name}/pause")
    site.await_states(name, "PAUSED")
    create_topic(site.servers, f"{name}-own", cleanup_policy="compact")
    site.create(name, **{"offsets.storage.topic": f"{name}-own"})
    # A worker answers with the states before the change until it has taken it up; in between the task has none.
    code, shown = wait_for(lambda: site.show(name), lambda seen: seen[1]["state"] == "PAUSED" and ids(seen[1]), "it")
    assert (code, ids(shown), shown["state"]) == (1, ["EOS080"], "PAUSED")
    assert shown["next"][0]["why"].startswith("EOS080 shadowed-offset")
    site.screen(name)
    assert not [each for each in shown["next"] if "/resume" in each["command"]], "it would read everything again"
    saved = str(tmp_path / "saved.snapshot")
    assert site.run("snapshot", "save", saved, *site.options)[0] in {0, 3}
    later = site.show(name, "--snapshot", saved)[1]
    assert "no worker validates a config for a snapshot" in later["exactly_once"]["why"]
    assert [later[each] for each in ("offsets", "state", "tasks", "next_start")] == [
        shown[each] for each in ("offsets", "state", "tasks", "next_start")
    ]


@pytest.mark.variation
def test_a_mirror_is_shown_with_an_offset_for_each_partition(site: Site, fresh_name: FreshName):
    worker = Worker(site.sandbox)
    mirror = Mirror(worker, fresh_name("mirrored"))
    mirror.start()
    mirror.configure(PARTITIONS, **{"source.consumer.isolation.level": "read_committed"})
    try:
        wait_for(lambda: len(site.show(mirror.name)[1]["offsets"]), lambda found: found == PARTITIONS, "its offsets")
        code, shown = site.show(mirror.name)
        assert (shown["state"], shown["type"], len(shown["tasks"])) == ("RUNNING", "source", PARTITIONS)
        assert {each["transactional_id"] for each in shown["transactional_ids"]} == {
            f"connect-cluster-{mirror.name}-{task}" for task in range(PARTITIONS)
        }
        committed = {each["partition"]["partition"]: each["offset"] for each in site.connectors.offsets(mirror.name)}
        assert {each["kafka_effective"]["value"]["offset"] for each in shown["offsets"]} == {
            each["offset"] for each in committed.values()
        }
        assert f"A.{mirror.name}-in" in {each["topic"] for each in shown["output_topics"]}
        assert (code == 1) == bool(ids(shown))
        assert len(site.screen(mirror.name)) <= SCREEN[1]
    finally:
        site.connectors.delete(mirror.name)
        worker.close()


@pytest.mark.variation
def test_a_debezium_connector_is_shown_with_its_position(
    shared_sandboxes: SharedSandboxes, kafka_version: str, eosctl: Eosctl, fresh_name: FreshName, tmp_path: Path
):
    sandbox = shared_sandboxes.of(debezium_spec(kafka_version))
    site, table = Site(sandbox, eosctl, tmp_path), Table(sandbox, Home(sandbox), fresh_name("streamed"), 20)
    table.start()
    try:
        table.await_streaming()
        code, shown = site.show(table.place.name)
        [offset] = shown["offsets"]
        assert set(offset["kafka_effective"]["value"]) >= {"lsn", "txId"}
        assert (shown["state"], shown["type"], shown["exactly_once"]["effective"]) == ("RUNNING", "source", "yes")
        assert shown["connector_class"] == "Postgres"
        assert table.topic in {each["topic"] for each in shown["output_topics"]}
        assert (code == 1) == bool(ids(shown))
        screen = site.screen(table.place.name)
        assert len(screen) <= SCREEN[1]
        assert not any("only-in-tests" in line for line in screen)
    finally:
        table.drop()

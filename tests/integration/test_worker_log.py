"""The traces of reading commands in a worker's log."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from eosctl.clients.rest import RestClient
from eosctl.version import __version__
from tests.faulty_sandbox import Sandbox
from tests.integration.file_connectors import FileConnectors
from tests.integration.watching import watching
from tests.waiting import eventually
from tests.worker_logs import VALIDATE, Request, requests_in, trouble_in

pytestmark = pytest.mark.kafka
MIRROR = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
FILES = "org.apache.kafka.connect.file.FileStreamSourceConnector"
SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"
HEARTBEAT = "org.apache.kafka.connect.mirror.MirrorHeartbeatConnector"
NO_FIELD = {
    "transforms": "field",
    "transforms.field.type": "org.apache.kafka.connect.transforms.ExtractField$Value",
    "transforms.field.field": "a",
}
"""A line of a file has no fields: the task fails at the first one."""


class Fleet:
    """Sources: one runs, one has failed, one is paused and one stopped; a heartbeat, a mirror and a sink."""

    def __init__(self, sandbox: Sandbox, directory: Path, name: str) -> None:
        self.log, self.url = sandbox.worker_log(1), sandbox.connect_url(1)
        self.runs, self.fails, self.pauses, self.stops, self.beats, self.mirrors, self.sinks = (
            f"{name}-{each}" for each in ("runs", "fails", "pauses", "stops", "beats", "mirrors", "sinks")
        )
        self.where = ("-b", sandbox.bootstrap_servers, "--connect-url", self.url, "--group-id", "connect-cluster")
        self._files = FileConnectors(self.url, sandbox.bootstrap_servers, directory)
        for each in (self.runs, self.fails, self.pauses, self.stops):
            self._files.file(each).write_text("1\n")
            self._files.create(each, NO_FIELD if each == self.fails else None)
        # A mirror that finds no topic at its start has no task, and looks for topics again after ten minutes.
        self._files.await_last(self.pauses, "1")
        servers = {f"{side}.cluster.bootstrap.servers": sandbox.bootstrap_servers for side in ("source", "target")}
        aliases = {"source.cluster.alias": "a", "target.cluster.alias": "b"}
        self._files.create(self.beats, {"connector.class": HEARTBEAT, **servers, **aliases})
        self._files.create(self.mirrors, {"connector.class": MIRROR, **servers, **aliases, "topics": self.pauses})
        self._files.create(self.sinks, {"connector.class": SINK, "topics": self.runs, "file": f"{directory}/copied"})
        with RestClient(self.url, 60) as rest:
            for each, action, state in ((self.pauses, "pause", "PAUSED"), (self.stops, "stop", "STOPPED")):
                eventually(lambda each=each: self._files.states(each) == ["RUNNING"], f"{each} to run")
                rest.request("PUT", f"/connectors/{each}/{action}")
                eventually(
                    lambda each=each, state=state: (
                        self._state(each) == state and set(self._files.states(each)) <= {state}
                    )
                )
        self._files.await_running(self.runs)
        eventually(lambda: self._files.states(self.fails) == ["FAILED"], "the task to fail")
        for each in (self.beats, self.mirrors, self.sinks):
            eventually(lambda each=each: self._files.states(each) == ["RUNNING"], f"{each} to run")

    def _state(self, name: str) -> str:
        with RestClient(self.url, 60) as rest:
            body: Any = rest.get(f"/connectors/{name}/status")
        return str(body["connector"]["state"])

    def delete(self) -> None:
        for each in (self.runs, self.fails, self.pauses, self.stops, self.beats, self.mirrors, self.sinks):
            self._files.delete(each)

    @property
    def sources(self) -> int:
        """The number of source connectors, including other tests'."""
        with RestClient(self.url, 60) as rest:
            body: Any = rest.get("/connectors?expand=info")
        return sum(each["info"]["type"] == "source" for each in body.values())

    def said(self, run: Callable[[], object]) -> tuple[list[Request], list[str]]:
        """The requests of eosctl that a worker answered meanwhile, and the lines of trouble that it wrote."""
        before = self.log.stat().st_size
        run()
        # The access log is written behind the answer: it is all there when a later request is.
        with RestClient(self.url, 60) as rest:
            rest.get("/connectors?the-end")
        text = eventually(
            lambda: "the-end" in (said := self.log.read_bytes()[before:].decode()) and said, "the last request"
        )
        asked = [each for each in requests_in(text) if each.user_agent == f"eosctl/{__version__}"]
        return [each for each in asked if "the-end" not in each.path], trouble_in(text)


@pytest.fixture(scope="module")
def fleet(connect_sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    fleet = Fleet(connect_sandbox, tmp_path_factory.mktemp("lines"), "worker-log")
    yield fleet
    fleet.delete()


def validated(requests: list[Request]) -> Counter[str]:
    """How often each class was validated."""
    return Counter(each.path.split("/")[2] for each in requests if each.path.endswith(VALIDATE))


@pytest.mark.parametrize(
    "command",
    [
        ("upgrade-check", "--to", "enabled"),
        ("offsets", "show"),
        pytest.param(("offsets", "export", "DIRECTORY"), marks=pytest.mark.variation),
        ("snapshot", "save", "DIRECTORY/a.snapshot"),
        ("audit",),
        ("watch", "--once"),
        ("doctor", "--no-preflight"),
        ("mirror", "audit", "--source-bootstrap-server", "BROKERS", "--mapping", "DIRECTORY/topics.json"),
        ("inspect-config",),
        pytest.param(("transactions", "hanging"), marks=pytest.mark.variation),
        pytest.param(("transactions", "lso"), marks=pytest.mark.variation),
        ("transactions", "list"),
        ("transactions", "describe", "connect-cluster-RUNS-0"),
        ("transactions", "producers", "RUNS"),
        ("transactions", "trace", "RUNS-0@0"),
        ("transactions", "log"),
        ("connector", "list"),
        ("connector", "show", "FAILS"),
        ("connector", "show", "SINKS"),
        ("timeline", "--since", "1h"),
        ("explain", "--connector", "FAILS"),
        ("acl-plan", "--principal", "worker=User:w", "--principal", "connector=User:c"),
        ("migrate-offsets", "--connector", "STOPS", "--to-topic", "RUNS-own", "--dry-run"),
        ("fence", "--all-connectors", "--dry-run"),
    ],
    ids=lambda command: "-".join(command[:2]),
)
def test_a_reading_command_probes_a_worker_at_most_once_and_leaves_no_error_or_warning(
    fleet: Fleet, eosctl: Any, tmp_path: Path, own_state: None, command: tuple[str, ...]
):
    (tmp_path / "topics.json").write_text(json.dumps({fleet.runs: fleet.pauses}))
    named = {"DIRECTORY": str(tmp_path), "BROKERS": fleet.where[1], "RUNS": fleet.runs, "FAILS": fleet.fails}
    named |= {"STOPS": fleet.stops, "SINKS": fleet.sinks}
    line = [re.sub("|".join(named), lambda found: named[found[0]], each) for each in command]
    ran: list[Any] = []
    requests, trouble = fleet.said(lambda: ran.append(eosctl(*line, *fleet.where)))
    assert ran[0].exit_code in ({0, 8} if "--dry-run" in command else {0, 1, 3}), ran[0].stderr
    assert trouble == []
    preflight = {FILES: 1} if command[:2] == ("connector", "show") else {}
    assert validated(requests) <= Counter({HEARTBEAT: 1, **preflight})
    assert [each for each in requests if not each.is_reading_of_eosctl] == []


def test_offsets_diff_leaves_nothing_and_doctor_has_each_config_validated_once(
    fleet: Fleet, eosctl: Any, tmp_path: Path, own_state: None
):
    ran: list[Any] = []
    assert eosctl("offsets", "export", str(tmp_path / "before"), *fleet.where).exit_code in {0, 1, 3}
    requests, trouble = fleet.said(
        lambda: ran.append(eosctl("offsets", "diff", str(tmp_path / "before"), "live", *fleet.where))
    )
    assert (ran[0].exit_code in {0, 1, 3}, trouble) == (True, []), ran[0].stderr
    assert validated(requests) <= Counter({HEARTBEAT: 1})

    requests, trouble = fleet.said(lambda: eosctl("doctor", *fleet.where))
    assert trouble == []
    assert validated(requests).total() == 1 + fleet.sources, "the probe, and the preflight of each connector"


def test_watch_probes_a_worker_once_in_many_cycles(fleet: Fleet):
    def three_cycles() -> None:
        ended = set()
        with watching(*fleet.where, "--every", 1) as watch:
            eventually(
                lambda: ended.add(str(watch.scraped().get("eosctl_cycle_as_of_seconds"))) or len(ended) > 3,
                "three cycles",
            )

    requests, trouble = fleet.said(three_cycles)
    assert trouble == []
    assert validated(requests) == Counter({HEARTBEAT: 1})

"""Every kind of move on connectors that run, while data flows: the output has each source record exactly once."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from eosctl.clients.wire import Wire
from eosctl.model.client_properties import ClientProperties
from eosctl.sandbox.sandbox import Sandbox
from eosctl.sandbox.spec import SandboxSpec
from eosctl.sources.plan_facts import read_offsets_topic
from tests.commands.conftest import Ran
from tests.integration.connect import Mirror, Worker
from tests.integration.file_connectors import FileConnectors, values_in, wait_for

pytestmark = pytest.mark.kafka

Eosctl = Callable[..., Ran]

OTHER_GROUP = {
    "group.id": "moved",
    "config.storage.topic": "moved-configs",
    "offset.storage.topic": "moved-offsets",
    "status.storage.topic": "moved-status",
}
ALL = ("--stop", "--set-config", "--resume", "--yes", "--timeout", "60", "-o", "json")


@pytest.fixture(scope="module")
def two_groups() -> Iterator[Sandbox]:
    """One broker; worker 1 of group connect-cluster, worker 2 of group moved, both with exactly-once enabled."""
    with Sandbox(SandboxSpec(workers=1)) as sandbox:
        sandbox.start_worker(2, OTHER_GROUP)
        yield sandbox


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Plans, journals and undo files go to a directory of the test's own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "eosctl" / "plans"


class WorkerOf(Worker):
    """Worker `number` of the sandbox."""

    def __init__(self, sandbox: Sandbox, number: int) -> None:
        super().__init__(sandbox)
        self.close()
        self.url = sandbox.connect_url(number)
        self._http = httpx.Client(base_url=self.url, timeout=60, trust_env=False)


@contextmanager
def flowing(mirror: Mirror) -> Iterator[None]:
    """Records go on being written while the block runs."""
    stopped = threading.Event()

    def feed() -> None:
        while not stopped.wait(0.05):
            mirror.feed(5)

    thread = threading.Thread(target=feed)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


def moved(eosctl: Eosctl, sandbox: Sandbox, connector: str, *more: str, number: int = 1) -> Ran:
    """`migrate-offsets`, which has to succeed."""
    ran = eosctl(
        "migrate-offsets", "-b", sandbox.bootstrap_servers, "--group-id", "connect-cluster", "--connector", connector,
        "--connect-url", sandbox.connect_url(number), *more, *ALL,
    )  # fmt: skip
    assert ran.exit_code == 0, ran.stderr
    return ran


def test_a_mirror_of_three_tasks_moves_from_topic_to_topic_to_name_to_group(two_groups: Sandbox, eosctl: Eosctl):
    worker = WorkerOf(two_groups, 1)
    mirror = Mirror(worker, "flow")
    mirror.start(3)
    for target in (("--to-topic", "flow-one"), ("--to-topic", "flow-two"), ("--to-worker-topic",)):
        with flowing(mirror):
            moved(eosctl, two_groups, "flow", *target)
        mirror.check_exactly_once()
    with flowing(mirror):
        moved(eosctl, two_groups, "flow", "--rename-to", "flow-renamed")
    mirror.delete()
    mirror.check_exactly_once()
    with flowing(mirror):
        moved(
            eosctl, two_groups, "flow-renamed", "--to-group-id", "moved", "--to-topic", "moved-offsets",
            "--to-connect-url", two_groups.connect_url(2), "--to-config-topic", "moved-configs",
        )  # fmt: skip
    mirror.check_exactly_once()
    worker.ask("DELETE", "/connectors/flow-renamed")
    WorkerOf(two_groups, 2).ask("DELETE", "/connectors/flow-renamed")


class Lines:
    """A FileStreamSource whose file grows."""

    def __init__(self, sandbox: Sandbox, name: str, directory: Path, file: str | None = None) -> None:
        self.connectors = FileConnectors(sandbox.connect_url(1), sandbox.bootstrap_servers, directory)
        self.sandbox, self.name, self.count = sandbox, name, 0
        self.path = directory / (file or f"{name}.txt")
        self.path.touch()
        self.connectors.create(name, {"file": str(self.path)})
        self.grow()

    def grow(self, lines: int = 100) -> None:
        """Append so many lines and wait until the last one is in the output."""
        with self.path.open("a") as file:
            file.writelines(f"line {number}\n" for number in range(self.count, self.count + lines))
        self.count += lines
        last = f"line {self.count - 1}".encode()
        wait_for(lambda: values_in(self.sandbox.bootstrap_servers, self.name)[-1:], lambda end: end == [last], "lines")

    def copied(self) -> list[bytes | None]:
        """The output as read_committed readers see it."""
        return values_in(self.sandbox.bootstrap_servers, self.name)

    def check_exactly_once(self) -> None:
        """Every line, and some more, once and in order."""
        self.grow()
        assert self.copied() == [f"line {number}".encode() for number in range(self.count)]


def test_own_commits_of_the_connector_land_where_ours_did(two_groups: Sandbox, eosctl: Eosctl, tmp_path: Path):
    """Topics of 1 to 50 partitions, a key with unicode, quotes and a backslash: one live value for each key."""
    lines = Lines(two_groups, "spots", tmp_path, file='dätei "x"\\ 日本 😀.txt')
    for partitions in (1, 5, 25, 50):
        topic = f"spots-{partitions}"
        moved(eosctl, two_groups, "spots", "--to-topic", topic, "--partitions", str(partitions))
        lines.check_exactly_once()
        with Wire(ClientProperties((two_groups.bootstrap_servers,))) as wire:
            held = wait_for(lambda t=topic: read(two_groups, wire, t), lambda found: found.records > 1, "an own commit")
        [raw] = held.raw_keys()
        assert len(held.partitions) == partitions
        assert len(held.under(raw)) == 1
    lines.connectors.delete("spots")


def read(sandbox: Sandbox, wire: Wire, topic: str):
    from eosctl.clients.access import ClusterAccess

    return read_offsets_topic(ClusterAccess(wire, (), None, 30), topic)


def test_a_file_source_goes_to_another_cluster(two_groups: Sandbox, eosctl: Eosctl, tmp_path: Path):
    lines = Lines(two_groups, "abroad", tmp_path)
    with Sandbox(SandboxSpec(workers=1)) as other:
        moved(
            eosctl, two_groups, "abroad", "--to-bootstrap-server", other.bootstrap_servers,
            "--to-connect-url", other.connect_url(1), "--to-config-topic", "connect-configs",
        )  # fmt: skip
        before = lines.copied()
        with lines.path.open("a") as file:
            file.write("over there\n")
        after = wait_for(lambda: values_in(other.bootstrap_servers, "abroad"), lambda found: found != [], "a record")
        assert len(before) == lines.count
        assert after == [b"over there"]
        assert lines.copied() == before


@pytest.mark.parametrize("change", ["own-topic", "rename", "group"])
def test_the_same_moves_without_eosctl_break(two_groups: Sandbox, tmp_path: Path, change: str):
    """So the tests above can fail."""
    lines = Lines(two_groups, f"broken-{change}", tmp_path)
    config = {"file": str(lines.path), "topic": lines.name}
    if change == "own-topic":
        lines.connectors.create(lines.name, {**config, "offsets.storage.topic": f"{lines.name}-own"})
    else:
        lines.connectors.delete(lines.name)
        number, name = (1, f"{lines.name}-2") if change == "rename" else (2, lines.name)
        FileConnectors(two_groups.connect_url(number), two_groups.bootstrap_servers, tmp_path).create(name, config)
    copied = wait_for(lines.copied, lambda found: len(found) >= 200, "every line a second time")
    assert len(copied) == 200


def test_several_connectors_move_at_once_by_a_rename_map(two_groups: Sandbox, eosctl: Eosctl, tmp_path: Path):
    both = [Lines(two_groups, name, tmp_path) for name in ("map-a", "map-b")]
    names = tmp_path / "names.json"
    names.write_text(json.dumps({"map-a": "map-c", "map-b": "map-d"}))
    ran = eosctl(
        "migrate-offsets", "-b", two_groups.bootstrap_servers, "--group-id", "connect-cluster", "--rename-map", names,
        "--connect-url", two_groups.connect_url(1), *ALL,
    )  # fmt: skip
    assert ran.exit_code == 0, ran.stderr
    for lines in both:
        lines.connectors.delete(lines.name)
        lines.check_exactly_once()


def test_an_undo_after_the_connector_went_on_is_refused(
    two_groups: Sandbox, eosctl: Eosctl, tmp_path: Path, own_state: Path
):
    lines = Lines(two_groups, "no-way-back", tmp_path)
    ran = moved(eosctl, two_groups, "no-way-back", "--to-topic", "no-way-back-own")
    undo = json.loads(ran.stdout)["data"]["undo_file"]
    lines.check_exactly_once()
    back = eosctl(
        "undo", undo, "-b", two_groups.bootstrap_servers, "--group-id", "connect-cluster",
        "--connect-url", two_groups.connect_url(1), "--yes",
    )  # fmt: skip
    assert back.exit_code == 8, back.stderr
    assert "changed since the plan was made" in back.stderr
    lines.check_exactly_once()

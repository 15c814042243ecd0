"""A connector really resumes where `offsets show` said before: each row of Kafka's rule, on real workers.

The file of a connector is removed while it is created again: its task runs and waits, `offsets show` answers, the file
comes back, and the records of the output topic show from which line on it was read.
"""

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from eosctl.codecs.offsets_topic import encode_offsets_key
from eosctl.model.records import java_partition
from tests.commands.conftest import Eosctl
from tests.faulty_sandbox import Sandbox
from tests.integration.file_connectors import FileConnectors, wait_for
from tests.integration.producers import transactional_producer
from tests.kafka_versions import spec_of, workers_of

pytestmark = [pytest.mark.kafka, pytest.mark.workers, pytest.mark.matrix]


LINES = [f"line {number}" for number in range(20)]
MORE = [f"more {number}" for number in range(5)]
SERVERS = (
    "producer.override.bootstrap.servers",
    "consumer.override.bootstrap.servers",
    "admin.override.bootstrap.servers",
)

PLAIN = {
    "group.id": "plain",
    "config.storage.topic": "plain-configs",
    "offset.storage.topic": "plain-offsets",
    "status.storage.topic": "plain-status",
    "exactly.once.source.support": "disabled",
}
WORKERS = {"enabled": (1, "connect-configs", "connect-offsets"), "disabled": (2, "plain-configs", "plain-offsets")}


@dataclass(frozen=True)
class Case:
    """A connector that ran with config `before`, is created again with config `after`, and resumes or begins again."""

    name: str
    resumes: bool
    before: Mapping[str, str] = field(default_factory=dict)
    after: Mapping[str, str] = field(default_factory=dict)
    shadowed: bool = False


def cases(mode: str, elsewhere: str) -> list[Case]:
    """The rows for workers with exactly-once `mode`; `elsewhere` is another name of the same broker."""
    worker_topic = WORKERS[mode][2]

    def own(name: str) -> dict[str, str]:
        return {"offsets.storage.topic": f"{mode}-{name}-own"}

    other = dict.fromkeys(SERVERS, elsewhere)
    found = [
        Case("unset", resumes=True),
        Case("named-as-worker", resumes=True, after={"offsets.storage.topic": worker_topic}),
        Case("new-own", resumes=False, after=own("new-own"), shadowed=True),
        Case("kept-own", resumes=True, before=own("kept-own"), after=own("kept-own")),
        Case("own-given-up", resumes=True, before=own("own-given-up")),
        Case("other-name-of-the-broker", resumes=True, after=other),
        Case("own-by-another-name", resumes=False, after=own("own-by-another-name") | other, shadowed=True),
        Case("only-the-producer-elsewhere", resumes=True, after={SERVERS[0]: elsewhere}),
    ]
    return [Case(f"{mode}-{each.name}", each.resumes, each.before, each.after, each.shadowed) for each in found]


@pytest.fixture(scope="module")
def two_workers(kafka_version: str) -> Iterator[Sandbox]:
    """One broker, worker 1 with exactly-once enabled, and worker 2, of another Connect cluster, with it disabled."""
    with Sandbox(spec_of(kafka_version, workers=1)) as sandbox:
        sandbox.start_worker(2, PLAIN)
        yield sandbox


@dataclass(frozen=True)
class Shown:
    """The answers while the file was removed."""

    rows: dict[str, dict[str, Any]]
    findings: list[dict[str, Any]]
    rest: dict[str, list[dict[str, object]]]


@pytest.mark.variation
@pytest.mark.parametrize("mode", ["enabled", "disabled"])
def test_every_row_resumes_at_the_offset_of_offsets_show(
    mode: str, two_workers: Sandbox, kafka_version: str, eosctl: Eosctl, tmp_path: Path
) -> None:
    worker, config_topic, offsets_topic = WORKERS[mode]
    servers = two_workers.bootstrap_servers
    connectors = FileConnectors(two_workers.connect_url(worker), servers, tmp_path)
    rows = cases(mode, servers.replace("127.0.0.1", "localhost"))
    assert servers != rows[5].after[SERVERS[0]]

    def show(*args: str) -> dict[str, Any]:
        ran = eosctl(
            "offsets", "show", "-b", servers, "--worker-offsets-topic", offsets_topic, "-o", "json",
            "--worker-bootstrap-servers", servers, *args,
        )  # fmt: skip
        assert ran.exit_code in {0, 1}, ran.stderr
        data: dict[str, Any] = json.loads(ran.stdout)["data"]
        return data

    url = ("--connect-url", connectors.url)
    run_before(connectors, rows, lambda: show("--config-topic", config_topic, "--exactly-once", mode))
    shown = recreate(connectors, rows, lambda: show(*url), rest=workers_of(kafka_version) >= "3.5")
    for case in rows:
        assert_foretold(case, connectors.file(case.name), shown, connectors)


def run_before(connectors: FileConnectors, rows: list[Case], show: Callable[[], dict[str, Any]]) -> None:
    """Every connector reads its file, its offset reaches the topic that it will be read from, and it is deleted."""
    for case in rows:
        connectors.file(case.name).write_text("".join(f"{line}\n" for line in LINES))
        connectors.create(case.name, case.before)
    end = connectors.file(rows[0].name).stat().st_size
    for case in rows:
        connectors.await_last(case.name, LINES[-1])
    wait_for(
        show,
        lambda data: (
            all(
                row["worker_global"] is not None and row["worker_global"]["value"] == {"position": end}
                for row in data["offsets"]
            )
            and len(data["offsets"]) == len(rows)
        ),
        "every offset to be at the end of its file",
    )
    for case in rows:
        connectors.delete(case.name)


def recreate(connectors: FileConnectors, rows: list[Case], show: Callable[[], dict[str, Any]], *, rest: bool) -> Shown:
    """Every connector is there again, without its file; returns the answers about it."""
    for case in rows:
        file = connectors.file(case.name)
        file.rename(file.with_suffix(".away"))
        connectors.create(case.name, case.after)
    for case in rows:
        connectors.await_running(case.name)
    data = show()
    answers = {case.name: connectors.offsets(case.name) for case in rows} if rest else {}
    return Shown({row["connector"]: row for row in data["offsets"]}, data["findings"], answers)


def assert_foretold(case: Case, file: Path, shown: Shown, connectors: FileConnectors) -> None:
    row = shown.rows[case.name]
    effective = None if row["kafka_effective"] is None else row["kafka_effective"]["value"]
    assert (effective is not None) is case.resumes, (case.name, row["provenance"])
    assert row["kip618_effective"] is not None, "KIP-618 promises every one of them"
    raw = base64.b64decode(row["key_base64"])
    assert raw == encode_offsets_key(case.name, row["partition"]), "the bytes that the connector wrote"
    assert row["worker_global"]["topic_partition"] == java_partition(raw, 6), "the partition that it wrote them to"
    shadowed = [each["subject"] for each in shown.findings if each["name"] == "shadowed-offset"]
    assert (case.name in shadowed) is case.shadowed
    if shown.rest:
        assert shown.rest[case.name] == [{"partition": row["partition"], "offset": effective}]

    away = file.with_suffix(".away")
    with away.open("a") as lines:
        lines.writelines(f"{line}\n" for line in MORE)
    position = 0 if effective is None else int(effective["position"])
    again = away.read_bytes()[position:].splitlines()
    away.rename(file)
    values = connectors.await_last(case.name, MORE[-1])
    assert values == [line.encode() for line in LINES] + again, case.name


@pytest.mark.variation
@pytest.mark.proves("EOS092")
def test_an_aborted_offset_skips_records_without_exactly_once_until_the_committed_one_is_written_again(
    two_workers: Sandbox, eosctl: Eosctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two connectors with the same fault: the first begins as it is, the second after the fix of its finding."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    worker, config_topic, offsets_topic = WORKERS["disabled"]
    servers = two_workers.bootstrap_servers
    connectors = FileConnectors(two_workers.connect_url(worker), servers, tmp_path)
    topics = ("-b", servers, "--worker-offsets-topic", offsets_topic, "--config-topic", config_topic)
    ask = (
        "offsets",
        "show",
        *topics,
        "--worker-bootstrap-servers",
        servers,
        "--exactly-once",
        "disabled",
        "-o",
        "json",
    )
    rows = [Case("skips", resumes=True), Case("fixed", resumes=True)]
    named = [word for case in rows for word in ("--connector", case.name)]
    run_before(connectors, rows, lambda: json.loads(eosctl(*ask, *named).stdout)["data"])
    for case in rows:
        [row] = json.loads(eosctl(*ask, "--connector", case.name).stdout)["data"]["offsets"]
        with connectors.file(case.name).open("a") as lines:
            lines.writelines(f"{line}\n" for line in MORE)
        producer = transactional_producer(servers, f"planted-{case.name}")
        producer.begin_transaction()
        end = json.dumps({"position": connectors.file(case.name).stat().st_size})
        key = base64.b64decode(row["key_base64"])
        producer.produce(offsets_topic, end, key, row["worker_global"]["topic_partition"])
        assert producer.flush(30) == 0
        producer.abort_transaction(30)
    connectors.create("skips")
    found = [each for each in json.loads(eosctl(*ask).stdout)["data"]["findings"] if each["id"] == "EOS092"]
    assert [(each["subject"], each["severity"]) for each in found if each["subject"] == "skips"] == [("skips", "error")]
    file = str(tmp_path / "fixed.json")
    exported = eosctl("offsets", "export", file, *topics, "--connector", "fixed", "--exactly-once", "enabled")
    assert exported.exit_code == 0, exported.stderr
    to = ("--group-id", "plain", "--connect-url", connectors.url, "--connector", "fixed", "--yes")
    restored = eosctl("offsets", "restore", file, *topics, *to)
    assert restored.exit_code == 0, restored.stderr
    connectors.create("fixed")
    expected = {"skips": LINES, "fixed": LINES + MORE}
    for case in rows:
        connectors.await_running(case.name)
        with connectors.file(case.name).open("a") as lines:
            lines.write("last\n")
        values = connectors.await_last(case.name, "last")
        assert values == [line.encode() for line in [*expected[case.name], "last"]], case.name

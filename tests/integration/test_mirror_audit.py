"""`mirror audit` on two real clusters whose copies were made by hand: it finds the planted differences."""

import json
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions

from eosctl.operations import mirror
from eosctl.operations.session import Session
from tests.faulty_sandbox import Sandbox
from tests.integration.access import allowed
from tests.integration.mirror_maker import Mirrored
from tests.integration.mirror_site import BEGUN_MS, Copied, Eosctl, Judged
from tests.integration.producers import create_topic, open_transaction
from tests.waiting import eventually

pytestmark = pytest.mark.kafka


def test_a_whole_copy_is_held_with_any_batches_and_compression(copied: Copied):
    copied.write(range(500), **{"linger.ms": 50, "compression.type": "zstd"})
    copied.transact(range(500, 550))
    copied.transact(range(900, 950), commit=False)
    copied.write(range(550, 600), **{"compression.type": "gzip", "batch.num.messages": 3})
    copied.copy(range(200), **{"compression.type": "lz4"})
    copied.transact(range(300, 310), commit=False, in_target=True)
    copied.transact(range(200, 550), in_target=True)
    found = copied.audit()
    assert (found.verdict, found.exit_code, found.counts) == ("held", 0, {"lag": 50})
    assert (found.pair["matched"], found.pair["compared_by"]) == (550, "key, value, headers and timestamp")
    assert (found.pair["first_source_offset"], found.pair["last_source_offset"]) == (0, 549)
    assert found.pair["aborted_in_target"] == 10


def test_gap_repeat_and_disorder_are_found_with_their_offsets(copied: Copied):
    copied.write(range(100))
    copied.copy([*range(20), *range(25, 50), *range(40, 70), 71, 70, *range(72, 100)])
    found = copied.audit()
    assert (found.verdict, found.exit_code) == ("broken", 1)
    assert found.counts == {"gap": 5, "repeat": 10, "late": 1}
    (gap,), (repeat,), (late,) = (found.pair[f"{kind}_ranges"] for kind in ("gap", "repeat", "late"))
    assert (gap["source_start"], gap["source_end"], gap["target_start"]) == (20, 25, 20)
    assert (repeat["source_start"], repeat["source_end"], repeat["target_start"]) == (40, 50, 45)
    assert (late["source_start"], late["target_start"]) == (70, 76)
    assert set(found.findings) == {"mirror-gap", "mirror-repeat", "mirror-disorder"}


def test_aborted_source_records_break_it_unless_the_mirror_is_known_to_read_uncommitted(copied: Copied):
    copied.write(range(10))
    copied.transact(range(10, 15), commit=False)
    copied.write(range(20, 30))
    copied.copy([*range(15), *range(20, 30)])
    assert (copied.audit().verdict, copied.audit().counts) == ("broken", {"aborted": 5})
    audited = copied.audit("--isolation", "read_uncommitted")
    assert (audited.verdict, audited.findings["aborted-mirrored"]["severity"]) == ("held", "warning")


def test_behind_an_open_source_transaction_plain_records_are_committed_and_its_own_are_not_decided(copied: Copied):
    copied.write(range(10))
    producer = open_transaction(copied.source, f"{copied.name}-open", copied.name)
    copied.write(range(10, 20))
    copied.copy(range(20))
    found = copied.audit()
    assert (found.verdict, found.counts, found.pair["matched"]) == ("held", {}, 20)
    producer.abort_transaction(30)


def test_headers_that_were_changed_on_the_way_are_reported_and_the_rest_is_compared(copied: Copied, tmp_path: Path):
    copied.write(range(30))
    copied.headers = [("trace", b"AP8=")]
    copied.copy(range(30))
    mapping = tmp_path / "topics.json"
    mapping.write_text(json.dumps({copied.name: f"eu.{copied.name}"}))
    found = copied.audit(naming=("--mapping", mapping))
    assert (found.verdict, found.exit_code, found.counts) == ("held", 1, {})
    assert found.pair["compared_by"] == "key, value and timestamp"
    assert set(found.findings) == {"mirror-changed"}


def test_a_source_that_was_cut_before_the_first_copied_record_is_not_called_held(copied: Copied):
    copied.write(range(100))
    copied.copy(range(60))
    copied.delete_before(40)
    found = copied.audit()
    assert (found.verdict, found.exit_code, found.counts) == ("cannot-tell", 3, {"lead": 40, "lag": 40})


def test_a_target_that_was_cut_is_compared_from_there_on(copied: Copied):
    copied.write(range(100))
    copied.copy(range(100))
    copied.delete_before(40, in_target=True)
    found = copied.audit()
    assert (found.verdict, found.counts) == ("held", {"head": 40})
    assert "mirror-began" in found.findings


def test_a_source_that_was_created_again_is_seen_from_records_it_never_had(copied: Copied):
    copied.write(range(50))
    copied.copy(range(50))
    copied.recreate()
    copied.write(range(50, 90))
    copied.copy(range(60, 90))
    found = copied.audit()
    assert (found.verdict, found.counts) == ("broken", {"lead": 50, "head": 10})
    assert set(found.findings) == {"source-recreated", "mirror-gap"}


def test_offsets_that_were_deleted_before_the_mirror_read_them_are_named(copied: Copied):
    copied.write(range(100))
    copied.copy(range(30))
    topic = copied.say_copied(29)
    copied.delete_before(50)
    found = copied.audit("--offsets-topic", topic)
    assert (found.verdict, found.exit_code) == ("cannot-tell", 1)
    assert "source offsets 30 to 49 were deleted" in found.findings["source-purged"]["message"]


def test_an_aborted_transaction_that_was_deleted_before_the_mirror_read_it_is_not_called_lost(copied: Copied):
    copied.write(range(30))
    copied.transact(range(40, 60), commit=False)
    copied.write(range(60, 80))
    copied.copy(range(30))
    topic = copied.say_copied(29)
    copied.delete_before(51)
    found = copied.audit("--offsets-topic", topic)
    assert (found.verdict, found.findings["source-purged"]["severity"]) == ("cannot-tell", "error")


def test_records_up_to_the_mirrors_own_offset_have_to_be_there(copied: Copied):
    copied.write(range(100))
    copied.copy(range(80))
    assert copied.audit().counts == {"lag": 20}
    found = copied.audit("--offsets-topic", copied.say_copied(89))
    assert (found.verdict, found.counts) == ("broken", {"gap": 10, "lag": 10})


def test_bad_input_is_refused_with_a_next_step(copied: Copied):
    copied.write(range(3))
    for naming in ((), ("--alias", "us")):
        ran = copied.ask(naming=naming)
        assert (ran.exit_code, "--alias" in ran.stderr) == (2, True), ran.stderr


@pytest.mark.variation
def test_a_source_that_may_not_be_read_is_never_compared(
    copied: Copied, two_clusters: tuple[Sandbox, Sandbox], tmp_path: Path
):
    copied.write(range(3))
    copied.copy(range(3))
    identity = tmp_path / "tool.properties"
    identity.write_text(two_clusters[0].client_properties("tool"))
    copied.source = two_clusters[0].sasl_bootstrap_servers
    hidden = copied.ask("--source-command-config", identity)
    assert hidden.exit_code == 2, hidden.stderr
    assert f"topic {copied.name} does not exist in the source, or may not be described there" in hidden.stderr
    with allowed(two_clusters[0], "tool", ("DESCRIBE", "TOPIC", copied.name)):
        ran = copied.ask("--source-command-config", identity)
    assert ran.exit_code == 5, ran.stderr
    assert f"--allow-principal=User:tool --operation=Read --topic={copied.name}" in ran.stderr
    assert ran.stderr.count("grant it with: kafka-acls.sh --bootstrap-server HOST:PORT --add") == 1


@pytest.mark.variation
def test_partitions_that_one_side_only_has_are_named(copied: Copied):
    copied.write(range(5))
    copied.copy(range(5))
    for servers, topic, count in ((copied.source, copied.name, 2), (copied.target, f"eu.{copied.name}", 4)):
        admin = AdminClient({"bootstrap.servers": servers})
        admin.create_partitions([NewPartitions(topic, count)])[topic].result(30)
        producer = Producer({"bootstrap.servers": servers, "topic.metadata.refresh.interval.ms": 100})
        eventually(lambda: len(producer.list_topics(topic, 10).topics[topic].partitions) == count)  # noqa: B023
        producer.produce(topic, b"record", partition=count - 1)
        assert producer.flush(30) == 0
    ran = copied.ask()
    data = json.loads(ran.stdout)["data"]
    found = {each["subject"]: each["message"] for each in data["findings"] if each["name"] == "mirror-unpaired"}
    assert found == {f"eu.{copied.name}-3": f"partition eu.{copied.name}-3 is in the target only"}
    assert {each["partition"]: each["verdict"] for each in data["pairs"]} == {0: "held", 1: "cannot-tell"}


# `mirror audit` while topics are created again under it, and where clocks jump: nothing is called held by mistake.


PLANNING, COMPARING = (mirror, "with_settings"), (mirror, "compare_pairs")
DAY_MS = 24 * 3_600_000


def once_before(
    monkeypatch: pytest.MonkeyPatch, step: tuple[Any, str], happens: Callable[[], None], call: int = 1
) -> None:
    """It happens just before this call of the step of the audit."""
    module, name = step
    real, calls = getattr(module, name), []

    def instead(*args: Any, **options: Any) -> Any:
        calls.append(args)
        if len(calls) == call:
            happens()
        return real(*args, **options)

    monkeypatch.setattr(module, name, instead)


@pytest.mark.parametrize("in_target", [False, True], ids=["source", "target"])
@pytest.mark.parametrize("step", [COMPARING, PLANNING], ids=lambda step: step[1])
def test_a_topic_that_is_created_again_during_the_audit_is_not_held_although_it_has_the_same_records(
    copied: Copied, monkeypatch: pytest.MonkeyPatch, step: tuple[Any, str], in_target: bool
):
    copied.write(range(60))
    copied.copy(range(60))

    def again() -> None:
        copied.recreate(in_target=in_target)
        (copied.copy if in_target else copied.write)(range(60))

    # The target is planned first.
    once_before(monkeypatch, step, again, 2 if step is PLANNING and not in_target else 1)
    found = copied.audit()
    assert (found.verdict, found.exit_code) == ("cannot-tell", 3)
    assert "the topic was deleted and created again (topic ID " in str(found.pair["reasons"])
    assert (copied.audit().verdict, copied.audit().counts) == ("held", {}), "the next one sees the new topic alone"


@pytest.mark.parametrize("in_target", [False, True], ids=["source", "target"])
def test_a_topic_that_is_deleted_during_the_audit_is_named_and_not_compared(
    copied: Copied, monkeypatch: pytest.MonkeyPatch, in_target: bool
):
    copied.write(range(60))
    copied.copy(range(60))
    once_before(monkeypatch, COMPARING, lambda: copied.delete(in_target=in_target))
    found = copied.audit("--timeout", 5)
    assert (found.verdict, found.findings) == ("cannot-tell", {})
    assert "deleted" in str(found.pair["reasons"])


@pytest.mark.parametrize("in_target", [False, True], ids=["source", "target"])
def test_between_two_runs_of_a_job_it_is_not_held_once_and_continues_then(
    copied: Copied, tmp_path: Path, in_target: bool
):
    store = ("--store", f"sqlite:///{tmp_path}/ledger.db")
    copied.write(range(60))
    copied.copy(range(60))
    assert copied.audit(*store).verdict == "held"
    copied.recreate(in_target=in_target)
    (copied.copy if in_target else copied.write)(range(60))
    found = copied.audit(*store)
    assert (found.verdict, found.exit_code, found.counts) == ("cannot-tell", 3, {})
    assert "compared by no run" in found.pair["reasons"][0]
    assert "was created again since the last run" in found.pair["reasons"][1]
    copied.write(range(60, 70))
    copied.copy(range(60, 70))
    assert (copied.audit(*store).verdict, copied.audit().verdict) == ("held", "held")


def test_a_target_that_was_cut_behind_the_last_run_is_not_held_by_the_next_one(copied: Copied, tmp_path: Path):
    store = ("--store", f"sqlite:///{tmp_path}/ledger.db")
    copied.write(range(100))
    copied.copy(range(50))
    assert copied.audit(*store).verdict == "held"
    copied.copy([*range(50, 60), *range(70, 100)])
    copied.delete_before(80, in_target=True)
    assert copied.audit().verdict == "held", "what a run without a ledger cannot know"
    found = copied.audit(*store)
    assert (found.verdict, found.exit_code) == ("cannot-tell", 3), "60 to 69 were never in the target"


def test_record_timestamps_that_jump_hide_neither_a_copy_nor_a_gap(copied: Copied):
    jumps = [0, 3_000_000, 1, 1 - BEGUN_MS, 2, -DAY_MS, 3, 2 - BEGUN_MS, 2_000_000, 4]
    copied.write(jumps)
    copied.copy(jumps)
    found = copied.audit()
    assert (found.verdict, found.counts, found.pair["matched"]) == ("held", {}, 10)
    copied.write([*jumps, 5])
    copied.copy([*jumps[:3], *jumps[4:], 5])
    found = copied.audit()
    assert (found.verdict, found.counts) == ("broken", {"gap": 1})


def test_a_clock_that_goes_back_between_two_runs_changes_no_verdict(
    copied: Copied, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    store, now = ("--store", f"sqlite:///{tmp_path}/ledger.db"), Session.now()
    verdicts = []
    copied.write(range(60))
    for number, at in enumerate((now + 400 * DAY_MS, now, 0, now - 400 * DAY_MS)):
        monkeypatch.setattr(Session, "now", staticmethod(lambda at=at: at))
        copied.copy(range(10 * number, 10 * number + 10))
        found = copied.audit(*store)
        verdicts.append((found.verdict, found.counts["lag"]))
    assert verdicts == [("held", 50), ("held", 40), ("held", 30), ("held", 20)]


def test_a_topic_is_not_compared_with_itself(copied: Copied):
    copied.write(range(3))
    copied.target = copied.source
    ran = copied.ask(naming=("--same-names",))
    assert ran.exit_code == 2
    assert f"source and target are both topic {copied.name} of Kafka cluster" in ran.stderr


# `mirror audit` of MirrorMaker 2 with other names of topics, in both directions, and while it runs.


IDENTITY = {"replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"}
SEPARATOR = {"replication.policy.separator": "-"}
RENAMED = {
    "transforms": "rename",
    "transforms.rename.type": "org.apache.kafka.connect.transforms.RegexRouter",
    "transforms.rename.regex": r"eu\.(.*)",
    "transforms.rename.replacement": "renamed-$1",
}


@pytest.mark.variation
@pytest.mark.parametrize("policy", ["identity", "separator", "renamed"])
def test_topics_are_paired_as_the_mirror_names_them(mirrored: Mirrored, policy: str, tmp_path: Path):
    mapping = tmp_path / "topics.json"
    mapping.write_text(json.dumps({mirrored.name: f"renamed-{mirrored.name}"}))
    config, naming, target = {
        "identity": (IDENTITY, ("--same-names",), mirrored.name),
        "separator": (SEPARATOR, ("--alias", "eu", "--separator", "-"), f"eu-{mirrored.name}"),
        "renamed": (RENAMED, ("--mapping", mapping), f"renamed-{mirrored.name}"),
    }[policy]
    mirrored.mirror.configure(**config)
    mirrored.write(range(50))
    mirrored.transact(range(50, 60), commit=False)
    mirrored.transact(range(60, 70))
    found = mirrored.await_copied(60, naming)
    assert (found.verdict, found.counts, found.pair["target"]) == ("held", {}, target)
    assert found.pair["compared_by"] == "key, value, headers and timestamp"


@pytest.mark.variation
def test_both_directions_are_two_mirrors_and_nothing_comes_back(mirrored: Mirrored, eosctl: Eosctl):
    name, here, there = mirrored.name, mirrored.source, mirrored.target
    create_topic(there, name)
    mirrored.mirror.configure(topics=f"{name},us.{name}")
    mirrored.write(range(30))
    back = {
        "source.cluster.alias": "us",
        "target.cluster.alias": "eu",
        "source.cluster.bootstrap.servers": there,
        "target.cluster.bootstrap.servers": here,
        "topics": f"{name},eu.{name}",
        **{f"{client}.override.bootstrap.servers": here for client in ("producer", "consumer", "admin")},
    }
    mirrored.mirror.name = f"{name}-back"
    mirrored.mirror.configure(**back)
    producer = Producer({"bootstrap.servers": there})
    for number in range(20):
        producer.produce(name, b"other %d" % number)
    assert producer.flush(30) == 0
    found = mirrored.await_copied(30)
    assert (found.verdict, found.counts, found.pair["target"]) == ("held", {}, f"eu.{name}")

    def returned() -> bool:
        ran = eosctl(
            "mirror", "audit", "-b", here, "--source-bootstrap-server", there, "--alias", "us", "--topic", name,
            "--offsets-topic", "connect-offsets", "-o", "json",
        )  # fmt: skip
        if ran.exit_code == 2:
            return False
        (pair,) = json.loads(ran.stdout)["data"]["pairs"]
        assert (pair["verdict"], pair["target"]) in {("held", f"us.{name}"), ("cannot-tell", f"us.{name}")}
        return bool(pair["matched"] == 20)

    eventually(returned, "records in the other direction", deadline_s=90, every_s=1)
    topics = [AdminClient({"bootstrap.servers": each}).list_topics(timeout=30).topics for each in (here, there)]
    assert [each for found in topics for each in found if each.startswith(("us.eu.", "eu.us."))] == []


@pytest.mark.variation
def test_a_mirror_that_runs_meanwhile_is_never_called_broken(mirrored: Mirrored):
    stop = Event()

    def write() -> None:
        number = 0
        while not stop.wait(0.05):
            mirrored.write(range(number, number + 50))
            number += 50

    thread = Thread(target=write)
    thread.start()
    try:
        mirrored.await_copied(50)
        seen = [mirrored.audit("--offsets-topic", "connect-offsets") for _ in range(5)]
    finally:
        stop.set()
        thread.join()
    assert {each.verdict for each in seen} == {"held"}
    assert {kind for each in seen for kind in each.counts} <= {"lag"}
    assert seen[-1].pair["matched"] > seen[0].pair["matched"] > 0


# `mirror audit --store` on two real clusters: each run goes on where the last one ended, as if it had read all.


@pytest.fixture
def nightly(copied: Copied, tmp_path: Path) -> Callable[..., Judged]:
    """A run that goes on, held against one that compares everything."""
    store = f"sqlite:///{tmp_path}/ledger.db"

    def run(*more: object) -> Judged:
        found, whole = copied.audit("--store", store, *more), copied.audit(*more)
        assert found.verdict == whole.verdict
        assert found.counts == whole.counts
        assert {**found.pair, "reasons": (), "words": None} == {**whole.pair, "reasons": (), "words": None}
        return found

    return run


def test_each_run_continues_where_the_last_one_ended(copied: Copied, nightly: Callable[..., Judged], eosctl, tmp_path):
    copied.write(range(100))
    copied.copy(range(80))
    assert nightly().verdict == "held"
    copied.transact(range(100, 120))
    copied.transact(range(200, 210), commit=False)
    copied.copy(range(80, 120))
    second = nightly()
    assert second.pair["reasons"][1:] == [
        "source offsets before 80 and target offsets before 80 were compared by earlier runs"
    ]
    copied.write(range(120, 130))
    copied.copy([*range(120, 124), *range(110, 130)])
    assert nightly().counts == {"repeat": 14}
    assert nightly().verdict == "broken"
    ran = eosctl("audit", "history", "--store", f"sqlite:///{tmp_path}/ledger.db", "--job", "mirror", "-o", "json")
    runs = json.loads(ran.stdout)["data"]["runs"]
    assert [(each["run_number"], each["verdict"]) for each in runs] == [
        (4, "broken"), (3, "broken"), (2, "held"), (1, "held")
    ]  # fmt: skip
    assert [each["records"] for each in runs] == [0, 4, 40, 80]


@pytest.mark.variation
def test_changes_below_the_last_end_lead_to_a_full_comparison(copied: Copied, nightly: Callable[..., Judged]):
    copied.write(range(100))
    copied.copy(range(100))
    assert nightly().verdict == "held"
    copied.delete_before(40)
    copied.write(range(100, 120))
    copied.copy(range(100, 110))
    copied.recreate()
    copied.write(range(200, 260))
    copied.copy(range(200, 240))
    found = nightly()
    assert found.verdict == "cannot-tell"
    assert "everything was compared again: the topic of the source was created again since the last run" in str(
        found.pair["reasons"]
    )


@pytest.mark.variation
def test_source_records_deleted_after_their_comparison_are_held_and_those_deleted_before_are_not(
    copied: Copied, tmp_path: Path
):
    store = ("--store", f"sqlite:///{tmp_path}/ledger.db")
    copied.write(range(100))
    copied.copy(range(100))
    assert copied.audit(*store).verdict == "held"
    copied.write(range(100, 200))
    copied.copy(range(100, 150))
    copied.delete_before(100)
    copied.delete_before(60, in_target=True)
    found = copied.audit(*store)
    assert (found.verdict, found.counts, found.pair["matched"]) == ("held", {"lag": 50}, 150)
    copied.copy(range(150, 200))
    copied.delete_before(180)
    found = copied.audit(*store)
    assert (found.verdict, found.counts) == ("cannot-tell", {"lead": 120})
    assert "the source was deleted up to 180, and the last run had come to 150" in found.pair["reasons"][-1]


def test_evidence_has_the_ranges_of_both_clusters(copied: Copied, eosctl: Eosctl, tmp_path: Path):
    copied.write(range(30))
    copied.copy(range(30))
    file = tmp_path / "mirror.json"
    copied.audit("--evidence", file)

    def states(servers: str) -> tuple[int, list[tuple[str, str]]]:
        ran = eosctl("verify", str(file), "-b", servers, "-o", "json")
        return ran.exit_code, [(each["topic"], each["state"]) for each in json.loads(ran.stdout)["data"]["ranges"]]

    target = f"eu.{copied.name}"
    assert states(copied.target) == (0, [(copied.name, "unread"), (target, "same")])
    copied.delete_before(3)
    assert states(copied.source) == (3, [(copied.name, "purged"), (target, "unread")])

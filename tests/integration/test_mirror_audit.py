"""`mirror audit` on two real clusters whose copies were made by hand: what is different on purpose is found."""

import json
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions

from tests.faulty_sandbox import Sandbox
from tests.integration.access import allowed
from tests.integration.mirror_site import Copied
from tests.integration.producers import open_transaction
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka]


def test_a_whole_copy_is_held_whatever_its_batches_and_their_compression(copied: Copied):
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
    told = copied.audit("--isolation", "read_uncommitted")
    assert (told.verdict, told.findings["aborted-mirrored"]["severity"]) == ("held", "warning")


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


def test_bad_input_is_refused_and_says_what_to_do(copied: Copied):
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

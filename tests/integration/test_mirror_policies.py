"""`mirror audit` of MirrorMaker 2 with other names of topics, in both directions, and while it runs."""

import json
from pathlib import Path
from threading import Event, Thread

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from tests.integration.mirror_maker import Mirrored
from tests.integration.mirror_site import Eosctl
from tests.integration.producers import create_topic
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.variation]
IDENTITY = {"replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"}
SEPARATOR = {"replication.policy.separator": "-"}
RENAMED = {
    "transforms": "rename",
    "transforms.rename.type": "org.apache.kafka.connect.transforms.RegexRouter",
    "transforms.rename.regex": r"eu\.(.*)",
    "transforms.rename.replacement": "renamed-$1",
}


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

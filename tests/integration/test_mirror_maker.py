"""`mirror audit` of MirrorMaker 2's copies between two clusters: its own offsets and its groups' checkpoints."""

from pathlib import Path
from struct import pack

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from tests.integration.doctoring import Doctor, arguments
from tests.integration.mirror_maker import CHECKPOINTS, Mirrored
from tests.integration.mirror_site import Eosctl
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.variation]


def test_records_that_mirror_maker_copied_are_held_up_to_its_own_offset(mirrored: Mirrored):
    mirrored.write(range(100))
    mirrored.transact(range(100, 120), commit=False)
    mirrored.transact(range(200, 220))
    found = mirrored.await_copied(120)
    assert (found.verdict, found.counts, found.exit_code) == ("held", {}, 0)
    eventually(lambda: mirrored.await_copied(120).pair["position"] == 140, "the mirror's offset", deadline_s=90)


def test_records_that_the_mirror_was_made_to_skip_are_a_gap_and_those_it_was_made_to_copy_again_are_repeats(
    mirrored: Mirrored,
):
    mirrored.write(range(100))
    mirrored.await_copied(100)
    _move(mirrored, 49)
    mirrored.write(range(100, 110))
    found = mirrored.await_copied(110)
    assert (found.verdict, found.counts) == ("broken", {"repeat": 50})
    mirrored.write(range(110, 120))
    mirrored.await_copied(120)
    mirrored.worker.stop(mirrored.mirror.name)
    mirrored.write(range(120, 150))
    _move(mirrored, 139)
    found = mirrored.await_copied(130)
    assert (found.verdict, found.counts) == ("broken", {"repeat": 50, "gap": 20})


def _move(mirrored: Mirrored, offset: int | None) -> None:
    """The mirror is stopped, its offset is set (KIP-875) or deleted, and it goes on."""
    mirrored.worker.stop(mirrored.mirror.name)
    partition = {"cluster": "eu", "topic": mirrored.name, "partition": 0}
    body = {"offsets": [{"partition": partition, "offset": None if offset is None else {"offset": offset}}]}
    mirrored.worker.ask("PATCH", f"/connectors/{mirrored.mirror.name}/offsets", body)
    mirrored.mirror.resume()


@pytest.mark.proves("EOS326", "EOS327", "EOS328")
def test_doctor_warns_before_a_source_deletes_what_is_not_mirrored_and_sees_what_it_deleted(
    mirrored: Mirrored, eosctl: Eosctl, tmp_path: Path
):
    identity, name = tmp_path / "eu.properties", mirrored.mirror.name
    identity.write_text("security.protocol=PLAINTEXT\n")
    doctor = Doctor(eosctl, (*arguments(mirrored.worker.sandbox), "--source-command-config", f"eu={identity}"))
    near, purged, recreated = (("EOS328", name), ("EOS326", name), ("EOS327", name))
    mirrored.write(range(100))
    eventually(lambda: mirrored.await_copied(100).pair["position"] == 99, "the mirror's offset", deadline_s=90)
    doctor.sees_no_more(near, purged, recreated)
    healthy = {key: each for key, each in doctor.found().items() if each["severity"] != "info"}
    assert {key: each["message"] for key, each in healthy.items() if name in str(each)} == {}
    mirrored.worker.stop(name)
    _set_retention(mirrored, 600_000)
    mirrored.write(range(-300_000, -299_990))
    found = doctor.sees(near)
    assert "old, and deleted after 10 min" in found[near]["message"], found[near]
    _set_retention(mirrored, 604_800_000)
    doctor.sees_no_more(near, purged, recreated)
    mirrored.delete_before(110)
    assert "(mirrored up to 99, its log starts at 110)" in doctor.sees(purged)[purged]["message"]
    mirrored.mirror.resume()
    mirrored.write([0])
    doctor.sees_no_more(purged, deadline_s=120)
    mirrored.worker.stop(name)
    mirrored.recreate()
    assert "it ends at 0" in doctor.sees(recreated)[recreated]["message"]
    _move(mirrored, None)
    doctor.sees_no_more(recreated, purged, near)


def _set_retention(mirrored: Mirrored, age_ms: int) -> None:
    entry = ConfigEntry("retention.ms", str(age_ms), incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.TOPIC, mirrored.name, incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": mirrored.source})
    admin.incremental_alter_configs([resource])[resource].result(30)


def test_a_checkpoint_of_mirror_maker_skips_nothing_and_one_that_does_is_found(mirrored: Mirrored):
    for begin in range(0, 300, 50):
        mirrored.transact(range(begin, begin + 50))
        mirrored.transact(range(1000 + begin, 1005 + begin), commit=False)
        mirrored.await_copied(begin + 50)
    mirrored.consume_up_to(250)
    mirrored.start_checkpoints()
    eventually(mirrored.checkpoints, "a checkpoint", deadline_s=90, every_s=1)
    [found] = mirrored.checkpoints()
    unread = mirrored.number_at(mirrored.source, mirrored.name, 250)
    goes_on_at = mirrored.number_at(mirrored.target, f"eu.{mirrored.name}", int(str(found["downstream"])))
    assert (found["upstream"], found["behind"]) == (250, unread - goes_on_at)
    assert 0 <= unread - goes_on_at <= 100 + 50, "offset.lag.max, and a transaction"
    _forge(mirrored, 250, 10_000)
    [ahead] = mirrored.checkpoints()
    assert ahead["behind"] == unread - 300
    assert "checkpoint-ahead" in mirrored.audit("--checkpoints-topic", CHECKPOINTS).findings


def _forge(mirrored: Mirrored, upstream: int, downstream: int) -> None:
    group, topic = f"{mirrored.name}-group".encode(), f"eu.{mirrored.name}".encode()
    key = pack(f">h{len(group)}sh{len(topic)}si", len(group), group, len(topic), topic, 0)
    producer = Producer({"bootstrap.servers": mirrored.target})
    mirrored.worker.ask("PUT", f"/connectors/{mirrored.name}-checkpoints/pause")
    producer.produce(CHECKPOINTS, pack(">hqqh", 0, upstream, downstream, 0), key)
    assert producer.flush(30) == 0

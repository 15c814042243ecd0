"""Faults planted with real clients: each is found, under its name, with the right place, and nothing else is."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from eosctl.clients.rest import RestClient
from eosctl.clients.wire import Wire
from eosctl.model.client_properties import ClientProperties
from eosctl.model.names import TopicPartition
from tests.conftest import FreshName
from tests.faulty_sandbox import Sandbox
from tests.integration.audit_site import OFFSETS, OFFSETS_PARTITIONS, AuditSite, Eosctl
from tests.integration.coordinators import LAST_EPOCH, raise_epoch
from tests.integration.file_connectors import values_in, wait_for
from tests.integration.hanging import UNVERIFIED, hang, initialise, repeat_commit_marker
from tests.integration.producers import transactional_producer
from tests.kafka_versions import spec_of

pytestmark = [pytest.mark.kafka, pytest.mark.workers, pytest.mark.matrix]

MakeSite = Callable[..., AuditSite]


@pytest.fixture(scope="module")
def audited_sandbox(kafka_version: str) -> Iterator[Sandbox]:
    """A broker that lets transactions hang, and a worker with exactly-once enabled."""
    with Sandbox(spec_of(kafka_version, workers=1, broker_config=UNVERIFIED)) as sandbox:
        yield sandbox


@pytest.fixture
def site(audited_sandbox: Sandbox, eosctl: Eosctl, tmp_path: Path, fresh_name: FreshName) -> AuditSite:
    """A connector that has read 50 lines, and is well."""
    return AuditSite(audited_sandbox, eosctl, tmp_path, fresh_name("audited"))


def test_a_connector_that_restarts_and_is_reconfigured_has_held(site: AuditSite):
    with RestClient(site.connectors.url, 60) as rest:
        rest.request("POST", f"/connectors/{site.name}/restart?includeTasks=true", None)
    site.grow(30)
    site.connectors.create(site.name, {"batch.size": "500"})
    site.grow(20)
    audited = site.audit()
    assert (audited.findings, audited.verdict, audited.exit_code) == ({}, "held", 0)


def test_an_offset_written_by_a_plain_producer(site: AuditSite):
    site.plainly(lambda producer: site.write_offset(producer, 10**6))
    audited = site.audit()
    (place,) = audited.places["plain-offsets-write"]
    assert (audited.findings.keys(), audited.verdict) == ({"plain-offsets-write"}, "broken")
    assert (place["topic"], place["partition"]) == (OFFSETS, site.partition)
    assert '{"position":1000000}' in place["after"]


@pytest.mark.parametrize("settings", [{}, pytest.param({"enable.idempotence": True}, marks=pytest.mark.long)])
def test_a_connector_that_continues_beside_a_non_transactional_producer_is_no_zombie(
    site: AuditSite, settings: dict[str, object]
):
    """The producer is librdkafka's, which puts the key into another partition than Java's would (V12)."""
    plain = Producer({"bootstrap.servers": site.servers, **settings})
    plain.produce(OFFSETS, b'{"position":1000000}', site.key, partition=(site.partition + 3) % OFFSETS_PARTITIONS)
    assert plain.flush(30) == 0
    site.plainly(lambda producer: site.write_offset(producer, 10**6))
    site.grow(20)
    audited = site.audit()
    assert audited.findings.keys() == {"plain-offsets-write", "key-in-two-partitions"}
    places = {(each["topic"], each["partition"]) for each in audited.places["plain-offsets-write"]}
    assert places == {(OFFSETS, site.partition), (OFFSETS, (site.partition + 3) % OFFSETS_PARTITIONS)}
    assert audited.verdict == "broken"


def test_an_offset_copied_backwards_while_the_connector_runs_and_into_another_partition(site: AuditSite):
    stray = (site.partition + 1) % OFFSETS_PARTITIONS
    copier = site.transaction("copier", lambda producer: site.write_offset(producer, 7))
    site.commit(copier, lambda each: each.produce(OFFSETS, b'{"position":9}', site.key, partition=stray))
    site.grow(20)
    audited = site.audit()
    places = [(each["partition"], each["after"].partition(": ")[2]) for each in audited.places["offset-set-back"]]
    assert audited.findings.keys() == {"offset-set-back", "key-in-two-partitions"}
    assert sorted(places) == sorted([(site.partition, '{"position":7}'), (stray, '{"position":9}')])
    assert audited.verdict == "broken"


def test_an_offset_copied_backwards(site: AuditSite):
    site.transaction("copier", lambda producer: site.write_offset(producer, 7))
    audited = site.audit()
    (place,) = audited.places["offset-set-back"]
    assert (audited.findings.keys(), audited.verdict) == ({"offset-set-back"}, "broken")
    assert (place["topic"], place["partition"]) == (OFFSETS, site.partition)
    assert place["after"].endswith('{"position":7}')


def test_a_transaction_without_offsets(site: AuditSite):
    site.transaction(site.transactional_id, lambda producer: site.produce(producer, "out of nothing"))
    audited = site.audit()
    (place,) = audited.places["data-without-offsets"]
    values = values_in(site.servers, site.name)
    assert (audited.findings.keys(), audited.verdict) == ({"data-without-offsets"}, "broken")
    assert (place["topic"], place["records"], values[-1]) == (site.name, 1, b"out of nothing")


def test_records_of_another_application_in_the_output_do_not_count_against_the_connector(site: AuditSite):
    """As Kafka Streams writes: several transactions, one of them aborted, and consumed offsets in another topic."""
    streams = transactional_producer(site.servers, f"{site.name}-streams-app-1")
    for number in range(3):
        site.commit(streams, lambda each, number=number: site.produce(each, f"joined {number}"))
    streams.begin_transaction()
    site.produce(streams, "given up")
    streams.flush(30)
    streams.abort_transaction(30)
    site.grow(20)
    audited = site.audit()
    (first, *_, last) = audited.places["other-writer"]
    assert (audited.findings.keys(), audited.verdict, audited.exit_code) == ({"other-writer"}, "held", 1)
    assert (first["topic"], first["first_offset"], last["first_offset"]) == (site.name, 51, 55)
    assert audited.findings["other-writer"]["evidence"]["count"] == 3


@pytest.mark.long
@pytest.mark.variation
def test_a_writer_whose_producer_id_no_coordinator_knows_any_more_is_found_in_the_transaction_log(site: AuditSite):
    """Its epochs are used up, so that its ID has another producer ID now."""
    name = f"{site.name}-old-app"
    old = transactional_producer(site.servers, name)
    site.commit(old, lambda each: site.produce(each, "once upon a time"))
    with Wire(ClientProperties((site.servers,))) as wire:
        before = initialise(wire, name).producer_id
        raise_epoch(site.servers, name, LAST_EPOCH)
        assert initialise(wire, name).producer_id != before
    audited = site.audit()
    assert (audited.findings.keys(), audited.verdict) == ({"other-writer"}, "held")
    assert audited.places["other-writer"][0]["producer_id"] == before


def test_data_outside_any_transaction(site: AuditSite):
    site.plainly(lambda producer: site.produce(producer, "plain"), lambda producer: site.produce(producer, "plain"))
    audited = site.audit()
    (place,) = audited.places["data-outside-transaction"]
    assert (audited.findings.keys(), audited.verdict) == ({"data-outside-transaction"}, "broken")
    assert (place["topic"], place["records"], place["last_offset"] - place["first_offset"]) == (site.name, 2, 1)


def test_a_zombie_that_writes_on_after_another_producer_took_over(site: AuditSite):
    zombie = transactional_producer(site.servers, f"{site.name}-zombie")
    heir = transactional_producer(site.servers, f"{site.name}-heir")
    for number, producer in enumerate([zombie, heir, zombie, heir]):
        site.commit(
            producer,
            lambda each, number=number: site.write_offset(each, 10_000 + number),
            lambda each: site.produce(each, "again"),
        )
    audited = site.audit()
    first, second = audited.places["zombie-writer"]
    assert (audited.findings.keys(), audited.verdict) == ({"zombie-writer"}, "broken")
    assert first["offset"] < second["offset"]
    assert (first["topic"], first["partition"]) == (OFFSETS, site.partition)


def test_a_marker_that_a_coordinator_writes_again_is_no_damage(site: AuditSite):
    """The broker takes a marker of an epoch that it knows where no transaction is open (KIP-1228, KAFKA-19999)."""
    places = [TopicPartition(site.name, 0), TopicPartition(OFFSETS, site.partition)]
    assert [repeat_commit_marker(site.servers, place) for place in places] == [1, 1]
    site.grow(10)
    audited = site.audit()
    assert (audited.findings, audited.verdict, audited.exit_code) == ({}, "held", 0)


def test_records_read_again_through_a_new_offsets_topic(site: AuditSite):
    """V1: the connector begins from nothing. Before KAFKA-9228 (3.9) tasks restart only if their own configs change."""
    own = f"{site.name}-own"
    site.connectors.create(site.name, {"offsets.storage.topic": own, "batch.size": "1500"})
    wait_for(lambda: values_in(site.servers, site.name), lambda values: len(values) == 100, "all lines a second time")
    audited = site.audit()
    assert (audited.findings.keys(), audited.verdict) == ({"offset-not-taken-over"}, "broken")
    (place,) = audited.places["offset-not-taken-over"]
    assert (place["topic"], place["before"].partition("@")[0]) == (own, f"{OFFSETS}-{site.partition}")


def test_records_read_again_in_part_through_a_new_offsets_topic(site: AuditSite):
    site.grow(50)
    site.connectors.create(site.name, {"offsets.storage.topic": f"{site.name}-own", "batch.size": "20"})
    site.connectors.file(site.name).open("a").close()
    wait_for(lambda: values_in(site.servers, site.name), lambda values: len(values) > 110, "lines a second time")
    audited = site.audit()
    assert audited.findings.keys() == {"offset-not-taken-over"}
    assert audited.verdict == "broken"


def test_an_output_topic_that_cannot_be_seen_leaves_the_verdict_open(site: AuditSite):
    """Brokers answer the same for a hidden topic as for a deleted one."""
    other = f"{site.name}-other"
    site.connectors.create(site.name, {"topic": other})

    def written() -> list[bytes | None]:
        site.grow(1, run=False)
        return values_in(site.servers, other)

    wait_for(written, bool, "lines in the other topic")
    assert site.audit().verdict == "held"
    site.delete_topic(site.name)
    audited = site.audit()
    hidden = f"topic {site.name}: it does not exist, or Describe on it is missing"
    assert (audited.verdict, audited.reasons, audited.exit_code) == ("cannot-tell", [hidden], 3)
    assert f"topic {site.name}" in [each["what"] for each in audited.data["unread"]]


def test_a_hanging_transaction_in_the_output(site: AuditSite):
    with Wire(ClientProperties((site.servers,))) as wire:
        hung = hang(wire, TopicPartition(site.name, 0), f"{site.name}-hung")
    audited = site.audit()
    (place,) = audited.places["hanging-transaction"]
    assert (audited.findings.keys(), audited.verdict) == ({"hanging-transaction"}, "cannot-tell")
    assert (place["topic"], place["partition"], place["start_offset"]) == (site.name, 0, hung.start_offset)
    assert (place["owners"], place["transactional_id"]) == ([], f"{site.name}-hung")
    assert f"transactional ID {site.name}-hung, of no task of group connect-cluster" in "; ".join(audited.reasons)
    assert place["producer_id"] == hung.producer.producer_id


def test_a_range_that_was_deleted_before_the_next_audit(site: AuditSite, tmp_path: Path):
    store = f"sqlite:///{tmp_path}/ledger.db"
    first = site.audit("--store", store)
    assert (first.findings, first.verdict) == ({}, "held")
    site.grow(30)
    site.grow(30)
    site.delete_records(site.name, 0, 100)
    audited = site.audit("--store", store)
    (place,) = audited.places["expired-range"]
    assert (audited.findings.keys(), audited.verdict) == ({"expired-range"}, "cannot-tell")
    assert (place["topic"], place["start"], place["end"]) == (site.name, 51, 100)


def test_a_topic_that_a_later_audit_of_the_job_is_not_asked_for_counts_as_it_was_read(site: AuditSite, tmp_path: Path):
    store = f"sqlite:///{tmp_path}/ledger.db"
    first = site.audit("--store", store, "--topic", site.name)
    site.grow(10)
    later = site.audit("--store", store, "--topic", OFFSETS)
    assert (later.findings, later.verdict) == ({}, "held")
    [read], [kept] = [[part for part in each.data["ranges"] if part["topic"] == site.name] for each in (first, later)]
    assert (kept["start"], kept["end"], kept["records"]) == (read["start"], read["end"], read["records"])


@pytest.mark.parametrize(
    ("until", "told_by"), [(60, [OFFSETS]), (30, []), pytest.param(51, [OFFSETS], marks=pytest.mark.long)]
)
def test_a_range_that_was_deleted_before_the_first_audit(site: AuditSite, until: int, told_by: list[str]):
    """The topic keeps records for a week, and the offsets of the deleted records are minutes old; or a batch was
    cut."""
    site.grow(30)
    site.delete_records(site.name, 0, until)
    audited = site.audit()
    (place,) = audited.places["expired-range"]
    assert (audited.findings.keys(), audited.verdict) == ({"expired-range"}, "cannot-tell")
    assert (place["topic"], place["partition"], place["start"], place["end"]) == (site.name, 0, 0, until)
    assert [each["topic"] for each in place["offsets"]] == told_by


def test_offsets_that_were_deleted_from_a_topic_that_is_never_cut(site: AuditSite):
    site.grow(20)
    site.set_cleanup_policy(OFFSETS, "delete")
    site.delete_records(OFFSETS, site.partition, 1)
    site.set_cleanup_policy(OFFSETS, "compact")
    audited = site.audit()
    places = [(each["topic"], each["partition"]) for each in audited.places["expired-range"]]
    assert audited.findings.keys() == {"expired-range"}
    assert (OFFSETS, site.partition) in places
    assert audited.verdict == "cannot-tell"


def test_a_continued_audit_equals_one_audit_of_everything(site: AuditSite, tmp_path: Path):
    store = f"sqlite:///{tmp_path}/ledger.db"
    for lines in (10, 20, 30):
        site.audit("--store", store)
        site.grow(lines)
    site.transaction(site.transactional_id, lambda producer: site.produce(producer, "out of nothing"))
    site.transaction("copier", lambda producer: site.write_offset(producer, 7))
    going_on, whole = site.audit("--store", store), site.audit()
    for part in ("connectors", "ranges", "transactions", "timeline", "epochs", "growth"):
        assert going_on.data[part] == whole.data[part], part
    assert [{**each, "new": None} for each in going_on.data["findings"]] == whole.data["findings"]
    assert True in {each["new"] for each in going_on.data["findings"]}

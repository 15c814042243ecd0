"""The settings that decide where offsets are read, and as which workers: the user's, then a worker's file, then the
cluster's."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from eosctl.errors import ConfigError, Unreachable, UsageError
from eosctl.model.config_topic import ConfigTopicLog, ConnectorConfigRecord, Origin
from eosctl.model.offsets import OffsetsTopic, Store, StorePlace
from eosctl.model.report import exit_code
from eosctl.model.skipped import Cause, Skipped, not_asked
from eosctl.model.versions import NEWEST, KafkaVersion
from eosctl.model.workers import ConnectFacts, ConnectorStatus, KnownPhase
from eosctl.operations.offset_stores import OffsetsRequest, worker_settings
from eosctl.operations.offsets import diff_offsets, export_offsets, read_offsets, report_of
from tests.analysis.offset_records import record, topic
from tests.fake_cluster import FakeCluster
from tests.operations.conversation import Conversation, session_on

SERVERS = frozenset({"b:9092"})
UNNAMED = Skipped("http://w:8083 names no version: 'unknown'", Cause.UNDECODABLE)
OWN = {"orders": {"offsets.storage.topic": "own"}}


def cluster(**facts: Any) -> FakeCluster:
    """A cluster whose workers have exactly-once enabled, with one connector and its offsets."""
    topics = {"global": topic("global", [record(0, '["orders",{}]', '{"p":1}')]), "own": topic("own")}
    known: dict[str, Any] = {
        "connect_version": KafkaVersion(4, 0, 0),
        "source_support": KnownPhase.ENABLED,
        "worker_offsets_topic": "global",
        "worker_servers": SERVERS,
        "worker_clients": {},
        "connector_configs": OWN,
        "config_topic": config_topic(),
        "cluster_ids": {},
        "offsets_topic": lambda place: topics[place.topic],
    }
    return FakeCluster(**known | facts)


def config_topic(**connectors: dict[str, object]) -> ConfigTopicLog:
    unread = not_asked("the test gives none")
    records = [
        ConnectorConfigRecord(Origin(offset, 1), name, properties)
        for offset, (name, properties) in enumerate(connectors.items())
    ]
    return ConfigTopicLog("configs", unread, unread, records)


def test_a_cluster_answers_its_own_questions():
    worker = worker_settings(cluster(), OffsetsRequest(), NEWEST)
    assert (worker.offsets_topic, worker.exactly_once, worker.bootstrap_servers) == (
        "global",
        KnownPhase.ENABLED,
        SERVERS,
    )


def test_a_worker_s_file_wins_over_the_cluster_and_the_user_over_both(tmp_path: Path):
    file = tmp_path / "worker.properties"
    file.write_text("offset.storage.topic=of-file\nbootstrap.servers=f:1\nproducer.bootstrap.servers=p:1\nacks=1\n")
    reader = cluster(source_support=Unreachable("nobody may ask"))
    worker = worker_settings(reader, OffsetsRequest(worker_config=file), NEWEST)
    assert (worker.offsets_topic, worker.exactly_once) == ("of-file", KnownPhase.DISABLED)
    assert (worker.bootstrap_servers, worker.clients) == (frozenset({"f:1"}), {"producer.bootstrap.servers": "p:1"})
    said = OffsetsRequest(worker_config=file, worker_offsets_topic="said", exactly_once=KnownPhase.ENABLED)
    worker = worker_settings(reader, said, NEWEST)
    assert (worker.offsets_topic, worker.exactly_once) == ("said", KnownPhase.ENABLED)
    assert reader.coverage.asked == ()


def test_a_worker_s_file_sets_the_isolation_level_for_its_offsets_topic(tmp_path: Path):
    file = tmp_path / "worker.properties"
    file.write_text("isolation.level=read_committed\n")
    worker = worker_settings(cluster(), OffsetsRequest(worker_config=file), NEWEST)
    assert (worker.exactly_once, worker.clients) == (KnownPhase.DISABLED, {"isolation.level": "read_committed"})


def test_a_setting_that_no_worker_accepts_is_a_usage_error(tmp_path: Path):
    file = tmp_path / "worker.properties"
    file.write_text("exactly.once.source.support=maybe\n")
    with pytest.raises(UsageError, match=r"exactly\.once\.source\.support is 'maybe', which no worker accepts"):
        worker_settings(cluster(), OffsetsRequest(worker_config=file), NEWEST)


def test_workers_without_a_version_are_taken_for_the_newest_and_reported():
    reader, request = cluster(connect_version=UNNAMED), OffsetsRequest()
    report = report_of(read_offsets(reader, request), request)
    assert report.worker.version == NEWEST
    assert report.notes == (f"read as {NEWEST}: {UNNAMED.reason}; see --worker-version",)
    assert [each.reason for each in reader.coverage.gaps] == [UNNAMED.reason]


def test_while_workers_differ_no_store_is_chosen_and_the_answer_is_incomplete_unless_the_user_names_one():
    reader = cluster(source_support=Skipped("the workers differ", Cause.MIXED))
    for request, code in ((OffsetsRequest(), 3), (OffsetsRequest(exactly_once=KnownPhase.ENABLED), 0)):
        report = report_of(read_offsets(reader, request), request)
        assert exit_code(replace(report, findings=()).covering(reader.coverage)) == code


def test_no_broker_is_asked_for_a_version_that_the_user_gave():
    reader = cluster(connect_version=UNNAMED)
    read = read_offsets(reader, OffsetsRequest(worker_version="3.3.2"))
    assert (read.worker.version, read.notes) == (KafkaVersion(3, 3, 2), ())
    assert "connect_version" not in reader.coverage.asked


def test_without_rest_the_config_topic_names_the_connectors_less_the_known_sinks():
    sink = ConnectorStatus("sinky", "sink", "RUNNING", ())
    log = config_topic(orders={"offsets.storage.topic": "own"}, sinky={"offsets.storage.topic": "elsewhere"})
    reader = cluster(connector_configs=None, config_topic=log, connect=ConnectFacts({}, {"sinky": sink}))
    read = read_offsets(reader, OffsetsRequest(connectors=("orders",)))
    assert not isinstance(read.connectors.configs, Skipped)
    assert set(read.connectors.configs) == {"orders"}
    assert list(read.topics) == [StorePlace("global"), StorePlace("own")]


def test_a_config_topic_that_cannot_be_read_leaves_connectors_unknown():
    reader = cluster(connector_configs=None, config_topic=Unreachable("no leader"))
    read = read_offsets(reader, OffsetsRequest())
    assert read.connectors.configs == Skipped("no leader")
    assert isinstance(read.topics[StorePlace("global")], OffsetsTopic)


def fails_for(name: str) -> Any:
    """An offsets_topic that cannot be read where it has this name."""

    def read(place: StorePlace) -> OffsetsTopic:
        if place.topic == name:
            raise Unreachable("no leader")
        return topic(place.topic)

    return read


def test_an_own_topic_that_cannot_be_read_is_skipped_unless_its_connector_is_asked_for():
    reader = cluster(offsets_topic=fails_for("own"))
    assert read_offsets(reader, OffsetsRequest()).topics[StorePlace("own")] == Skipped("no leader")
    with pytest.raises(Unreachable):
        read_offsets(reader, OffsetsRequest(connectors=("orders",)))


def test_a_note_says_that_the_supposed_topic_does_not_exist_and_which_may_be_meant():
    there = frozenset({"orders-offsets"})
    reader = cluster(
        offsets_topic=lambda place: topic(place.topic) if place.topic == "global" else None, topic_names=there
    )
    asked = OffsetsRequest(offsets_topic="order-offsets")
    begins = "topic order-offsets does not exist: a connector that names it begins with an empty topic"
    assert read_offsets(reader, asked).notes[-1] == f"{begins}; did you mean orders-offsets?"


def test_the_workers_topic_is_always_required():
    with pytest.raises(Unreachable):
        read_offsets(cluster(offsets_topic=fails_for("global")), OffsetsRequest())
    with pytest.raises(UsageError, match="topic global does not exist"):
        read_offsets(cluster(offsets_topic=lambda _: None), OffsetsRequest())


def test_a_slash_at_its_end_makes_a_directory_of_an_export_and_the_directory_is_what_is_compared(tmp_path: Path):
    session, request = session_on(cluster(), Conversation(), timeout_s=2), OffsetsRequest(("orders",))
    directory = f"{tmp_path}/before/"
    [written] = export_offsets(session, request, directory, Store.WORKER_GLOBAL).files
    assert Path(written.file) == tmp_path / "before" / "orders.json"
    with pytest.raises(UsageError, match=r"before/orders\.json exists already"):
        export_offsets(session, request, directory, Store.WORKER_GLOBAL)
    assert export_offsets(session, request, directory, Store.WORKER_GLOBAL, overwrite=True).files == (written,)
    compared = diff_offsets(session, OffsetsRequest(), directory, "live", Store.WORKER_GLOBAL, {})
    assert (compared.changes, compared.same) == ((), 1)
    export_offsets(session, request, f"{tmp_path}/plain", Store.WORKER_GLOBAL)
    assert (tmp_path / "plain").is_file()
    with pytest.raises(ConfigError, match=r"cannot write into directory .*plain"):
        export_offsets(session, request, f"{tmp_path}/plain/", Store.WORKER_GLOBAL)
    for name in ("plain/", "absent/"):
        with pytest.raises(ConfigError, match=rf"there is no directory .*{name}"):
            diff_offsets(session, request, f"{tmp_path}/{name}", "live", Store.WORKER_GLOBAL, {})

"""Which stores a connector uses, row by row of Kafka's rule."""

import pytest

from eosctl.analysis.source_stores import stores_of
from eosctl.model.client_roles import server_set
from eosctl.model.offsets import OffsetStore, OffsetStores, SourceSupport, StorePlace, WorkerSettings
from eosctl.model.records import IsolationLevel
from eosctl.model.skipped import Skipped
from eosctl.model.versions import KafkaVersion
from tests.analysis.offset_records import SERVERS, worker

DISABLED, PREPARING, ENABLED = SourceSupport.DISABLED, SourceSupport.PREPARING, SourceSupport.ENABLED
COMMITTED, UNCOMMITTED = IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED
ALL_CLIENTS = ("producer", "consumer", "admin")


def elsewhere(servers: str = "c:9092") -> dict[str, object]:
    return {f"{client}.override.bootstrap.servers": servers for client in ALL_CLIENTS}


def only(settings: WorkerSettings, config: dict[str, object]) -> OffsetStores:
    stores = stores_of(settings, config)
    assert not isinstance(stores, Skipped)
    [found] = stores
    return found


GLOBAL, OWN = StorePlace("global"), StorePlace("own")
THERE = frozenset({"c:9092"})


@pytest.mark.parametrize(
    ("mode", "config", "general", "specific"),
    [
        (DISABLED, {}, OffsetStore(GLOBAL, UNCOMMITTED), None),
        (PREPARING, {}, OffsetStore(GLOBAL, UNCOMMITTED), None),
        (DISABLED, elsewhere(), OffsetStore(GLOBAL, UNCOMMITTED), None),
        (DISABLED, {"offsets.storage.topic": "global"}, None, OffsetStore(GLOBAL, COMMITTED)),
        (DISABLED, {"offsets.storage.topic": "own"}, OffsetStore(GLOBAL, UNCOMMITTED), OffsetStore(OWN, COMMITTED)),
        (
            DISABLED,
            {"offsets.storage.topic": "own", "consumer.override.isolation.level": "READ_UNCOMMITTED"},
            OffsetStore(GLOBAL, UNCOMMITTED),
            OffsetStore(OWN, UNCOMMITTED),
        ),
        (ENABLED, {}, None, OffsetStore(GLOBAL, COMMITTED)),
        (ENABLED, {"offsets.storage.topic": "global"}, None, OffsetStore(GLOBAL, COMMITTED)),
        (ENABLED, {"offsets.storage.topic": "own"}, OffsetStore(GLOBAL, COMMITTED), OffsetStore(OWN, COMMITTED)),
        (
            ENABLED,
            {"offsets.storage.topic": "own", "consumer.override.isolation.level": "read_uncommitted"},
            OffsetStore(GLOBAL, COMMITTED),
            OffsetStore(OWN, COMMITTED),
        ),
        (ENABLED, elsewhere(" b:9092 , a:9092"), None, OffsetStore(GLOBAL, COMMITTED)),
        (
            ENABLED,
            elsewhere(),
            OffsetStore(GLOBAL, COMMITTED),
            OffsetStore(StorePlace("global", THERE), COMMITTED),
        ),
        (
            ENABLED,
            {**elsewhere(), "offsets.storage.topic": "own"},
            OffsetStore(GLOBAL, COMMITTED),
            OffsetStore(StorePlace("own", THERE), COMMITTED),
        ),
    ],
)
def test_each_row_has_its_stores(
    mode: SourceSupport, config: dict[str, object], general: OffsetStore | None, specific: OffsetStore | None
) -> None:
    stores = only(worker(mode), config)
    assert (stores.worker_global, stores.connector_specific) == (general, specific)


@pytest.mark.parametrize(
    ("mode", "level", "read"),
    [
        (DISABLED, "read_committed", COMMITTED),
        (PREPARING, "read_committed", COMMITTED),
        (DISABLED, "read_uncommitted", UNCOMMITTED),
        (ENABLED, "read_uncommitted", COMMITTED),
    ],
)
def test_a_worker_reads_its_own_topic_as_its_isolation_level_says_unless_it_is_enabled(
    mode: SourceSupport, level: str, read: IsolationLevel
) -> None:
    settings = worker(mode, clients={"isolation.level": level})
    assert only(settings, {"offsets.storage.topic": "own"}).worker_global == OffsetStore(GLOBAL, read)
    if mode is not ENABLED:
        assert only(settings, {}).worker_global == OffsetStore(GLOBAL, read)


def test_a_store_is_written_by_the_producer_and_read_by_the_consumer() -> None:
    stores = only(worker(), {"offsets.storage.topic": "own", "producer.override.bootstrap.servers": "c:9092"})
    assert stores.written_to == StorePlace("own", THERE)
    assert stores.connector_specific == OffsetStore(OWN, COMMITTED)


def test_workers_before_3_3_know_the_worker_global_store_only() -> None:
    stores = only(worker(version=KafkaVersion(3, 2)), {"offsets.storage.topic": "own"})
    assert (stores.worker_global, stores.connector_specific) == (OffsetStore(GLOBAL, UNCOMMITTED), None)


def test_servers_that_the_worker_gives_to_its_clients_count_as_the_connector_s() -> None:
    settings = worker(clients={"producer.bootstrap.servers": "c:9092", "consumer.bootstrap.servers": "c:9092"})
    assert only(settings, {}).written_to == StorePlace("global", THERE)


def test_both_answers_are_given_where_exactly_once_is_unknown() -> None:
    answers = stores_of(worker(Skipped("not given")), {})
    assert not isinstance(answers, Skipped)
    assert [each.worker_global is None for each in answers] == [False, True]


@pytest.mark.parametrize(
    ("settings", "config", "reason"),
    [
        (worker(), {"offsets.storage.topic": "${file:/x:topic}"}, "offsets.storage.topic of the connector is"),
        (worker(), {"producer.override.bootstrap.servers": "[hidden]"}, "where it leads is not known"),
        (
            worker(bootstrap_servers=Skipped("give it")),
            {"producer.override.bootstrap.servers": "c:9092"},
            r"the worker's are not known \(give it\)",
        ),
    ],
)
def test_what_is_unknown_is_said(settings: WorkerSettings, config: dict[str, object], reason: str) -> None:
    import re

    answer = stores_of(settings, config)
    assert isinstance(answer, Skipped)
    assert re.search(reason, answer.reason)


def test_the_worker_s_servers_need_not_be_known_where_nothing_overrides_them() -> None:
    assert only(worker(bootstrap_servers=Skipped("give it")), {}).connector_specific == OffsetStore(GLOBAL, COMMITTED)


def test_servers_are_a_set_of_strings() -> None:
    assert server_set(" a:1,b:2 ,a:1,") == {"a:1", "b:2"}
    assert server_set("b:9092,a:9092") == SERVERS

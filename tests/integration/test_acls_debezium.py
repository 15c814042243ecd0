"""The plan for a Debezium connector is enough, and without any one of the bindings that only it needs something fails.

Its topics do not exist: brokers create them, or Connect by topic.creation settings.
"""

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest
from confluent_kafka import Producer

from eosctl.clients.wire import Wire
from eosctl.model.acl_plan import AclPlan
from eosctl.model.acls import AclBinding, Operation
from eosctl.model.client_roles import ConnectorConfig
from eosctl.model.workers import SourceSupport
from tests.faulty_sandbox import Sandbox
from tests.integration.acl_broker import AclBroker, wire_of
from tests.integration.acl_scenarios import ends
from tests.integration.acl_site import PATIENT_S, SHORT_S, USERS, Broken, Site, Sites
from tests.integration.debezium import PLUGIN, create_table, debezium_config, drop_slot, execute
from tests.integration.producers import create_topic
from tests.kafka_versions import spec_of

pytestmark = [pytest.mark.kafka, pytest.mark.variation, pytest.mark.matrix]

BEATS = {"heartbeat.interval.ms": "500"}
METADATA = {"provide.transaction.metadata": "true"}
CREATION = {"topic.creation.default.replication.factor": "1", "topic.creation.default.partitions": "1"}
SIGNALS = "upstream"


class Shop:
    """A Debezium connector over a table, topics and a slot of its name, with what its settings add."""

    def __init__(self, site: Site, name: str, kinds: frozenset[str]) -> None:
        self.site, self.name, self.kinds = site, name, kinds
        create_table(site.sandbox, name)
        create_topic(site.sandbox.bootstrap_servers, f"{name}-signal")
        self.connector: ConnectorConfig = site.connector(name, **debezium_config(site.sandbox, name), **self._more())

    def _more(self) -> dict[str, str]:
        more = {**BEATS, **METADATA} if "metadata" in self.kinds else {}
        if "creation" in self.kinds:
            more |= CREATION
        if "notifications" in self.kinds:
            more |= {"notification.enabled.channels": "sink", "notification.sink.topic.name": f"{self.name}-notices"}
        if "signals" in self.kinds:
            client = {f"signal.consumer.{key}": value for key, value in self.site.client(SIGNALS).items()}
            servers = client["signal.consumer.bootstrap.servers"]
            quick = {"signal.poll.interval.ms": "200", "signal.kafka.poll.timeout.ms": "500"}
            more |= {"signal.enabled.channels": "kafka", "signal.kafka.bootstrap.servers": servers, **client, **quick}
        return more

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics that have to fill."""
        beside = (f"__debezium-heartbeat.{self.name}", f"{self.name}.transaction")
        notices = (f"{self.name}-notices",) if "notifications" in self.kinds else ()
        return (f"{self.name}.public.{self.name}", *(beside if "metadata" in self.kinds else ()), *notices)

    def plan(self) -> AclPlan:
        """The plan of eosctl if none of its topics exists."""
        return self.site.plan([self.connector], dict.fromkeys(self.topics, False))

    def live(self, root: Wire) -> None:
        """It is created, streams changes, heeds a signal, and is stopped; Broken where something does not come."""
        self.site.put("create", self.connector)
        self.site.await_running("create", self.name, 1)
        for topic in self.topics:
            self.site.wait(topic, lambda topic=topic: self._has_grown(root, topic), f"record in {topic}")
        if "signals" in self.kinds:
            self._signal()
            self.site.wait("signal", lambda: f"heed {self.name}" in self._log(), "signal in the worker's log")
        self.site.await_running("stream", self.name, 1)
        self.site.rest("stop", "PUT", f"/connectors/{self.name}/stop")

    def await_end(self) -> None:
        """The task has ended: what it does at its end is in the worker's log."""

        def ended() -> bool:
            status = self.site.rest("end", "GET", f"/connectors/{self.name}/status").body
            assert isinstance(status, dict)
            return not status["tasks"]

        self.site.wait("end", ended, "end of the task")

    def _has_grown(self, root: Wire, topic: str) -> bool:
        self.site.await_running("stream", self.name, 1)
        execute(self.site.sandbox, f"INSERT INTO {self.name} (filler) VALUES ('x')")
        return ends(root, topic) > 0

    def _signal(self) -> None:
        producer = Producer({"bootstrap.servers": self.site.sandbox.bootstrap_servers, "log_level": 0})
        signal = {"id": "1", "type": "log", "data": {"message": f"heed {self.name}"}}
        producer.produce(f"{self.name}-signal", json.dumps(signal).encode(), self.name.encode(), partition=0)
        assert producer.flush(30) == 0

    def _log(self) -> str:
        return self.site.sandbox.worker_log(1).read_text(errors="replace")

    def remove(self) -> None:
        """Connector, slot and table go."""
        self.site.delete(self.name)
        drop_slot(self.site.sandbox, self.name)
        execute(self.site.sandbox, f"DROP TABLE {self.name}")


@pytest.fixture(scope="module")
def site(kafka_version: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A Connect cluster with Debezium, whose worker runs."""
    spec = spec_of(kafka_version, users=USERS, deadline_s=60, plugins=(PLUGIN,), postgres=True)
    with Sandbox(spec) as sandbox, AclBroker(sandbox) as acls:
        made = Sites(sandbox, acls, tmp_path_factory.mktemp("files"), PATIENT_S).make(SourceSupport.ENABLED)
        made.allow(each.binding for each in made.plan([], {}).bindings)
        made.start_worker()
        yield made
        made.stop_worker()


@pytest.fixture(scope="module")
def root(site: Site) -> Iterator[Wire]:
    with wire_of(site.sandbox) as wire:
        yield wire


KINDS = {
    "plain": frozenset[str](),
    "connect-creates": frozenset({"creation"}),
    "metadata": frozenset({"metadata"}),
    "all-that-brokers-create": frozenset({"metadata", "notifications", "signals"}),
    "all-that-connect-creates": frozenset({"creation", "metadata", "notifications", "signals"}),
}


@pytest.mark.parametrize("kinds", KINDS.values(), ids=KINDS)
def test_the_plan_is_enough(site: Site, root: Wire, kinds: frozenset[str]):
    shop = Shop(site, f"enough_{list(KINDS.values()).index(kinds)}", kinds)
    plan = shop.plan()
    assert [each.kind.name for each in plan.findings] == []
    site.allow(each.binding for each in plan.bindings)
    shop.live(root)
    shop.remove()


@pytest.mark.parametrize("creation", [frozenset[str](), frozenset({"creation"})], ids=["brokers", "connect"])
def test_without_any_of_its_own_bindings_something_fails(site: Site, root: Wire, creation: frozenset[str]):
    kinds = creation | {"metadata", "notifications", "signals"}
    taken: list[str] = []
    prefix = f"needed_{len(creation)}"
    count = len(own_bindings(Shop(site, f"{prefix}_all", kinds)))
    for number in range(count):
        shop = Shop(replace(site, patience_s=SHORT_S), f"{prefix}_{number}", kinds)
        removed = own_bindings(shop)[number]
        site.allow({each.binding for each in shop.plan().bindings} - {removed})
        try:
            shop.live(root)
            shop.await_end()
            if not site.complaint():
                taken.append(f"{removed} is not needed")
        except Broken:
            pass
        shop.remove()
    assert (count, taken) == (11 if creation else 8, [])


def own_bindings(shop: Shop) -> list[AclBinding]:
    """Those on its output topics and of its consumer of signals, in one order; the rest every source connector has.

    Where Connect creates the topics, its producer misses Create now and then only: see docs/dev/lab.md.
    """
    mine = (f"{shop.name}.", *shop.topics, f"{shop.name}-signal", "kafka-signal")
    found = [each.binding for each in shop.plan().bindings if each.binding.pattern.name in mine]
    by_connect = {Operation.CREATE} if "creation" in shop.kinds else set[Operation]()
    return [each for each in found if each.principal != "User:connector" or each.operation not in by_connect]

"""Operators' actions on a Connect cluster: each scenario passes, or is Broken at its failed step."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from eosctl.clients.wire import Wire
from eosctl.model.client_properties import Property
from eosctl.model.client_roles import ConnectorConfig
from eosctl.model.names import TopicPartition
from eosctl.model.versions import KafkaVersion
from eosctl.model.workers import SourceSupport
from eosctl.sources.kafka_log import partition_offsets
from tests.integration.acl_site import Site

STOP_OVER_REST = KafkaVersion(3, 5)
RESET_OVER_REST = KafkaVersion(3, 6)
TOMBSTONES_FIRST = KafkaVersion(3, 8)

Scenario = Callable[[Site, Wire], None]


@dataclass(frozen=True, slots=True)
class Connectors:
    """The connectors of a site: a plain file source, one with an offsets topic of its own, and a mirror."""

    file: ConnectorConfig
    own: ConnectorConfig
    mirror: ConnectorConfig

    @classmethod
    def of(cls, site: Site) -> "Connectors":
        """Those that every scenario uses; the mirror with the most tasks that it ever has."""
        plain = site.file_source()
        own = {key: each.value for key, each in plain.properties.items()}
        own |= {"name": f"{site.name}-own", "offsets.storage.topic": f"{site.name}-own-offsets"}
        return cls(plain, site.connector(own.pop("name"), **own), site.mirror_source(3))

    def __iter__(self):
        return iter((self.file, self.own, self.mirror))


def restart(site: Site, _: Wire) -> None:
    """The worker starts over topics that hold records."""
    site.stop_worker()
    site.start_worker()


def file_life(site: Site, root: Wire) -> None:
    """A file source is created, writes, commits, is reconfigured, stopped, reset and resumed."""
    _life(site, root, Connectors.of(site).file, f"{site.name}-offsets")


def own_topic_life(site: Site, root: Wire) -> None:
    """The same with an offsets topic of its own."""
    _life(site, root, Connectors.of(site).own, f"{site.name}-own-offsets")


def _life(site: Site, root: Wire, connector: ConnectorConfig, offsets_topic: str) -> None:
    name, output = connector.name, f"{site.name}-lines"
    site.put("create", connector)
    site.await_running("create", name, 1)
    _append(site, root, output, "write records")
    _append(site, root, offsets_topic, "commit offsets")
    site.put("reconfigure", with_tasks(connector, 2))
    site.await_running("reconfigure", name, 1)
    _append(site, root, output, "write after reconfiguration")
    _stop_reset_resume(site, root, name, 1)
    _append(site, root, output, "write after resuming")


def mirror_life(site: Site, root: Wire) -> None:
    """A mirror gets more tasks, then fewer: with exactly-once each change fences the former ones."""
    mirror, name = Connectors.of(site).mirror, f"{site.name}-mirror"
    site.put("create", with_tasks(mirror, 1))
    site.await_running("create", name, 1)
    for tasks, step in ((3, "more tasks"), (2, "fewer tasks")):
        site.put(step, with_tasks(mirror, tasks))
        site.await_running(step, name, tasks)
    before = ends(root, f"up.{site.name}-up")
    _produce(site)
    site.wait("mirror records", lambda: ends(root, f"up.{site.name}-up") > before, "record in the mirrored topic")
    _stop_reset_resume(site, root, name, 2)


def _stop_reset_resume(site: Site, root: Wire, name: str, tasks: int) -> None:
    if site.version < STOP_OVER_REST:
        return
    site.rest("stop", "PUT", f"/connectors/{name}/stop")
    site.wait("stop", lambda: _stopped(site, name), "STOPPED connector without tasks")
    if site.version >= RESET_OVER_REST:
        known = site.rest("list offsets", "GET", f"/connectors/{name}/offsets").body
        assert isinstance(known, Mapping)
        if known["offsets"]:
            site.rest("alter offsets", "PATCH", f"/connectors/{name}/offsets", known)
        if not resets_hang(site, name):
            site.rest("reset offsets", "DELETE", f"/connectors/{name}/offsets")
    site.rest("resume", "PUT", f"/connectors/{name}/resume")
    site.await_running("resume", name, tasks)


def leader_change(site: Site, root: Wire) -> None:
    """A second worker starts over topics that hold records; the first leaves, and the second fences as leader."""
    with site.second_worker():
        mirror = Connectors.of(site).mirror
        site.await_running("leader change", mirror.name, 2)
        site.put("reconfigure under the new leader", with_tasks(mirror, 3))
        site.await_running("reconfigure under the new leader", mirror.name, 3)
        site.put("configure under the new leader", with_tasks(Connectors.of(site).file, 3))
        site.await_running("configure under the new leader", Connectors.of(site).file.name, 1)


def first_start(site: Site, root: Wire) -> None:
    """A worker starts where no topic exists, and runs a connector."""
    site.start_worker()
    file_life(site, root)


def from_nothing(site: Site, root: Wire) -> None:
    """A worker starts where no topic exists, and runs connectors with and without an offsets topic of their own."""
    first_start(site, root)
    own_topic_life(site, root)


def everything(site: Site, root: Wire) -> None:
    """All of it, from an empty cluster on."""
    from_nothing(site, root)
    mirror_life(site, root)
    leader_change(site, root)


def _append(site: Site, root: Wire, topic: str, step: str) -> None:
    """A line more in the file must bring something more into the topic."""
    before = ends(root, topic)
    with (site.files / f"{site.name}.txt").open("a") as file:
        file.write(f"{step}\n")
    site.wait(step, lambda: ends(root, topic) > before, f"record in {topic}")


def ends(root: Wire, topic: str) -> int:
    """The sum of the topic's last stable offsets; 0 where it does not exist."""
    from eosctl.sources.kafka_topics import topic_facts

    facts = topic_facts(root, [topic])[topic]
    places = [] if facts is None else [TopicPartition(topic, number) for number in range(facts.partitions)]
    return sum(each.last_stable_offset for each in partition_offsets(root, places).values()) if places else 0


def _produce(site: Site) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": site.sandbox.bootstrap_servers, "log_level": 0})
    for number in range(40):
        producer.produce(f"{site.name}-up", f"{number}".encode(), partition=number % 4)
    assert producer.flush(30) == 0


def resets_hang(site: Site, name: str) -> bool:
    """True if a reset never ends on this version, with any ACLs: with two stores under exactly-once.

    Tombstones go to the worker-global topic first (KAFKA-15018), and those of the own topic are sent when that is
    acknowledged: the transaction has been committed by then ("Cannot add partition … while in state READY").
    """
    own = name == Connectors.of(site).own.name
    return own and site.phase is SourceSupport.ENABLED and site.version >= TOMBSTONES_FIRST


def _stopped(site: Site, name: str) -> bool:
    status = site.rest("stop", "GET", f"/connectors/{name}/status").body
    assert isinstance(status, Mapping)
    return status["connector"]["state"] == "STOPPED" and not status["tasks"]


def with_tasks(connector: ConnectorConfig, tasks: int) -> ConnectorConfig:
    """The connector with this tasks.max."""
    changed = {**connector.properties, "tasks.max": Property(str(tasks), "the test")}
    return replace(connector, properties=changed)

"""Kafka's own computation of clients' configurations, and generated workers and connectors to ask it about."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from eosctl.sandbox.jars import resolve_jars
from eosctl.sandbox.java import compile_java
from tests.jvm import Oracle, java_with

SOURCE = Path(__file__).with_name("ClientConfigsOracle.java")
MIRROR_SOURCE = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
WORKER = {
    "config.storage.topic": "configs",
    "offset.storage.topic": "offsets",
    "status.storage.topic": "statuses",
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
}


class ClientConfigsOracle(Oracle):
    """One JVM with the classes of one Kafka version."""

    def __init__(self, kafka_version: str) -> None:
        jars = resolve_jars(kafka_version, lambda _: None)
        mirror = jars.plugin_path / "connect-mirror" / "*"
        classes = compile_java(jars.compiler, SOURCE, os.pathsep.join([jars.classpath, str(mirror)]))
        super().__init__([*java_with(jars, classes, mirror), "ClientConfigsOracle"])

    def ask(self, **question: Mapping[str, str]) -> dict[str, Any]:
        """The answer by client: the map that it is handed, or the exception's name; `values of` a client its config."""
        return self.answer(question)


SERVERS = st.sampled_from(["a:1", "a:1,b:2", " a:1 , b:2", "b:2,a:1"])
IDENTITY = {
    "bootstrap.servers": SERVERS,
    "client.id": st.sampled_from(["me", ""]),
    "security.protocol": st.sampled_from(["PLAINTEXT", "SSL", "SASL_SSL"]),
    "sasl.mechanism": st.sampled_from(["PLAIN", "SCRAM-SHA-256"]),
    "sasl.jaas.config": st.just("x.Login required;"),
    "metrics.context.site": st.sampled_from(["berlin", "oslo"]),
    "nobody.knows.it": st.sampled_from(["1", ""]),
}
BY_KIND: dict[str, dict[str, st.SearchStrategy[str]]] = {
    "producer": IDENTITY
    | {
        "acks": st.sampled_from(["all", "-1", "1", "0", " all ", "ALL", "2", "${file:PATH:acks}", "${none:acks}"]),
        "enable.idempotence": st.sampled_from(["true", "false", "TRUE", " true", "x"]),
        "max.in.flight.requests.per.connection": st.sampled_from(["1", "5", "6", "0", "+2", "five"]),
        "retries": st.sampled_from(["0", "1", "-1", "2147483647", "2147483648", "1.0"]),
        "transaction.timeout.ms": st.sampled_from(["60000", " 900001 ", "${file:PATH:timeout}", "ten", "-5", ""]),
        "transactional.id": st.sampled_from(["mine", "g-c-0"]),
        "max.block.ms": st.sampled_from(["1", "60000"]),
        "delivery.timeout.ms": st.sampled_from(["1000", "120000"]),
        "linger.ms": st.sampled_from(["0", "7"]),
    },
    "consumer": IDENTITY
    | {
        "isolation.level": st.sampled_from(["read_committed", "read_uncommitted", "READ_COMMITTED", "none"]),
        "auto.offset.reset": st.sampled_from(["latest", "none"]),
        "enable.auto.commit": st.sampled_from(["true", "false"]),
        "group.id": st.just("theirs"),
    },
    "admin": IDENTITY
    | {
        "retry.backoff.ms": st.sampled_from(["5", "500", "${file:PATH:backoff}"]),
        "retry.backoff.max.ms": st.sampled_from(["5", "2000"]),
        "request.timeout.ms": st.sampled_from(["5000", "30000"]),
    },
}
KEYS = [(kind, key) for kind, keys in BY_KIND.items() for key in keys]


@st.composite
def settings_of_clients(draw: st.DrawFn, *prefixes: str) -> dict[str, str]:
    """Settings of any of the three clients, each behind one of the prefixes and the client's name."""
    chosen = draw(st.lists(st.tuples(st.sampled_from(prefixes), st.sampled_from(KEYS)), max_size=9))
    return {prefix.format(kind) + key: draw(BY_KIND[kind][key]) for prefix, (kind, key) in chosen}


@st.composite
def workers(draw: st.DrawFn, kafka_version: str, file: Path) -> dict[str, str]:
    """A worker's properties; references to config providers lead to `file`."""
    own = {"group.id": st.sampled_from(["g", "connect-1"]), "bootstrap.servers": SERVERS}
    may = {
        "client.id": st.just("worker"),
        "security.protocol": st.sampled_from(["PLAINTEXT", "SSL"]),
        "retry.backoff.ms": st.sampled_from(["50", "200"]),
        "metrics.context.site": st.just("worker"),
        "exactly.once.source.support": st.sampled_from(["disabled", "preparing", "enabled"]),
        "connector.client.config.override.policy": st.sampled_from(["All", "Principal", "None"]),
        "administration": st.just("1"),
        "producer": st.just("no prefix"),
        "config.providers": st.just("file"),
    }
    found = WORKER | draw(settings_of_clients("{}.")) | draw(st.fixed_dictionaries(own, optional=may))
    if kafka_version < "4" and draw(st.integers(0, 9)) == 0:
        del found["bootstrap.servers"]
    if "config.providers" in found:
        found["config.providers.file.class"] = "org.apache.kafka.common.config.provider.FileConfigProvider"
    return _with_file(found, file)


@st.composite
def connectors(draw: st.DrawFn, file: Path) -> dict[str, str]:
    """A connector's config: overrides of its clients, and for a mirror those that it makes itself."""
    found = draw(settings_of_clients("{}.override."))
    name = draw(st.sampled_from(["c", "orders-1", "ü"]))
    if not draw(st.booleans()):
        return _with_file({**found, "name": name, "connector.class": "x.Source"}, file)
    location = draw(st.fixed_dictionaries({}, optional={"offset-syncs.topic.location": st.just("target")}))
    sides = ("source.cluster.", "target.cluster.", "source.cluster.{}.", "source.{}.", "target.{}.", "{}.", "source.")
    mirror = draw(settings_of_clients(*sides))
    aliases = {"source.cluster.alias": "a", "target.cluster.alias": "b", "connector.class": MIRROR_SOURCE}
    return _with_file({**mirror, **found, **location, **aliases, "name": name}, file)


def _with_file(settings: dict[str, str], file: Path) -> dict[str, str]:
    return {key: value.replace("PATH", str(file)) for key, value in settings.items()}


@st.composite
def mirror_maker_files(draw: st.DrawFn) -> dict[str, str]:
    """A MirrorMaker's properties, with the flows a->b and b->a: settings of all clusters, of one, and of one flow."""
    clients = draw(settings_of_clients("{}.", "", "a.", "b.", "a.{}.", "b.{}.", "a->b."))
    may = {
        "offset.storage.topic": st.just("all-offsets"),
        "b.offset.storage.topic": st.just("b-offsets"),
        "b.config.storage.topic": st.just("b-configs"),
        "b.group.id": st.just("named"),
        "task.shutdown.graceful.timeout.ms": st.just("9"),
        "a.consumer_thing": st.just("x"),
        "consumer.poll.timeout.ms": st.just("700"),
        "a->b.enabled": st.sampled_from(["true", "TRUE", "false", "yes"]),
        "emit.heartbeats.enabled": st.sampled_from(["true", "false"]),
        "b->a.emit.heartbeats.enabled": st.sampled_from(["true", "false"]),
        "a->b.topics": st.just("orders"),
        "topics": st.just(".*"),
        "b.exactly.once.source.support": st.sampled_from(["enabled", "preparing"]),
    }
    # Scanned by ServiceLoader alone, a plugin path costs tenths of a second.
    first = {"clusters": draw(st.sampled_from(["a,b", "a, b"])), "plugin.discovery": "SERVICE_LOAD"}
    found = {key: value for key, value in clients.items() if "${" not in value}
    return first | found | draw(st.fixed_dictionaries({}, optional=may))

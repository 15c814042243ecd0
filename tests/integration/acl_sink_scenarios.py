"""Operators' actions on a sink connector with a dead letter queue, and a source that creates its topics."""

import json
from collections.abc import Mapping
from pathlib import Path

from eosctl.clients.wire import Wire
from eosctl.model.client_roles import ConnectorConfig
from tests.integration.acl_scenarios import RESET_OVER_REST, STOP_OVER_REST, ends
from tests.integration.acl_site import Site

CREATED_PARTITIONS = 3


def sink(site: Site) -> ConnectorConfig:
    """FileStreamSink over `<site>-in`; records that are no JSON go into `<site>-dlq`."""
    return site.connector(
        f"{site.name}-sink",
        **{
            "connector.class": "FileStreamSink",
            "topics": f"{site.name}-in",
            "file": str(_output(site)),
            "key.converter": "org.apache.kafka.connect.storage.StringConverter",
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter.schemas.enable": "false",
            "errors.tolerance": "all",
            "errors.deadletterqueue.topic.name": f"{site.name}-dlq",
            "errors.deadletterqueue.topic.replication.factor": "1",
        },
    )


def creating_source(site: Site) -> ConnectorConfig:
    """FileStreamSource whose topic does not exist: it is created by its topic.creation settings (KIP-158)."""
    plain = {key: each.value for key, each in site.file_source().properties.items()}
    settings = {
        **plain,
        "topic": f"{site.name}-created",
        "topic.creation.default.partitions": str(CREATED_PARTITIONS),
        "topic.creation.default.replication.factor": "1",
    }
    return site.connector(f"{site.name}-creating", **{key: each for key, each in settings.items() if key != "name"})


def sink_life(site: Site, root: Wire) -> None:
    """A sink is created, writes, reports what it cannot read, is stopped, its offsets listed, altered and reset."""
    name = f"{site.name}-sink"
    site.put("create", sink(site))
    site.await_running("create", name, 1)
    letters = ends(root, f"{site.name}-dlq")
    _produce(site, b'"readable"', b"not JSON {")
    site.wait("read records", lambda: "readable" in _text(_output(site)), "line in the file")
    site.wait("report records", lambda: ends(root, f"{site.name}-dlq") > letters, "record in the dead letter queue")
    if site.version < RESET_OVER_REST:
        return
    assert site.version >= STOP_OVER_REST
    site.rest("stop", "PUT", f"/connectors/{name}/stop")
    site.wait("list offsets", lambda: bool(_offsets(site, "list offsets", name)), "committed offset of the sink")
    (first, *_) = _offsets(site, "list offsets", name)
    path = f"/connectors/{name}/offsets"
    site.rest("alter offsets", "PATCH", path, {"offsets": [{**first, "offset": {"kafka_offset": 0}}]})
    assert _offsets(site, "list altered offsets", name) == [{**first, "offset": {"kafka_offset": 0}}]
    site.rest("remove an offset", "PATCH", path, {"offsets": [{**first, "offset": None}]})
    site.rest("reset offsets", "DELETE", path)
    assert _offsets(site, "list no offsets", name) == []
    _output(site).write_text("")
    site.rest("resume", "PUT", f"/connectors/{name}/resume")
    site.wait("read again", lambda: "readable" in _text(_output(site)), "line in the file, from the beginning again")


def creating_life(site: Site, root: Wire) -> None:
    """A source creates its topic as its settings say, and writes into it."""
    from eosctl.sources.kafka_topics import topic_facts

    created = f"{site.name}-created"
    site.put("create", creating_source(site))
    site.await_running("create", f"{site.name}-creating", 1)
    site.wait("write records", lambda: ends(root, created) > 0, f"record in {created}")
    facts = topic_facts(root, [created])[created]
    assert facts is not None
    assert facts.partitions == CREATED_PARTITIONS, "the broker created the topic, not the connector"


def _offsets(site: Site, step: str, name: str) -> list[dict[str, object]]:
    body = site.rest(step, "GET", f"/connectors/{name}/offsets").body
    assert isinstance(body, Mapping)
    return json.loads(json.dumps(body["offsets"]))


def _output(site: Site) -> Path:
    return site.files / f"{site.name}.out"


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def _produce(site: Site, *values: bytes) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": site.sandbox.bootstrap_servers, "log_level": 0})
    for value in values:
        producer.produce(f"{site.name}-in", value)
    assert producer.flush(30) == 0

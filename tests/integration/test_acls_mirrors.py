"""Exactly the plan's bindings are enough for MirrorMaker 2: its three connectors on Connect, and its dedicated mode."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka import TopicPartition as Committed

from eosctl.clients.wire import Wire
from eosctl.codecs.connector_files import decode_worker_file
from eosctl.model.acl_plan import AclRequest
from eosctl.model.acls import AclBinding, Operation
from eosctl.model.acls import topic as topic_pattern
from eosctl.model.client_roles import ConnectorConfig
from eosctl.model.names import TopicPartition
from eosctl.model.workers import SourceSupport
from eosctl.planning.acls import plan_acls
from eosctl.sandbox.properties import properties_text
from eosctl.sources.kafka_groups import committed_offsets
from tests.faulty_sandbox import Sandbox
from tests.integration.acl_broker import AclBroker, wire_of
from tests.integration.acl_scenarios import ends
from tests.integration.acl_site import PATIENT_S, USERS, Site, Sites
from tests.integration.own_workers import MIRROR_MAKER, running
from tests.integration.producers import create_topic
from tests.kafka_versions import spec_of
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.matrix, pytest.mark.variation]

NOT_YET = {
    *("NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS"),
    *("_WAIT_COORD", "_TIMED_OUT", "REQUEST_TIMED_OUT", "LEADER_NOT_AVAILABLE"),
}
CHECKPOINTS, HEARTBEATS, OFFSET_SYNCS = "up.checkpoints.internal", "heartbeats", "mm2-offset-syncs.down.internal"
BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
EVERY_SECOND = {
    **dict.fromkeys(
        (
            "emit.checkpoints.interval.seconds",
            "refresh.groups.interval.seconds",
            "refresh.topics.interval.seconds",
            "sync.group.offsets.interval.seconds",
            "emit.heartbeats.interval.seconds",
        ),
        "1",
    ),
    "sync.group.offsets.enabled": "true",
    "checkpoints.topic.replication.factor": "1",
    "heartbeats.topic.replication.factor": "1",
    "offset-syncs.topic.replication.factor": "1",
    "replication.factor": "1",
    "sync.topic.acls.enabled": "false",
}


@pytest.fixture
def sandbox2(kafka_version: str) -> Iterator[Sandbox]:
    with Sandbox(spec_of(kafka_version, users=USERS, deadline_s=45)) as sandbox:
        yield sandbox


@pytest.fixture
def root(sandbox2: Sandbox) -> Iterator[Wire]:
    with wire_of(sandbox2) as wire:
        yield wire


def fill(sandbox: Sandbox, topic: str, group: str) -> None:
    """Records in each partition of the topic, and a group that has read some of them."""
    producer = Producer({"bootstrap.servers": sandbox.bootstrap_servers, "log_level": 0})
    for number in range(40):
        producer.produce(topic, f"{number}".encode(), partition=number % 4)
    assert producer.flush(30) == 0
    consumer = Consumer({"bootstrap.servers": sandbox.bootstrap_servers, "group.id": group, "log_level": 0})

    def commits() -> bool:
        try:
            consumer.commit(offsets=[Committed(topic, 0, 5)], asynchronous=False)
        except KafkaException as error:
            if error.args[0].name() not in NOT_YET:
                raise
            return False
        return True

    eventually(commits, "the group's coordinator")
    consumer.close()


def all_is_mirrored(root: Wire, topic: str, group: str) -> bool:
    """Records, heartbeats, checkpoints, and the group's offset in the mirrored topic."""
    place = TopicPartition(f"up.{topic}", 0)
    if not all(ends(root, each) for each in (place.topic, HEARTBEATS, CHECKPOINTS)):
        return False
    return place in committed_offsets(root, [group], [place]).get(group, {})


def connectors(site: Site) -> tuple[ConnectorConfig, ...]:
    """MirrorSource, MirrorCheckpoint and MirrorHeartbeat, from the sandbox to itself."""
    source = site.mirror_source(2)
    plain = {key: each.value for key, each in source.properties.items() if key != "name"}
    shared = {**plain, **EVERY_SECOND, "groups": f"{site.name}-readers"}
    kinds = ("MirrorSource", "MirrorCheckpoint", "MirrorHeartbeat")
    return tuple(
        site.connector(
            f"{site.name}-{kind}",
            **{**shared, "connector.class": f"org.apache.kafka.connect.mirror.{kind}Connector"},
        )
        for kind in kinds
    )


def test_the_plan_is_enough_for_all_three_connectors_of_mirrormaker(sandbox2: Sandbox, root: Wire, tmp_path: Path):
    with AclBroker(sandbox2) as acls:
        site = Sites(sandbox2, acls, tmp_path, PATIENT_S).make(SourceSupport.ENABLED)
        mirrored = connectors(site)
        topics = (*site.worker.internal_topics, CHECKPOINTS, HEARTBEATS, OFFSET_SYNCS, f"up.{site.name}-up")
        plan = site.plan(mirrored, {**dict.fromkeys(topics, False), f"{site.name}-up": True})
        group = f"{site.name}-readers"
        fill(sandbox2, f"{site.name}-up", group)
        site.allow(each.binding for each in plan.bindings)
        try:
            site.start_worker()
            for each in mirrored:
                site.put("create", each)
            for each, tasks in zip(mirrored, (2, 1, 1), strict=True):
                site.await_running("create", each.name, tasks)
            site.wait(
                "mirror", lambda: all_is_mirrored(root, f"{site.name}-up", group), "heartbeat, checkpoint or offset"
            )
        finally:
            site.stop_worker()


def test_heartbeats_that_another_flow_brought_are_mirrored_on_with_the_plan_and_block_all_topics_without(
    sandbox2: Sandbox, root: Wire, tmp_path: Path
):
    """`topics` names neither; to describe one of them without its configs fails the creation of all mirrored topics."""
    brought = "third.heartbeats"
    with AclBroker(sandbox2) as acls:
        site = Sites(sandbox2, acls, tmp_path, PATIENT_S).make(SourceSupport.ENABLED)
        mirror, source = connectors(site)[0], f"{site.name}-up"
        aliases = {"source.cluster.alias": "third", "target.cluster.alias": "up"}
        settings = {key: each.value for key, each in mirror.properties.items() if key != "name"}
        bringing = site.connector(f"{site.name}-third", **{**settings, **aliases})
        for topic in (HEARTBEATS, brought):
            create_topic(sandbox2.bootstrap_servers, topic, 4)
        for topic in (source, HEARTBEATS, brought):
            fill(sandbox2, topic, "readers")
        bindings = {each.binding for each in site.plan([mirror, bringing], {source: True}).bindings}
        configs = AclBinding("User:upstream", Operation.DESCRIBE_CONFIGS, topic_pattern(brought))
        site.allow(bindings - {configs})
        try:
            site.start_worker()
            site.put("create", mirror)
            site.wait("without", lambda: "TopicAuthorizationException" in site.complaint(), "complaint")
            assert ends(root, f"up.{source}") == 0
            site.delete(mirror.name)
            site.allow(bindings)
            site.put("create", mirror)
            for topic in (source, HEARTBEATS, brought):
                site.wait("mirror", lambda topic=topic: ends(root, f"up.{topic}") >= 40, f"records of {topic}")
        finally:
            site.stop_worker()


def dedicated(sandbox: Sandbox, topic: str, group: str) -> str:
    """MirrorMaker's own properties file: from `up` to `down`, which are one cluster with a user each."""
    from eosctl.codecs.properties import decode_properties

    clients = {
        f"{alias}.{key}": value
        for alias, user in (("up", "upstream"), ("down", "downstream"))
        for key, value in decode_properties(sandbox.client_properties(user), origin=user).items()
    }
    settings = {
        "clusters": "up, down",
        **clients,
        **EVERY_SECOND,
        "up->down.enabled": "true",
        "up->down.topics": topic,
        "up->down.groups": group,
        "down->up.enabled": "false",
        "down->up.emit.heartbeats.enabled": "false",
        "down.exactly.once.source.support": "enabled",
        "up.consumer.isolation.level": "read_committed",
        "up.consumer.auto.offset.reset": "earliest",
        **{f"{kind}.storage.replication.factor": "1" for kind in ("config", "offset", "status")},
        "tasks.max": "2",
    }
    return properties_text(settings)


@pytest.mark.long
def test_the_plan_is_enough_for_dedicated_mirrormaker(sandbox2: Sandbox, root: Wire, tmp_path: Path):
    topic, group, servers = "to-mirror", "readers", sandbox2.bootstrap_servers
    create_topic(servers, topic, 4)
    fill(sandbox2, topic, group)
    text = dedicated(sandbox2, topic, group)
    file = tmp_path / "mm2.properties"
    file.write_text(text)
    clusters = decode_worker_file(text, "mm2.properties")
    assert [each.group_id for each in clusters] == ["up-mm2"]
    internal = [name for each in clusters for worker in each.workers for name in worker.internal_topics]
    known = dict.fromkeys((*internal, CHECKPOINTS, HEARTBEATS, OFFSET_SYNCS, f"up.{topic}"), False)
    plan = plan_acls(AclRequest(clusters, topics_known={**known, topic: True}), lambda _: "User:nobody")
    assert {each.binding.principal for each in plan.bindings} == {"User:upstream", "User:downstream"}
    with AclBroker(sandbox2) as acls:
        acls.set(each.binding for each in plan.bindings)
        for _ in ("first start", "start over what is there, which fences"):
            before = ends(root, f"up.{topic}")
            fill(sandbox2, topic, group)
            with running(sandbox2, MIRROR_MAKER, file) as log:
                eventually(
                    lambda before=before: ends(root, f"up.{topic}") > before and all_is_mirrored(root, topic, group),
                    lambda log=log: f"all is mirrored; {log.read_text()[-3000:]}",
                    deadline_s=90,
                )

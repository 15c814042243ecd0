"""A real cluster with planted faults, which the commands of the matrix must find."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from confluent_kafka.admin import AdminClient, NewTopic

from eosctl.model.names import TopicPartition
from eosctl.sandbox.properties import SandboxSpec
from tests.faulty_sandbox import Sandbox
from tests.integration.connect import Worker
from tests.integration.coordinators import wire_to
from tests.integration.file_connectors import FileConnectors
from tests.integration.hanging import UNVERIFIED, hang
from tests.integration.producers import create_topic, transactional_producer
from tests.topics import make_topic

CONNECTOR, LIVE, HUNG = "shadowed", "faults-live", "faults-hung"
"""A connector, and transactional IDs with a topic of the same name."""
FAILING = "failing"
"""A connector whose task is FAILED."""
BREAKING = {
    "transforms": "t",
    "transforms.t.type": "org.apache.kafka.connect.transforms.ExtractField$Value",
    "transforms.t.field": "absent",
}
"""No line of a file is a Struct: the first one makes the task fail."""
SPEC = SandboxSpec(workers=1, broker_config={**UNVERIFIED, "transaction.max.timeout.ms": str(24 * 3_600_000)})
"""A broker on which a transaction can be made to hang, and one can be open for as long as a campaign takes."""


class Site(NamedTuple):
    """The cluster, a directory for files, and the identity of a user that ACLs are asked for."""

    sandbox: Sandbox
    directory: Path
    identity: Path


@contextmanager
def planted(sandbox: Sandbox, directory: Path) -> Iterator[Site]:
    """A connector that begins from nothing next (EOS080), a FAILED one, an open transaction, perhaps a hanging one."""
    servers, url = sandbox.bootstrap_servers, sandbox.connect_url(1)
    connectors, worker = FileConnectors(url, servers, directory), Worker(sandbox)
    connectors.file(CONNECTOR).write_text("one\ntwo\n")
    connectors.create(CONNECTOR)
    connectors.await_last(CONNECTOR, "two")
    # A connector that is stopped has committed its offsets.
    worker.stop(CONNECTOR)
    own = NewTopic(f"{CONNECTOR}-own", 1, 1, config={"cleanup.policy": "compact"})
    make_topic(AdminClient({"bootstrap.servers": servers}), own)
    connectors.create(CONNECTOR, {"offsets.storage.topic": f"{CONNECTOR}-own"})
    connectors.file(FAILING).write_text("one\n")
    connectors.create(FAILING, BREAKING)
    worker.wait_for_tasks(FAILING, 1, "FAILED")
    for topic in (HUNG, LIVE):
        create_topic(servers, topic)
    longest = 24 * 3_600_000 if sandbox.spec == SPEC else 900_000
    live = transactional_producer(servers, LIVE, **{"transaction.timeout.ms": longest})
    live.begin_transaction()
    live.produce(LIVE, b"value", b"key")
    assert live.flush(30) == 0
    if sandbox.spec == SPEC:
        with wire_to(servers) as wire:
            hang(wire, TopicPartition(HUNG, 0), HUNG)
    identity = directory / "tool.properties"
    identity.write_text(sandbox.client_properties("tool"))
    yield Site(sandbox, directory, identity)
    live.abort_transaction(30)
    for name in (CONNECTOR, FAILING):
        connectors.delete(name)
    worker.close()

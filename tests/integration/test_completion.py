"""The offers of a TAB on a real cluster: topics from the brokers, connectors from the config topic without any
worker."""

import pytest

from tests.commands.completion import home, offers
from tests.faulty_sandbox import Sandbox
from tests.integration.config_topic import CONFIG_TOPIC
from tests.integration.connect import Worker
from tests.integration.producers import transactional_producer

pytestmark = pytest.mark.kafka


def test_topics_and_connectors_of_the_cluster_are_offered(connect_sandbox: Sandbox, fresh_name, tmp_path):
    user = home(tmp_path)
    cluster = f"-b {connect_sandbox.bootstrap_servers}"
    name = fresh_name("offered")
    worker = Worker(connect_sandbox)
    try:
        worker.ask("PUT", f"/connectors/{name}/config", _idle(name, tmp_path))
        assert CONFIG_TOPIC in offers(f"eosctl transactions producers {cluster} --topic ", **user)
        assert CONFIG_TOPIC in offers(f"eosctl transactions producers {cluster} ", **user)
        assert CONFIG_TOPIC in offers(f"eosctl fence {cluster} --config-topic connect-", **user)
        assert name in offers(f"eosctl fence {cluster} --connector off", **user)
        with_id = transactional_producer(connect_sandbox.bootstrap_servers, f"{name}-id")
        for typed in (f"transactions describe {cluster}", f"fence {cluster} --transactional-id"):
            assert offers(f"eosctl {typed} {name}", **user) == [f"{name}-id"]
        assert with_id is not None
        assert name in offers(f"eosctl fence --connect-url {worker.url} --connector off", **user)
    finally:
        worker.ask("DELETE", f"/connectors/{name}")
        worker.close()


def _idle(name: str, directory) -> dict[str, str]:
    lines = directory / "lines.txt"
    lines.touch()
    kind = "org.apache.kafka.connect.file.FileStreamSourceConnector"
    return {"connector.class": kind, "file": str(lines), "topic": name, "tasks.max": "1"}

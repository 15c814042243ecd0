"""A false member of a real Connect group redirects what is sent to it to a real worker."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest

from eosctl.clients.wire import Wire
from eosctl.model.acls import AclBinding, Operation, ResourcePattern, ResourceType
from eosctl.model.client_properties import ClientProperties
from tests.attack.group_member import member_of
from tests.conftest import MakeSandbox
from tests.faulty_sandbox import Sandbox
from tests.integration.acl_broker import AclBroker
from tests.waiting import eventually

pytestmark = pytest.mark.kafka
GROUP = "connect-cluster"
GROUP_AUTHORIZATION_FAILED = 30
PLUGIN = "org.apache.kafka.connect.file.FileStreamSourceConnector"
COMMANDS = (
    ("doctor", "--preflight"),
    ("upgrade-check", "--to", "enabled"),
    ("offsets", "show"),
    ("transactions", "list"),
)


def evil(victim: str, cluster_id: str, status: int, config: dict[str, str], seen: list[tuple[str, str]]) -> Any:
    """A server that answers as a worker, and sends each PUT on to a write at the victim."""
    honest: dict[str, Any] = {
        "/": {"version": "4.3.1", "commit": "c", "kafka_cluster_id": cluster_id},
        "/connectors": ["evil"],
        "/connector-plugins": [{"class": PLUGIN, "type": "source", "version": "4.3.1"}],
    }
    entry = {"connector": {"state": "RUNNING", "worker_id": "w"}, "tasks": [], "type": "source"}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append((self.command, self.path))
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"] or 0)) or "{}")
            body = b""
            if self.command == "GET":
                info = {"evil": {"info": {"type": "source", "config": config}, "status": entry}}
                body = json.dumps(honest.get(self.path, info)).encode()
                self.send_response(200)
            else:
                self.send_response(status)
                onward = "evil/config" if asked.get("name") == "evil" else "pay/stop"
                self.send_header("Location", f"{victim}/connectors/{onward}")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_PUT = do_POST = do_DELETE = do_GET

        def log_message(self, *_: object) -> None:
            pass

    return ThreadingHTTPServer(("127.0.0.1", 0), Handler)


@contextmanager
def who_may_read_the_group(sandbox: Sandbox, url: str) -> Iterator[None]:
    """A member of the group that is a user whom ACLs give Read on the group, and nothing else."""
    login = ("tool", sandbox.users["tool"])
    refused = pytest.raises(AssertionError, match=str(GROUP_AUTHORIZATION_FAILED))
    with refused, member_of(GROUP, sandbox.sasl_bootstrap_servers, url, login):
        pass
    read = AclBinding("User:tool", Operation.READ, ResourcePattern(ResourceType.GROUP, GROUP))
    with AclBroker(sandbox) as acls:
        acls.set([read])
        with member_of(GROUP, sandbox.sasl_bootstrap_servers, url, login):
            yield


def test_no_write_reaches_a_worker_by_way_of_a_member_that_the_user_did_not_name(
    make_sandbox: MakeSandbox, eosctl: Any, tmp_path: Path
) -> None:
    sandbox = make_sandbox(workers=1)
    victim, source = sandbox.connect_url(1), tmp_path / "lines"
    source.write_text("a\n")
    config = {"connector.class": PLUGIN, "tasks.max": "1", "file": str(source), "topic": "t"}
    httpx.put(f"{victim}/connectors/pay/config", json=config, trust_env=False, timeout=60).raise_for_status()
    status = lambda: httpx.get(f"{victim}/connectors/pay/status", trust_env=False).json()  # noqa: E731
    eventually(lambda: status().get("connector", {}).get("state") == "RUNNING", "the connector runs")
    with Wire(ClientProperties((sandbox.bootstrap_servers,))) as wire:
        cluster_id = wire.cluster_id
    seen: list[tuple[str, str]] = []
    servers = [evil(victim, cluster_id, each, {"name": "evil", **config}, seen) for each in (307, 308)]
    for server in servers:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    addresses = [f"http://127.0.0.1:{each.server_port}/" for each in servers]
    members = (
        member_of(GROUP, sandbox.bootstrap_servers, addresses[0]),
        who_may_read_the_group(sandbox, addresses[1]),
    )
    for member, server in zip(members, servers, strict=True):
        seen.clear()
        with member:
            for command in COMMANDS:
                eosctl(*command, "-b", sandbox.bootstrap_servers, "-o", "json")
        server.shutdown()
        server.server_close()
        assert ("GET", "/") in seen, "the member was asked"
        assert [each for each in seen if each[0] != "GET"] == []
    assert httpx.get(f"{victim}/connectors", trust_env=False).json() == ["pay"]
    assert status()["connector"]["state"] == "RUNNING"

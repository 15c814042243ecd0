"""What reading commands leave in a worker's log."""

import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from eosctl import __version__
from tests.conftest import MakeSandbox
from tests.waiting import eventually

pytestmark = pytest.mark.kafka
PLUGIN = "org.apache.kafka.connect.file.FileStreamSourceConnector"


def test_reading_commands_leave_no_error_in_a_workers_log_and_name_themselves(
    make_sandbox: MakeSandbox, eosctl: Any, tmp_path: Path, own_state: None
) -> None:
    sandbox = make_sandbox(workers=1)
    url, source = sandbox.connect_url(1), tmp_path / "lines"
    source.write_text("a\n")
    config = {"connector.class": PLUGIN, "tasks.max": "1", "file": str(source), "topic": "t"}
    httpx.put(f"{url}/connectors/pay/config", json=config, trust_env=False, timeout=60).raise_for_status()
    tasks = lambda: httpx.get(f"{url}/connectors/pay/status", trust_env=False).json().get("tasks")  # noqa: E731
    eventually(lambda: [each["state"] for each in tasks() or ()] == ["RUNNING"], "the task runs")
    log = sandbox.worker_log(1)
    before = len(log.read_text())
    here = ("-b", sandbox.bootstrap_servers, "--connect-url", url, "--group-id", "connect-cluster")
    ended = {
        " ".join(command[:2]): eosctl(*command, *here).exit_code
        for command in (
            ("doctor", "--preflight"),
            ("upgrade-check", "--to", "enabled"),
            ("offsets", "show"),
            ("offsets", "diff"),
            ("offsets", "export", "--connector", "pay"),
            ("snapshot", "save", "--output-file", str(tmp_path / "a.snapshot")),
        )
    }
    said = log.read_text()[before:]
    assert ended["doctor --preflight"] in {0, 1}, ended
    assert "config/validate" in said, "the worker was asked"
    assert [line for line in said.splitlines() if re.search(r"\bERROR\b", line)] == []
    requests = [line for line in said.splitlines() if '"GET /' in line or '"PUT /' in line]
    own = [line for line in requests if "python-httpx" not in line]
    assert own
    assert all(f'"eosctl/{__version__}"' in line for line in own if "config/validate" in line), own

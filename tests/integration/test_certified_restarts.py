"""Faults of `eosctl certify` on a real worker: a restart has happened when the worker reports it."""

from pathlib import Path
from typing import Any, cast

import pytest

from eosctl.clients.rest_identity import WorkerUrl
from eosctl.operations.certified_site import CertifiedSite
from eosctl.operations.connector_faults import RunningConnector
from eosctl.operations.session import Session
from eosctl.operations.session_options import SessionOptions
from eosctl.sandbox.sandbox import Sandbox
from tests.conftest import FreshName
from tests.operations.quiet import Quiet

pytestmark = pytest.mark.kafka


def test_a_connector_restarts_when_its_worker_reports_it_and_not_while_rest_shows_the_state_of_before(
    connect_sandbox: Sandbox, tmp_path: Path, fresh_name: FreshName
) -> None:
    name, lines = fresh_name("restarted"), tmp_path / "lines"
    lines.write_text("1\n")
    config = {"connector.class": "FileStreamSource", "file": str(lines), "topic": name, "tasks.max": "1"}
    site = CertifiedSite(cast("Any", connect_sandbox), tmp_path, [], None, name)
    options = SessionOptions(
        console=cast("Any", Quiet()), bootstrap_servers=connect_sandbox.bootstrap_servers, group_id="connect-cluster",
        connect_urls=(WorkerUrl(connect_sandbox.connect_url(1)),),
    )  # fmt: skip
    with Session(options) as session:
        running = RunningConnector(site, cast("Any", None), cast("Any", None), session, config)
        try:
            running.configure()
            site.await_running()
            since = running.reports()
            site.await_running()
            assert since.states() == {}
            site.request("POST", "/restart?includeTasks=true")
            running.await_started(since)
            assert since.states() == {None: "RUNNING", 0: "RUNNING"}
            since = running.reports()
            running.configure(tasks_max="2")
            assert running.await_reconfigured(since)
            assert since.states() == {None: "RUNNING", 0: "RUNNING"}
            assert [each["tasks.max"] for each in site.task_configs()] == ["2"]
            since = running.reports()
            site.request("PUT", "/pause")
            site.await_paused()
            assert since.states() == {None: "PAUSED", 0: "PAUSED"}
        finally:
            site.request("DELETE", "")

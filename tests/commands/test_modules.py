"""The modules that a whole command runs, on a real cluster: a small command waits for its imports most of its time."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.kafka

AT_THE_END = """
import atexit, sys
from types import ModuleType
run = lambda: [name for name, each in sys.modules.items() if type(each) is ModuleType and name.startswith("eosctl.")]
atexit.register(lambda: print("RAN", *run(), file=sys.stderr))
from eosctl.__main__ import main
main()
"""

AUDITS = "model.audit model.audit_states model.events model.ledger model.mirror engines.scanning codecs.ledger"
PLANS = "model.plan model.planned model.migration codecs.plan executors.apply executors.files operations.plan_files"
RULES = "model.rules model.evidence model.acl_plan sources.kafka_evidence"
TRACES = "model.timeline model.tracing model.hanging model.leftovers model.producer_epochs sources.audit_log"
LOGS = "model.transaction_log codecs.transaction_log sources.kafka_transaction_log"
CONNECTORS = "model.config_topic model.connectors analysis.config_topic codecs.config_topic"

LEFT_ALONE = {
    ("inspect-config",): f"{AUDITS} {PLANS} {RULES} {TRACES} model.offsets model.transaction_log model.fencing",
    ("transactions", "list"): f"{AUDITS} {PLANS} {RULES} {TRACES} {LOGS} model.offsets model.client_roles",
    ("offsets", "show"): f"{AUDITS} {PLANS} {RULES} {TRACES} model.preconditions model.fencing clients.tls codecs.tls",
    ("fence",): f"{AUDITS} {PLANS} {RULES} {TRACES} {LOGS} {CONNECTORS} model.offsets model.client_roles",
    ("doctor",): f"{AUDITS} {PLANS} model.tracing model.watch analysis.topic_events analysis.metrics.samples",
}
"""Modules of other commands, which this one must not run. A bare module was not run (eosctl.bare_packages)."""


@pytest.mark.parametrize("command", LEFT_ALONE, ids=" ".join)
def test_a_command_runs_no_module_of_another_one(connect_sandbox, fresh_name, tmp_path: Path, command):
    ids = tmp_path / "ids"
    ids.write_text(fresh_name("fenced"), encoding="utf-8")
    fenced = ["--ids-file", str(ids), "--create-missing", "--yes"]
    which = fenced if "fence" in command else ["--group-id", "connect-cluster"]
    words = [*command, "-b", connect_sandbox.bootstrap_servers, *which]
    ran = subprocess.run([sys.executable, "-c", AT_THE_END, *words], capture_output=True, text=True, check=False)
    assert ran.returncode in {0, 1, 3}, ran.stderr
    modules = set(ran.stderr.partition("RAN ")[2].split())
    assert "eosctl.sources.live_cluster" in modules
    assert modules & {f"eosctl.{name}" for name in LEFT_ALONE[command].split()} == set()

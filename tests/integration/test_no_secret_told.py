"""A canary in every place that can hold a secret: no command, in any format, tells it or leaves it in a file."""

import json
import os
import sqlite3
import subprocess
import threading
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from eosctl.clients.rest import RestClient
from eosctl.sandbox.properties import SandboxSpec
from tests import forks
from tests.faulty_sandbox import Sandbox
from tests.integration.file_connectors import FileConnectors
from tests.integration.terminal import PROGRAM

pytestmark = pytest.mark.kafka

CANARY = "kanarien-vogel"
PEM = f"-----BEGIN {'PRIVATE'} KEY----- {CANARY} -----END {'PRIVATE'} KEY-----"
NAME = "orders"
SOURCE = "postgresql://tool:${env:TOOL_SECRET}@127.0.0.1:1/shop"
OPEN = {"allow.everyone.if.no.acl.found": "true"}
COMMANDS = {
    "profile": ["profile list", "profile show site", "profile explain", "profile check"],
    "config": ["inspect-config", "inspect-config --history", f"inspect-config --connector {NAME}"],
    "offsets": [
        "offsets show",
        "offsets export offsets.json --connector orders --overwrite",
        "offsets diff live offsets.json --connector orders",
        f"offsets diff live offsets.json --connector orders --source-dsn {SOURCE}",
        f"offsets restore offsets.json --connector {NAME} --dry-run --source-dsn {SOURCE}",
        f"offsets create-connector offsets.json --config new.json --dry-run --source-dsn {SOURCE}",
        f"offsets create-connector offsets.json --config new.json --dry-run --source-dsn postgresql://x:{CANARY}@y/z",
        f"migrate-offsets --connector {NAME} --to-topic own-offsets --stop --set-config --resume --dry-run",
        f"migrate-offsets --connector {NAME} --to-topic own-offsets --stop --set-config --resume --yes",
        "undo {undo} --yes",
    ],
    "transactions": [
        "transactions list",
        "transactions log",
        "transactions hanging",
        "transactions lso",
        f"fence --connector {NAME} --dry-run --force",
    ],
    "rules": [
        "doctor",
        "upgrade-check --to enabled",
        "acl-plan --worker-config worker.properties --emit strimzi",
        "acl-plan --worker-config worker.properties --emit kafka-acls",
        "explain EOS001",
    ],
    "snapshot": ["snapshot save site.snapshot --overwrite", "snapshot show site.snapshot"],
    "audit": [
        "audit --store sqlite:///audit.db --report audit.html --export tables",
        "audit status --store sqlite:///audit.db",
        "audit --store postgresql://tool:${env:TOOL_SECRET}@127.0.0.1:1/ledger",
    ],
    "refused": ["inspect-config -b 127.0.0.1:1 --timeout 0.3", "profile check -X ssl.key.password=${env:TOOL_SECRET}"],
}


@dataclass(frozen=True)
class Site:
    """A cluster whose connector, worker, user, addresses and profile hold secrets, and which they are."""

    sandbox: Sandbox
    home: Path
    secrets: tuple[str, ...]
    environment: dict[str, str]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    with Sandbox(SandboxSpec(workers=1, broker_config=OPEN)) as sandbox:
        files = FileConnectors(sandbox.connect_url(1), sandbox.bootstrap_servers, home)
        more = {"database.password": CANARY, "connection.url": f"jdbc:x://u:{CANARY}@db", "header": CANARY}
        files.file(NAME).write_text("one\ntwo\n")
        files.create(NAME, more)
        files.await_last(NAME, "two")
        (home / "new.json").write_text(json.dumps({"name": "new", "connector.class": "FileStreamSource", **more}))
        text = sandbox.client_properties("tool")
        (home / "client.properties").write_text(
            f"{text}\nssl.key.password={CANARY}\nssl.keystore.key={PEM}\nunheard.of={CANARY}\n"
            f"basic.auth.user.info=tool:{CANARY}\nssl.truststore.password=${{env:TOOL_SECRET}}\n"
        )
        worker = (sandbox.directory / "worker-1" / "worker.properties").read_text()
        (home / "worker.properties").write_text(f"{worker}\nlisteners.https.ssl.key.password={CANARY}\n")
        profiles = home / "XDG_CONFIG_HOME" / "eosctl" / "config.yaml"
        profiles.parent.mkdir(parents=True)
        profiles.write_text(
            f"current: site\nprofiles: {{site: {{bootstrap-server: '{sandbox.sasl_bootstrap_servers}',"
            f" command-config: '{home}/client.properties', group-id: connect-cluster,"
            " properties: {ssl.keystore.password: 'env:TOOL_SECRET'}}}\n"
        )
        url = sandbox.connect_url(1).replace("://", f"://tool:{CANARY}@")
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("EOSCTL_")},
            **{"TOOL_SECRET": CANARY, "EOSCTL_CONNECT_URL": url, "HOME": str(home), "TMPDIR": str(home)},
            **{name: str(home / name) for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME")},
        }
        with RestClient(sandbox.connect_url(1), 30) as rest:
            assert CANARY in str(rest.get(f"/connectors/{NAME}"))
        yield Site(sandbox, home, (CANARY, *sandbox.users.values()), environment)


def told(site, text):
    return [secret for secret in site.secrets if secret in text]


def run(site, line, *more):
    return forks.run(PROGRAM, *line.split(), *more, environment=site.environment, directory=site.home)


@pytest.mark.parametrize("group", COMMANDS)
def test_no_output_contains_a_secret(site, group):
    for line in COMMANDS[group]:
        left = max(map(str, site.home.rglob("*.undo"))) if "{undo}" in line else ""
        ran = run(site, line.replace("{undo}", left), "-v", "-o", "json")
        assert told(site, ran.stdout + ran.stderr) == [], line
        assert ran.returncode != 70, ran.stderr
        if group != "refused" and "postgresql" not in line:
            # The connector may have gone on already, and then there is no way back.
            assert ran.returncode in ({0, 1, 8} if left else {0, 1}), (line, ran.stderr)


@pytest.mark.parametrize("output", ["table", "yaml", "jsonl", "plain"])
def test_no_format_shows_a_secret(site, output):
    for line in ("inspect-config", "profile explain", "doctor"):
        ran = run(site, line, "-v", "-o", output)
        assert told(site, ran.stdout + ran.stderr) == [], line


def test_no_file_that_is_left_holds_one(site):
    given = {"client.properties", "worker.properties", "new.json"}
    before = {path for path in site.home.rglob("*") if path.is_file()}
    for line in [*COMMANDS["snapshot"], *COMMANDS["audit"][:1], *COMMANDS["offsets"][1:2]]:
        assert run(site, line).returncode in {0, 1}
    left = [path for path in site.home.rglob("*") if path.is_file() and path.name not in given]
    assert {"site.snapshot", "audit.db", "audit.html", "offsets.json"} <= {path.name for path in left}
    for path in left:
        content = path.read_bytes()
        assert told(site, content.decode("latin-1")) == [], path
        if path.suffix == ".db":
            with closing(sqlite3.connect(path)) as ledger:
                assert told(site, "\n".join(ledger.iterdump())) == []
    for path in set(left) - before:
        assert path.stat().st_mode & 0o077 == 0 or path.suffix in {".html", ".parquet", ".json"}, path


def test_no_process_is_named_by_one(site):
    """The `ps` output for the audit and its child processes."""
    command = [PROGRAM, "audit", "--processes", "2", "-X", "ssl.key.password=${env:TOOL_SECRET}"]
    with subprocess.Popen(
        command, cwd=site.home, env=site.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as started:
        ended, shown = threading.Event(), set()

        def watch():
            while not ended.is_set():
                shown.update(titles(started.pid))

        watcher = threading.Thread(target=watch)
        watcher.start()
        _, stderr = started.communicate(timeout=120)
        ended.set()
        watcher.join()
    assert started.returncode in {0, 1}, stderr
    assert any("eosctl" in each for each in shown)
    assert [each for each in shown if told(site, each)] == []


def titles(leader):
    """Command lines of the process and of its descendants."""
    parents, lines = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                lines[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    family = {leader}
    while more := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= more
    return {lines[pid] for pid in family if pid in lines}

"""The tests of completion share a worker that answers, a home with profiles, and a TAB as a shell presses it."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests import forks

PROGRAM = str(Path(sys.executable).with_name("eosctl"))
PROFILES = "profiles:\n  production: {bootstrap-server: 'localhost:1'}\n  staging: {connect-url: '%s'}\n"


class Worker:
    """A Connect worker's list of connectors; counts how often it is asked."""

    def __init__(self, connectors: list[str]) -> None:
        self.connectors, self.asked = connectors, 0
        outer = self

        class Answer(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.asked += 1
                status = {"connector": {"state": "RUNNING"}, "tasks": [], "type": "source"}
                body = json.dumps({name: {"status": status} for name in outer.connectors}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@contextmanager
def worker(*connectors: str) -> Iterator[Worker]:
    """A worker that knows `connectors`."""
    started = Worker(list(connectors))
    threading.Thread(target=started.server.serve_forever, daemon=True).start()
    try:
        yield started
    finally:
        started.server.shutdown()
        started.server.server_close()


NOBODY = "http://127.0.0.1:1"


def home(directory: Path, connect_url: str = NOBODY) -> dict[str, str]:
    """The environment of a user who has two profiles, and an empty cache; patient where a worker answers."""
    (directory / "config" / "eosctl").mkdir(parents=True)
    (directory / "config" / "eosctl" / "config.yaml").write_text(PROFILES % connect_url)
    patience = {} if connect_url == NOBODY else {"EOSCTL_COMPLETION_TIMEOUT": "30"}
    return {
        "XDG_CONFIG_HOME": str(directory / "config"),
        "XDG_CACHE_HOME": str(directory / "cache"),
        **patience,
        "XDG_STATE_HOME": str(directory / "state"),
    }


def offers(line: str, at: Path | None = None, **environment: str) -> list[str]:
    """The offers after `line` in directory `at`; nothing else may be printed."""
    ran = forks.run(PROGRAM, environment=_environment(line, environment), directory=at)
    assert (ran.returncode, ran.stderr) == (0, "")
    return [each.partition("\t")[0] for each in ran.stdout.splitlines()]


def loaded_for(line: str, **environment: str) -> set[str]:
    """The packages that Python loads for a TAB after `line`."""
    ran = subprocess.run(
        [PROGRAM], env=_environment(line, {**environment, "PYTHONPROFILEIMPORTTIME": "1"}), capture_output=True,
        text=True, check=True, stdin=subprocess.DEVNULL, timeout=120,
    )  # fmt: skip
    return {each.rpartition("|")[2].strip().partition(".")[0] for each in ran.stderr.splitlines()}


def _environment(line: str, more: dict[str, str]) -> dict[str, str]:
    base = {name: value for name, value in os.environ.items() if not name.startswith("EOSCTL_")}
    return {**base, **more, "_EOSCTL_COMPLETE": line}

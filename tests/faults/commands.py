"""The reading commands of the matrix, how each is run, and what of its answer a fault must not take away."""

import json
from dataclasses import dataclass
from io import StringIO
from typing import Any

from eosctl.cli import run
from eosctl.render.console import Stream, Terminal
from tests.faults.site import CONNECTOR, FAILING, HUNG, LIVE

TIMEOUT_S = 2
COUNTED = frozenset({"error", "warning"})
NOT_COMPARED = frozenset({"unread", "complete", "evidence", "rules", "file", "owners", "plan"})
"""Members that only add to an answer, or name its missing parts."""
IDENTIFYING = frozenset(
    {"subject", "topic", "partition", "transactional_id", "producer_id", "start_offset", "last_stable_offset"}
    | {"high_watermark", "held_back", "hangs", "verdict", "name", "connector", "kafka_effective", "key", "to", "status"}
    | {"next_start", "rule", "state", "principal", "operation", "resource", "id"}
)
"""Members of rows that identify their subject; the others may be unknown."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command line without its addresses; `rest` is whether it takes --connect-url."""

    words: tuple[str, ...]
    rest: bool = True

    @property
    def name(self) -> str:
        """Its words without options."""
        return " ".join(word for word in self.words[:2] if not word.startswith(("-", "{")))


GROUP = ("--group-id", "connect-cluster")
COMMANDS = (
    Command(("inspect-config", *GROUP)),
    Command(("offsets", "show")),
    Command(("offsets", "export", "{directory}/offsets.json", "--overwrite", "--connector", CONNECTOR)),
    Command(("transactions", "list", *GROUP)),
    Command(("transactions", "hanging", "--max-transaction-timeout", "0", *GROUP)),
    Command(("transactions", "lso", *GROUP)),
    Command(("transactions", "describe", LIVE, HUNG, *GROUP)),
    Command(("transactions", "producers", "--topic", LIVE, *GROUP)),
    Command(("transactions", "log", *GROUP)),
    Command(("transactions", "leftovers", "--prefix", "")),
    Command(("transactions", "history", "--prefix", "", *GROUP)),
    Command(("transactions", "churn", "--producers", *GROUP)),
    Command(("doctor", *GROUP)),
    Command(("doctor", "--no-preflight"), rest=False),  # it finds group and workers
    Command(("upgrade-check", "--to", "enabled", *GROUP)),
    Command(("acl-plan", "--check", "--principal", "worker=User:worker", "--principal", "connector=User:c", *GROUP)),
    Command(("audit", *GROUP)),
    Command(("snapshot", "save", "{directory}/saved.snapshot", "--overwrite", *GROUP)),
    Command(("fence", "--dry-run", "--connector", CONNECTOR, *GROUP)),
    Command(("watch", "--once", *GROUP)),
    Command(("connector", "list", *GROUP)),
    Command(("connector", "show", CONNECTOR, *GROUP)),
    Command(("explain", "--connector", FAILING, *GROUP)),
    Command(("timeline", *GROUP), rest=False),
    Command(("timeline", "--since", "1h", "--connector", CONNECTOR, *GROUP), rest=False),
    Command(("verify", "{directory}/audit.json"), rest=False),
)


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a run: its exit code, the document on stdout, stderr, and stdout unchanged."""

    exit_code: int
    document: dict[str, Any]
    stderr: str
    stdout: str

    @property
    def data(self) -> dict[str, Any]:
        """The document's data; empty where it is an error."""
        found = self.document.get("data")
        return found if isinstance(found, dict) else {}

    @property
    def findings(self) -> frozenset[tuple[str, str]]:
        """ID and subject of each error and warning."""
        rows = self.data.get("findings", ())
        return frozenset((each["id"], each["subject"]) for each in rows if each["severity"] in COUNTED)

    @property
    def essence(self) -> str:
        """The subjects of its rows, for comparison."""
        return json.dumps(_identity(self.data), sort_keys=True)

    @property
    def names_gap(self) -> bool:
        """True if stdout names a needed fact that was not read."""
        return self.data.get("complete") is False and bool(self.data.get("unread") or self.data.get("unknown"))


def _identity(value: object) -> object:
    if isinstance(value, dict):
        kept = {key: _identity(each) for key, each in value.items() if _is_kept(key, each)}
        return {key: each for key, each in kept.items() if each not in ({}, [])}
    if isinstance(value, list):
        return sorted((_identity(each) for each in value), key=str)
    return value


def _is_kept(key: str, value: object) -> bool:
    return key not in NOT_COMPARED and (isinstance(value, dict | list) or key in IDENTIFYING)


def run_command(words: tuple[object, ...], *, timeout_s: float = TIMEOUT_S, output: str = "json") -> Answer:
    """The command line run in this process."""
    stdout, stderr = StringIO(), StringIO()
    streams = [Stream(file, None) for file in (StringIO(), stdout, stderr)]
    code = run([str(word) for word in (*words, "-o", output, "--timeout", timeout_s)], Terminal(*streams))
    text = stdout.getvalue()
    return Answer(code, json.loads(text) if text.startswith("{") else {}, stderr.getvalue(), text)

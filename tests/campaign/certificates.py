"""`python -m tests.campaign.certificates 1 30 [SUBJECT…]`: certify over connectors of which the truth is known.

Each result is a line of build/certificates/results.jsonl; what has its result there is not run again. The table of
verdicts is printed at the end. The exit code is 1 where a verdict is not the one that the subject must have.

Connectors that write to a topic of their own share brokers and workers with those before: starting these is half of
what a certificate costs.
"""

import json
import resource
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from eosctl.errors import EosctlError
from eosctl.operations import certification
from eosctl.operations.certified_site import CertifiedSite, SiteSpec, open_site
from eosctl.operations.session_options import Reporter
from eosctl.sandbox.jars import DEFAULT_KAFKA_VERSION
from tests.commands.conftest import Typed
from tests.connector_plugin import plugin_path

KEPT = Path("build/certificates")
LIAR = Path(__file__).parents[1] / "integration" / "LyingSource.java"
ROUNDS = 5
"""As many as there are faults that a certificate needs."""
FILE = "${certify:directory}/lines.txt"
LINES = ("--load", f"file:{FILE}")
PRINTED = ("--load", "command:sh {write}", "--expected", "-")
FILE_STREAM = {
    "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
    "file": FILE,
    "topic": "out",
}
MIRROR = {
    "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
    "source.cluster.alias": "src",
    "target.cluster.alias": "dst",
    "source.cluster.bootstrap.servers": "${certify:bootstrap.servers}",
    "target.cluster.bootstrap.servers": "${certify:bootstrap.servers}",
    "topics": "orders",
    "replication.factor": "1",
    "offset-syncs.topic.replication.factor": "1",
    "sync.topic.acls.enabled": "false",
    "refresh.topics.interval.seconds": "2",
    "consumer.isolation.level": "read_committed",
    "source.consumer.isolation.level": "read_committed",
    "key.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
    "value.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
}
POSTGRES = {
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "topic.prefix": "shop",
    "database.hostname": "${certify:source.host}",
    "database.port": "${certify:source.port}",
    "database.user": "${certify:source.user}",
    "database.password": "${certify:source.password}",
    "database.dbname": "${certify:source.database}",
    "plugin.name": "pgoutput",
    "slot.name": "shop",
    "publication.name": "shop",
    "publication.autocreate.mode": "filtered",
    "table.include.list": "public.shop",
    "poll.interval.ms": "50",
}
SINGLY = {**POSTGRES, "max.batch.size": "1"}
"""A change of a primary key is several records; they come in several polls, so that transactions end between them."""
ORDERS = ("--load", "topic:orders", "--topic", "src.orders", "--source-partition", "partition")
DEBEZIUM = ("--postgres", "--plugin", "io.debezium:debezium-connector-postgres:3.3.1.Final", "--prepare", "{table}")
ROWS = ("--source-query", "SELECT id FROM shop ORDER BY id", "--identity", "json:after.id")
UNORDERED_ROWS = ("--source-query", "SELECT id FROM shop", "--identity", "json:after.id")
"""A snapshot of updated rows has no order."""
WITHOUT = ("--exactly-once", "disabled", "--faults", "kill-worker,freeze-worker")
"""Faults that repeat records where offsets and records are not of one transaction."""
TABLE = "CREATE TABLE shop (id bigint PRIMARY KEY, filler text);"
INSERT = "INSERT INTO shop VALUES ({n}, 'x');"
WRITE = """\
# All lines are written; those that the connector does not abort are printed.
n=$EOSCTL_FIRST; end=$((EOSCTL_FIRST + EOSCTL_COUNT)); lines=""
while [ $n -lt $end ]; do
  lines="$lines$n\\n"; case $n in *7) ;; *) echo $n;; esac; n=$((n + 1))
done
printf "$lines" >> "$EOSCTL_CERTIFY_DIRECTORY/lines.txt"
"""
NEW_KEY = f"{INSERT} UPDATE shop SET id = id + 1000000 WHERE id = {{n}};"


class Subject(NamedTuple):
    """A connector, and what certify must say of it: the verdict, and the harm that its witness shows."""

    config: Mapping[str, str]
    options: Sequence[str]
    verdict: str
    harm: str | None = None


class SharedSites:
    """The brokers and workers of earlier certificates, for those that want the same."""

    def __init__(self) -> None:
        self._sites: dict[str, tuple[ExitStack, CertifiedSite]] = {}
        self._count = 0

    def close(self) -> None:
        for stack, _ in self._sites.values():
            stack.close()
        self._sites.clear()

    def open(self, spec: SiteSpec, reporter: Reporter) -> AbstractContextManager[CertifiedSite]:
        if str(spec) not in self._sites:
            stack = ExitStack()
            self._sites[str(spec)] = stack, stack.enter_context(open_site(spec, reporter))
        self._count += 1
        return self._lent(self._sites[str(spec)][1], f"certified{self._count}")

    @contextmanager
    def _lent(self, site: CertifiedSite, connector: str) -> Iterator[CertifiedSite]:
        """The site with a separate connector and directory, so that nothing is left of earlier ones."""
        directory = site.directory / connector
        directory.mkdir()
        lent = CertifiedSite(site.sandbox, directory, site.plugins, site.state, connector)
        lent.revive()
        try:
            yield lent
        except BaseException:
            self.close()
            raise
        with suppress(EosctlError):
            lent.request("DELETE", "")


def _lying(lie: str, verdict: str, harm: str | None, *, load: Sequence[str] = LINES, **more: str) -> Subject:
    config = {"connector.class": "LyingSource", "tasks.max": "2", "file": FILE, "topic": "out", "lie": lie, **more}
    return Subject(config, ("--plugin", "{liar}", *load, "--source-partition", "header:lane"), verdict, harm)


SUBJECTS = {
    "file": Subject(FILE_STREAM, LINES, "certified"),
    "honest": _lying("none", "certified", None),
    "slow": _lying("slow", "certified", None),
    "unsteady": _lying("unsteady", "certified", None),
    "behind": _lying("behind", "failed", "doubled"),
    "ahead": _lying("ahead", "failed", "lost"),
    "commit-record": _lying("commit-record", "failed", None),
    "task-key": _lying("task-key", "failed", "doubled"),
    "order": _lying("order", "failed", "reordered"),
    "gap": _lying("gap", "failed", "lost"),
    "undeclared": _lying("undeclared", "failed", None),
    "aborting": _lying("none", "cannot-tell", None, boundary="true"),
    "aborting-lines": _lying(
        "none", "certified", None, load=PRINTED, boundary="each", **{"transaction.boundary": "connector"}
    ),
    "file-without": Subject(FILE_STREAM, (*LINES, *WITHOUT), "failed", "doubled"),
    "mirror": Subject(MIRROR, ORDERS, "certified"),
    "postgres": Subject(POSTGRES, (*DEBEZIUM, *ROWS, "--load", "sql:{insert}"), "certified"),
    "mirror-without": Subject(MIRROR, (*ORDERS, *WITHOUT), "failed", "doubled"),
    "postgres-without": Subject(POSTGRES, (*DEBEZIUM, *ROWS, "--load", "sql:{insert}", *WITHOUT), "failed", "doubled"),
    "postgres-keys": Subject(SINGLY, (*DEBEZIUM, *UNORDERED_ROWS, "--load", "sql:{new_key}"), "failed", "lost"),
}  # fmt: skip


def run(name: str, seed: int, files: Mapping[str, str], directory: Path, shared: SharedSites) -> dict[str, Any]:
    """The result of one subject under one seed."""
    subject = SUBJECTS[name]
    own = {"topic": f"{name}-{seed}"} if "topic" in subject.config else {}
    config = directory / f"{name}.json"
    config.write_text(json.dumps({"name": name, "config": {**subject.config, **own}}))
    options = [_filled(each, files) for each in subject.options]
    arguments = ("--config", config, *options, "--seed", seed, "--rounds", ROUNDS, "-o", "json")
    begun = _cpu_s()
    with patch.object(certification, "open_site", shared.open if own else open_site):
        ran = Typed().run("certify", *arguments)
    data = json.loads(ran.stdout).get("data", {})
    witness = data.get("witness") or {}
    right = data.get("verdict") == subject.verdict and subject.harm in {None, witness.get("harm")}
    rounds = [f"{each['fault']} {each['verdict']}" for each in data.get("rounds", ())]
    return {"subject": name, "seed": seed, "verdict": data.get("verdict", ran.stderr[-500:]), "right": right,
            "harm": witness.get("harm"), "fault": witness.get("fault"), "rounds": rounds,
            "reasons": data.get("reasons"), "witness": witness, "cpu_s": round(_cpu_s() - begun, 1)}  # fmt: skip


def _cpu_s() -> float:
    """The CPU time of this process and of all ended children, brokers and workers among them."""
    spent = (resource.getrusage(each) for each in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in spent)


def _filled(option: str, files: Mapping[str, str]) -> str:
    for name, file in files.items():
        option = option.replace(f"{{{name}}}", file)
    return option


def kept() -> Iterator[dict[str, Any]]:
    """Results of earlier runs."""
    file = KEPT / "results.jsonl"
    yield from map(json.loads, file.read_text().splitlines() if file.exists() else ())


def main(first: str, last: str, *names: str) -> int:
    """Runs these subjects, or all, under the seeds from first to last."""
    KEPT.mkdir(parents=True, exist_ok=True)
    done = {(each["subject"], each["seed"]) for each in kept()}
    with tempfile.TemporaryDirectory(prefix="eosctl-certificates-") as home, ExitStack() as stack:
        directory, shared = Path(home), SharedSites()
        stack.callback(shared.close)
        plugin_path(DEFAULT_KAFKA_VERSION, LIAR, directory)
        files = {"liar": str(directory / LIAR.stem)}
        for name, text in (("table", TABLE), ("insert", INSERT), ("new_key", NEW_KEY), ("write", WRITE)):
            (directory / name).write_text(text)
            files[name] = str(directory / name)
        for seed in range(int(first), int(last) + 1):
            for name in names or SUBJECTS:
                if (name, seed) not in done:
                    result = run(name, seed, files, directory, shared)
                    with (KEPT / "results.jsonl").open("a") as lines:
                        lines.write(f"{json.dumps(result)}\n")
                    sys.stdout.write(f"{seed} {name} {result['verdict']} {'' if result['right'] else 'WRONG'}\n")
                    sys.stdout.flush()
    results = list(kept())
    counts = Counter((each["subject"], each["verdict"], each["right"]) for each in results)
    for (name, verdict, right), count in sorted(counts.items()):
        sys.stdout.write(f"| {name} | {verdict} | {'' if right else 'wrong'} | {count} |\n")
    return 0 if all(each["right"] for each in results) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

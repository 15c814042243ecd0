"""The alerts of `watch --emit prometheus-rules` in a real Prometheus, on a real cluster: `make emitted`.

Each of them is caused, fires once, and resolves when its cause is removed. Their times are made short: an alert that
waits for minutes waits for seconds here. Needs Debian's package prometheus.
"""

import json
import re
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from eosctl.clients.wire import Wire
from eosctl.model.client_properties import ClientProperties
from eosctl.model.names import TopicPartition
from eosctl.operations.audit_history import open_job_ledger
from eosctl.sandbox.site import PortLeases
from tests.integration.acl_broker import AclBroker
from tests.integration.hanging import UNVERIFIED, hang
from tests.integration.producers import open_transaction
from tests.integration.watched_site import GROUP, OWN_TOPIC, TOPICS, Site
from tests.integration.watching import watching
from tests.ledger.test_ledger import CLUSTER, advanced, run_of
from tests.sources.fake_connect import serve
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(1500)]
EXPIRATION_MS = 45_000
"""An ID is near its expiry when six sevenths of it have passed."""
SHORT = {"> 900": "> 8", "> 600": "> 20"}
RESOLVED_S = 150.0


@dataclass(frozen=True)
class Prometheus:
    """Its HTTP interface."""

    port: int

    def ask(self, path: str, **query: object) -> Any:
        """The data of its answer."""
        text = urllib.parse.urlencode(query)
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/v1/{path}?{text}", timeout=20) as answer:
            return json.load(answer)["data"]

    def firing(self) -> set[str]:
        """Names of the alerts that fire, with the rule of doctor where one has such a label."""
        found = [each["labels"] for each in self.ask("alerts")["alerts"] if each["state"] == "firing"]
        return {f"{each['alertname']} {each.get('rule', '')}".rstrip() for each in found}

    def episodes(self, alert: str, begin: float) -> int:
        """How often one series of this alert began to fire since then, at most."""
        now = time.time()  # noqa: TID251  # Prometheus has no other clock
        name, _, rule = alert.partition(" ")
        query = f'ALERTS{{alertname="{name}", alertstate="firing", rule="{rule}"}}'
        found = self.ask("query_range", query=query, start=begin, end=now, step=1)["result"]
        times = [[stamp for stamp, _ in each["values"]] for each in found]
        return max((1 + sum(b - a > 10 for a, b in pairwise(each)) for each in times), default=0)


@contextmanager
def prometheus(directory: Path, rules: str, port: int, target: int) -> Iterator[Prometheus]:
    """A Prometheus that scrapes this port and evaluates these rules each second."""
    (directory / "rules.yaml").write_text(rules)
    config = {
        "global": {"scrape_interval": "2s", "scrape_timeout": "2s", "evaluation_interval": "1s"},
        "rule_files": ["rules.yaml"],
        "scrape_configs": [{"job_name": "eosctl", "static_configs": [{"targets": [f"127.0.0.1:{target}"]}]}],
    }
    (directory / "prometheus.yml").write_text(yaml.safe_dump(config))
    command = ["prometheus", f"--config.file={directory}/prometheus.yml", f"--storage.tsdb.path={directory}/data"]
    command += [f"--web.listen-address=127.0.0.1:{port}", "--query.lookback-delta=10s"]
    with (directory / "log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        server = Prometheus(port)
        try:
            eventually(lambda: _answers(server), "Prometheus to answer")
            yield server
        finally:
            process.terminate()


def _answers(server: Prometheus) -> bool:
    try:
        return bool(server.ask("rules")["groups"])
    except OSError:
        return False


def shortened(rules: str) -> str:
    """The rules with short times, and with thresholds of seconds in the place of minutes."""
    text = re.sub(r"for: [1-9]\d*[mh]", "for: 3s", rules)
    for long, short in SHORT.items():
        assert long in text
        text = text.replace(long, short)
    return text


def test_each_alert_fires_once_and_resolves(make_sandbox, eosctl, tmp_path):
    settings = {**UNVERIFIED, "transactional.id.expiration.ms": str(EXPIRATION_MS)}
    sandbox = make_sandbox(workers=1, group_id=GROUP, broker_config=settings)
    ports = PortLeases()
    port = ports.take()
    store = f"sqlite:///{tmp_path}/ledger"
    audit(store, "held")
    rules = eosctl("watch", "--emit", "prometheus-rules").stdout
    with ExitStack() as stack:
        stack.callback(ports.release)
        site = Site(sandbox, stack.enter_context(AclBroker(sandbox)))
        [url] = stack.enter_context(serve(site.worker))
        identity = tmp_path / "tool.properties"
        identity.write_text(sandbox.client_properties("tool"))
        topics = ("--config-topic", TOPICS["config"], "--worker-offsets-topic", TOPICS["offsets"])
        args = ("--command-config", identity, "--group-id", GROUP, "--connect-url", url,
                "--connect-url", sandbox.connect_url(1), *topics,
                "--status-topic", TOPICS["status"], "--store", store, "--every", 1, "--timeout", 40,
                "--listen", f"127.0.0.1:{port}")  # fmt: skip
        server = stack.enter_context(prometheus(tmp_path, shortened(rules), ports.take(), port))
        watch = ExitStack()
        stack.enter_context(watch)
        start = lambda: watch.enter_context(watching(*args))  # noqa: E731
        start()
        quiet = eventually_quiet(server, site)
        caused = phases(site, eosctl, store, watch, start)
        everything = {rule["alert"] for group in yaml.safe_load(rules)["groups"] for rule in group["rules"]}
        assert everything == {alert.partition(" ")[0] for alert, _, _ in caused}
        for alert, cause, fix in caused:
            begin = time.time()  # noqa: TID251  # Prometheus has no other clock
            cause()
            eventually(lambda a=alert: _firing(server, site, a), f"{alert} to fire", deadline_s=150)
            fix()
            eventually(lambda: _firing(server, site) <= quiet, lambda: f"all to resolve: {server.firing()}",
                       deadline_s=RESOLVED_S)  # fmt: skip
            assert server.episodes(alert, begin) == 1, alert


def eventually_quiet(server: Prometheus, site: Site) -> set[str]:
    """The alerts before anything is caused, when the first cycles have ended."""
    eventually(lambda: server.ask("query", query="eosctl_last_success_seconds")["result"], "a whole cycle")
    eventually(lambda: "EosctlNotWatching" not in _firing(server, site), "the first scrape to be seen")
    time.sleep(8)  # what fires at all does so within 3 s of its `for`
    return _firing(server, site)


def _firing(server: Prometheus, site: Site, wanted: str | None = None) -> Any:
    site.stay_awake()
    firing = server.firing()
    return firing if wanted is None else wanted in firing


KnownPhase = tuple[str, Callable[[], Any], Callable[[], Any]]


def phases(site: Site, eosctl: Any, store: str, watch: ExitStack, start: Callable[[], object]) -> list[KnownPhase]:
    """Each alert with what causes it and what removes the cause."""
    kept: dict[str, Any] = {}

    def hangs() -> None:
        with Wire(ClientProperties((site.servers,))) as wire:
            kept["hung"] = hang(wire, TopicPartition("payments", 0), None, ahead_ms=-3_600_000)

    def abort() -> None:
        offset = kept["hung"].start_offset
        ran = eosctl("transactions", "abort", "-b", site.servers, "--topic", "payments", "--partition", 0,
                     "--start-offset", offset, "--yes")  # fmt: skip
        assert ran.exit_code == 0, ran.stderr

    def holds() -> None:
        kept["writer"] = open_transaction(site.servers, "writer", "orders")

    def sleep() -> None:
        site.asleep = True

    def wake() -> None:
        site.asleep = False
        site.stay_awake()

    def kill() -> None:
        sleep()  # no other client queries the broker meanwhile
        site.sandbox.kill_broker(1)

    def restart() -> None:
        site.sandbox.start_broker(1)
        wake()

    def stall() -> None:
        site.worker.hangs = True

    def answer() -> None:
        site.worker.hangs = False

    return [
        ("EosctlTransactionHangs", hangs, abort),
        ("EosctlConsumersHeldBack", holds, lambda: kept["writer"].commit_transaction(30)),
        # zombies of an earlier generation may be there until a round of fencing has succeeded
        ("EosctlFencingPending", lambda: site.commit(1), lambda: site.fence(1)),
        # tasks of the new generation run for two minutes, and the previous ones were not fenced
        ("EosctlFindings EOS068", lambda: site.commit(1, age_s=120), lambda: site.fence(1)),
        # a key that the connector's own topic does not have hides the one in the workers' topic
        ("EosctlNullShadow", lambda: site.offset(TOPICS["offsets"], "/n"), lambda: site.offset(OWN_TOPIC, "/n")),
        ("EosctlConnectorInconsistent", lambda: site.commit(2, published=1), lambda: (site.commit(2), site.fence(2))),
        ("EosctlTransactionalIdsNearExpiry", sleep, wake),
        # RUNNING, by its worker, and stopped in its sleep
        ("EosctlTaskQuiet", sleep, wake),
        ("EosctlAuditBroken", lambda: audit(store, "broken"), lambda: audit(store, "held")),
        ("EosctlAuditAltered", lambda: audit(store, "altered"), lambda: audit(store, "held")),
        ("EosctlFactsUnread", lambda: site.allow(all_ids=False), site.allow),
        ("EosctlFactsUnread", kill, restart),
        # a broker that does not answer is given up after seconds, a worker after --timeout
        ("EosctlCyclesStopped", stall, answer),
        ("EosctlNotWatching", watch.close, start),
    ]


def audit(store: str, verdict: str) -> None:
    """A run of the audit's job with this verdict."""
    ledger = open_job_ledger(store)
    state = ledger.state("nightly", CLUSTER)
    kept = {str(place): each.offset for place, each in state.cursors.items()}
    run = run_of(state, advanced(state, "t", 0, kept.get("t-0", 0) + 10))
    ledger.commit(replace(run, verdict=verdict))

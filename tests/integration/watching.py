"""`eosctl watch` as a separate process, and the metrics that Prometheus would scrape from it."""

import http.client
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from prometheus_client.openmetrics.parser import text_string_to_metric_families

from tests import forks
from tests.integration.terminal import PROGRAM

Series = dict[tuple[str, ...], float]


@dataclass(frozen=True, slots=True)
class Watching:
    """Its address, its process, and at its end its standard error."""

    port: int
    pid: int
    said: list[str]

    def get(self, path: str) -> tuple[int, str]:
        """Status and body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def scraped(self) -> dict[str, Series]:
        """Each metric's values by their labels, in the order of the labels' names and without the profile's."""
        found: dict[str, Series] = {}
        status, text = self.get("/metrics")
        for family in text_string_to_metric_families(text) if status == 200 else ():
            for each in family.samples:
                labels = tuple(value for name, value in sorted(each.labels.items()) if name != "profile")
                found.setdefault(each.name, {})[labels] = each.value
        return found


@contextmanager
def watching(*args: object, end: signal.Signals = signal.SIGINT) -> Iterator[Watching]:
    """Runs it with these arguments while the block runs; it must end by Ctrl-C as every command does, or by SIGTERM."""
    said: list[str] = []
    started = forks.start(PROGRAM, "watch", "--listen", "127.0.0.1:0", *map(str, args))
    try:
        line = started.stderr.readline()
        announced = re.search(r"http://127\.0\.0\.1:(\d+)/metrics", line)
        assert announced is not None, line
        yield Watching(int(announced[1]), started.pid, said)
    finally:
        started.send_signal(end)
        _, stderr = started.communicate(timeout=60)
        said.append(stderr)
    assert started.returncode == (0 if end is signal.SIGTERM else 130), stderr
    assert ("eosctl: error: interrupted" in stderr.splitlines()) == (end is signal.SIGINT)

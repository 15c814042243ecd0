"""`watch` as a service: cycle after cycle of each cluster, and the metrics of the last one over HTTP.

Each cluster has a thread of its own, so one that does not answer delays no other; the server has others, so a client
delays no cycle.
"""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from threading import Event, Thread
from time import monotonic
from typing import Final

from eosctl.analysis.metrics.catalogue import METRICS
from eosctl.codecs.secrets import mask_text
from eosctl.errors import EosctlError
from eosctl.exporter.exporter import Exporter
from eosctl.exporter.exposition import Exposition
from eosctl.exporter.server import MetricsServer, address_of
from eosctl.model.counts import some
from eosctl.model.skipped import Skipped
from eosctl.model.watch import Answers, Cycle, Observation
from eosctl.operations.reporter import Advance, Reporter
from eosctl.operations.session import Session
from eosctl.operations.watch import Watched, observation, observe

CYCLES_SHOWN: Final = 3
"""For how many cycles, with their pauses, samples are shown that no other cycle has replaced."""


@dataclass(frozen=True, slots=True)
class Listening:
    """Where metrics are served, and how many seconds after the beginning of one cycle the next one begins."""

    address: str
    allow_remote: bool
    every_s: float


def serve_metrics(clusters: Sequence[Watched], listening: Listening, console: Reporter) -> None:
    """Watches until it is interrupted. What is wrong with command line, profile or address is raised at once."""
    exporter = Exporter(Exposition(METRICS))
    address = address_of(listening.address, allow_remote=listening.allow_remote)
    watches = [_Watch(each, console, exporter, listening.every_s) for each in clusters]
    for each in watches:
        each.require()
    ended = Event()
    with MetricsServer(address, exporter.page) as server:
        host = address.text.rpartition(":")[0]
        console.narrate(
            f"metrics at http://{host}:{server.port}/metrics, every {listening.every_s:g} s; Ctrl-C ends it"
        )
        for each in watches:
            Thread(target=each.run, args=(ended,), daemon=True).start()
        try:
            server.serve_forever()
        finally:
            ended.set()


class _Watch:
    """The cycles of one cluster."""

    def __init__(self, watched: Watched, console: Reporter, exporter: Exporter, every_s: float) -> None:
        self._watched, self._console, self._exporter, self._every_s = watched, console, exporter, every_s
        self._once = _Once(console)

    def require(self) -> None:
        """Raises what keeps every cycle from beginning."""
        self._watched.session(self._once)

    def run(self, ended: Event) -> None:
        """One cycle after the other; one that takes long is followed by a pause as long, up to the interval."""
        last_success, lacked = None, frozenset[str]()
        while not ended.is_set():
            began = monotonic()
            found = self._cycle(last_success)
            if ended.is_set():
                return
            took, last_success = monotonic() - began, found.cycle.last_success
            self._exporter.publish(found, CYCLES_SHOWN * (self._every_s + took))
            lacked = self._report(found, lacked)
            del found
            gc.collect()  # the thresholds of a command would let a service keep what many cycles read
            ended.wait(max(self._every_s - took, min(took, self._every_s)))

    def _cycle(self, last_success: int | None) -> Observation:
        try:
            return observe(self._watched, self._watched.session(self._once), last_success)
        except EosctlError as error:
            reason = Skipped.of(error)
        except Exception as error:  # noqa: BLE001  # a bug in one cycle must not end the watch, and is reported
            reason = Skipped(f"this is a bug: {type(error).__name__}: {mask_text(str(error))}")
        return observation(self._watched, Answers.none(reason), Cycle(Session.now(), 0, {}, last_success))

    def _report(self, found: Observation, lacked: frozenset[str]) -> frozenset[str]:
        """Warns of what the last cycle had read and this one has not; returns what this one lacks."""
        name = self._watched.profile
        by_reason: dict[str, list[str]] = {}
        for each in found.coverage.gaps:
            by_reason.setdefault(each.reason, []).append(each.what)
        lacks = {f"{name and f'{name}: '}not read: {some(what)}: {why}" for why, what in by_reason.items()}
        for line in sorted(lacks - lacked):
            self._console.warn(line)
        if lacked and not lacks:
            self._console.narrate(f"{name and f'{name}: '}all was read again")
        return frozenset(lacks)


class _Once:
    """A reporter for the sessions of cycles: no progress, and nothing twice."""

    def __init__(self, console: Reporter) -> None:
        self._console, self._said = console, set[str]()

    def narrate(self, text: str, *, verbosity: int = 0) -> None:
        """Says it, unless it was said before."""
        if text not in self._said:
            self._said.add(text)
            self._console.narrate(text, verbosity=verbosity)

    def warn(self, text: str) -> None:
        """Says it, unless it was said before."""
        if text not in self._said:
            self._said.add(text)
            self._console.warn(text)

    def confirm(self, question: str, *, yes: bool) -> None:
        """Cycles ask nothing."""
        self._console.confirm(question, yes=yes)

    @contextmanager
    def progress(self, label: str, total: int | None = None, *, unit: str = "") -> Iterator[Advance]:
        """Shows none."""
        yield lambda _: None

    def results(self, label: str, total: int, *, unit: str = "") -> AbstractContextManager[Callable[[str], None]]:
        """As the console does."""
        return self._console.results(label, total, unit=unit)

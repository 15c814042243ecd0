"""`watch` as a service: cycle after cycle of each cluster, and the answers of the last one on each of its faces.

The faces are pages over HTTP, pushes by OTLP, and a terminal; all show what the same cycles found. Each cluster has a
thread of its own, so one that does not answer delays no other; each face has others, so none delays a cycle.
"""

import gc
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from threading import Event, Thread
from time import monotonic
from typing import Final, Protocol

from eosctl.analysis.metrics.catalogue import METRICS
from eosctl.codecs.secrets import mask_text
from eosctl.errors import EosctlError
from eosctl.exporter.board import Board
from eosctl.exporter.exporter import Exporter
from eosctl.exporter.exposition import Exposition
from eosctl.exporter.otlp import OtlpPush
from eosctl.exporter.server import MetricsServer, address_of
from eosctl.model.counts import some
from eosctl.model.skipped import Skipped
from eosctl.model.watch import Answers, Cycle, Observation
from eosctl.operations.reporter import Advance, Reporter
from eosctl.operations.session import Session
from eosctl.operations.watch import Watched, observation, observe

CYCLES_SHOWN: Final = 3
"""For how many cycles, with their pauses, samples are shown that no other cycle has replaced."""


class Voice(Protocol):
    """Where is said what goes on, and what the user ought to know."""

    def narrate(self, text: str, *, verbosity: int = 0) -> None:
        """Say what goes on."""

    def warn(self, text: str) -> None:
        """Say what the user ought to know although the command goes on."""


class Screen(Voice, Protocol):
    """A terminal that shows what the cycles found."""

    def show(self, profiles: Sequence[str], latest: Callable[[], Mapping[str, Observation]]) -> None:
        """Draws the last observation of each profile until the user ends it."""


@dataclass(frozen=True, slots=True)
class Listening:
    """Where metrics are served, and how many seconds after the beginning of one cycle the next one begins."""

    address: str
    allow_remote: bool
    every_s: float


@dataclass(frozen=True, slots=True)
class Faces:
    """Where the answers go: pages if it serves, a collector if one is named, a terminal if there is one."""

    serves: bool = True
    otlp: str | None = None
    screen: Screen | None = None


def watch_clusters(clusters: Sequence[Watched], listening: Listening, console: Reporter, faces: Faces) -> None:
    """Watches until it is interrupted, or ended by SIGTERM or on its terminal, which are ordinary ends.

    What is wrong with command line, profile or address is raised at once.
    """
    board, ended = Board(), Event()
    exporter = Exporter(board, Exposition(METRICS)) if faces.serves else None
    address = address_of(listening.address, allow_remote=listening.allow_remote)
    pushes = None if faces.otlp is None else OtlpPush(faces.otlp, METRICS)
    voice: Voice = faces.screen or console
    watches = [_Watch(each, _Once(console, voice), board, listening.every_s) for each in clusters]
    for each in watches:
        each.require()
    with _ended_by_sigterm(), ExitStack() as stack:
        server = None if exporter is None else stack.enter_context(MetricsServer(address, exporter.page))
        stack.callback(ended.set)
        if server is not None:
            place = f"http://{address.text.rpartition(':')[0]}:{server.port}/metrics"
            voice.narrate(f"metrics at {place}, every {listening.every_s:g} s; Ctrl-C ends it")
        for each in watches:
            Thread(target=each.run, args=(ended,), daemon=True).start()
        if pushes is not None:
            where = mask_text(str(faces.otlp))
            voice.narrate(f"metrics are pushed to {where}, every {listening.every_s:g} s; Ctrl-C ends it")
            pushing = _Pushing(pushes, where, board, voice)
            Thread(target=pushing.run, args=(ended, listening.every_s), daemon=True).start()
        if faces.screen is not None:
            if server is not None:
                Thread(target=server.serve_forever, daemon=True).start()
                stack.callback(server.shutdown)
            faces.screen.show([each.profile for each in clusters], board.latest)
        elif server is not None:
            server.serve_forever()
        else:
            ended.wait()


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """SIGTERM ends what runs inside, in order. The first process of a container would not even notice it otherwise."""

    def end(*_: object) -> None:
        raise SystemExit

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    except SystemExit:
        return
    finally:
        signal.signal(signal.SIGTERM, before)


@dataclass(frozen=True, slots=True)
class _Pushing:
    """Pushes after each cycle, and what is too old as often."""

    pushes: OtlpPush
    where: str
    board: Board
    voice: Voice

    def run(self, ended: Event, every_s: float) -> None:
        """Until it is ended. It says once that a push failed, and once that pushes succeed again."""
        seen, failed = 0, False
        while not ended.is_set():
            seen = self.board.wait(seen, every_s)
            latest = self.board.latest()
            why = self.pushes.push(latest) if latest else None
            if why is not None and not failed:
                self.voice.warn(f"metrics were not pushed to {self.where}: {mask_text(why)}")
            elif why is None and failed:
                self.voice.narrate(f"metrics are pushed to {self.where} again")
            failed = why is not None


class _Watch:
    """The cycles of one cluster."""

    def __init__(self, watched: Watched, once: "_Once", board: Board, every_s: float) -> None:
        self._watched, self._once, self._board, self._every_s = watched, once, board, every_s

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
            self._watched = self._watched.continuing(found.log)
            self._board.publish(found, CYCLES_SHOWN * (self._every_s + took))
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
            self._once.voice.warn(line)
        if lacked and not lacks:
            self._once.voice.narrate(f"{name and f'{name}: '}all was read again")
        return frozenset(lacks)


class _Once:
    """A reporter for the sessions of cycles: no progress, and nothing twice."""

    def __init__(self, console: Reporter, voice: Voice) -> None:
        self._console, self.voice, self._said = console, voice, set[str]()

    def narrate(self, text: str, *, verbosity: int = 0) -> None:
        """Says it, unless it was said before; what takes a -v is said each time, and not kept."""
        if verbosity:
            self.voice.narrate(text, verbosity=verbosity)
        elif text not in self._said:
            self._said.add(text)
            self.voice.narrate(text)

    def waiting(self, text: str) -> None:
        """Nothing: how long a cycle takes is one of its metrics."""

    def warn(self, text: str) -> None:
        """Says it, unless it was said before."""
        if text not in self._said:
            self._said.add(text)
            self.voice.warn(text)

    def confirm(self, question: str, *, yes: bool, name: str | None = None) -> None:
        """Cycles ask nothing."""
        self._console.confirm(question, yes=yes, name=name)

    @contextmanager
    def progress(self, label: str, total: int | None = None, *, unit: str = "") -> Iterator[Advance]:
        """Shows none."""
        yield lambda _: None

    def results(self, label: str, total: int, *, unit: str = "") -> AbstractContextManager[Callable[[str], None]]:
        """As the console does."""
        return self._console.results(label, total, unit=unit)

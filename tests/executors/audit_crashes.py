"""Audits killed at named points and at any moment, beside one another, over a log that grows: whatever audits.

An `Audited` is one job in one ledger; `endure` puts it through a schedule. The stand-in's is StandInAudited.
"""

import json
import os
import random
from collections.abc import Iterable
from pathlib import Path
from time import sleep
from typing import Protocol

from eosctl.ledger.ledger import Ledger, open_ledger
from eosctl.model.audit import StateKind
from eosctl.model.ledger import CommittedRange
from tests import forks
from tests.executors.crashing_audit import (
    CLUSTER,
    OWN_FAILPOINTS,
    Carried,
    LogShape,
    carried_of,
    fold,
    report_of,
)
from tests.forks import Forked

COMMIT_FAILPOINTS = (
    *("begun", "job-moved", "cursors-moved", "ranges-written", "report-written", "bucket-written", "carried-written"),
    *("before-commit", "committed"),
)
"""Where commit_run tells that it is."""

EVENTS = ("point", "point", "point", "moment", "moment", "race", "grow")
PATIENCE_S = 120


class Audited(Protocol):
    """One job that processes audit, and what must be true of its ledger."""

    failpoints: tuple[str, ...]
    longest_s: float
    """How long a whole audit takes about: kills at random moments come within it."""

    def start(self, failpoint: str | None = None) -> Forked:
        """A process that audits to the end, or to the failpoint."""
        ...

    def grow(self, chance: random.Random) -> None:
        """Let the log go on."""
        ...

    def check(self) -> None:
        """Raises AssertionError unless the ledger is that of one audit of everything, as far as the audits came."""
        ...


def endure(audited: Audited, chance: random.Random) -> int:
    """A schedule of one to four events, then one audit to the end, then the check. How many processes were killed."""
    killed = 0
    for _ in range(chance.randint(1, 4)):
        match chance.choice(EVENTS):
            case "point":
                point = chance.choice(audited.failpoints)
                killed += _ended(audited.start(f"{point}:{chance.randint(1, 4)}")) != 0
            case "moment":
                process = audited.start()
                sleep(chance.uniform(0, audited.longest_s))  # not waiting for anything: the moment is the point
                process.kill()
                killed += _ended(process, killed=True) != 0
            case "race":
                points = [chance.choice([None, *audited.failpoints]) for _ in range(3)]
                killed += sum(_ended(each) != 0 for each in [audited.start(point) for point in points])
            case "grow":
                audited.grow(chance)
        audited.check()
    audited.grow(chance)
    assert _ended(audited.start()) == 0
    audited.check()
    return killed


def _ended(process: Forked, *, killed: bool = False) -> int:
    """0 or -9; whatever else a process ends with is a failure."""
    _, error = process.communicate(timeout=PATIENCE_S)
    assert process.returncode in {0, -9}, error
    assert not (killed and error), error
    return process.returncode


class StandInAudited:
    """The made-up log of crashing_audit, in the store at `url`."""

    failpoints = (*OWN_FAILPOINTS, *COMMIT_FAILPOINTS)

    def __init__(self, url: str, job: str, directory: Path, seed: int, *more: str) -> None:
        self.longest_s = 0.5
        self.url, self.job, self._more = url, job, more
        self._log = directory / f"{job}.log"
        self._chance = random.Random(seed)
        self._ledger: Ledger | None = None
        self.shape = LogShape({"offsets": ("A", [[0, 150], [0, 0], [20, 90]]), "records": ("B", [[0, 200]])})
        self.shape.write(self._log)

    def start(self, failpoint: str | None = None) -> Forked:
        """Another seed for each process: racing ones plan different ranges."""
        script = str(Path(__file__).with_name("crashing_audit.py"))
        seed = str(self._chance.randrange(1 << 30))
        environment = {**os.environ, **({} if failpoint is None else {"EOSCTL_FAILPOINT": failpoint})}
        return forks.start(script, self.url, self.job, str(self._log), seed, *self._more, environment=environment)

    def grow(self, chance: random.Random) -> None:
        """More offsets in each partition; at times the log start passes some, or a topic begins again."""
        topics = {}
        for name, (topic_id, partitions) in self.shape.topics.items():
            if chance.random() < 0.1:
                fresh = [[0, chance.randint(0, 150)] for _ in range(chance.randint(1, 3))]
                topics[name] = (topic_id + "'", fresh)
                continue
            grown = []
            for start, stable in partitions:
                end = stable + chance.randint(0, 150)
                grown.append([chance.randint(start, end) if chance.random() < 0.2 else start, end])
            topics[name] = (topic_id, grown)
        self.shape = LogShape(topics)
        self.shape.write(self._log)

    @property
    def ledger(self) -> Ledger:
        """The ledger as a reader opens it."""
        if self._ledger is None:
            self._ledger = open_ledger(self.url)
        return self._ledger

    def check(self) -> None:
        """Ranges go on from one another, and what is carried is what one reading of them in order gives."""
        ledger = self.ledger
        state = ledger.state(self.job, CLUSTER)
        ranges, runs = list(ledger.ranges(self.job)), ledger.runs(self.job)
        assert [each.run_number for each in runs] == list(range(state.run_number, 0, -1))
        assert {each.run_number for each in ranges} <= {each.run_number for each in runs}
        stand = {str(each): (cursor.topic_id, cursor.offset) for each, cursor in state.cursors.items()}
        for name, place in contiguous(ranges).items():
            if place is not None:
                assert stand.get(name) == place
            elif name in stand:  # the topic began again, and nothing of it was settled yet
                assert stand[name][0] not in {
                    each.topic_id for _, each in ranges if f"{each.topic}-{each.partition}" == name
                }
        read_once = one_reading(ranges)
        carried = carried_of(ledger.carried(state, StateKind.KEYS))
        assert {place: part for place, part in carried.items() if part} == read_once
        if runs:
            last = {name: found for name, found in json.loads(ledger.report(self.job) or "").items() if found}
            assert last == json.loads(report_of(read_once))

    def is_at_the_end(self) -> bool:
        """Whether every cursor has come to the last stable offset."""
        cursors = self.ledger.state(self.job, CLUSTER).cursors
        return {(str(each), cursor.topic_id, cursor.offset) for each, cursor in cursors.items()} == {
            (f"{name}-{number}", topic_id, stable)
            for name, (topic_id, partitions) in self.shape.topics.items()
            for number, (_, stable) in enumerate(partitions)
        }


def contiguous(ranges: Iterable[CommittedRange]) -> dict[str, tuple[str | None, int] | None]:
    """Where the ranges of each partition end, None after a topic's end; an AssertionError where one does not go on from
    the one before it.
    """
    places: dict[str, tuple[str | None, int] | None] = {}
    for number, each in ranges:
        name = f"{each.topic}-{each.partition}"
        place = places.get(name)
        assert place is None or place == (each.topic_id, each.start), f"run {number}: {each} after {place}"
        if each.kind == "recreated":
            places[name] = None
        else:
            assert each.start < each.end
            places[name] = (each.topic_id, each.end)
    return places


def one_reading(ranges: Iterable[CommittedRange]) -> Carried:
    """The state after reading all that the ledger calls read, once and in order."""
    state: Carried = {}
    for _, each in ranges:
        place = (each.topic, each.partition)
        if each.kind == "recreated":
            state.pop(place, None)
        elif each.kind == "read":
            fold(state.setdefault(place, {}), each.topic_id or "", each.partition, range(each.start, each.end))
            assert each.records == sum(1 for offset in range(each.start, each.end) if offset % 11)
    return {place: part for place, part in state.items() if part}

"""Every reading command, every request that it really sends, every fault: the same finding, or a named gap."""

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple

from eosctl.errors import Bug
from tests.faults.commands import Answer, Command, run_command
from tests.faults.damaged_answers import Answered, Damage, Damaging, Recorder, damages
from tests.faults.kafka_proxy import Fault, KafkaProxy, Seen, proxied
from tests.faults.rest_proxy import Call, RestFault, RestProxy
from tests.faults.site import Site

MOST: Final = {Fault.DEAD: 2, Fault.TIMEOUT: 1, Fault.MOVED: 1}


class Outcome(StrEnum):
    """The result of a command under a fault."""

    SAME = "same finding"
    NAMED = "not 0 and named"
    OTHER = "as the broker says"
    LIE = "lie"


class Cell(NamedTuple):
    """One run: the command, the fault, and its outcome."""

    command: str
    request: str
    fault: str
    outcome: Outcome
    shown: str


def judged(before: Answer, after: Answer) -> Outcome:
    """The same finding or row, or a named error or gap; anything else is a lie."""
    if after.exit_code == 70:
        return Outcome.LIE
    same = after.essence == before.essence if not before.findings else before.findings <= after.findings
    if after.exit_code == before.exit_code and same:
        return Outcome.SAME
    if after.exit_code not in {0, 1} and (after.names_gap or "eosctl: error: " in after.stderr):
        return Outcome.NAMED
    return Outcome.NAMED if after.exit_code == 1 and after.names_gap else Outcome.LIE


@dataclass(slots=True)
class FaultMatrix:
    """The site behind both proxies."""

    site: Site
    kafka: KafkaProxy
    rest: RestProxy
    cells: list[Cell] = field(default_factory=list)

    def run(self, command: Command) -> Answer:
        """The command, through the proxies."""
        return run_command(self.words(command))

    def words(self, command: Command) -> tuple[str, ...]:
        """Its command line, with the addresses of the proxies."""
        servers = self.site.sandbox.bootstrap_servers
        places = {"directory": self.site.directory, "servers": servers}
        urls = ("--connect-url", self.rest.url) if command.rest else ()
        return (*(word.format(**places) for word in command.words), "-b", servers, *urls)

    def baseline(self, command: Command) -> tuple[Answer, list[Seen], list[Call]]:
        """The answer without a fault, and its requests."""
        self.kafka.plan(None, None)
        self.rest.plan(None, None)
        answer = self.run(command)
        return answer, list(dict.fromkeys(self.kafka.seen)), list(dict.fromkeys(self.rest.seen))

    def try_all(self, command: Command) -> None:
        """Each of its requests in each way.

        A dead or silent broker stays so for later requests, too: it is tried from the first requests of each API on.
        """
        before, seen, calls = self.baseline(command)
        for target in seen:
            for fault in Fault:
                if target.number <= MOST.get(fault, target.number):
                    self.try_kafka(command, before, target, fault)
        for call in calls:
            for rest_fault in RestFault:
                self.try_rest(command, before, call, rest_fault)

    def try_kafka(self, command: Command, before: Answer, target: Seen, fault: Fault) -> None:
        """One request fails."""
        self.rest.plan(None, None)
        self.kafka.plan(target, fault)
        after = self.run(command)
        if self.kafka.hit:
            self._keep(command, target.name, fault, before, after)

    def try_damages(self, command: Command, chance: random.Random, most: int) -> None:
        """This many damages of different kinds to the broker's answers; one to the first, without which nothing works.

        By chance alone all damages of a few may be to answers that a command can do without.
        """
        before, answers = self.recorded(command)
        sorts = {each.sort: each for answered in answers for each in damages(answered, chance)}
        needed = next(each for each in sorted(sorts) if each[0] == answers[0].seen.api_key and each[1] == "frame")
        for sort in (needed, *chance.sample(sorted(sorts), min(most - 1, len(sorts)))):
            self._try_damage(command, before, sorts[sort])

    def recorded(self, command: Command) -> tuple[Answer, list[Answered]]:
        """The answer without a fault, and the broker's answers behind it."""
        self.rest.plan(None, None)
        self.kafka.plan(None, None)
        self.kafka.other = recorder = Recorder()
        try:
            return self.run(command), recorder.answers
        finally:
            self.kafka.other = None

    def _try_damage(self, command: Command, before: Answer, damage: Damage) -> None:
        """Damages one answer of the broker. A possible answer of Kafka may change the command's answer."""
        self.kafka.plan(None, None)
        self.kafka.other = damaging = Damaging(damage)
        try:
            after = self.run(command)
        finally:
            self.kafka.other = None
        if damaging.hit:
            self._keep(command, damage.name, "damaged", before, after, is_possible=damage.possible)

    def try_rest(self, command: Command, before: Answer, target: Call, fault: RestFault) -> None:
        """One kind of call fails."""
        self.kafka.plan(None, None)
        self.rest.plan(target, fault)
        after = self.run(command)
        if self.rest.hit:
            self._keep(command, target.name, fault, before, after)

    def _keep(
        self,
        command: Command,
        request: str,
        fault: str,
        before: Answer,
        after: Answer,
        *,
        is_possible: bool = False,
    ) -> None:
        outcome = judged(before, after)
        if outcome is Outcome.LIE and after.exit_code != Bug.exit_code:  # unless the cluster itself moved on meanwhile
            outcome = judged(self.baseline(command)[0], after)
        if is_possible and outcome is Outcome.LIE and after.exit_code != Bug.exit_code:
            outcome = Outcome.OTHER
        shown = "" if outcome is not Outcome.LIE else f"{before.exit_code} -> {after.exit_code}: {after.stderr[:300]!r}"
        self.cells.append(Cell(command.name, request, fault, outcome, shown))


@contextmanager
def fault_matrix(site: Site) -> Iterator[FaultMatrix]:
    """The matrix of the site, empty."""
    with closing(RestProxy(site.sandbox.connect_url(1))) as rest, proxied(site.sandbox.bootstrap_servers) as kafka:
        yield FaultMatrix(site, kafka, rest)


def table(cells: Iterable[Cell]) -> str:
    """Counts by command and fault, in Markdown."""
    found = list(cells)
    lines = ["| command | requests | faults | " + " | ".join(Outcome) + " |", "|---|---|---|---|---|---|"]
    for name in (*dict.fromkeys(each.command for each in found), None):
        mine = [each for each in found if name in {None, each.command}]
        counts = Counter(each.outcome for each in mine)
        numbers = [counts[outcome] for outcome in Outcome]
        requests = len({(each.command, each.request) for each in mine})
        lines.append(f"| {name or 'all'} | {requests} | {len(mine)} | {' | '.join(map(str, numbers))} |")
    return "\n".join(lines) + "\n"

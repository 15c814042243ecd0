"""Random histories of connectors: operations, recording, counts."""

import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.campaign.connector import NumberedConnector, some_kind
from tests.campaign.judging import Facts, Outcome, judge
from tests.campaign.operations import LOUD, MOVES, QUIET, WISHES, Acting, Eosctl
from tests.campaign.recording import recording
from tests.campaign.site import Site
from tests.campaign.truth import Truth
from tests.integration.witnesses import check
from tests.waiting import eventually

FLOW = 30


@dataclass
class History:
    """The history of one connector; operations are in order, those of the workers among them."""

    connector: NumberedConnector
    chance: random.Random
    operations: list[str] = field(default_factory=list)
    plain: bool = False
    wished: bool = False
    failure: str = ""
    truth: Truth = field(default_factory=lambda: Truth({}, {}))

    def act(self, operation: Callable[[Acting], bool], eosctl: Eosctl) -> None:
        """One operation; a failed one ends the history, because its effect is unknown."""
        try:
            done = operation(Acting(self.connector, self.chance, eosctl))
            self.wished = self.wished or (done and operation in WISHES)
            self.operations.append(f"{operation.__name__}{'' if done else ' (not possible)'}")
        except (AssertionError, OSError, LookupError) as error:
            self.failure = f"{operation.__name__}: {error}"[:2000]

    def settle(self) -> None:
        """Returns when its connector has caught up with some more numbers."""
        try:
            self.connector.grow(10)
            self.connector.settle()
        except (AssertionError, OSError) as error:
            self.failure = f"at the end: {error}"[:2000]

    def count(self) -> Truth:
        """The readers' present numbers, which become its truth; none for an unfinished history."""
        if not self.failure:
            self.truth = self.connector.truth()
        return self.truth

    @property
    def facts(self) -> Facts:
        """The facts that are known without eosctl; a null offset is a removed one."""
        truth = Truth({}, {}) if self.failure else self.truth
        return Facts(truth, self.plain, self.wished, self.connector.kind.form == "none")


@dataclass(frozen=True)
class Result:
    """A history and its verdict; the last of the connector's names is the final one.

    `failure` is why a history did not finish; it is then not judged. witnesses are the kinds of those findings that an
    ordinary consumer saw at their offsets.
    """

    seed: int
    names: Sequence[str]
    kind: Mapping[str, Any]
    operations: Sequence[str]
    facts: Facts
    outcome: str
    why: str
    failure: str
    verdict: Mapping[str, Any]
    findings: Sequence[Mapping[str, Any]]
    witnesses: Sequence[str] = ()


class Round:
    """Histories of one seed at once, by their numbers. `bounce` switches exactly-once off and on again in between."""

    def __init__(self, site: Site, seed: int, numbers: Iterable[int], directory: Path, eosctl: Eosctl) -> None:
        self.site, self.seed, self._eosctl = site, seed, eosctl
        self._chance = random.Random(seed)
        self.histories = [self._history(number, directory) for number in numbers]

    def _history(self, number: int, directory: Path) -> History:
        chance = random.Random(f"{self.seed}/{number}")
        name = f"c{self.seed}x{number}"
        return History(NumberedConnector(self.site.home, name, some_kind(chance), directory), chance)

    @property
    def _living(self) -> list[History]:
        return [each for each in self.histories if not each.failure]

    def play(self, steps: int, *, worker_operations: int = 1, bounce: bool = False) -> None:
        """All of the histories, up to where each connector has caught up."""
        at = sorted(self._chance.sample(range(1, steps), worker_operations))
        with ThreadPoolExecutor(len(self.histories)) as pool:
            for history in self.histories:
                history.connector.grow(100)
                history.operations.append("create")
            self._together(pool, lambda each: each.connector.configure())
            for step in range(steps):
                self._step(pool, bounce=bounce and step in {steps // 3, 2 * steps // 3}, disturbed=step in at)
            self._together(pool, History.settle)

    def _together(self, pool: ThreadPoolExecutor, act: Callable[[History], None]) -> None:
        list(pool.map(act, self._living))

    def _step(self, pool: ThreadPoolExecutor, *, bounce: bool, disturbed: bool) -> None:
        for history in self._living:
            history.connector.grow(history.chance.randint(1, FLOW))
        if bounce:
            self.site.set_exactly_once(self.site.plain)
            self._note(f"exactly-once {'off' if self.site.plain else 'on'}")
        if disturbed:
            operation = self._chance.choice(self.site.operations)
            operation(self._chance)
            self._note(operation.__name__)
        chosen = {each.connector.names[0]: _some_operation(each.chance) for each in self._living}
        alone = [each for each in self._living if chosen[each.connector.names[0]] in MOVES]
        beside = [each for each in self._living if each not in alone]
        done = pool.map(lambda each: each.act(chosen[each.connector.names[0]], self._eosctl), beside)
        for history in alone:
            history.act(chosen[history.connector.names[0]], self._eosctl)
        list(done)

    def _note(self, what: str) -> None:
        for history in self._living:
            history.operations.append(what)
            history.plain = history.plain or self.site.plain

    def report(self, recorded: Path | None = None, *more: str) -> Mapping[str, Any]:
        """The audit's report on all connectors, during which readers got nothing; its inputs are kept in `recorded`.

        A task that begins from nothing may begin after all numbers are complete: then the audit is repeated.
        """
        home = self.site.home
        place = ("-b", home.servers, "--connect-url", home.url, "--group-id", home.group_id)

        def undisturbed() -> Mapping[str, Any] | None:
            before = [each.count() for each in self.histories]
            with recording(self.site.log_directory, recorded) if recorded else nullcontext():
                report = audit(self._eosctl, *place, *more)
            return report if [each.count() for each in self.histories] == before else None

        return eventually(undisturbed, "an audit during which readers got nothing", deadline_s=300)

    def results(self, report: Mapping[str, Any]) -> Iterator[Result]:
        """Each history with its truth and its verdict; a consumer must see the witnesses as stated."""
        for history in self.histories:
            yield _witnessed(_result(self.seed, history, report), report, self.site.home.servers)

    def close(self) -> None:
        """End the readers."""
        for history in self.histories:
            history.connector.close()

    def clear(self) -> None:
        """Delete the connectors and their outputs, and end the readers."""
        for history in self.histories:
            history.connector.delete()
        self.close()


def audit(eosctl: Eosctl, *options: str) -> Mapping[str, Any]:
    """The `data` of an audit's JSON."""
    ran = eosctl("audit", *options, "-o", "json")
    assert ran.exit_code in {0, 1, 3}, ran.stderr
    return dict(json.loads(ran.stdout)["data"])


def _some_operation(chance: random.Random) -> Callable[[Acting], bool]:
    return chance.choice((*QUIET, *QUIET, *MOVES, *MOVES, *LOUD))


def _result(seed: int, history: History, report: Mapping[str, Any]) -> Result:
    connector = history.connector
    judged = judge(connector.names, report, history.facts)
    return Result(
        seed=seed,
        names=tuple(connector.names),
        kind=vars(connector.kind),
        operations=tuple(history.operations),
        facts=history.facts,
        outcome="failed" if history.failure else judged.outcome.value,
        why="" if history.failure else judged.why,
        failure=history.failure,
        verdict=next((each for each in report["connectors"] if each["name"] == connector.name), {}),
        findings=[
            each for each in report["findings"] if set(connector.names) & set(each["evidence"].get("connectors", ()))
        ],
    )


def _witnessed(result: Result, report: Mapping[str, Any], servers: str) -> Result:
    found = [(each["id"], each["subject"]) for each in result.findings]
    mine = [each for each in report["witnesses"] if (each["finding_id"], each["subject"]) in found]
    data = {"connectors": [result.verdict], "findings": result.findings, "witnesses": mine}
    try:
        kinds = check(data, servers)
    except AssertionError as error:
        return replace(result, outcome=Outcome.WRONG.value, why=f"{result.why}; no consumer sees it so: {error}")
    return replace(result, witnesses=sorted(kinds))


COLUMNS = (
    "histories",
    "operations",
    "doubled",
    "lost",
    "held",
    "altered",
    "broken",
    "witnesses",
    "cannot-tell",
    "wrong",
    "failed",
)


def count(results: Iterable[Result]) -> Counter[str]:
    """By column: doubled and lost are numbers of records, the verdicts' columns numbers of histories.

    witnesses are kinds of broken verdicts in a history, each seen by a consumer.
    """
    counts: Counter[str] = Counter()
    for each in results:
        done = [name for name in each.operations if "not possible" not in name]
        counts.update({"histories": 1, "operations": len(done), each.outcome: 1})
        counts.update({"doubled": each.facts.truth.doubled_count, "lost": each.facts.truth.lost_count})
        counts.update({"witnesses": len(each.witnesses), **{f"witness of {name}": 1 for name in each.witnesses}})
    return counts


def table(counts: Counter[str]) -> str:
    """As a table in Markdown."""
    rows = (COLUMNS, ["--:"] * len(COLUMNS), [f"{counts[name]:,}" for name in COLUMNS])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def append_results(file: Path, results: Iterable[Result]) -> None:
    """Each result as a line of JSON."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as lines:
        lines.writelines(f"{json.dumps(asdict(each))}\n" for each in results)


def kept_results(file: Path) -> Iterator[Result]:
    """The results in a file; none where there is no file."""
    for line in file.read_text().splitlines() if file.exists() else ():
        members = json.loads(line)
        truth, *others = members.pop("facts")
        lost, doubled = ({int(partition): numbers for partition, numbers in each.items()} for each in truth)
        yield Result(**members, facts=Facts(Truth(lost, doubled), *others))

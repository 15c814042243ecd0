"""Judges an audit's verdict by the records that readers have.

Truth is by source partition: numbers that no reader had (lost), and that readers had twice or more (doubled). Records
that a user skipped (offsets set ahead) are not lost, and the audit does not claim to see them. A verdict is

- held: wrong where exactly-once was off at some time, or a number is lost; and where a source partition is doubled,
  unless a finding on the connector says so: an interrupted snapshot that began again (NAMES_TWICE), or
  null offsets of a connector that has no others (FORGOTTEN);
- altered: wrong where held would be, but for source partitions that are doubled: the finding has to name them. Wrong
  also where the user neither removed nor altered offsets, and where numbers are said to be repeated and none is, or
  more are doubled than it says at most;
- broken: each finding that it rests on is a claim, and each has to be true.
  TWICE says that records were read again, or skipped: a source partition that it names has to be doubled, or lost.
  That it was a user's own request that set the offset back makes it no less true.
  NOT_IN_FORCE says that records could be: exactly-once has to have been off at some time.
  Any other is wrong: nothing in these histories leaves transactions open, or writes without offsets;
- with SNAPSHOT, whatever the verdict: a source partition that it names has to be doubled;
- cannot-tell: it has to give a reason, whatever the truth is;
- not given: wrong. Of a name that the connector had before, it may be given, and the same rules are for it. What became
  of the connector may be said of any of its names: one is rightly held where the verdict on another is not.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from tests.campaign.truth import Truth

TWICE = {"offset-set-back", "offset-repeated", "offset-not-taken-over"}
SNAPSHOT = "snapshot-begun-again"
NOT_IN_FORCE = {"plain-offsets-write", "data-outside-transaction", "start-without-fencing"}
NAMES_TWICE = {SNAPSHOT, "snapshot-unclear", "offset-repeated"}
BY_WISH, FORGOTTEN = "offsets-altered", "offsets-removed"

Finding = Mapping[str, Any]


class Outcome(StrEnum):
    """The result of one connector's audit."""

    HELD = "held"
    ALTERED = "altered"
    BROKEN = "broken"
    CANNOT_TELL = "cannot-tell"
    WRONG = "wrong"


class Facts(NamedTuple):
    """The facts about a history that are known without eosctl.

    plain: exactly-once was off at some time; wished: its user removed or altered offsets; forgets: the connector itself
    commits null offsets.
    """

    truth: Truth
    plain: bool = False
    wished: bool = False
    forgets: bool = False


class Judged(NamedTuple):
    """The outcome, and why a wrong verdict is wrong."""

    outcome: Outcome
    why: str = ""


def judge(names: Sequence[str], report: Mapping[str, Any], facts: Facts) -> Judged:
    """Judges the verdicts in an audit's JSON `data` on a connector whose last name is the last of these.

    The verdict is that on its last name; one on a former name may be wrong, too.
    """
    verdicts = {each["name"]: each for each in report["connectors"] if each["name"] in names}
    if names[-1] not in verdicts:
        return Judged(Outcome.WRONG, "no verdict")
    findings = [each for each in report["findings"] if {*names} & {*each["evidence"].get("connectors", ())}]
    wrong = [*_wrong_snapshots(findings, facts)]
    for name, verdict in verdicts.items():
        outcome = Outcome(verdict["verdict"])
        elsewhere = any(other["verdict"] != Outcome.HELD for other in verdicts.values() if other is not verdict)
        wrong += [f"{name} {outcome}: {why}" for why in _WRONGS[outcome](verdict, findings, facts, elsewhere)]
    return Judged(Outcome.WRONG, "; ".join(wrong)) if wrong else Judged(Outcome(verdicts[names[-1]]["verdict"]))


def _wrongly_held(_: Finding, findings: Iterable[Finding], facts: Facts, elsewhere: bool) -> Iterator[str]:
    yield from _wrongly_kept(findings, facts, elsewhere, NAMES_TWICE)


def _wrongly_kept(findings: Iterable[Finding], facts: Facts, elsewhere: bool, names: set[str]) -> Iterator[str]:
    if facts.plain and not elsewhere:
        yield "exactly-once was off"
    if facts.truth.lost:
        yield f"{facts.truth.lost_count} numbers are lost of source partitions {[*facts.truth.lost]}"
    names = names | ({FORGOTTEN} if facts.forgets else set())
    names |= TWICE | NOT_IN_FORCE | {BY_WISH} if elsewhere else set()
    naming = [each for each in findings if each["name"] in names]
    for partition, numbers in facts.truth.doubled.items():
        if not any(_names(each, partition) for each in naming):
            yield f"{len(numbers)} numbers of source partition {partition} are doubled, and no finding says so"


def _wrongly_altered(verdict: Finding, findings: Iterable[Finding], facts: Facts, elsewhere: bool) -> Iterator[str]:
    said = list(findings)
    yield from _wrongly_kept(said, facts, elsewhere, NAMES_TWICE | {BY_WISH})
    if not facts.wished:
        yield "nobody altered or removed offsets"
    repeated = verdict["repeated_by_change"]
    if repeated["at_least"] and not facts.truth.doubled:
        yield f"{repeated['at_least']} records at least were repeated, and no number is doubled"
    others = elsewhere or NAMES_TWICE & {each["name"] for each in said}
    if not others and repeated["at_most"] is not None and facts.truth.doubled_count > repeated["at_most"]:
        yield f"{repeated['at_most']} records at most were repeated, and {facts.truth.doubled_count} are doubled"


def _wrongly_broken(verdict: Finding, findings: Iterable[Finding], facts: Facts, _: bool) -> Iterator[str]:
    named = {each["id"]: each for each in findings}
    for claim in verdict["evidence"]:
        finding = named.get(claim)
        if finding is None:
            yield f"{claim} is no finding on the connector"
        elif finding["name"] in TWICE:
            harmed = {*facts.truth.doubled, *facts.truth.lost}
            if not any(_names(finding, partition) for partition in harmed):
                yield f"{claim} {finding['name']}: nothing is doubled or lost of the source partitions that it names"
        elif finding["name"] not in NOT_IN_FORCE:
            yield f"{claim} {finding['name']}: nothing of the kind was done"
        elif not facts.plain:
            yield f"{claim} {finding['name']}: exactly-once was never off"


def _wrong_snapshots(findings: Iterable[Finding], facts: Facts) -> Iterator[str]:
    for each in findings:
        if each["name"] == SNAPSHOT and not any(_names(each, partition) for partition in facts.truth.doubled):
            yield f"{SNAPSHOT}: nothing is doubled of the source partitions that it names"


def _wrongly_unsure(verdict: Finding, _: Iterable[Finding], __: Facts, ___: bool) -> Iterator[str]:
    if not any(verdict["reasons"]):
        yield "no reason is given"


_WRONGS = {
    Outcome.HELD: _wrongly_held,
    Outcome.ALTERED: _wrongly_altered,
    Outcome.BROKEN: _wrongly_broken,
    Outcome.CANNOT_TELL: _wrongly_unsure,
}


def _names(finding: Finding, partition: int) -> bool:
    """True if a finding names this source partition; one without partitions concerns all of the connector's."""
    keys = [place["key"] for place in finding["evidence"].get("places", ()) if "key" in place]
    complete = len(keys) >= finding["evidence"].get("count", 0)
    return not keys or not complete or any(json.loads(key)[1].get("p") == partition for key in keys)

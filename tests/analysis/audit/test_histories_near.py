"""The audit's answers about histories in which everything happens at once, in one look and in several."""

import json
import random
import zlib
from collections.abc import Iterator
from typing import Any

import pytest

from eosctl.codecs.record_batches import Codec
from eosctl.model.audit import AuditReport
from tests.analysis.audit.brokers import PARTITIONS
from tests.analysis.audit.histories import (
    MINUTE,
    SOURCES,
    STRANGE_KEYS,
    STRANGE_VALUES,
    History,
    audit,
    audit_by_runs,
    text_of,
)
from tests.looked_at import AsLookedAt
from tests.neighbours import flat

HISTORIES = 40
SPOILT = ("crc", "magic", "lose", "compact")


def step(chance: random.Random) -> tuple[Any, ...]:
    """One step of a history, as `histories.steps` draws it, the ordinary ones more often."""
    which, task = chance.randrange(2), chance.randrange(2)
    source, at = chance.choice(SOURCES), chance.randrange(13)
    rare = [
        ("end", which, task, chance.choice(["commit", "abort", "open"]), chance.randrange(4)),
        ("restart", which, task),
        ("reconfigure", which, chance.randrange(4), chance.random() < 0.5),
        ("zombie", which, source, at),
        ("plain", which, source, at),
        ("strange", chance.choice(STRANGE_KEYS), chance.choice(STRANGE_VALUES), chance.randrange(PARTITIONS)),
        ("missing", which, source),
        ("move", chance.random() < 0.5, at),
        ("snapshot", which, chance.randrange(3), chance.random() < 0.5),
        ("leader", chance.random() < 0.3),
        ("wait", chance.choice([3, 900, 7_000, 70_000, 16 * MINUTE, 100 * MINUTE])),
        ("look",),
    ]
    if chance.random() < 0.5:
        sources, outputs = set(chance.sample(SOURCES, chance.randrange(1, 3))), {chance.randrange(PARTITIONS)}
        return ("write", which, task, sources, outputs, at, chance.choice(list(Codec)))
    return chance.choice(rare)


def history(seed: int) -> History:
    chance = random.Random(seed)
    steps = [step(chance) for _ in range(chance.randrange(6, 30))]
    spoilt = [
        (chance.choice(SPOILT), chance.randrange(13), chance.randrange(60)) for _ in range(chance.choice([0, 0, 1]))
    ]
    return History(chance.choice([1, 2]), chance.choice([0, 0, 5_000])).play(steps, spoilt)


def said(report: AuditReport) -> str:
    verdicts = " ".join(f"{each.name}={each.verdict}" for each in report.connectors)
    findings = ", ".join(f"{each.id} {each.severity} {each.subject}" for each in report.findings)
    rest = zlib.crc32("\n".join(flat(json.loads(text_of(report)))).encode())
    return f"{verdicts}: {findings} {rest:08x}"


def lines(seed: int) -> Iterator[str]:
    played = history(seed)
    yield said(audit(played.brokers))
    if len(played.moments) > 1:
        yield f"in {len(played.moments)} runs {said(audit_by_runs(played.brokers, played.moments))}"


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_each_history_gives_the_audit_of_its_golden_file(seed: int, as_looked_at: AsLookedAt) -> None:
    as_looked_at(f"histories/{seed}", lines(seed))

"""Random histories of mirrors: no verdict of `mirror audit` is wrong, by what readers of the copies have."""

import json
import os
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from eosctl.sandbox.sandbox import Sandbox
from eosctl.sandbox.spec import SandboxSpec
from tests.campaign.mirror_histories import ALIAS, MirrorConnector, Truth, Written, open_connectors, play, truth
from tests.integration.connect import Worker
from tests.integration.mirror_site import Eosctl

pytestmark = [pytest.mark.kafka]
SOURCE = {"auto.create.topics.enable": "false"}
"""Clients that still ask for a deleted topic would have the broker create it again."""
WORKERS = {"offset.flush.interval.ms": "3000", "offset.storage.partitions": "3"}


def judged(eosctl: Eosctl, connector: MirrorConnector) -> list[tuple[str, str, Truth, dict[str, object]]]:
    """Each partition of a connector's topics: name, verdict, truth, and the row of the audit."""
    named = [part for topic in connector.topics for part in ("--topic", topic.name)]
    offsets = [part for topic in connector.offsets_topics for part in ("--offsets-topic", topic)]
    first = connector.topics[0]
    ran = eosctl(
        "mirror", "audit", "-b", first.target, "--source-bootstrap-server", first.source, "--alias", ALIAS,
        *named, *offsets, "--connector", connector.name, "-o", "json",
    )  # fmt: skip
    assert ran.exit_code in {0, 1, 3}, ran.stderr
    data = json.loads(ran.stdout)["data"]
    rows = {(each["source"], each["partition"]): each for each in data["pairs"]}
    found = []
    for topic in connector.topics:
        copies = topic.copies()
        for partition in range(topic.partitions):
            row = rows.get((topic.name, partition))
            if row is not None:
                counted = truth(topic.written.get(partition, Written()), copies.get(partition, []))
                more = {"cut": topic.cut, "isolation_level": data["isolation_level"]}
                found.append((f"{topic.name}-{partition}", str(row["verdict"]), counted, {**row, **more}))
    return found


def wrong(verdict: str, counted: Truth, row: dict[str, object]) -> str | None:
    """Why a verdict is wrong; None where it is not."""
    asked = replace(counted, aborted=0) if row["isolation_level"] == "read_uncommitted" else counted
    if verdict == "held" and not asked.whole:
        return "held, and it is not"
    if verdict == "broken" and asked.whole:
        return "broken, and it is whole"
    if verdict == "cannot-tell":
        return None if row["reasons"] else "cannot-tell without a reason"
    exact = (row["repeat_records"], row["late_records"], row["aborted_records"], row["gap_records"])
    expected = (counted.doubled, counted.late, counted.aborted, counted.lost)
    return f"counted {exact}, not {expected}" if not row["cut"] and exact != expected else None


def run(
    eosctl: Eosctl, seed: int, connectors: int, steps: int, exactly_once: str
) -> tuple[Counter[str], list[tuple[object, ...]]]:
    """One round of histories: verdicts, counted, and what was wrong, with all that is needed to see why."""
    chance, counts, complaints = random.Random(seed), Counter[str](), list[tuple[object, ...]]()
    spec = SandboxSpec(workers=1, exactly_once=exactly_once, worker_config=WORKERS)
    with Sandbox(SandboxSpec(broker_config=SOURCE)) as source, Sandbox(spec) as target:
        worker = Worker(target)
        opened = list(open_connectors(source, target, worker, chance, connectors, f"m{seed}-"))
        play(opened, worker, chance, steps)
        for connector in opened:
            for name, verdict, counted, row in judged(eosctl, connector):
                truly = "whole" if counted.whole else "faulty"
                counts.update(
                    ["partitions", verdict, truly, f"{verdict} of {'cut' if row['cut'] else 'whole'} sources"]
                )
                if (why := wrong(verdict, counted, row)) is not None:
                    counts.update(["wrong"])
                    happened = [each.operations for each in connector.topics if name.startswith(each.name)]
                    complaints.append((seed, name, why, counted, connector.operations, happened, row))
        worker.close()
    return counts, complaints


@pytest.mark.variation
@pytest.mark.parametrize("exactly_once", ["enabled", "disabled"])
def test_no_verdict_is_wrong(eosctl: Eosctl, exactly_once: str):
    counts, complaints = run(eosctl, 7, 3, 3, exactly_once)
    assert complaints == []
    assert min(counts["held"], counts["broken"]) > 0


@pytest.mark.long
def test_no_verdict_of_many_is_wrong(eosctl: Eosctl, tmp_path: Path):
    complaints = []
    for seed in map(int, os.environ.get("SEEDS", "100 101").split()):
        counts, mine = run(eosctl, seed, 5, 3, ("enabled", "disabled")[seed % 2])
        with Path(os.environ.get("COUNTS", tmp_path / "counts")).open("a") as file:
            file.write(json.dumps({"seed": seed, **counts, "complaints": list(map(str, mine))}) + "\n")
        complaints += mine
    assert complaints == []

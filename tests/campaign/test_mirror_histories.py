"""Random histories of mirrors: no verdict of `mirror audit` is wrong, by what readers of the copies have."""

import json
import os
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eosctl.sandbox.properties import SandboxSpec
from tests.campaign.mirror_histories import MirrorConnector, open_connectors, play
from tests.campaign.mirrored_topics import ALIAS, Copies, MirroredTopic, Truth, Written, copies, truth
from tests.faulty_sandbox import Sandbox
from tests.integration.connect import Worker
from tests.integration.mirror_site import Eosctl
from tests.integration.witnesses import check

pytestmark = [pytest.mark.kafka]
SOURCE = {
    "auto.create.topics.enable": "false",
    "log.retention.check.interval.ms": "300",
    "log.initial.task.delay.ms": "0",
}
"""Clients that still ask for a deleted topic would have the broker create it again."""
WORKERS = {
    "offset.flush.interval.ms": "3000",
    "offset.storage.partitions": "3",
    "session.timeout.ms": "6000",
    "heartbeat.interval.ms": "1000",
}


Row = dict[str, object]


def _audit(eosctl: Eosctl, connector: MirrorConnector, *more: str) -> dict[str, Any]:
    """The `data` of its audit; empty before the mirror has come to its topics."""
    named = [part for topic in connector.topics for part in ("--topic", topic.name)]
    offsets = [part for topic in connector.offsets_topics for part in ("--offsets-topic", topic)]
    first = connector.topics[0]
    ran = eosctl(
        "mirror", "audit", "-b", first.target, "--source-bootstrap-server", first.source, "--alias", ALIAS,
        *named, *offsets, "--connector", connector.name, "--connect-url", connector.url, "-o", "json",
        *more,
    )  # fmt: skip
    if ran.exit_code == 2 and "is mirrored to no topic" in ran.stderr:
        return {}
    assert ran.exit_code in {0, 1, 3}, ran.stderr
    return dict(json.loads(ran.stdout)["data"])


def _rows(data: Mapping[str, Any]) -> dict[tuple[str, int], Row]:
    """The audit's row of each partition."""
    known = {"isolation_level": data.get("isolation_level")}
    return {(each["source"], each["partition"]): {**each, **known} for each in data.get("pairs", ())}


def settled(eosctl: Eosctl, connector: MirrorConnector, *more: str) -> tuple[Copies, dict[str, Any]]:
    """The copies, and the `data` of an audit during which there were no others."""
    before, data = copies(connector.topics), _audit(eosctl, connector, *more)
    while (after := copies(connector.topics)) != before:  # the mirror was slow
        before, data = after, _audit(eosctl, connector, *more)
    return after, data


def judged(
    connector: MirrorConnector, after: Copies, data: Mapping[str, Any]
) -> Iterator[tuple[MirroredTopic, str, str, Truth, Row]]:
    """Each partition of a connector's topics: topic, name, verdict, truth, and the row of the audit."""
    rows = _rows(data)
    for topic in connector.topics:
        for partition in range(topic.partitions):
            row = rows.get((topic.name, partition))
            if row is not None:
                counted = truth(topic.written.get(partition, Written()), after[topic.name].get(partition, []))
                yield topic, f"{topic.name}-{partition}", str(row["verdict"]), counted, {**row, "cut": topic.cut}


def wrong(verdict: str, counted: Truth, row: Row) -> str | None:
    """Why a verdict is wrong; None if it is not."""
    asked = replace(counted, aborted=0) if row["isolation_level"] == "read_uncommitted" else counted
    if verdict == "held" and not asked.whole:
        return "held, and it is not"
    if verdict == "broken" and asked.whole:
        return "broken, and it is whole"
    if verdict == "cannot-tell":
        return None if row["cut"] and row["reasons"] else "cannot-tell of a source that was never cut"
    exact = (row["repeat_records"], row["late_records"], row["aborted_records"], row["gap_records"])
    expected = (counted.doubled, counted.late, counted.aborted, counted.lost)
    return f"counted {exact}, not {expected}" if not row["cut"] and exact != expected else None


def followed(connector: MirrorConnector, directory: Path) -> tuple[str, ...]:
    """Options for an audit that continues the connector's previous one."""
    return ("--store", f"sqlite:///{directory}/ledger.db", "--job", connector.name)


def counted_alike(row: Row) -> tuple[object, ...]:
    """The values on which a run in parts and one of everything must agree."""
    kinds = ("head", "lead", "lag", "gap", "repeat", "late", "aborted", "unknown")
    return (row["verdict"], row["matched"], *(row[f"{kind}_records"] for kind in kinds))


def run(
    eosctl: Eosctl, seed: int, connectors: int, steps: int, exactly_once: str, directory: Path
) -> tuple[Counter[str], list[tuple[object, ...]]]:
    """One round of histories: counted verdicts, and the wrong ones, with all facts to see why.

    Each is audited as a whole at its end, and in parts after each step.
    """
    chance, counts, complaints = random.Random(seed), Counter[str](), list[tuple[object, ...]]()
    spec = SandboxSpec(workers=2, exactly_once=exactly_once, worker_config=WORKERS, deadline_s=900)
    with Sandbox(SandboxSpec(broker_config=SOURCE, deadline_s=900)) as source, Sandbox(spec) as target:
        worker = Worker(target)
        opened = list(open_connectors(source, target, worker, chance, connectors, f"m{seed}-"))

        def audit_again(each: MirrorConnector) -> None:
            _audit(eosctl, each, *followed(each, directory))

        counts.update(play(opened, worker, chance, steps, audit_again))
        for connector in opened:
            counts.update(connector.operations)
            in_parts = settled(eosctl, connector, *followed(connector, directory))
            parts = {name: row for _, name, _, _, row in judged(connector, *in_parts)}
            found, data = settled(eosctl, connector)
            kinds = check(data, target.bootstrap_servers, source.bootstrap_servers)
            counts.update(f"witness of {each}" for each in kinds)
            for topic, name, verdict, counted, row in judged(connector, found, data):
                truly = "whole" if counted.whole else "faulty"
                of = f"{verdict} of {'cut' if row['cut'] else 'whole'} sources"
                counts.update(["partitions", verdict, truly, of, *topic.operations])
                if verdict == "cannot-tell":
                    counts.update(f"cannot-tell: {re.sub('[0-9,]+', 'N', each)}" for each in row["reasons"])  # type: ignore[attr-defined]
                if (why := wrong(verdict, counted, row)) is not None:
                    counts.update(["wrong"])
                    complaints.append((seed, name, why, counted, connector.operations, topic.operations, row))
                part = parts[name]
                why = wrong(str(part["verdict"]), counted, part)
                counts.update([f"in parts: {part['verdict']}", "gone on"][: 1 + ("earlier runs" in str(part["words"]))])
                if why is not None or (not row["cut"] and counted_alike(part) != counted_alike(row)):
                    counts.update(["wrong in parts"])
                    complaints.append((seed, name, why, counted, connector.operations, topic.operations, row, part))
        worker.close()
    return counts, complaints


@pytest.mark.variation
@pytest.mark.parametrize("exactly_once", ["enabled", "disabled"])
def test_no_verdict_is_wrong(eosctl: Eosctl, exactly_once: str, tmp_path: Path):
    counts, complaints = run(eosctl, 7, 2, 3, exactly_once, tmp_path)
    assert complaints == []
    assert min(counts["held"], counts["broken"], counts["gone on"]) > 0


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_no_verdict_of_many_is_wrong(eosctl: Eosctl, tmp_path: Path):
    complaints = []
    for seed in map(int, os.environ.get("SEEDS", "100 101").split()):
        counts, mine = run(eosctl, seed, 4, 4, ("enabled", "disabled")[seed % 2], tmp_path)
        with Path(os.environ.get("COUNTS", tmp_path / "counts")).open("a") as file:
            file.write(json.dumps({"seed": seed, **counts, "complaints": list(map(str, mine))}) + "\n")
        complaints += mine
    assert complaints == []

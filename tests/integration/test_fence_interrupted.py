"""Ctrl-C while `eosctl fence` runs: what the result says of each ID is what its coordinator knows."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eosctl.sources.kafka_transactions import list_transactional_ids
from tests.faulty_sandbox import Sandbox
from tests.integration.coordinators import describe, wire_to
from tests.waiting import eventually

pytestmark = pytest.mark.kafka

IDS = 30_000
COORDINATORS = 500
"""IDs enough for each partition of the transaction log to have one: its coordinator is there when they are fenced."""


def fence(sandbox: Sandbox, directory: Path, names: list[str]) -> subprocess.Popen[str]:
    """`eosctl fence` of these IDs, which need not exist, in progress."""
    file = directory / f"{names[0]}.txt"
    file.write_text("".join(f"{name}\n" for name in names))
    command = [sys.executable, "-m", "eosctl", "fence", "-b", sandbox.bootstrap_servers, "--ids-file", str(file)]
    return subprocess.Popen(
        [*command, "--create-missing", "--yes", "-o", "json", "--timeout", "120"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def interrupted(
    sandbox: Sandbox, fresh_name: Callable[[str], str], tmp_path: Path
) -> tuple[list[str], subprocess.Popen[str], str, str]:
    """The IDs, the process that was interrupted after it had created a thousand of them, and its streams."""
    before = fence(sandbox, tmp_path, [f"{fresh_name('before')}-{number}" for number in range(COORDINATORS)])
    _, told = before.communicate(timeout=180)
    assert before.returncode == 0, told
    prefix = fresh_name("cut-short")
    names = [f"{prefix}-{number}" for number in range(IDS)]
    process = fence(sandbox, tmp_path, names)
    with wire_to(sandbox.bootstrap_servers) as wire:

        def a_thousand_are_there() -> bool:
            listed = list_transactional_ids(wire).transactions
            return sum(each.transactional_id.startswith(prefix) for each in listed) >= 1000

        eventually(a_thousand_are_there, "a thousand fenced IDs")
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    return names, process, stdout, stderr


def test_ctrl_c_lists_every_id_with_what_became_of_it(
    sandbox: Sandbox, interrupted: tuple[list[str], subprocess.Popen[str], str, str]
) -> None:
    names, process, stdout, stderr = interrupted
    assert process.returncode == 130, stderr
    data = json.loads(stdout)["data"]
    assert data["interrupted"]
    results = data["results"]
    assert [each["transactional_id"] for each in results] == names
    by_outcome: dict[str, list[dict[str, Any]]] = {"fenced": [], "skipped": [], "failed": []}
    for each in results:
        by_outcome[each["outcome"]].append(each)
    fenced, skipped = by_outcome["fenced"], by_outcome["skipped"]
    assert len(fenced) >= 1000
    assert skipped, "it was cut short"
    refused = [each for each in by_outcome["failed"] if "COORDINATOR_LOAD_IN_PROGRESS; not fenced" in each["error"]]
    unknown = [each for each in by_outcome["failed"] if "whether it was fenced is not known" in each["error"]]
    others = [each for each in by_outcome["failed"] if each not in [*refused, *unknown]]
    assert others == []
    assert len(unknown) <= 1, "what was in progress is waited for, but for an answer being read just then"
    assert f"stopped: {len(fenced)} of {IDS} IDs are fenced" in stderr
    assert "Traceback" not in stderr

    now = describe(sandbox.bootstrap_servers, names)
    assert all(now[each["transactional_id"]] is None for each in [*skipped, *refused]), (
        "what is said to be not sent was not"
    )
    for each in fenced:
        told = now[each["transactional_id"]]
        assert told is not None
        after = each["after"]
        assert (told.producer.producer_id, told.producer.producer_epoch) == (
            after["producer_id"],
            after["producer_epoch"],
        )

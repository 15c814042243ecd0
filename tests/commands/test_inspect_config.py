"""`eosctl inspect-config` without a cluster: connectors by option, and the version of workers that differ."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.commands.conftest import Ran
from tests.sources.fake_connect import FakeWorker, serve

Eosctl = Callable[..., Ran]

RECORDS = (
    {"offset": 0, "timestamp": 1, "key": "connector-orders", "value": {"properties": {"name": "orders"}}},
    # workers before 3.5 do not know state.v2 (KIP-875)
    {"offset": 1, "timestamp": 1, "key": "target-state-orders", "value": {"state": "PAUSED", "state.v2": "STOPPED"}},
    {"offset": 2, "timestamp": 1, "key": "connector-payments", "value": {"properties": {"name": "payments"}}},
)


@pytest.fixture
def records(tmp_path: Path) -> Path:
    file = tmp_path / "records.jsonl"
    file.write_text("".join(f"{json.dumps(each)}\n" for each in RECORDS))
    return file


def data(ran: Ran) -> dict[str, Any]:
    assert ran.exit_code in {0, 1, 3}, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)["data"]
    return found


@pytest.mark.parametrize("versions", [("4.3.1", "3.4.0"), ("3.4.0", "4.3.1")])
def test_workers_of_two_versions_are_read_as_the_oldest_of_them(
    versions: tuple[str, ...], records: Path, eosctl: Eosctl
) -> None:
    with serve(*(FakeWorker(version=version) for version in versions)) as urls:
        named = [word for url in urls for word in ("--connect-url", url)]
        found = data(eosctl("inspect-config", "--connector", "orders", "--records", records, *named, "-o", "json"))
    assert found["reader"]["kafka_version"] == "3.4.0"
    assert [each["target_state"] for each in found["connectors"]] == ["PAUSED"]


def test_a_worker_that_names_no_version_is_read_as_the_newest_and_said(records: Path, eosctl: Eosctl) -> None:
    with serve(FakeWorker(version="unknown")) as [url]:
        args = ("inspect-config", "--connector", "orders", "--records", records, "--connect-url", url)
        found, shown = data(eosctl(*args, "-o", "json")), eosctl(*args)
    assert [each["target_state"] for each in found["connectors"]] == ["STOPPED"]
    reason = f"{url} names no version: 'unknown'"
    assert {"what": "the workers' version", "reason": reason} in found["unread"]
    assert f"read as 4.3.1: {reason}; see --worker-version" in shown.stdout


@pytest.mark.parametrize("names", [("--connector", "orders", "--connector", "payments"), ("orders", "payments")])
def test_connectors_are_named_by_option_and_also_by_position(
    names: tuple[str, ...], records: Path, eosctl: Eosctl
) -> None:
    found = data(eosctl("inspect-config", *names, "--records", records, "-o", "json"))
    assert [each["name"] for each in found["connectors"]] == ["orders", "payments"]


def test_help_shows_the_option_alone(eosctl: Eosctl) -> None:
    shown = eosctl("inspect-config", "--help").stdout
    assert shown.startswith("Usage: eosctl inspect-config [OPTIONS]\n")
    assert "--connector NAME" in shown


def test_what_a_file_of_records_cannot_say_is_unread(records: Path, eosctl: Eosctl) -> None:
    unread = {
        each["what"]: each["reason"]
        for each in data(eosctl(*f"inspect-config --records {records} -o json".split()))["unread"]
    }
    assert unread["the config topic: offsets"] == "records were read from a file"
    assert unread["Connect workers"] == "no --connect-url was given"


@pytest.mark.parametrize("shape", [(), ("--history",)])
def test_a_connector_that_is_not_mentioned_leads_to_the_one_like_it(
    eosctl: Eosctl, records: Path, shape: tuple[str, ...]
) -> None:
    ran = eosctl("inspect-config", "--connector", "ordrs", "--records", records, *shape)
    assert ran.exit_code == 2
    assert ran.stdout == ""
    assert ran.stderr == (
        "eosctl: error: the config topic does not mention connector ordrs\nhint: did you mean orders?\n"
    )

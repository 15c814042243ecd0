"""`eosctl inspect-config` on files: files that are no records or snapshot, and the memory of a long one."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands.conftest import Eosctl

MB = 1_000_000

GOOD = '{"offset":0,"timestamp":1,"key":"commit-orders","value":{"tasks":3}}\n'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (GOOD + '{"offset":1,"timestamp":1,"key":"commit-or\n', "line 2: the line is not JSON"),
        (GOOD + "[1,2]\n", "line 2: the line is not a JSON object"),
        (GOOD + GOOD, "line 2: offset 0 comes after offset 0"),
        ('{"offset":0,"key":"commit-orders"}\n', "line 1: `value` is missing"),
        ("neither JSON nor tabs\n", "line 1: there is no TAB"),
    ],
)
def test_lines_that_are_no_records_are_undecodable_and_named(
    content: str, message: str, eosctl: Eosctl, tmp_path: Path
) -> None:
    file = tmp_path / "records.jsonl"
    file.write_text(content)
    ran = eosctl("inspect-config", "--records", file, "-o", "json")
    assert ran.exit_code == 7, ran.stderr
    assert message in ran.stderr
    assert json.loads(ran.stdout)["error"]["exit_code"] == 7


def test_binary_keys_in_a_file_are_reported_as_invalid_keys(eosctl: Eosctl, tmp_path: Path) -> None:
    file = tmp_path / "printed.txt"
    file.write_bytes(b'\xff\xfe\x80\t{}\ncommit-orders\t{"tasks":1}\n')
    ran = eosctl("inspect-config", "--records", file, "-o", "json")
    assert ran.exit_code == 0, ran.stderr
    findings = json.loads(ran.stdout)["data"]["findings"]
    assert {each["name"]: each["severity"] for each in findings} == {"orphan-records": "info", "invalid-keys": "info"}


@pytest.mark.parametrize(
    ("content", "code", "message"),
    [
        ("", 7, "snapshot"),
        ('{"kind":"eosctl.snap', 7, "line 1 of the snapshot is not JSON, perhaps because the file is cut"),
        ('{"kind":"eosctl.snapshot","version":1,"as_of":1,"group_id":null}\n', 7, "the snapshot is cut"),
        ('{"kind":"eosctl.snapshot","version":99,"as_of":1,"group_id":null}\n', 6, "version 99"),
        ('{"kind":"somebody.else","version":1}\n', 7, "not a snapshot"),
        ("offset,key\n", 7, "line 1 of the snapshot is not JSON"),
    ],
)
@pytest.mark.parametrize("command", [("inspect-config", "--snapshot"), ("snapshot", "show")], ids=["inspect", "show"])
def test_files_that_are_no_whole_snapshot_are_refused(
    content: str, code: int, message: str, command: tuple[str, ...], eosctl: Eosctl, tmp_path: Path
) -> None:
    file = tmp_path / "some.snapshot"
    file.write_text(content)
    ran = eosctl(*command, file, "-o", "json")
    assert ran.exit_code == code, ran.stderr
    assert message in ran.stderr
    assert json.loads(ran.stdout)["error"]["exit_code"] == code


@pytest.mark.parametrize("option", ["--records", "--snapshot"])
def test_a_file_that_is_not_there_is_a_mistake_of_the_caller(option: str, eosctl: Eosctl, tmp_path: Path) -> None:
    ran = eosctl("inspect-config", option, tmp_path / "missing")
    assert ran.exit_code == 2
    assert str(tmp_path / "missing") in ran.stderr


def test_memory_does_not_grow_with_the_records(tmp_path: Path) -> None:
    check_flat_memory(tmp_path, 2 * MB, 20 * MB)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_memory_does_not_grow_to_a_gigabyte_of_records(tmp_path: Path) -> None:
    check_flat_memory(tmp_path, 100 * MB, 1000 * MB)


def check_flat_memory(directory: Path, small: int, large: int) -> None:
    """Ten times the records of the same keys take the same memory, give or take a tenth."""
    peaks = [peak_memory(write_records(directory / f"{size}.jsonl", size)) for size in (small, large)]
    assert peaks[1] <= 1.1 * peaks[0], f"{peaks[0]} KiB for {small} bytes, {peaks[1]} KiB for {large} bytes"


def write_records(file: Path, size: int) -> Path:
    """At least `size` bytes of task configs and commits of twenty connectors, over and over."""
    properties = {f"property.{number}": "x" * 40 for number in range(10)}
    offset = 0
    with file.open("w") as output:
        while output.tell() < size:
            for connector in range(20):
                record = {"offset": offset, "timestamp": 1, "key": f"task-c{connector}-0"}
                output.write(json.dumps({**record, "value": {"properties": properties}}) + "\n")
                commit = {"offset": offset + 1, "timestamp": 1, "key": f"commit-c{connector}", "value": {"tasks": 1}}
                output.write(json.dumps(commit) + "\n")
                offset += 2
    return file


MEASURE = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def peak_memory(file: Path) -> int:
    """KiB that `inspect-config --records` of the file has resident at most, in a process of its own."""
    command = [sys.executable, "-m", "eosctl", "inspect-config", "--records", str(file), "-o", "json"]
    measured = subprocess.run([sys.executable, "-c", MEASURE, *command], capture_output=True, text=True, check=True)
    file.unlink()
    code, peak = map(int, measured.stdout.split())
    assert code == 0, measured.stderr
    print(f"{file.name}: {peak} KiB")  # noqa: T201  # the figure, with -s
    return peak

"""The commands of the sandbox, before anything is started."""

from pathlib import Path

import pytest


@pytest.mark.parametrize("command", ["up", "down", "status", "env"])
def test_a_sandbox_under_a_file_is_refused_by_the_name_of_the_file(eosctl, tmp_path: Path, command: str):
    file = tmp_path / "notes.txt"
    file.write_text("notes")
    ran = eosctl("sandbox", command, "--directory", file / "sandbox")
    assert (ran.exit_code, f"{file} is a file" in ran.stderr) == (2, True), ran.stderr
    assert file.read_text() == "notes"

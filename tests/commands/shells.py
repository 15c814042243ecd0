"""The completion of zsh and fish in the shells themselves: `make shells`, where both are installed.

An ordinary run does not collect it, because it may need nothing that the project does not install.
tests/commands/test_cli_completion.py holds the same answers, with bash as the shell.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from completion import home, worker
from keyboard import COMPLETIONS, keyboard

HOSTILE = "$(touch pwned) `touch pwned`; \\$(touch pwned) 'x' \"y\" *"


def test_zsh_completes_what_it_is_reported_and_runs_none_of_it(tmp_path):
    with worker("orders-all", "billing:eu", HOSTILE) as connect:
        user = home(tmp_path, connect.url)
        with keyboard("zsh", tmp_path, **user) as zsh:
            assert zsh.line_after("eosctl inspect-c\t") == "eosctl inspect-config "
            assert zsh.line_after("eosctl fence --create-m\t") == "eosctl fence --create-missing "
            assert zsh.line_after("eosctl fence --profile sta\t") == "eosctl fence --profile staging "
            for option in (f"--connect-url {connect.url}", "--profile staging"):
                line = f"eosctl fence {option} --connector"
                assert zsh.line_after(f"{line} ord\t") == f"{line} orders-all "
                assert zsh.line_after(f"{line} billing:e\t") == f"{line} billing:eu "
            completed = zsh.line_after("eosctl fence --profile staging --connector \\$\t")
            assert completed.endswith("\\* ")
            assert zsh.line_after("eosctl fence --ids-file set\t") == "eosctl fence --ids-file setup "
    assert not (tmp_path / "pwned").exists()


def fish(directory: Path, line: str, **environment: str) -> list[str]:
    program = shutil.which("fish")
    assert program is not None, "fish is not installed: apt-get install fish"
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    code = f"source {COMPLETIONS}/eosctl.fish; complete --do-complete $argv[1]"
    ran = subprocess.run(
        [program, "--no-config", "-c", code, line],
        env={"PATH": path, "HOME": str(directory), "LC_ALL": "C.UTF-8", **environment},
        cwd=directory, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert ran.stderr == ""
    return [each.partition("\t")[0] for each in ran.stdout.splitlines()]


def test_fish_offers_what_it_is_reported_and_runs_none_of_it(tmp_path):
    (tmp_path / "setup.txt").touch()
    with worker("orders-all", "billing:eu", HOSTILE) as connect:
        user = home(tmp_path, connect.url)
        assert fish(tmp_path, "eosctl inspect-c", **user) == ["inspect-config"]
        assert fish(tmp_path, "eosctl fence --create-m", **user) == ["--create-missing"]
        assert fish(tmp_path, "eosctl fence --profile sta", **user) == ["staging"]
        for option in (f"--connect-url {connect.url}", "--profile staging"):
            line = f"eosctl fence {option} --connector"
            assert fish(tmp_path, f"{line} ord", **user) == ["orders-all"]
            assert fish(tmp_path, f"{line} billing:e", **user) == ["billing:eu"]
            assert HOSTILE in fish(tmp_path, f"{line} ", **user)
        assert fish(tmp_path, "eosctl fence --ids-file set", **user) == ["setup.txt"]
    assert not (tmp_path / "pwned").exists()

"""What a TAB offers, asked through the completion script that is shipped."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "completions" / "eosctl.bash"


def offered(*words: str) -> set[str]:
    bash = shutil.which("bash")
    assert bash is not None
    program = str(Path(sys.executable).with_name("eosctl"))
    code = (
        'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _eosctl "$1"; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    ran = subprocess.run(
        [bash, "-c", code, "bash", str(SCRIPT), program, *words],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    )
    assert ran.stderr == ""
    return set(filter(None, ran.stdout.split("\n")))


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["fe"], {"fence"}),
        (["-o", "json", "insp"], {"inspect-config"}),
        (["fence", "--trans"], {"--transactional-id", "--transaction-timeout-ms"}),
        (["fence", "--bootstrap-server"], {"--bootstrap-server", "--bootstrap-servers"}),
        (["fence", "-o", "js"], {"json", "jsonl"}),
    ],
)
def test_a_tab_offers_what_fits(words, wanted):
    assert offered(*words) == wanted


def test_a_tab_after_nothing_offers_every_command():
    assert {"sandbox", "demo", "snapshot", "inspect-config", "fence"} <= offered("")

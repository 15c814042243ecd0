"""The checkout, and the tree of commands as data."""

import subprocess
from pathlib import Path

import pytest

from eosctl.shell.command_tree import CommandHelp
from tests.commands.tree import commands

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def command_tree() -> tuple[CommandHelp, ...]:
    """Every command and group, the root first."""
    return commands()


@pytest.fixture(scope="session")
def project_files(root: Path) -> tuple[Path, ...]:
    """The files of the project: what git tracks or would, else (an unpacked archive) all that is not generated."""
    git = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(git, capture_output=True, text=True, check=True).stdout.split("\0")
    except (OSError, subprocess.CalledProcessError):
        made = {".venv", ".make", ".git", ".pytest_cache", ".hypothesis", ".mypy_cache", ".ruff_cache", "__pycache__"}
        listed = [
            str(path.relative_to(root)) for path in root.rglob("*") if not made & set(path.relative_to(root).parts)
        ]
    return tuple(root / name for name in sorted(set(filter(None, listed))) if (root / name).is_file())

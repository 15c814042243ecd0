"""Building and installing what is published: shared by the short test and by `make package`."""

import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "requirements" / "runtime.lock"


def run(*command: object, cwd: Path = ROOT, **environment: str) -> str:
    """What the command says; AssertionError with all of it where it fails."""
    import os

    kept = {name: value for name, value in os.environ.items() if not name.startswith(("EOSCTL_", "PYTHON"))}
    ran = subprocess.run(
        [str(each) for each in command], cwd=cwd, env={**kept, **environment}, text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert ran.returncode == 0, f"{' '.join(map(str, command))}\n{ran.stdout}"
    return ran.stdout


def build(folder: Path) -> tuple[Path, Path]:
    """Wheel and sdist of the checkout; the wheel is made from the sdist."""
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT)
    [wheel], [sdist] = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, sdist


def installed(place: Path, *requirements: object, options: Sequence[object] = ()) -> Path:
    """The directory of programs of a new virtual environment with `requirements` and what they need."""
    venv.create(place, with_pip=True)
    run(place / "bin" / "python", "-m", "pip", "install", "-q", *options, *requirements)
    return place / "bin"


def single_file(wheel: Path, folder: Path) -> Path:
    """eosctl and all that it needs, in the pinned versions, as one file that a Python of this version runs."""
    site, target = folder / "site", folder / "eosctl.pyz"
    pip = (sys.executable, "-m", "pip", "install", "-q", "--target", site)
    run(*pip, "--require-hashes", "-r", LOCK)
    run(*pip, "--no-deps", "--upgrade", wheel)
    shiv = Path(sys.executable).with_name("shiv")
    run(
        *(shiv, "--compressed", "--reproducible", "--site-packages", site, "--console-script", "eosctl"),
        *("--python", "/usr/bin/env python3", "--output-file", target),
    )
    return target

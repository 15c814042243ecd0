"""The contents of the distribution."""

import email
import re
import shlex
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from eosctl.errors import install_command
from eosctl.version import __version__

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "requirements" / "runtime.lock"


def run(*command: object, cwd: Path = ROOT, **environment: str) -> str:
    """The output of the command; AssertionError with all of it if it fails."""
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


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> tuple[Path, Path]:
    return build(tmp_path_factory.mktemp("dist"))


EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


@pytest.mark.parametrize("extra", sorted(EXTRAS.keys() - {"dev"}))
def test_the_command_that_installs_an_extra_names_all_its_packages_and_the_python_that_runs(extra):
    """`pip install 'eosctl[report]'` installs nothing: eosctl came from a checkout or a wheel, and is on no index."""
    python, *pip = shlex.split(install_command(extra))[:4]
    packages = shlex.split(install_command(extra))[4:]
    assert (python, pip) == (sys.executable, ["-m", "pip", "install"])
    assert {str(Requirement(each)) for each in packages} == {str(Requirement(each)) for each in EXTRAS[extra]}


def test_wheel_and_sdist_pass_twine(built):
    twine = Path(sys.executable).with_name("twine")
    said = run(twine, "--no-color", "check", "--strict", *built)
    assert said.count("PASSED") == 2, said


def test_the_wheel_holds_the_package_its_manual_and_its_completions(built, root, project_files):
    wheel, _ = built
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    package = {str(path.relative_to(root)) for path in project_files if root / "eosctl" in path.parents}
    assert package - names == set()
    data = f"eosctl-{__version__}.data/data/share"
    assert {f"{data}/man/man1/{path.name}" for path in (root / "man").glob("*.1")} <= names
    assert {
        f"{data}/bash-completion/completions/eosctl",
        f"{data}/zsh/site-functions/_eosctl",
        f"{data}/fish/vendor_completions.d/eosctl.fish",
        "eosctl/py.typed",
        f"eosctl-{__version__}.dist-info/licenses/LICENSE",
    } <= names
    tops = {name.partition("/")[0] for name in names}
    assert tops == {"eosctl", f"eosctl-{__version__}.dist-info", f"eosctl-{__version__}.data"}


def test_the_sdist_holds_the_whole_project(built, project_files, root):
    _, sdist = built
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {str(path.relative_to(root)) for path in project_files} - names == set()


def test_the_metadata_equals_pyproject(built):
    wheel, _ = built
    with zipfile.ZipFile(wheel) as archive:
        metadata = email.message_from_bytes(archive.read(f"eosctl-{__version__}.dist-info/METADATA"))
    assert (metadata["Name"], metadata["Version"]) == ("eosctl", __version__)
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata.get_payload().startswith("# eosctl")


def test_every_dependency_has_a_lowest_version(root):
    """`make ranges` tests it; without a bound there would be nothing to test."""
    import tomllib

    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    extras = (each for name, each in project["optional-dependencies"].items() if name != "dev")
    named = chain(project["dependencies"], *extras)
    wanting = [each for each in named if not re.search(r">=\d", each)]
    assert wanting == []


def test_the_ranges_of_every_extra_are_tested(root):
    """`make ranges` names them; `sandbox` only adds missing programs of a machine, and the tests' own sandbox shows
    it."""
    import tomllib

    extras = tomllib.loads((root / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    [named] = re.findall(r"^EXTRAS := (.*)$", (root / "Makefile").read_text(), re.MULTILINE)
    assert set(named.split()) - {"--extra"} == set(extras) - {"dev", "sandbox"}

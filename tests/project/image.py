"""The container image, made and run without a container engine: `make image`. Not collected by an ordinary run.

Needs Debian's umoci, skopeo and bubblewrap. It is run as a pod is: not as root, and with a root that is read only.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from eosctl.version import __version__
from tests.faulty_sandbox import Sandbox
from tests.project.sbom import image_bill
from tests.project.test_distribution import ROOT, build, run

LAYOUT = ROOT / "dist" / "image"
BUILD = ROOT / "packaging" / "image" / "build.py"
ARCHITECTURE = os.environ.get("ARCHITECTURE", "amd64")
MOST_MB = 480
"""Of files in the image."""


@pytest.fixture(scope="module")
def image() -> Path:
    """The layout in dist/, made from a new wheel."""
    shutil.rmtree(LAYOUT, ignore_errors=True)
    for old in (ROOT / "dist").glob("eosctl*.whl"):
        old.unlink()
    wheel, _ = build(ROOT / "dist")
    run(sys.executable, BUILD, wheel, LAYOUT, ARCHITECTURE)
    return LAYOUT


@pytest.fixture(scope="module")
def bundle(image: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("bundle") / "unpacked"
    run("umoci", "unpack", "--rootless", "--image", f"{image}:{__version__}-{ARCHITECTURE}", place)
    return place


def contained(bundle: Path, *command: str, state: Path) -> subprocess.CompletedProcess[str]:
    """The image's process with these arguments, as its user, on this machine's network, by bubblewrap."""
    config = json.loads((bundle / "config.json").read_text())["process"]
    environment = [word for each in config["env"] for word in ("--setenv", *each.split("=", 1))]
    own = ("--unshare-user", "--unshare-pid", "--unshare-ipc", "--uid", "65532", "--gid", "65532", "--die-with-parent")
    places = ("--ro-bind", bundle / "rootfs", "/", "--proc", "/proc", "--dev", "/dev", "--bind", state, "/state")
    words = ["bwrap", *own, "--cap-drop", "ALL", "--clearenv", *environment, *places, "--chdir", "/state", *command]
    return subprocess.run([str(each) for each in words], text=True, capture_output=True, check=False)


def eosctl(bundle: Path, *args: str, state: Path) -> subprocess.CompletedProcess[str]:
    entrypoint = json.loads((bundle / "config.json").read_text())["process"]["args"][:1]
    return contained(bundle, *entrypoint, *args, state=state)


def test_the_image_describes_itself_and_does_not_run_as_root(image):
    built = json.loads(run("skopeo", "inspect", "--config", f"oci:{image}:{__version__}-{ARCHITECTURE}"))
    assert (built["architecture"], built["config"]["User"]) == (ARCHITECTURE, "65532:65532")
    assert built["config"]["Entrypoint"] == ["/usr/bin/eosctl"]
    assert built["config"]["Labels"]["org.opencontainers.image.version"] == __version__
    assert built["config"]["Labels"]["org.opencontainers.image.licenses"] == "Apache-2.0"


def test_its_bill_of_materials_names_debians_packages_and_pythons(image):
    about = json.loads(image.with_suffix(f".{ARCHITECTURE}.json").read_text())
    bill = image_bill(about["debian"], ARCHITECTURE)
    image.with_suffix(f".{ARCHITECTURE}.cdx.json").write_text(json.dumps(bill, indent=1) + "\n")
    names = {each["name"] for each in bill["components"]}
    assert {"libssl3", "libc6", "python3.11-minimal", "httpcore", "mcp", "psycopg-binary"} <= names
    packed = sum(each.stat().st_size for each in (image / "blobs").rglob("*") if each.is_file())
    sys.stdout.write(f"{about['unpacked_bytes'] >> 20} MB unpacked, {packed >> 20} MB in layers\n")
    assert about["unpacked_bytes"] >> 20 <= MOST_MB


def test_there_is_no_shell_and_no_package_manager_in_it(bundle):
    programs = {each.name for each in (bundle / "rootfs" / "usr" / "bin").iterdir()}
    assert programs & {"sh", "bash", "dash", "apt", "apt-get", "dpkg", "pip", "perl", "openssl"} == set()


def test_it_runs_as_its_user_on_a_root_that_is_read_only(bundle, tmp_path):
    assert eosctl(bundle, "--version", state=tmp_path).stdout == f"eosctl {__version__}\n"
    code = "import os; print(os.getuid()); open('/opt/eosctl/new', 'w')"
    ran = contained(bundle, "/usr/bin/python3", "-c", code, state=tmp_path)
    assert ran.stdout == "65532\n"
    assert "Read-only file system" in ran.stderr


def test_every_extra_but_spark_and_the_sandbox_is_in_it(bundle, tmp_path):
    modules = "psycopg, pymysql, plotly, pyarrow, jinja2, numpy, prometheus_client, opentelemetry.sdk, mcp"
    ran = contained(bundle, "/usr/bin/python3", "-c", f"import ssl, sqlite3, {modules}; print('all')", state=tmp_path)
    assert ran.stdout == "all\n", ran.stderr


@pytest.mark.kafka
def test_it_answers_about_a_real_kafka_and_keeps_its_plans(bundle, sandbox: Sandbox, tmp_path):
    ran = eosctl(bundle, "transactions", "list", "-b", sandbox.bootstrap_servers, "-o", "json", state=tmp_path)
    assert json.loads(ran.stdout)["kind"] == "transactions.list", ran.stderr
    file = ("--output-file", "/state/answer.json")
    assert eosctl(
        bundle, "doctor", "-b", sandbox.bootstrap_servers, "-o", "json", *file, state=tmp_path
    ).returncode in {1, 3}
    assert json.loads((tmp_path / "answer.json").read_text())["kind"] == "doctor"

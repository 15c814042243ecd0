"""An OCI image of eosctl, made without a container engine: `build.py WHEEL LAYOUT [ARCHITECTURE]`.

The root is Debian's Python with what it needs, extracted and not installed, so that an image of another architecture
is made the same way. Packages of Python are wheels of requirements/image.lock, with their hashes checked. There is no
shell, no package manager and no compiler in it. Needs apt, dpkg-deb, tar and umoci of Debian 12, and uv.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[2]
LOCK: Final = ROOT / "requirements" / "image.lock"
DEBIAN: Final = ("python3-minimal", "python3.11", "ca-certificates", "netbase", "tzdata", "media-types", "libstdc++6")
UNUSED: Final = (
    "usr/share/doc",
    "usr/share/man",
    "usr/share/locale",
    "usr/share/info",
    "usr/share/lintian",
    "var/cache",
)
LEFT_OUT: Final = ("debconf", "dpkg", "openssl", "tar", "readline-common")
"""Packages that only their installation needs."""
SITE: Final = "opt/eosctl"
PYTHON: Final = "3.11"
USER: Final = 65532
"""The user and group of distroless images: no account of a machine has it."""


class Architecture(NamedTuple):
    """A processor by its name in OCI, Debian and Python's platform tags."""

    oci: str
    debian: str
    platform: str


ARCHITECTURES: Final[Mapping[str, Architecture]] = {
    "amd64": Architecture("amd64", "amd64", "x86_64-manylinux_2_28"),
    "arm64": Architecture("arm64", "arm64", "aarch64-manylinux_2_28"),
}


def run(*command: object) -> str:
    return subprocess.run([str(each) for each in command], check=True, stdout=subprocess.PIPE, text=True).stdout


def fetch_debian(work: Path, architecture: Architecture) -> list[Path]:
    """The packages and all that they depend on, by apt, which checks their signatures."""
    for each in ("lists/partial", "archives/partial"):
        (work / each).mkdir(parents=True)
    (work / "status").touch()
    apt = [
        "apt-get", "-qq", "-o", f"APT::Architecture={architecture.debian}",
        "-o", f"APT::Architectures={architecture.debian}",
        "-o", f"Dir::State::lists={work / 'lists'}", "-o", f"Dir::State::status={work / 'status'}",
        "-o", f"Dir::Cache::archives={work / 'archives'}",
        "-o", "Dir::Cache::pkgcache=", "-o", "Dir::Cache::srcpkgcache=",
        "-o", "APT::Sandbox::User=root", "-o", "Debug::NoLocking=1", "-o", "APT::Install-Recommends=false",
    ]  # fmt: skip
    run(*apt, "update")
    run(*apt, "install", "--download-only", "-y", *DEBIAN)
    return sorted((work / "archives").glob("*.deb"))


def lay_out(root: Path, packages: Sequence[Path]) -> list[tuple[str, str]]:
    """The packages' files below root, with /usr merged; name and version of each."""
    for each in ("bin", "sbin", "lib", "lib64"):
        (root / "usr" / each).mkdir(parents=True)
        (root / each).symlink_to(f"usr/{each}")
    found = []
    for package in packages:
        name, version = run("dpkg-deb", "--show", "--showformat=${Package} ${Version}", package).split()
        if name in LEFT_OUT:
            continue
        files = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE)
        extract = ["tar", "-x", "--keep-directory-symlink", "--no-same-owner", "-C", root]
        subprocess.run(extract, stdin=files.stdout, check=True)
        if files.wait():
            raise RuntimeError(f"{package} cannot be extracted")
        found.append((name, version))
    for each in UNUSED:
        shutil.rmtree(root / each, ignore_errors=True)
    return found


def settle(root: Path) -> None:
    """What the packages' scripts would have done: certificates, the user, and directories that a process writes to."""
    bundle = root / "etc" / "ssl" / "certs" / "ca-certificates.crt"
    bundle.parent.mkdir(parents=True, exist_ok=True)
    bundle.write_text("".join(each.read_text() for each in sorted((root / "usr/share/ca-certificates").rglob("*.crt"))))
    (root / "etc" / "passwd").write_text(f"root:x:0:0::/root:/nologin\neosctl:x:{USER}:{USER}::/state:/nologin\n")
    (root / "etc" / "group").write_text(f"root:x:0:\neosctl:x:{USER}:\n")
    (root / "usr/bin/python3").unlink(missing_ok=True)
    (root / "usr/bin/python3").symlink_to(f"python{PYTHON}")
    program = root / "usr" / "bin" / "eosctl"
    program.write_text("#!/usr/bin/python3\nfrom eosctl.__main__ import main\n\nmain()\n")
    program.chmod(0o755)
    for each in ("proc", "dev", "sys", "run"):
        (root / each).mkdir(exist_ok=True)
    for each in ("state", "tmp"):
        (root / each).mkdir(exist_ok=True)
        (root / each).chmod(0o1777)


def install(root: Path, wheel: Path, architecture: Architecture) -> None:
    """eosctl and the packages of the lock file, compiled beforehand: the root is read only."""
    uv = [
        Path(sys.executable).with_name("uv"), "pip", "install", "-q", "--target", root / SITE,
        "--python-version", PYTHON, "--python-platform", architecture.platform, "--only-binary", ":all:",
        "--link-mode", "copy",
    ]  # fmt: skip
    run(*uv, "--require-hashes", "-r", LOCK)
    run(*uv, "--no-deps", wheel)
    shutil.rmtree(root / SITE / "bin", ignore_errors=True)
    compiled = (
        "import compileall, sys; sys.exit(not compileall.compile_dir(sys.argv[1], quiet=1, stripdir=sys.argv[2]))"
    )
    hashed = {"PYTHONHASHSEED": "0", "SOURCE_DATE_EPOCH": "1"}
    command = [sys.executable, "-c", compiled, root / SITE, root]
    subprocess.run([str(each) for each in command], check=True, env={**os.environ, **hashed})


def write_layout(layout: Path, root: Path, version: str, architecture: Architecture) -> None:
    """The root as the one layer of an image in an OCI layout, with what it runs and its labels."""
    image = f"{layout}:{version}-{architecture.oci}"
    if not layout.exists():
        run("umoci", "init", "--layout", layout)
    run("umoci", "new", "--image", image)
    run("umoci", "insert", "--rootless", "--image", image, root, "/")
    labels = {
        "title": "eosctl",
        "description": "Operations toolkit for exactly-once Kafka Connect sources and Kafka transactions",
        "version": version,
        "licenses": "Apache-2.0",
    }
    settings = [
        "--config.user", f"{USER}:{USER}", "--config.workingdir", "/state", "--config.volume", "/state",
        "--config.env", f"PYTHONPATH=/{SITE}", "--config.env", "PYTHONDONTWRITEBYTECODE=1",
        "--config.env", "HOME=/state",
        "--config.env", "XDG_STATE_HOME=/state", "--config.env", "PATH=/usr/bin",
        "--config.entrypoint", "/usr/bin/eosctl",
        "--config.cmd", "--help", "--architecture", architecture.oci, "--os", "linux",
    ]  # fmt: skip
    for name, value in labels.items():
        settings += ["--config.label", f"org.opencontainers.image.{name}={value}"]
    run("umoci", "config", "--image", image, *settings)


def build(wheel: Path, layout: Path, architecture: Architecture) -> None:
    """Adds the image VERSION-ARCHITECTURE to the layout, and writes what it consists of beside it, as JSON."""
    version = wheel.name.split("-")[1]
    with tempfile.TemporaryDirectory(prefix="eosctl-image-") as place:
        work, root = Path(place, "work"), Path(place, "root")
        packages = lay_out(root, fetch_debian(work, architecture))
        settle(root)
        install(root, wheel, architecture)
        write_layout(layout, root, version, architecture)
        size = int(run("du", "-sb", root).split()[0])
    about = {"architecture": architecture.oci, "unpacked_bytes": size, "debian": dict(packages)}
    layout.with_suffix(f".{architecture.oci}.json").write_text(json.dumps(about, indent=1) + "\n")


if __name__ == "__main__":
    build(Path(sys.argv[1]), Path(sys.argv[2]), ARCHITECTURES[(*sys.argv, "amd64")[3]])

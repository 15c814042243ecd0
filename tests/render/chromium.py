"""A headless Chromium: the machine's own, otherwise the one in requirements/browser, unpacked once.

`python tests/render/chromium.py` installs it, with `--found` it only says whether that is needed; the tests install it
themselves if it is missing.
"""

import fcntl
import io
import os
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

import cramjam

ROOT = Path(__file__).resolve().parents[2]
RECIPE = ROOT / "requirements" / "browser"
HOME = ROOT / ".make" / "chromium"
NAMES = ("chromium", "chromium-browser", "google-chrome", "chromium-headless-shell")

FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>/usr/share/fonts</dir><dir>{home}/fonts</dir><cachedir>{home}/fonts-cache</cachedir></fontconfig>
"""


@dataclass(frozen=True)
class Chromium:
    """How to start it: the program, and its environment."""

    program: Path
    environment: dict[str, str]


def find_chromium() -> Chromium:
    """The machine's own, else the unpacked one."""
    own = _own()
    if own is not None:
        return Chromium(Path(own), dict(os.environ))
    HOME.mkdir(parents=True, exist_ok=True)
    with (HOME / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (HOME / "complete").exists():
            _fetch()
            _unpack(HOME / "node_modules" / "@sparticuz" / "chromium" / "bin")
            (HOME / "complete").touch()
    # Libraries of the machine come first: those in the package are for machines that have none.
    libraries = ":".join([*filter(None, [os.environ.get("LD_LIBRARY_PATH")]), *_machine_libraries(), str(HOME / "lib")])
    added = {"LD_LIBRARY_PATH": libraries, "FONTCONFIG_PATH": str(HOME)}
    return Chromium(HOME / "chromium", {**os.environ, **added})


def _own() -> str | None:
    return next(filter(None, map(shutil.which, NAMES)), None)


def _machine_libraries() -> list[str]:
    return [str(path) for path in (Path("/usr/lib/x86_64-linux-gnu"), Path("/usr/lib64")) if path.is_dir()]


def _fetch() -> None:
    for name in ("package.json", "package-lock.json"):
        shutil.copy(RECIPE / name, HOME / name)
    npm = shutil.which("npm") or shutil.which("npm", path=str(Path(sys.executable).parent))
    if npm is None:
        raise RuntimeError("no Chromium and no npm to fetch one: run `make .make/browser`, which brings both")
    subprocess.run([npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], cwd=HOME, check=True)


def _unpack(parts: Path) -> None:
    program = HOME / "chromium"
    program.write_bytes(_brotli(parts / "chromium.br"))
    program.chmod(0o755)
    for name in ("al2023", "fonts", "swiftshader"):
        with tarfile.open(fileobj=io.BytesIO(_brotli(parts / f"{name}.tar.br"))) as archive:
            archive.extractall(HOME, filter="data")
    (HOME / "fonts.conf").write_text(FONTS.format(home=HOME), "utf-8")


def _brotli(file: Path) -> bytes:
    return bytes(cramjam.brotli.decompress(file.read_bytes()))


if __name__ == "__main__":
    if "--found" in sys.argv:
        sys.exit(0 if _own() or (HOME / "complete").exists() else 1)
    sys.stdout.write(f"{find_chromium().program}\n")

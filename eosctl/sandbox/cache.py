"""The cache of files that all sandboxes share, outside any checkout."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def cache_directory() -> Path:
    """The `eosctl` directory under `$XDG_CACHE_HOME`, otherwise under `~/.cache`; it need not exist yet."""
    configured = os.environ.get("XDG_CACHE_HOME", "")
    root = Path(configured) if configured else Path.home() / ".cache"
    return root / "eosctl"


@contextmanager
def exclusive(lock_file: Path) -> Iterator[None]:
    """Holds `lock_file` against every other process; the kernel lets it go when this process dies, however it dies."""
    lock_file.parent.mkdir(parents=True, exist_ok=True)
    with lock_file.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield

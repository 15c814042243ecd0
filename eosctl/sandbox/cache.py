"""The cache of files that all sandboxes share, outside any checkout."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from eosctl.errors import ConfigError, reason_of


def cache_directory() -> Path:
    """The `eosctl` directory under `$XDG_CACHE_HOME`, otherwise under `~/.cache`; it need not exist yet."""
    configured = os.environ.get("XDG_CACHE_HOME", "")
    root = Path(configured) if configured else Path.home() / ".cache"
    return root / "eosctl"


@contextmanager
def exclusive(lock_file: Path) -> Iterator[None]:
    """Holds `lock_file` against every other process; the kernel lets it go when this process dies, however it dies.

    ConfigError names the file if it cannot be created.
    """
    try:
        lock_file.parent.mkdir(parents=True, exist_ok=True)
        opened = lock_file.open("w")
    except OSError as error:
        raise ConfigError(f"cannot write {lock_file}: {reason_of(error)}") from error
    with opened as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield

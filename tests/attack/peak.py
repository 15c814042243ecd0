"""The peak memory of a piece of work."""

import os
from collections.abc import Callable
from pathlib import Path


def peak_mib(work: Callable[[], object]) -> int:
    """The growth in MiB of a process that does it; a fork does it, so that this process stays unchanged."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            Path("/proc/self/clear_refs").write_text("5")
            before = _high_water_kib()
            work()
            os.write(writer, b"%d" % ((_high_water_kib() - before) >> 10))
            code = 0
        finally:
            os._exit(code)
    os.close(writer)
    with os.fdopen(reader) as answer:
        text = answer.read()
    assert os.waitpid(child, 0)[1] == 0
    return int(text)


def _high_water_kib() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])

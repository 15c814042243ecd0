"""Runs a dependency resolver and reports how far it has come."""

import re
import subprocess
from collections import deque
from collections.abc import Callable, Sequence

from eosctl.errors import ConfigError

TAIL_LINES = 15
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_LACKED_BY_MAVEN = re.compile(r"[\w.-]+:([\w.-]+):jar:([\w.-]+)")
_LACKED_BY_IVY = re.compile(r"[\w.-]+#([\w.-]+);([\w.-]+): not found")


def run_resolver(command: Sequence[str], downloaded: str, narrate: Callable[[str], None]) -> None:
    """Runs `command` to its end; every line that holds `downloaded` and `.jar` counts as one jar fetched.

    Raises ConfigError with the last lines of its output when it fails.
    """
    tail: deque[str] = deque(maxlen=TAIL_LINES)
    fetched = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            tail.append(_COLOUR.sub("", line.rstrip()))
            if downloaded in line and ".jar" in line:
                fetched += 1
                if fetched % 10 == 0:
                    narrate(f"fetched {fetched} jars")
    if process.returncode != 0:
        raise ConfigError(
            "jars could not be fetched:\n" + "\n".join(tail),
            hint=_advice("\n".join(tail)),
        )


def _advice(output: str) -> str:
    """What to do about a failed download: a bundled Java knows no proxy that signs itself."""
    if "PKIX" in output:
        return (
            "this network's proxy signs with a certificate that Java does not know: name a trust store that has it, "
            "JAVA_TOOL_OPTIONS=-Djavax.net.ssl.trustStore=FILE"
        )
    missing = _missing(output)
    if missing:
        return (
            f"the repository does not hold {', '.join(missing)}: not every release is there as a whole, so try another "
            "version of the same line, or other workers on these brokers with --connect-version"
        )
    return "check the network and that this version was released"


def _missing(output: str) -> list[str]:
    """Artifacts that the repository answered for and lacks: a release may be there in part."""
    found = _LACKED_BY_IVY.findall(output)
    lacking = "Could not find artifact" in output or "was not found in" in output  # now, or when it was asked before
    if lacking and "Could not transfer" not in output:
        found += _LACKED_BY_MAVEN.findall(output)
    return list(dict.fromkeys(f"{artifact} {version}" for artifact, version in found))

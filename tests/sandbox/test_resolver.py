"""Running Maven or Ivy: counting jars, and saying what to do when it fails."""

import sys

import pytest

from eosctl.errors import ConfigError
from eosctl.sandbox.resolver import run_resolver


def printing(*lines: str, code: int = 0) -> list[str]:
    return [sys.executable, "-c", f"print({chr(10).join(lines)!r}); raise SystemExit({code})"]


def test_every_tenth_jar_is_told() -> None:
    told: list[str] = []
    run_resolver(
        printing(*(f"[SUCCESSFUL ] x-{n}.jar" for n in range(25)), "[SUCCESSFUL ] x.pom"), "[SUCCESSFUL ]", told.append
    )
    assert told == ["fetched 10 jars", "fetched 20 jars"]


def test_a_failure_shows_the_end_of_the_output() -> None:
    with pytest.raises(ConfigError, match="no such version") as failure:
        run_resolver(printing("no such version", code=1), "x", print)
    assert failure.value.hint == "check the network and that this version was released"


def test_an_unknown_certificate_is_told_with_its_cure() -> None:
    with pytest.raises(ConfigError) as failure:
        run_resolver(printing("SSLHandshakeException: PKIX path building failed", code=1), "x", print)
    assert "JAVA_TOOL_OPTIONS=-Djavax.net.ssl.trustStore" in str(failure.value.hint)

"""Running Maven or Ivy: counting jars, and saying what to do when it fails."""

import sys

import pytest

from eosctl.errors import ConfigError
from eosctl.sandbox.jars import run_resolver


def printing(*lines: str, code: int = 0) -> list[str]:
    return [sys.executable, "-c", f"print({chr(10).join(lines)!r}); raise SystemExit({code})"]


def test_every_tenth_jar_is_reported() -> None:
    told: list[str] = []
    run_resolver(
        printing(*(f"[SUCCESSFUL ] x-{n}.jar" for n in range(25)), "[SUCCESSFUL ] x.pom"), "[SUCCESSFUL ]", told.append
    )
    assert told == ["fetched 10 jars", "fetched 20 jars"]


def test_a_failure_shows_the_end_of_the_output() -> None:
    with pytest.raises(ConfigError, match="no such version") as failure:
        run_resolver(printing("no such version", code=1), "x", print)
    assert failure.value.hint == "check the network and that this version was released"


def test_an_unknown_certificate_is_reported_with_its_fix() -> None:
    with pytest.raises(ConfigError) as failure:
        run_resolver(printing("SSLHandshakeException: PKIX path building failed", code=1), "x", print)
    assert "JAVA_TOOL_OPTIONS=-Djavax.net.ssl.trustStore" in str(failure.value.hint)


@pytest.mark.parametrize(
    ("printed", "missing"),
    [
        (
            "[ERROR] Failed: Could not find artifact org.apache.kafka:connect-mirror:jar:3.5.2 in central",
            "connect-mirror 3.5.2",
        ),
        (
            "[ERROR] could not be resolved: org.apache.kafka:connect-api:jar:4.0.1, "
            "org.apache.kafka:connect-file:jar:4.0.1: Could not find artifact org.apache.kafka:connect-api:jar:4.0.1",
            "connect-api 4.0.1, connect-file 4.0.1",
        ),
        (
            "[ERROR] org.apache.kafka:connect-mirror:jar:3.5.2 was not found in central during a previous attempt.",
            "connect-mirror 3.5.2",
        ),
        (":: org.apache.kafka#connect-mirror;3.5.2: not found", "connect-mirror 3.5.2"),
    ],
)
def test_an_artifact_that_the_repository_lacks_is_named(printed: str, missing: str) -> None:
    with pytest.raises(ConfigError) as caught:
        run_resolver(printing(printed, code=1), "never", lambda _: None)
    assert caught.value.hint is not None
    assert caught.value.hint.startswith(f"the repository does not hold {missing}: ")


def test_an_artifact_that_could_not_be_asked_for_is_not_called_missing() -> None:
    printed = "Could not transfer artifact org.apache.kafka:connect-api:jar:4.0.0: Could not find artifact"
    with pytest.raises(ConfigError) as caught:
        run_resolver(printing(printed, code=1), "never", lambda _: None)
    assert caught.value.hint == "check the network and that this version was released"


def test_colours_of_maven_do_not_reach_the_message() -> None:
    with pytest.raises(ConfigError) as failure:
        run_resolver(printing("[\x1b[1;31mERROR\x1b[m] \x1b[33mno such version\x1b[0m", code=1), "x", print)
    assert failure.value.message == "jars could not be fetched:\n[ERROR] no such version"

"""Jars by way of Maven."""

from collections.abc import Callable, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from eosctl.sandbox.resolver import run_resolver

COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"


def copy_with_maven(
    maven: str, coordinates: Sequence[str], into: Path, scratch: Path, narrate: Callable[[str], None]
) -> None:
    """Copies the jars of `coordinates` and of everything they need at run time into `into`. ConfigError on failure."""
    pom = scratch / "pom.xml"
    pom.write_text(pom_of(coordinates))
    options = ["-B", "-f", str(pom), COPY, "-DincludeScope=runtime", f"-DoutputDirectory={into}"]
    run_resolver([maven, *options], "Downloaded from", narrate)


def pom_of(coordinates: Sequence[str]) -> str:
    """A pom that depends on each of `coordinates` (`group:artifact:version`)."""
    parts = (escape(coordinate).split(":") for coordinate in coordinates)
    dependencies = "\n".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version></dependency>"
        for group, artifact, version in parts
    )
    return f"""<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>eosctl</groupId><artifactId>sandbox</artifactId><version>1</version><packaging>pom</packaging>
<dependencies>
{dependencies}
</dependencies></project>
"""

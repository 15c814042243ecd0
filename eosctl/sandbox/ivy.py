"""Jars by way of the Ivy that pyspark carries, for machines without Maven."""

import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from eosctl.sandbox.resolver import run_resolver

# The m2compatible resolver of Ivy asks Maven's central repository unless it is given another root.
SETTINGS = """<ivysettings>
<settings defaultResolver="central"/>
<caches defaultCacheDir="{cache}"/>
<resolvers><ibiblio name="central" m2compatible="true"/></resolvers>
</ivysettings>
"""


def find_ivy() -> Path | None:
    """The Ivy jar among pyspark's jars, or None where pyspark is not installed."""
    pyspark = importlib.util.find_spec("pyspark")
    if pyspark is None or pyspark.origin is None:
        return None
    return next(iter(sorted((Path(pyspark.origin).parent / "jars").glob("ivy-*.jar"))), None)


def retrieve_with_ivy(
    java: Path, ivy: Path, coordinates: Sequence[str], into: Path, scratch: Path, narrate: Callable[[str], None]
) -> None:
    """Fetches the jars of `coordinates` and of everything they need at run time into `into`. ConfigError on failure.

    Ivy gets a cache of its own: where it reads Maven's local repository, a pom that lies there without its jar
    makes it fail.
    """
    (scratch / "settings.xml").write_text(SETTINGS.format(cache=escape(str(scratch / "cache"))))
    (scratch / "ivy.xml").write_text(ivy_file_of(coordinates))
    command = [str(java), "-cp", str(ivy), "org.apache.ivy.Main"]
    files = ["-settings", str(scratch / "settings.xml"), "-ivy", str(scratch / "ivy.xml")]
    pattern = f"{into}/[artifact]-[revision](-[classifier]).[ext]"
    run_resolver([*command, *files, "-confs", "libs", "-retrieve", pattern], "[SUCCESSFUL ]", narrate)


def ivy_file_of(coordinates: Sequence[str]) -> str:
    """An Ivy file that depends on each of `coordinates` (`group:artifact:version`): the jar and its runtime scope."""
    parts = (escape(coordinate).split(":") for coordinate in coordinates)
    dependencies = "\n".join(
        f'<dependency org="{group}" name="{artifact}" rev="{version}" conf="libs->master,runtime(*)"/>'
        for group, artifact, version in parts
    )
    return f"""<ivy-module version="2.0"><info organisation="eosctl" module="sandbox"/>
<configurations><conf name="libs"/></configurations>
<dependencies>
{dependencies}
</dependencies></ivy-module>
"""

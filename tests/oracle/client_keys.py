"""Which keys Kafka's clients know in which release, by their own ConfigDefs.

    python -m tests.oracle.client_keys   read the clients of every minor release, and write eosctl/model/client_keys.txt
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path

from eosctl.model.versions import KafkaVersion
from eosctl.sandbox.artifacts import retrieve_artifacts
from eosctl.sandbox.jars import resolve_jars
from eosctl.sandbox.java import compile_java, find_java
from eosctl.sandbox.versions import DEFAULT_KAFKA_VERSION

RELEASES = (
    *("3.3.2", "3.4.1", "3.5.2", "3.6.2", "3.7.2", "3.8.1", "3.9.2"),
    *("4.0.0", "4.1.1", "4.2.0", "4.3.1", "4.4.0"),
)
"""The clients of each minor release that the table speaks of."""
WRITTEN = Path(__file__).parents[2] / "eosctl" / "model" / "client_keys_by_release.py"
HEAD = '''"""Which keys Kafka's admin, producer and consumer clients know since which release, and until which.

Made from the clients' own ConfigDefs by `python -m tests.oracle.client_keys`: do not edit.
"""

from typing import Final

'''


def keys_of(classpath: str) -> frozenset[str]:
    """All keys of the clients on this classpath."""
    jars = resolve_jars(DEFAULT_KAFKA_VERSION, lambda _: None)
    classes = compile_java(jars.compiler, Path(__file__).with_name("ClientKeysOracle.java"), jars.classpath)
    command = [str(find_java()), "-cp", f"{classes}:{classpath}", "ClientKeysOracle"]
    return frozenset(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def table(known: Mapping[str, frozenset[str]]) -> str:
    """The module that says since when each key is known, and which were removed; by the keys of each release."""
    minors = {_minor(release): keys for release, keys in known.items()}
    first = next(iter(minors))
    since = {first: minors[first]} | {after: minors[after] - minors[before] for before, after in pairwise(minors)}
    until = {after: minors[before] - minors[after] for before, after in pairwise(minors)}
    return (
        f"{HEAD}OLDEST: Final = {first!r}\nNEWEST: Final = {_minor(list(known)[-1])!r}\n\n"
        f"SINCE: Final = {_text(since)}\n" + '"""New keys by release; those of the oldest may be older."""\n\n'
        f"UNTIL: Final = {_text(until)}\n" + '"""Keys by the first release that does not know them any more."""\n'
    ).replace("'", '"')


def _minor(release: str) -> str:
    version = KafkaVersion.parse(release)
    return f"{version.major}.{version.minor}"


def _text(keys: Mapping[str, Iterable[str]]) -> str:
    lines = [
        f'    "{release}": (\n' + "".join(f'        "{each} "\n' for each in sorted(found)) + "    ),\n"
        for release, found in keys.items()
        if found
    ]
    return "{\n" + "".join(lines) + "}"


def main() -> None:
    """Write the table."""
    known = {}
    with tempfile.TemporaryDirectory() as scratch:
        for release in RELEASES:
            place = Path(scratch, release)
            place.mkdir()
            retrieve_artifacts((f"org.apache.kafka:kafka-clients:{release}",), place, print)
            known[release] = keys_of(f"{place}/*")
    WRITTEN.write_text(table(known), "utf-8")


if __name__ == "__main__":
    sys.exit(main())

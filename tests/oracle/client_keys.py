"""The keys that Kafka's clients know in each release, by their own ConfigDefs.

python -m tests.oracle.client_keys   read the clients of every minor release, and write
eosctl/model/client_keys_by_release.py
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from textwrap import fill

from eosctl.model.versions import KafkaVersion
from eosctl.sandbox.jars import DEFAULT_KAFKA_VERSION, resolve_jars, retrieve_artifacts
from eosctl.sandbox.java import QUICK_START, compile_java, find_java

RELEASES = (
    *("3.3.2", "3.4.1", "3.5.2", "3.6.2", "3.7.2", "3.8.1", "3.9.2"),
    *("4.0.0", "4.1.1", "4.2.0", "4.3.1", "4.4.0"),
)
"""The clients of each minor release that the table speaks of."""
NEW = "New keys by release; keys of the first one listed may be older."
GONE = "Keys by the first release that does not know them any more."
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
    command = [str(find_java()), *QUICK_START, "-cp", f"{classes}:{classpath}", "ClientKeysOracle"]
    return frozenset(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def table(known: Mapping[str, frozenset[str]]) -> str:
    """The module that says since when each key is known, and which were removed; by the keys of each release."""
    minors = {_minor(release): keys for release, keys in known.items()}
    first = next(iter(minors))
    since = {first: minors[first]} | {after: minors[after] - minors[before] for before, after in pairwise(minors)}
    until = {after: minors[before] - minors[after] for before, after in pairwise(minors)}
    return HEAD + _text("SINCE", since, NEW) + "\n" + _text("UNTIL", until, GONE)


def _minor(release: str) -> str:
    version = KafkaVersion.parse(release)
    return f"{version.major}.{version.minor}"


def _text(name: str, keys: Mapping[str, Iterable[str]], doc: str) -> str:
    lines = [
        f'    "{release}": """\n{fill(" ".join(sorted(found)), 118)}\n""",\n'
        for release, found in keys.items()
        if found
    ]
    return f"{name}: Final = {{\n{''.join(lines)}}}\n" + f'"""{doc}"""\n'


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

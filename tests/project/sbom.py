"""A bill of materials of what a release consists of, in CycloneDX 1.6: from the lock files, not from what is installed.

The packages of requirements/runtime.lock are required; Kafka's jars, which the sandbox fetches, are optional.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from eosctl.sandbox.jars import TESTED_KAFKA_VERSIONS, locked_jars
from eosctl.version import __version__
from tests.project.test_distribution import LOCK

_PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def bill_of_materials() -> dict[str, Any]:
    """The document; the same for the same lock files."""
    own = f"pkg:pypi/eosctl@{__version__}"
    packages, jars = list(_packages(LOCK.read_text())), list(_jars())
    needed = [{"ref": own, "dependsOn": [each["bom-ref"] for each in packages]}]
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid5(NAMESPACE_URL, json.dumps([own, packages, jars]))}",
        "version": 1,
        "metadata": {
            "component": {
                **{"type": "application", "bom-ref": own, "name": "eosctl", "version": __version__, "purl": own},
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            }
        },
        "components": [*packages, *jars],
        "dependencies": [*needed, *({"ref": each["bom-ref"]} for each in (*packages, *jars))],
    }


def write_bill(folder: Path) -> Path:
    """`eosctl-<version>.cdx.json` in the folder."""
    file = folder / f"eosctl-{__version__}.cdx.json"
    file.write_text(json.dumps(bill_of_materials(), indent=1) + "\n")
    return file


def _packages(lock: str) -> Iterator[Mapping[str, Any]]:
    pins = list(_PINNED.finditer(lock))
    for pin, following in zip(pins, [*pins[1:], None], strict=True):
        entry = lock[pin.end() : None if following is None else following.start()]
        purl = f"pkg:pypi/{pin[1].lower().replace('_', '-')}@{pin[2]}"
        yield {
            **{
                "type": "library",
                "bom-ref": purl,
                "name": pin[1],
                "version": pin[2],
                "purl": purl,
                "scope": "required",
            },
            # A package is many files, one for each platform; a component's own hash would be that of one of them.
            "externalReferences": [
                {
                    "type": "distribution",
                    "url": purl,
                    "hashes": [{"alg": "SHA-256", "content": digest} for digest in _HASH.findall(entry)],
                }
            ],
        }


def _jars() -> Iterator[Mapping[str, Any]]:
    """Each jar once, though several versions of Kafka have it."""
    jars = {
        (name, digest) for version in TESTED_KAFKA_VERSIONS for name, digest in (locked_jars(version) or {}).items()
    }
    for name, digest in sorted(jars):
        yield {
            **{"type": "library", "bom-ref": f"jar:{name}:{digest}", "name": name, "scope": "optional"},
            "hashes": [{"alg": "SHA-256", "content": digest}],
        }

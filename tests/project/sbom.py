"""A bill of materials of a release, in CycloneDX 1.6: from the lock files, not from the installed packages.

The packages of requirements/runtime.lock are required; Kafka's jars, which the sandbox fetches, are optional.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, XsUri
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.model.license import DisjunctiveLicense
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from eosctl.sandbox.jars import TESTED_KAFKA_VERSIONS, locked_jars
from eosctl.version import __version__
from tests.project.test_distribution import LOCK, ROOT

IMAGE_LOCK = ROOT / "requirements" / "image.lock"
_PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def bill_of_materials() -> dict[str, Any]:
    """The parts of the release; the same for the same lock files."""
    return _bill(list(_packages(LOCK.read_text())), list(_jars()), ComponentType.APPLICATION)


def image_bill(debian: Mapping[str, str], architecture: str) -> dict[str, Any]:
    """The parts of the container image: Debian's packages, by name and version, and those of Python."""
    found = []
    for name, version in debian.items():
        purl = PackageURL("deb", "debian", name, version, {"arch": architecture})
        found.append(Component(name=name, version=version, purl=purl, bom_ref=purl.to_string()))
    return _bill([*found, *_packages(IMAGE_LOCK.read_text())], [], ComponentType.CONTAINER)


def _bill(packages: Sequence[Component], jars: Sequence[Component], kind: ComponentType) -> dict[str, Any]:
    whole = _package("eosctl", __version__, kind)
    whole.licenses.add(DisjunctiveLicense(id="Apache-2.0"))
    bill = Bom(components=[*packages, *jars])
    bill.metadata.component = whole
    bill.register_dependency(whole, packages)
    document: dict[str, Any] = json.loads(JsonV1Dot6(bill).output_as_string())
    del document["metadata"]["timestamp"]
    document["serialNumber"] = f"urn:uuid:{uuid5(NAMESPACE_URL, json.dumps(document['components']))}"
    return document


def write_bill(folder: Path) -> Path:
    """`eosctl-<version>.cdx.json` in the folder."""
    file = folder / f"eosctl-{__version__}.cdx.json"
    file.write_text(json.dumps(bill_of_materials(), indent=1) + "\n")
    return file


def _package(name: str, version: str, kind: ComponentType = ComponentType.LIBRARY) -> Component:
    purl = PackageURL("pypi", name=name.lower().replace("_", "-"), version=version)
    return Component(name=name, version=version, type=kind, purl=purl, bom_ref=purl.to_string())


def _packages(lock: str) -> Iterator[Component]:
    pins = list(_PINNED.finditer(lock))
    for pin, following in zip(pins, [*pins[1:], None], strict=True):
        entry = lock[pin.end() : None if following is None else following.start()]
        package = _package(pin[1], pin[2])
        package.scope = ComponentScope.REQUIRED
        # A package is many files, one for each platform; a component's own hash would be that of one of them.
        package.external_references.add(
            ExternalReference(
                type=ExternalReferenceType.DISTRIBUTION,
                url=XsUri(str(package.purl)),
                hashes=_hashes(_HASH.findall(entry)),
            )
        )
        yield package


def _jars() -> Iterator[Component]:
    """Each jar once, though several versions of Kafka have it."""
    jars = {
        (name, digest) for version in TESTED_KAFKA_VERSIONS for name, digest in (locked_jars(version) or {}).items()
    }
    for name, digest in sorted(jars):
        yield Component(
            name=name, bom_ref=f"jar:{name}:{digest}", scope=ComponentScope.OPTIONAL, hashes=_hashes([digest])
        )


def _hashes(digests: Iterable[str]) -> list[HashType]:
    return [HashType(alg=HashAlgorithm.SHA_256, content=each) for each in digests]

"""Builds and their sources: in-toto's Statement v1 with SLSA's provenance v1, for those who publish a release."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from eosctl.version import __version__
from tests.project.test_distribution import ROOT, run


def write_statement(folder: Path, built: Sequence[Path]) -> Path:
    """`eosctl-<version>.intoto.json` in the folder: the digests of these files, of the commit and of the lock files."""
    locks = sorted((ROOT / "requirements").glob("*.lock"))
    commit = run("git", "rev-parse", "HEAD").strip()
    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": each.name, "digest": {"sha256": _digest(each)}} for each in built],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "urn:eosctl:make-package:1",
                "externalParameters": {"target": "package"},
                "resolvedDependencies": [
                    {"uri": "git+file:eosctl", "digest": {"gitCommit": commit}},
                    *({"uri": str(each.relative_to(ROOT)), "digest": {"sha256": _digest(each)}} for each in locks),
                ],
            },
            "runDetails": {"builder": {"id": "urn:eosctl:makefile"}},
        },
    }
    file = folder / f"eosctl-{__version__}.intoto.json"
    file.write_text(json.dumps(statement, indent=1) + "\n")
    return file


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()

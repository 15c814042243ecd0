"""eosctl: operations toolkit for exactly-once Kafka Connect sources (KIP-618) and Kafka transactions (KIP-98).

    import eosctl

    with eosctl.connect("broker:9092", workers=eosctl.Workers(urls=("http://worker:8083",))) as cluster:
        for finding in eosctl.require(cluster.diagnose()).findings:
            print(finding.id, finding.subject, finding.message)

The names below are the Python API: stable within a major version (docs/api.md). They are imported when first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from eosctl.version import __version__ as __version__

if TYPE_CHECKING:
    from eosctl.api.cluster import Cluster as Cluster
    from eosctl.api.cluster import Workers as Workers
    from eosctl.api.cluster import connect as connect
    from eosctl.api.cluster import open_snapshot as open_snapshot
    from eosctl.api.documents import document as document
    from eosctl.api.documents import require as require
    from eosctl.api.documents import text as text
    from eosctl.api.proposals import ProposedFencing as ProposedFencing
    from eosctl.api.proposals import ProposedPlan as ProposedPlan
    from eosctl.errors import EosctlError as EosctlError
    from eosctl.errors import Incomplete as Incomplete
    from eosctl.errors import NotAuthorized as NotAuthorized
    from eosctl.errors import PartlyApplied as PartlyApplied
    from eosctl.errors import Refused as Refused
    from eosctl.errors import Unreachable as Unreachable
    from eosctl.errors import UsageError as UsageError
    from eosctl.model.fencing import FencingRequest as FencingRequest
    from eosctl.model.offsets import Store as Store
    from eosctl.model.records import IsolationLevel as IsolationLevel
    from eosctl.model.report import Severity as Severity
    from eosctl.model.rules import Phase as Phase
    from eosctl.model.skipped import Skipped as Skipped
    from eosctl.model.transactions import TransactionState as TransactionState
    from eosctl.operations.migration_request import MigrationOptions as MigrationOptions

_HOMES = {
    "Cluster": "eosctl.api.cluster",
    "EosctlError": "eosctl.errors",
    "FencingRequest": "eosctl.model.fencing",
    "Incomplete": "eosctl.errors",
    "IsolationLevel": "eosctl.model.records",
    "MigrationOptions": "eosctl.operations.migration_request",
    "NotAuthorized": "eosctl.errors",
    "PartlyApplied": "eosctl.errors",
    "Phase": "eosctl.model.rules",
    "ProposedFencing": "eosctl.api.proposals",
    "ProposedPlan": "eosctl.api.proposals",
    "Refused": "eosctl.errors",
    "Severity": "eosctl.model.report",
    "Skipped": "eosctl.model.skipped",
    "Store": "eosctl.model.offsets",
    "TransactionState": "eosctl.model.transactions",
    "Unreachable": "eosctl.errors",
    "UsageError": "eosctl.errors",
    "Workers": "eosctl.api.cluster",
    "connect": "eosctl.api.cluster",
    "document": "eosctl.api.documents",
    "open_snapshot": "eosctl.api.cluster",
    "require": "eosctl.api.documents",
    "text": "eosctl.api.documents",
}
"""The module that each name is in: those of the block above, for Python."""


def __dir__() -> list[str]:
    return ["__version__", *_HOMES]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """A name of the API, imported now: `eosctl --help` imports none of it."""
        if name not in _HOMES:
            raise AttributeError(f"module 'eosctl' has no attribute {name!r}")
        return getattr(import_module(_HOMES[name]), name)

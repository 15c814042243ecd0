"""Opens the ledger that a command names."""

import os
from typing import Final

from eosctl.executors.failpoints import failpoint_of
from eosctl.ledger.ledger import Ledger, open_ledger
from eosctl.sources.config_providers import look_up

FAILPOINT: Final = "EOSCTL_FAILPOINT"
"""For tests of crashes: the point at which a commit kills its own process (executors.failpoints)."""


def open_job_ledger(store: str, *, create: bool = True, timeout_s: float = 10.0) -> Ledger:
    """The ledger in `store`, with references in its URL resolved by Kafka's config providers."""
    failpoint = failpoint_of(os.environ.get(FAILPOINT))
    return open_ledger(store, look_up, create=create, timeout_s=timeout_s, failpoint=failpoint)

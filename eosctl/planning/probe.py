"""The plan of a probe: names that nobody else has."""

from typing import Final

from eosctl.errors import UsageError
from eosctl.model.probe import ProbePlan

LEGAL: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
LONGEST: Final = 200


def plan_probe(prefix: str, unique: str, replication_factor: int, as_of: int) -> ProbePlan:
    """Topic and transactional ID are both `prefix` and `unique`. UsageError where no topic may be called so."""
    if not prefix or set(prefix) - LEGAL or len(prefix) > LONGEST or prefix.startswith("__"):
        raise UsageError(
            f"--prefix {prefix!r} cannot begin the name of a topic",
            hint=f"use letters, digits, `.`, `_` and `-`, at most {LONGEST}, and no two underscores in front",
        )
    if replication_factor == 0 or replication_factor < -1:
        raise UsageError("--replication-factor is at least 1, or -1 for the brokers' default")
    return ProbePlan(f"{prefix}{unique}", replication_factor, as_of)

"""The demo's steps."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DemoStep:
    """One step: what was done, what was seen on the real cluster, and how many seconds it took."""

    step: str
    seen: str
    elapsed_s: float

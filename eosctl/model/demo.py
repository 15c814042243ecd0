"""The demo's report."""

from dataclasses import dataclass

from eosctl.model.report import Answer


@dataclass(frozen=True, slots=True)
class DemoStep:
    """One step: what was done, what was seen on the real cluster, and how many seconds it took."""

    step: str
    seen: str
    elapsed_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoReport(Answer):
    """All steps, on Kafka and Connect of this version."""

    kafka_version: str
    steps: tuple[DemoStep, ...]

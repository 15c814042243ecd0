"""Connectors that Strimzi's operator changes as their resources say, so that nobody else may."""

from collections.abc import Mapping
from dataclasses import dataclass, field

STOPPED = "stopped"
RUNNING = "running"
"""Values of spec.state; a KafkaConnector without it shall run."""


@dataclass(frozen=True, slots=True)
class OperatedConnectors:
    """Which connectors have an operator: all of them, or those whose resources were given (by name, with spec.state).

    directory is where changed resources are written, by absolute path; None: nobody asked for them.
    """

    every: bool = False
    states: Mapping[str, str] = field(default_factory=dict)
    directory: str | None = None

    def has(self, connector: str) -> bool:
        """Whether this connector has an operator, as far as was said."""
        return self.every or connector in self.states

    def file(self, connector: str, change: str) -> str:
        """The path of its resource after this change."""
        return f"{self.directory}/{connector}.{change}.yaml"

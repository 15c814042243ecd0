"""Connectors that Strimzi's operator changes as their resources say, so that nobody else may."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

STOPPED = "stopped"
RUNNING = "running"
"""Values of spec.state; a connector whose resource has none shall run."""
STOP_BY_RESOURCE: Final = "set state: stopped in its resource; --stop with --emit strimzi writes that, and waits for it"


@dataclass(frozen=True, slots=True)
class OperatedConnectors:
    """Which connectors have an operator: all of them, or those whose resources were given (by name, with their state).

    mirrors are those among them that a KafkaMirrorMaker2 describes, with its name. directory is where changed resources
    are written, by absolute path; None: nobody asked for them. to_cluster is the KafkaConnect that the resources name
    after a move to another Connect cluster.
    """

    every: bool = False
    states: Mapping[str, str] = field(default_factory=dict)
    mirrors: Mapping[str, str] = field(default_factory=dict)
    directory: str | None = None
    to_cluster: str | None = None

    def has(self, connector: str) -> bool:
        """Whether this connector has an operator, as far as was said."""
        return self.every or connector in self.states

    def resource(self, connector: str) -> str:
        """The resource of this connector, in words."""
        mirror = self.mirrors.get(connector)
        return "its KafkaConnector" if mirror is None else f"KafkaMirrorMaker2 {mirror}"

    def file(self, connector: str, change: str) -> str:
        """The path of its resource after this change."""
        return f"{self.directory}/{in_file_name(connector)}.{change}.yaml"


def in_file_name(connector: str) -> str:
    """The connector's name without `->`, as Strimzi writes those of MirrorMaker 2 in names of files."""
    return connector.replace("->", "--")

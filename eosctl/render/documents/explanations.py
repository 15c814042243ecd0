"""What `explain` answers."""

from typing import TypedDict

from eosctl.model.report import Severity


class ExplanationRow(TypedDict):
    """A finding or an error of Kafka: its cause, and commands that help; name and severity are null for an error."""

    id: str
    name: str | None
    title: str
    severity: Severity | None
    cause: str
    commands: list[str]
    next: str
    source: str
    reported_by: list[str]
    reporters: str


class ExplanationsData(TypedDict):
    """All that the text shows, the more special first; near are names like it where nothing is known."""

    explanations: list[ExplanationRow]
    by_number: dict[str, ExplanationRow]
    near: list[str]


class FindingKindRow(TypedDict):
    """A kind of finding; its severity is the worst that it can be."""

    id: str
    name: str
    title: str
    severity: Severity
    theme: str


class ErrorRow(TypedDict):
    """An error that is recognised."""

    id: str
    title: str


class KnownData(TypedDict):
    """Everything that can be explained; classes are Kafka's error classes, known by their names."""

    rules: list[FindingKindRow]
    errors: list[ErrorRow]
    classes: list[str]

"""What commands that write files, and the demo, answer."""

from typing import TypedDict

from eosctl.model.skipped import Skipped


class SectionRow(TypedDict):
    """A section of a snapshot: how much of it there is, or why it was not read."""

    section: str
    seen: str | Skipped


class SnapshotData(TypedDict):
    """What a snapshot holds."""

    file: str
    group_id: str | None
    sections: list[SectionRow]


class FileRow(TypedDict):
    """A file and its size in bytes."""

    file: str
    bytes: int


class SparkBundleData(TypedDict):
    """The files of a bundle for spark-submit."""

    files: list[FileRow]


class DemoStepRow(TypedDict):
    """A step of the demo: what was done, and what was seen on the real cluster."""

    step: str
    seen: str
    elapsed_s: float


class DemoData(TypedDict):
    """All steps."""

    kafka_version: str
    steps: list[DemoStepRow]


class TextData(TypedDict):
    """The text that a command prints instead of a table, as a file to install or a script."""

    text: str

"""The table in docs/acls.md of the failures without each binding, as rows and as Markdown."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from eosctl.model.acl_plan import PlannedBinding
from tests.integration.acl_site import Broken, Site

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "acls.md"
SOURCES, SINKS = "bindings", "bindings of sinks"
"""The tables that the document has, by the names in their marks."""
KINDS = ("file", "own", "mirror", "sink", "creating", "created", "dlq", "configs", "offsets", "status")
NOTHING = "optional: nothing fails"
HEAD = "| principal | binding | without it | what was seen |\n|---|---|---|---|\n"


@dataclass(frozen=True, slots=True)
class Row:
    """One binding, without which a scenario was run: the failed step (None: none) and the observation.

    Names are those of any Connect cluster: <group>, <file> for the connector, <offsets> for the topic.
    """

    principal: str
    binding: str
    is_optional: bool
    step: str | None
    seen: str

    @classmethod
    def of(cls, site: Site, planned: PlannedBinding, broken: Broken | None) -> "Row":
        """The row of this binding."""
        binding = planned.binding
        seen = f"lost: {planned.loss}" if broken is None else broken.evidence
        return cls(
            binding.principal.removeprefix("User:"),
            general(site.name, f"{binding.operation} {binding.pattern}"),
            planned.is_optional,
            None if broken is None else broken.step,
            general(site.name, seen),
        )

    @property
    def place(self) -> tuple[str, str]:
        """Principal and binding."""
        return self.principal, self.binding

    @property
    def verdict(self) -> tuple[str, str, bool]:
        """The part that must not change from run to run: the first failing step may, by a matter of milliseconds."""
        return self.principal, self.binding, self.step is None

    def markdown(self) -> str:
        """The row as it stands in the document."""
        without = NOTHING if self.step is None else f"{'optional; ' * self.is_optional}fails: {self.step}"
        seen = self.seen.replace("|", "\\|").replace("\n", " ")
        seen = re.sub(r"(`[^`]*`)|<", lambda found: found[1] or r"\<", seen)
        return f"| {self.principal} | `{self.binding}` | {without} | {seen} |\n"


def general(name: str, text: str) -> str:
    """The text with general names in place of the site's own."""
    for own, meaning in (
        (f"connect-cluster-{name}", "connect-cluster-<group>"),
        (f"{name}-own-offsets", "<own offsets>"),
        *((f"{name}-{kind}", f"<{kind}>") for kind in KINDS),
        (f"{name}-lines", "<output>"),
        (f"{name}-in", "<input>"),
        (f"{name}-up", "<source topic>"),
        (name, "<group>"),
    ):
        text = text.replace(own, meaning)
    return re.sub(r"http://127\.0\.0\.1:\d+", "", text)


def marks(table: str) -> tuple[str, str]:
    """The texts before and after the table in the document."""
    return f"<!-- table of {table}: begin -->", f"<!-- table of {table}: end -->"


def read_table(table: str = SOURCES) -> list[Row]:
    """The rows of one table of the document."""
    text = DOCUMENT.read_text(encoding="utf-8")
    begin, end = map(text.index, marks(table))
    lines = text[begin:end].splitlines()[3:]
    rows = []
    for line in lines:
        principal, binding, without, seen = (cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1])
        step = None if without == NOTHING else without.removeprefix("optional; ").removeprefix("fails: ")
        rows.append(Row(principal, binding.strip("`"), without.startswith("optional"), step, seen.replace(r"\<", "<")))
    return rows


def write_table(rows: Iterable[Row], table: str = SOURCES) -> None:
    """Put these rows in the place of those that the document has in that table."""
    text = DOCUMENT.read_text(encoding="utf-8")
    begin, end = marks(table)
    start, stop = text.index(begin) + len(begin), text.index(end)
    lines = HEAD + "".join(row.markdown() for row in rows)
    DOCUMENT.write_text(f"{text[:start]}\n{lines}{text[stop:]}", encoding="utf-8")

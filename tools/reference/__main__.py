"""Writes what is generated from the tree of commands: man pages, shell completions, the command reference in
docs/reference, docs/rules.md, from the catalogue of findings, docs/metrics.md and docs/alerts.md, from their tables,
and docs/documents.md, from the table of documents, and what eosctl.shell.ready prints.

    python -m tools.reference           write them
    python -m tools.reference --check   fail, naming them, where one is not what the tree says

The tree is read as data (commands.describe), so there is no second copy of it to keep.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from eosctl.analysis.catalogue.index import THEMES
from eosctl.analysis.metrics.catalogue import ALERTS, METRICS
from eosctl.analysis.rules.registry import RULES, commands_reporting
from eosctl.cli import PROGRAM, root_command
from eosctl.render.answers.explanations import findings_page
from eosctl.render.answers.kinds import KINDS
from eosctl.shell.command_tree import page_name, walk
from eosctl.shell.completion import FILES
from eosctl.shell.ready import FILE
from tools.reference.documents import documents_page
from tools.reference.man_pages import man_page
from tools.reference.markdown import pages, without_html
from tools.reference.metrics import alerts_page, metrics_page
from tools.reference.proofs import proofs
from tools.reference.ready import ready_file

GENERATED: Final = "made by `make reference`: do not edit"


def generated(root: Path) -> dict[Path, str]:
    """Every generated file by its path in the checkout at `root`, with the text that it should have."""
    commands = list(walk(root_command(), PROGRAM))
    files = {Path("completions", name): text.format(generated=GENERATED) for name, text in FILES.items()}
    files |= {Path("man", f"{page_name(each.path)}.1"): man_page(each, GENERATED) for each in commands}
    files |= {Path("docs", "reference", f"{name}.md"): text for name, text in pages(commands, GENERATED).items()}
    files |= {Path("eosctl", "shell", FILE): ready_file(root_command())}
    files |= {Path("docs", "metrics.md"): metrics_page(METRICS, GENERATED)}
    files |= {Path("docs", "alerts.md"): alerts_page(ALERTS, GENERATED)}
    files |= {Path("docs", "documents.md"): documents_page(KINDS, GENERATED)}
    return files | {Path("docs", "rules.md"): _findings_page(proofs(root))}


def _findings_page(proved: Mapping[str, str]) -> str:
    rules = {rule.id: rule for rule in RULES}
    themes = {
        theme.title: [(kind, rules.get(kind.id), commands_reporting(kind)) for kind in theme.kinds] for theme in THEMES
    }
    page = findings_page(themes, {theme.title: theme.numbers for theme in THEMES}, proved)
    return without_html(page)


def main(args: Sequence[str], root: Path) -> int:
    """Write or check the files under `root`; 1 where a check finds a difference."""
    files = generated(root)
    made = (path.relative_to(root) for pattern in ("man/*.1", "docs/reference/*.md") for path in root.glob(pattern))
    stale = [path for path in made if path not in files]
    if "--check" in args:
        different = [path for path, text in files.items() if not _has(root / path, text)]
        for path in (*different, *stale):
            sys.stderr.write(f"{path} is not what the commands say: run `make reference`\n")
        return 1 if different or stale else 0
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, "utf-8")
    for path in stale:
        (root / path).unlink()
    return 0


def _has(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text("utf-8") == text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Path(__file__).resolve().parents[2]))

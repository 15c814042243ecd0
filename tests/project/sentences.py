"""The sentences that a user reads: of pages, and of strings in the code that are prose."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

PAGES = ("README.md", "CHANGELOG.md", "SECURITY.md", "docs/*.md", "docs/howto/*.md")
GENERATED = {"docs/rules.md"}
NO_PROSE = {
    "eosctl/analysis/kafka_errors.py": "names of exceptions",
    "eosctl/codecs/secrets.py": "names of settings",
    "eosctl/model/client_keys_by_release.py": "names of settings",
    "eosctl/render/certificate_files.py": "a style sheet",
    "eosctl/shell/completion.py": "functions of shells",
    "eosctl/codecs/ledger.py": "SQL",
    "eosctl/sources/mariadb_tables.py": "SQL",
    "eosctl/sources/source_tables.py": "SQL",
}
"""Modules whose long strings are not sentences, with what they are."""
END = re.compile(r"(?<=[.:;?!])(?:\*\*)?\s+(?=eosctl\b|[A-Z`*{<(\[])")
ASIDE = re.compile(r"\s*([-*]|\d+\.)\s|\s*(#|---|<|\[.*\]:|:\w)")


def sentences(root: Path) -> Iterator[tuple[str, str]]:
    """Each sentence of three words or more, after its file."""
    for pattern in PAGES:
        for page in sorted(root.glob(pattern)):
            name = str(page.relative_to(root))
            if name not in GENERATED:
                yield from ((name, each) for text in paragraphs(page.read_text("utf-8")) for each in cut(text))
    for module in sorted((root / "eosctl").rglob("*.py")):
        name = str(module.relative_to(root))
        if name not in NO_PROSE:
            tree = ast.parse(module.read_text("utf-8"))
            yield from ((name, each) for text in strings(tree) if is_prose(text) for each in cut(text))


def cut(text: str) -> list[str]:
    return [each.strip() for each in END.split(" ".join(text.split())) if len(each.split()) >= 3]


def is_prose(text: str) -> bool:
    return " " in text and len(re.findall(r"[A-Za-z]{2,}", text)) >= 4


def strings(tree: ast.AST) -> Iterator[str]:
    """Strings without docstrings; a value in an f-string is {}."""
    nodes = list(ast.walk(tree))
    joined = [each for each in nodes if isinstance(each, ast.JoinedStr)]
    left_out = {id(each.value) for each in nodes if isinstance(each, ast.Expr)}
    left_out |= {id(part) for each in joined for part in ast.walk(each) if isinstance(part, ast.Constant)}
    for each in joined:
        yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in each.values)
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out:
            yield node.value


def paragraphs(page: str) -> Iterator[str]:
    """Paragraphs, items, headings and cells of tables, without blocks of code."""
    block: list[str] = []
    fence = ""
    for line in page.splitlines():
        mark = re.match(r"\s*(```+|~~~+)", line)
        if mark and (not fence or line.strip().startswith(fence)):
            fence = "" if fence else mark[1]
        if fence or mark:
            continue
        if not line.strip() or ASIDE.match(line) or line.lstrip().startswith("|"):
            yield " ".join(block)
            block = []
        if line.lstrip().startswith("|"):
            yield from line.strip().strip("|").split("|")
        elif line.strip() and not re.match(r"\s*(---|<|\[.*\]:|:)", line):
            block.append(re.sub(r"^\s*(#+|[-*]|\d+\.)\s+", "", line).strip())
    yield " ".join(block)


def words(sentence: str) -> int:
    """The number of its words; code and a value count as one."""
    return len(re.sub(r"`[^`]*`|\{[^}]*\}", "X", sentence).split())

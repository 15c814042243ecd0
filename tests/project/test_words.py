"""Plain technical English: words that Kafka's documentation and the common style guides do not use, and what they use.

What people read is searched: pages, and in the code every comment, docstring and message. `cannot tell` is a verdict.
"""

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

WORDS = {
    r"told|tells|telling": "reports, shows, names",
    r"(?<!cannot )(?<!cannot-)(?<!could not )tell": "report, show, know",
    r"mend(?:s|ed|ing)?": "fix",
    r"cures|cured|curing|the cure|a cure|no cure": "fix",
    r"anew": "again",
    r"leav(?:e|es|ing) away|left away": "omit",
    r"letter for letter": "exactly",
    r"st(?:and|ands|ood|anding) still": "is stalled, does not move",
    r"put out": "stopped",
    r"under way": "in progress",
    r"for so long": "for at most this long",
    r"it was not said": "not given",
    r"of late": "recently",
    r"t(?:ake|akes|aken|ook) back": "roll back",
    r"or else": "or",
    r"the very (?:bytes|same|ones?)": "the same",
    r"read_committed readers": "read_committed consumers",
}
ALTERNATIVE = re.compile(r"(?:[,;:.(]\s+(?:# )?|\()else\b|\bElse\b")
"""`else` for what happens otherwise; `nothing else` and the like are English."""
SEARCH = re.compile("|".join(rf"(?<![\w-])(?:{words})(?![\w-])" for words in WORDS), re.IGNORECASE)
PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/**/*.md", "man/*.1")


def prose(root: Path) -> Iterator[tuple[Path, str]]:
    """Every page, and all comments and strings of each module, by its file."""
    for pattern in PAGES:
        for page in root.glob(pattern):
            yield page, page.read_text("utf-8")
    for module in (root / "eosctl").rglob("*.py"):
        tokens = tokenize.generate_tokens(io.StringIO(module.read_text("utf-8")).readline)
        texts = [
            each.string for each in tokens if tokenize.tok_name[each.type] in {"COMMENT", "STRING", "FSTRING_MIDDLE"}
        ]
        yield module, "\n".join(texts)


def found(text: str) -> list[str]:
    """Words of the list in the text, without what the code of a shell or an f-string says."""
    code_removed = re.sub(r"\{[^{}]*\}|; else (?=_files|compdef)", "", text)
    return [match[0].strip() for pattern in (SEARCH, ALTERNATIVE) for match in pattern.finditer(code_removed)]


def test_nothing_that_people_read_has_a_word_of_the_list(root: Path):
    hits = [f"{path.relative_to(root)}: {word}" for path, text in prose(root) for word in found(text)]
    assert hits == []


@pytest.mark.parametrize(
    "text",
    [
        "the broker tells its version",
        "He was told.",
        "the cure for it",
        "it stands still",
        "a file, else a directory",
        "the one given;\n    else the default",
        "Else it is refused.",
        "taken back by undo",
    ],
)
def test_a_word_of_the_list_is_found(text):
    assert found(text) != []


@pytest.mark.parametrize(
    "text",
    [
        "it cannot tell",
        "cannot-tell",
        "nothing else",
        "somebody else's",
        "otherwise",
        "{a if b else c}",
        "`cure`",
        "take a backup",
    ],
)
def test_good_english_is_left_alone(text):
    assert found(text) == []

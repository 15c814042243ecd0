"""Plain technical English: words that Kafka's documentation and the common style guides do not use, with replacements.

The search covers pages, and every comment, docstring and message in the code. `cannot tell` is a verdict.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.project.sentences import sentences, words

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
    r"of yours": "your",
    r"claim(?:s|ed|ing)? (?:its|the|an|their) (?:transactional )?IDs?": "initializes its transactional ID",
    r"the manual(?:'s)?(?! step)": "the Kafka documentation",
    r"(?:is|are|was) had": "comes from",
    r"(?:brokers?|workers?) that lives?|living (?:brokers?|workers?)": "live brokers",
    r"time-outs?": "timeout",
    r"past the coordinator": "bypassing the coordinator",
    r"nobody(?:'s)?|anybody": "no broker, no consumer, no other user: the noun",
    r"whoever": "the principal, the author: the noun",
    r"shall": "must, will",
    r"plainly": "without transactions",
}
SHOWN = {
    r"lacks?(?= *(?:[.,;:)]|$))": "is missing",
    r"everybody": "every principal, all users",
    r"whatever": "regardless of, every",
    r"once more": "again",
    r"in vain": "without success",
    r"for good": "permanently",
    r"none of Kafka's": "not one of Kafka's",
    r"go(?:es)? on|went on": "continues, resumes",
}
"""Words that pages for users and messages do not have. Docstrings, comments and docs/dev still do."""
EXCEPTIONS = {
    "eosctl/sandbox/sandbox.py": "`nobody` is an account of the system",
    "docs/dev/style.md": "the table of these words",
    "docs/dev/decisions/0006-postgresql-from-a-wheel.md": "`nobody` is an account of the system",
}
ALTERNATIVE = re.compile(r"(?:[,;:.(]\s+(?:# )?|\()else\b|\bElse\b")
"""`else` as a conjunction; `nothing else` and the like are English."""


def searching(list_of_words: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(rf"(?<![\w-])(?:{words})(?![\w-])" for words in list_of_words), re.IGNORECASE)


SEARCH, SEARCH_SHOWN = searching(WORDS), searching(SHOWN)
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


def shown(root: Path) -> Iterator[tuple[Path, str]]:
    """Pages outside docs/dev, and each module's strings except its docstrings, by file."""
    for pattern in PAGES:
        for page in set(root.glob(pattern)) - set((root / "docs/dev").rglob("*.md")):
            yield page, page.read_text("utf-8")
    for module in (root / "eosctl").rglob("*.py"):
        tree = ast.parse(module.read_text("utf-8"))
        bare = {id(each.value) for each in ast.walk(tree) if isinstance(each, ast.Expr)}
        strings = [each for each in ast.walk(tree) if isinstance(each, ast.Constant) and id(each) not in bare]
        yield module, "\n".join(each.value for each in strings if isinstance(each.value, str))


def found(text: str) -> list[str]:
    """Words of the list in the text, without what the code of a shell or an f-string says."""
    code_removed = re.sub(r"\{[^{}]*\}|; else (?=_files|compdef)", "", text)
    return [match[0].strip() for pattern in (SEARCH, ALTERNATIVE) for match in pattern.finditer(code_removed)]


def test_nothing_that_people_read_has_a_word_of_the_list(root: Path):
    hits = [(str(path.relative_to(root)), word) for path, text in prose(root) for word in found(text)]
    assert [hit for hit in hits if hit[0] not in EXCEPTIONS] == []
    assert {path for path, _ in hits} == set(EXCEPTIONS), "an exception is not needed any more"


def test_pages_and_messages_name_the_noun(root: Path):
    hits = [(str(path.relative_to(root)), word) for path, text in shown(root) for word in SEARCH_SHOWN.findall(text)]
    assert [hit for hit in hits if hit[0] not in EXCEPTIONS] == []


@pytest.mark.parametrize("text", ["nobody reads it", "whoever asks", "it shall stop", "rules that lack: two", "Nobody"])
def test_a_pronoun_in_place_of_the_noun_is_found(text):
    assert SEARCH_SHOWN.search(text) or SEARCH.search(text)


@pytest.mark.parametrize("text", ["shallow", "a lack of ACLs", "it lacks Describe", "shell"])
def test_other_words_are_left_alone(text):
    assert not SEARCH_SHOWN.search(text)


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
        "a cluster of yours",
        "it claims its ID again",
        "the living brokers",
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


# Sentences: each is short, and its subject is a noun.


MOST_WORDS = 30
MOST_BULLETS = 60
CLAUSE = re.compile(r"[*_(\"]*(?:What|Whatever|Whose|Who|Those)\b(?!.*\?)")
"""A clause or a pronoun in place of the subject; a question may begin so."""
OPENING = re.compile(r"[*_(\"]*Of (?:an?|the|what|this|these|each|every|those|it|two|`)\b")


@pytest.fixture(scope="module")
def read(root: Path) -> list[tuple[str, str]]:
    return list(sentences(root))


def test_no_sentence_has_more_words_than_a_reader_keeps_in_mind(read: list[tuple[str, str]]):
    assert [(name, each) for name, each in read if words(each) > MOST_WORDS] == []


def test_the_subject_of_a_sentence_is_a_noun(read: list[tuple[str, str]]):
    assert [(name, each) for name, each in read if CLAUSE.match(each) or OPENING.match(each)] == []


def test_the_changelog_of_a_release_is_short(root: Path):
    text = (root / "CHANGELOG.md").read_text("utf-8")
    assert max(release.count("\n- ") for release in text.split("\n## ")) <= MOST_BULLETS


@pytest.mark.parametrize("text", ["What it reads", "**What is old** goes.", "Those are left", "Who may read it"])
def test_a_clause_in_place_of_the_subject_is_found(text):
    assert CLAUSE.match(text)


@pytest.mark.parametrize("text", ["What is wrong?", "Whole files", "Often", "Offsets of a topic"])
def test_questions_and_nouns_are_no_clauses(text):
    assert [CLAUSE.match(text), OPENING.match(text)] == [None, None]


def test_code_counts_as_one_word():
    assert words("Run `eosctl fence --prefix a b c` on {topic} now.") == 5

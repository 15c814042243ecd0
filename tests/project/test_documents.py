"""The project's statements about itself are true, complete and its own."""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import yaml

from eosctl import cli
from eosctl.render import answers
from eosctl.render.document import Fields, Table
from eosctl.version import __version__
from tools.reference import __main__ as reference


def test_generated_files_are_what_the_commands_say(root, capsys):
    code = reference.main(["--check"], root)
    assert code == 0, capsys.readouterr().err


def test_a_check_names_what_differs_and_a_write_corrects_it(tmp_path, capsys):
    (tmp_path / "man").mkdir()
    (tmp_path / "man" / "eosctl-gone.1").write_text("a command that is no more")
    assert reference.main(["--check"], tmp_path) == 1
    complaints = capsys.readouterr().err
    assert "docs/reference/eosctl-fence.md is not what the commands say" in complaints
    assert "man/eosctl-gone.1 is not what the commands say" in complaints
    assert reference.main([], tmp_path) == 0
    assert reference.main(["--check"], tmp_path) == 0
    assert not (tmp_path / "man" / "eosctl-gone.1").exists()


def test_the_readme_fits_on_a_screen(root):
    assert len((root / "README.md").read_text("utf-8").split()) <= 700


def test_the_changelog_begins_with_this_version(root):
    versions = re.findall(r"^## \[(\d+\.\d+\.\d+)\]", (root / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert versions[0] == __version__


def test_a_test_follows_every_how_to(root):
    tests = "".join(each.read_text("utf-8") for each in (root / "tests").rglob("*.py"))
    pages = {each.name for each in (root / "docs" / "howto").glob("*.md")} - {"index.md"}
    assert {each for each in pages if f'"{each}"' not in tests and f"/{each}" not in tests} == set()


def test_the_table_of_commands_repeats_the_first_line_of_their_help(command_tree):
    summaries = {each.path: each.summary for each in command_tree}
    assert {entry.name: summaries[f"eosctl {entry.name}"] for entry in cli.COMMANDS} == {
        entry.name: entry.summary for entry in cli.COMMANDS
    }


def test_every_command_has_a_one_line_summary(command_tree):
    assert [
        each.path
        for each in command_tree
        if not re.fullmatch(r"[A-Z][^.]{5,100}\.", _without_abbreviations(each.summary))
    ] == []


def _without_abbreviations(summary: str) -> str:
    return re.sub(r"\d\.\d", "1", summary)


def test_the_help_of_every_command_names_its_use(command_tree):
    assert [each.path for each in command_tree if not (each.is_group or each.paragraphs)] == []


def test_every_command_shows_examples_of_itself(command_tree):
    wanting = []
    for each in (each for each in command_tree if not each.is_group):
        examples = [line.strip() for line in each.blocks.get("Examples", "").splitlines()]
        wanting += [each.path] if not any(each.path in line for line in examples) else []
    assert wanting == []


def test_every_example_parses(command_tree):
    """Names and options of an example exist: what would be run is parsed, and not run."""
    wrong = []
    for each in command_tree:
        for line in each.blocks.get("Examples", "").splitlines():
            wrong += [f"{each.path}: {line.strip()}" for problem in _problems(line) if problem]
    assert wrong == []


def test_every_command_line_in_the_pages_parses(root):
    """Those in blocks of shell commands: names and options exist."""
    wrong = []
    for page in (root / "README.md", *(root / "docs").rglob("*.md")):
        for block in re.findall(r"^```(?:sh|console)?\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL):
            whole = re.sub(r"\\\n\s*", "", block)
            lines = [line.strip() for line in whole.splitlines() if line.strip().startswith("eosctl ")]
            typed = [line for line in lines if not re.search(r"[…\[\]<>|]|  ", line)]
            wrong += [f"{page.relative_to(root)}: {line}: {said}" for line in typed for said in _problems(line)]
    assert wrong == []


def test_every_command_in_the_examples_parses(root):
    """Scripts of pipelines, continued lines taken for one: there is such a command in each."""
    files = sorted((root / "examples").rglob("*.yml"))
    scripts = {file.name: "\n".join(_scripts(yaml.safe_load(file.read_text("utf-8")))) for file in files}
    lines = {
        name: [line.strip() for line in text.replace("\\\n", "").splitlines() if line.strip().startswith("eosctl ")]
        for name, text in scripts.items()
    }
    assert {name: len(found) for name, found in lines.items()} == {
        "certify.yml": 1,
        "github-actions.yml": 1,
        "gitlab-ci.yml": 1,
    }
    typed = [line.replace('"$@"', "").replace('"$SEED"', "7") for found in lines.values() for line in found]
    assert [said for line in typed for said in _problems(line)] == []


def _scripts(node: object) -> Iterator[str]:
    """Every text in a document."""
    if isinstance(node, str):
        yield node
    elif isinstance(node, dict | list):
        for each in node.values() if isinstance(node, dict) else node:
            yield from _scripts(each)


def _problems(line: str) -> list[str]:
    import shlex

    from typer.exceptions import Exit, TyperException

    words = shlex.split(line, comments=True)
    if "eosctl" not in words:
        return []
    args = words[words.index("eosctl") + 1 :]
    ends = [number for number, word in enumerate(args) if word in {"|", ">", "&&"}]
    try:
        group = cli.root_command()
        context = group.make_context("eosctl", args[: min(ends, default=len(args))])
        while rest := [*context._protected_args, *context.args] if hasattr(group, "commands") else []:
            _, group, rest = group.resolve_command(context, rest)
            context = group.make_context(group.name, rest, parent=context)
    except TyperException as error:
        return [error.format_message()]
    except Exit:  # --help, --version
        return []
    return []


def test_every_column_that_is_printed_is_explained_in_the_help_of_a_command(command_tree):
    explained = {
        line.split()[0]
        for each in command_tree
        for line in each.blocks.get("Columns", "").splitlines()
        if re.match(r"\s+[A-Z0-9_-]+\s{2,}\S", line)
    }
    printed = {
        f"{module.name}.{name}: {column.header}": column.header
        for module in pkgutil.iter_modules(answers.__path__)
        for name, block in vars(importlib.import_module(f"{answers.__name__}.{module.name}")).items()
        if isinstance(block, Table | Fields)
        for column in block.columns
    }
    assert len(printed) > 200
    assert [place for place, header in printed.items() if header not in explained] == []


FORBIDDEN = (
    r"(?<![\w.$}])/(work|home|root|Users)/",
    r"\.\./shared",
    r"https?://[^\s\"'<>]*(pypi|pythonhosted|artifactory|nexus|repo\d?\.maven|maven2|mirror)",
    r"--(extra-)?index-url[ =]",
    r"BEGIN [A-Z ]*PRIVATE KEY",
)


def test_no_file_names_a_machine_a_package_host_or_a_secret(project_files: tuple[Path, ...], root: Path):
    found = []
    for file in project_files:
        if file == Path(__file__).resolve():
            continue
        text = file.read_text(encoding="utf-8", errors="replace")
        found += [
            f"{file.relative_to(root)}: {match[0]}" for pattern in FORBIDDEN for match in re.finditer(pattern, text)
        ]
    assert found == []


def test_the_folders_of_the_tests_mirror_the_rooms(root: Path):
    rooms = {path.name for path in (root / "eosctl").iterdir() if path.is_dir() and path.name != "__pycache__"}
    others = {"attack", "campaign", "faults", "golden", "integration", "mutants", "oracle", "project", "upstream"}
    folders = {path.name for path in (root / "tests").iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders - others <= rooms


def test_no_page_hides_a_name_in_angle_brackets(root: Path):
    """Markdown takes <connector> outside of code for HTML, and a browser shows nothing in its place."""
    hidden = {}
    for page in (root / "README.md", root / "SECURITY.md", root / "CHANGELOG.md", *(root / "docs").rglob("*.md")):
        prose = re.sub(r"```.*?```|`[^`]*`", "", page.read_text("utf-8"), flags=re.DOTALL)
        if names := re.findall(r"(?<!\\)<(?!https?:|sup>)[a-z][^<>\n]*>", prose):
            hidden[page.name] = names
    assert hidden == {}

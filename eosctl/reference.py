"""Writes what is generated from the tree of commands: man pages, shell completions, the README's command reference,
and docs/rules.md, from the registry of rules.

    python -m eosctl.reference           write them
    python -m eosctl.reference --check   fail, naming them, where one is not what the tree says

The tree is read as data (commands.describe), so there is no second copy of it to keep.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from eosctl import __version__
from eosctl.analysis.rules.registry import THEMES
from eosctl.cli import PROGRAM, root_command
from eosctl.commands.describe import CommandHelp, Parameter, walk
from eosctl.render.views.rules import rules_page

BEGIN: Final = "<!-- reference -->"
END: Final = "<!-- /reference -->"
GENERATED: Final = "made by `make reference`: do not edit"

BASH: Final = """\
# bash completion for eosctl; {generated}
_eosctl() {{
    local line=${{COMP_LINE:0:COMP_POINT}} words word value offers
    words=${{line%"${{line##*[[:space:]]}}"}}
    word=${{line#"$words"}}
    COMPREPLY=()
    mapfile -t offers < <(_EOSCTL_COMPLETE=$line "$1" 2>/dev/null </dev/null)
    # bash replaces only what stands after the last of = and : in the word
    local before=${{word%"${{word##*[=:]}}"}}
    before=${{before#--*=}}
    for value in "${{offers[@]%%$'\\t'*}}"; do
        [[ -n $value ]] && printf -v value '%q' "${{value#"$before"}}" && COMPREPLY+=("$value")
    done
}}
complete -o default -F _eosctl eosctl
"""

ZSH: Final = """\
#compdef eosctl
# zsh completion for eosctl; {generated}
_eosctl() {{
    local -a offers described
    local offer value
    offers=("${{(@f)$(_EOSCTL_COMPLETE="${{(j: :)words[1,CURRENT]}}" $words[1] 2>/dev/null </dev/null)}}")
    for offer in $offers; do
        value=${{offer%%$'\\t'*}}
        value=${{${{value//\\\\/\\\\\\\\}}//:/\\\\:}}
        if [[ $offer == *$'\\t'* ]]; then value+=:${{offer#*$'\\t'}}; fi
        described+=("$value")
    done
    if (( $#described )); then _describe eosctl described; else _files; fi
}}
if [ "$funcstack[1]" = "_eosctl" ]; then _eosctl; else compdef _eosctl eosctl; fi
"""

FISH: Final = """\
# fish completion for eosctl; {generated}
function __eosctl_complete
    set -l offers (_EOSCTL_COMPLETE=(commandline -cp | string collect) eosctl 2>/dev/null </dev/null)
    if test (count $offers) -gt 0
        printf '%s\\n' $offers
    else
        __fish_complete_path (commandline -ct)
    end
end
complete --command eosctl --no-files --arguments "(__eosctl_complete)"
"""


def generated(readme: str) -> dict[Path, str]:
    """Every generated file by its path in the checkout, with the text that it should have."""
    commands = list(walk(root_command(), PROGRAM))
    shells = {"eosctl.bash": BASH, "_eosctl": ZSH, "eosctl.fish": FISH}
    files = {Path("completions", name): text.format(generated=GENERATED) for name, text in shells.items()}
    files |= {Path("man", f"{_page(command.path)}.1"): man_page(command) for command in commands}
    files |= {Path("docs", "rules.md"): rules_page(THEMES)}
    return files | {Path("README.md"): with_reference(readme, "\n".join(_section(each) for each in commands[1:]))}


def with_reference(readme: str, reference: str) -> str:
    """The README with what stands between its markers replaced; ValueError where they are missing or in disorder."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"README.md has no {BEGIN} … {END}: put the two lines where the command reference belongs")
    return f"{before}{BEGIN}\n<!-- {GENERATED} -->\n\n{reference}\n{END}{after}"


def man_page(command: CommandHelp) -> str:
    """One page of section 1 in man(7) macros."""
    title = _page(command.path)
    lines = [f'.\\" {GENERATED}', f'.TH {title.upper()} 1 "" "eosctl {__version__}" "eosctl"']
    lines += [".SH NAME", _roff(f"{title} - {_uncapitalised(command.summary).rstrip('.')}")]
    lines += [".SH SYNOPSIS", f".B {_roff(command.usage)}", ".SH DESCRIPTION"]
    for paragraph in command.paragraphs:
        lines += [".PP", _roff(paragraph)]
    for name, block in command.blocks.items():
        lines += [f".SH {_roff(name.upper())}", ".nf", *(_roff(line) for line in block.splitlines()), ".fi"]
    for name, shared in (("OPTIONS", False), ("SHARED OPTIONS", True)):
        lines += _man_options(name, [each for each in command.parameters if each.shared is shared])
    lines += [f".SH SEE ALSO\n{_see_also(command)}"]
    return "\n".join(lines) + "\n"


def _man_options(name: str, parameters: Sequence[Parameter]) -> Iterator[str]:
    if parameters:
        yield f".SH {name}"
    for parameter in parameters:
        yield from (".TP", f".B {_roff(_shown(parameter))}", _roff(parameter.help or "-"))
        if parameter.environment:
            yield f"Environment: {_roff(parameter.environment)}."


def _see_also(command: CommandHelp) -> str:
    parent = command.path.rpartition(" ")[0]
    pages = [parent] if parent else []
    pages += [f"{command.path} {name}" for name in command.commands]
    return ", ".join(f"{_roff(_page(page))}(1)" for page in pages)


def _section(command: CommandHelp) -> str:
    """A command in the README: what it is for, how it is called, and its own options."""
    parts = [f"#### `{command.path}`", "", " ".join((command.summary, *command.paragraphs)), ""]
    if "Examples" in command.blocks:
        lines = [line.strip() for line in command.blocks["Examples"].splitlines()]
        parts += ["```sh", *lines, "```", ""]
    own = [each for each in command.parameters if not each.shared and each.name != "help"]
    if own:
        parts += ["| option | meaning |", "|---|---|"]
        parts += [f"| `{_pipes(_shown(each))}` | {_pipes(each.help)} |" for each in own] + [""]
    shared = [f"`{each.names[0]}`" for each in command.parameters if each.shared]
    if shared:
        parts += [f"Shared: {' '.join(shared)}", ""]
    return "\n".join(parts)


def _shown(parameter: Parameter) -> str:
    names = ", ".join(sorted(parameter.names, key=len))
    return " ".join(filter(None, (names, parameter.value)))


def _page(path: str) -> str:
    return path.replace(" ", "-")


def _uncapitalised(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


def _pipes(text: str) -> str:
    return text.replace("|", "\\|")


def _roff(text: str) -> str:
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


def main(args: Sequence[str], root: Path) -> int:
    """Write or check the files under `root`; 1 where a check finds a difference."""
    files = generated((root / "README.md").read_text("utf-8"))
    stale = [page.relative_to(root) for page in (root / "man").glob("*.1") if page.relative_to(root) not in files]
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
    sys.exit(main(sys.argv[1:], Path(__file__).resolve().parents[1]))

"""The offers of a TAB: commands, options and choices from the tree; names from their sources."""

from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from eosctl.model.text import UNSEEN
from eosctl.render.console import ColourChoice, Stream, Terminal
from eosctl.render.formats import Output
from eosctl.shell.options import ConsoleHolder, GlobalOptions, global_options, with_profile
from eosctl.shell.shared_options import CONNECTION_OPTIONS

if TYPE_CHECKING:
    import typer


PLAN_FILES: Final = {("eosctl apply", "plan"): ".plan", ("eosctl undo", "file"): ".plan.undo"}
"""The arguments that are plan files, and how the names of these end."""
CONNECTORS: Final = frozenset({"connector", "connectors"})
EXPLAINED: Final = ("eosctl explain", "words")
TRANSACTIONAL_IDS: Final = frozenset({"transactional_id", "transactional_ids"})


def complete(root: Any, line: str) -> list[str]:  # noqa: ANN401  # Typer's command classes are its own
    """The possible continuations of `line`, one on each line: the word, and after a tab its meaning.

    Empty: file names, or nothing.
    """
    from typer._click.shell_completion import _resolve_context, _resolve_incomplete, split_arg_string

    words = [_expanded(word) for word in split_arg_string(line)[1:]]
    incomplete = "" if line[-1:].isspace() or not words else words.pop()
    context = _resolve_context(root, {}, str(root.name), list(words))
    parameter, incomplete = _resolve_incomplete(context, words, incomplete)
    read = _names_of(parameter, words, cast("typer.Context", context), incomplete)
    if read is None:
        items = [
            (item.value, item.help) for item in parameter.shell_complete(context, incomplete) if item.type == "plain"
        ]
    else:
        items = [(name, None) for name in read() if name.startswith(incomplete) and _is_seen(name)]
    return [f"{value}\t{' '.join(text.split())}" if text else value for value, text in items]


def _is_seen(name: str) -> bool:
    """True if each character of the name is visible: a name that looks like another is not offered."""
    return name.isprintable() and UNSEEN.search(name) is None


def _expanded(word: str) -> str:
    """The word as the shell would hand it over: `~/` is the user's directory."""
    return str(Path(word).expanduser()) if word.startswith("~/") else word


def _names_of(
    parameter: Any,  # noqa: ANN401  # Typer's parameter classes are its own
    words: list[str],
    context: "typer.Context",
    incomplete: str,
) -> Callable[[], tuple[str, ...]] | None:
    """How to read the names for the parameter; None if its names are not read."""
    kind = _kind_of(parameter, words, context)
    if kind is None:
        return None
    from eosctl.operations import completion

    topic = context.params.get("config_topic") or "connect-configs"
    return {
        "plans": lambda: completion.plan_names(incomplete, PLAN_FILES[context.command_path, parameter.name]),
        "findings": completion.finding_words,
        "profiles": completion.profile_names,
        "transactional IDs": lambda: completion.transactional_ids(_options(context)),
        "connectors": lambda: completion.connector_names(_options(context), topic),
        "topics": lambda: completion.topic_names(_options(context)),
    }[kind]


def _kind_of(
    parameter: Any,  # noqa: ANN401  # Typer's parameter classes are its own
    words: list[str],
    context: "typer.Context",
) -> str | None:
    """The kind of names that the parameter takes, if it is read; None otherwise."""
    path = context.command_path
    # The command `eosctl connector` has a name that parameters have.
    name = parameter.name if hasattr(parameter, "param_type_name") else None
    kinds = {
        "plans": (path, name) in PLAN_FILES,
        "findings": (path, name) == EXPLAINED,
        "profiles": words[-1:] == ["--profile"] or (name == "name" and path.startswith("eosctl profile ")),
        "transactional IDs": name in TRANSACTIONAL_IDS,
        "connectors": name in CONNECTORS,
        "topics": "TOPIC" in (getattr(parameter, "metavar", None) or ""),
    }
    return next((kind for kind, is_it in kinds.items() if is_it), None)


def _options(context: "typer.Context") -> GlobalOptions:
    """The shared options as far as they are typed, with a silent console."""
    from eosctl.operations.completion import budget_s

    values = {each.name: context.params.get(each.name) for each in CONNECTION_OPTIONS} | {"timeout": budget_s()}
    output = {"output": Output.PLAIN, "output_file": None, "color": ColourChoice.NEVER, "no_color": True}
    silent = Terminal(Stream(StringIO()), Stream(StringIO()), Stream(StringIO()))
    quiet = {**output, "csv_text": False, "quiet": True, "verbose": 0}
    return global_options(ConsoleHolder(silent), {**with_profile(context, values), **quiet, "timeout": budget_s()})


# Completion scripts for bash, zsh and fish. They only pass the line to eosctl and show its offers.  Names come from a
# cluster, so none is ever evaluated: bash and zsh quote them, fish does so itself.


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

SCRIPTS: Final = {"bash": BASH, "zsh": ZSH, "fish": FISH}
"""By shell; `{generated}` stands for the notice at their head."""

FILES: Final = {"eosctl.bash": BASH, "_eosctl": ZSH, "eosctl.fish": FISH}
"""By the name of the file where the shell looks for it."""

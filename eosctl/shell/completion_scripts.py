"""Completion scripts for bash, zsh and fish. All they do is pass the line to eosctl and show what it offers.

Names come from a cluster, so none is ever evaluated: bash and zsh quote them, fish does so itself.
"""

from typing import Final

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

# bash completion for eosctl; made by `make reference`: do not edit
_eosctl() {
    local IFS=$'\n'
    COMPREPLY=($(COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD _EOSCTL_COMPLETE=complete_bash "$1"))
}
complete -o default -F _eosctl eosctl

# bash completion for eosctl; made by `make reference`: do not edit
_eosctl() {
    local line=${COMP_LINE:0:COMP_POINT} words word value offers
    words=${line%"${line##*[[:space:]]}"}
    word=${line#"$words"}
    COMPREPLY=()
    mapfile -t offers < <(_EOSCTL_COMPLETE=$line "$1" 2>/dev/null </dev/null)
    # bash replaces only what stands after the last of = and : in the word
    local before=${word%"${word##*[=:]}"}
    before=${before#--*=}
    for value in "${offers[@]%%$'\t'*}"; do
        [[ -n $value ]] && printf -v value '%q' "${value#"$before"}" && COMPREPLY+=("$value")
    done
}
complete -o default -F _eosctl eosctl

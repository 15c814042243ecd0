# fish completion for eosctl; made by `make reference`: do not edit
function __eosctl_complete
    set -l offers (_EOSCTL_COMPLETE=(commandline -cp | string collect) eosctl 2>/dev/null </dev/null)
    if test (count $offers) -gt 0
        printf '%s\n' $offers
    else
        __fish_complete_path (commandline -ct)
    end
end
complete --command eosctl --no-files --arguments "(__eosctl_complete)"

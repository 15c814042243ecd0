# fish completion for eosctl; made by `make reference`: do not edit
function __eosctl_complete
    set -lx _EOSCTL_COMPLETE complete_fish
    set -lx _TYPER_COMPLETE_FISH_ACTION $argv[1]
    set -lx _TYPER_COMPLETE_ARGS (commandline -cp)
    eosctl
end
complete --command eosctl --no-files --condition "__eosctl_complete is-args" --arguments "(__eosctl_complete get-args)"

"""`eosctl completion`: the completion script of a shell."""

from enum import StrEnum
from typing import Annotated

import typer

from eosctl.shell.completion import SCRIPTS
from eosctl.shell.options import GlobalOptions, printing

app = typer.Typer()


class Shell(StrEnum):
    """A shell that eosctl completes in."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


@app.command()
@printing
def completion(
    options: GlobalOptions,
    shell: Annotated[Shell, typer.Argument(metavar="bash|zsh|fish", help="The shell.")],
) -> None:
    """Print the completion script of a shell.

    Use it to complete commands, options, and the names of profiles, connectors and topics with TAB. Source the script
    in the startup file of the shell.

    Examples:
      source <(eosctl completion bash)     # in ~/.bashrc
      source <(eosctl completion zsh)      # in ~/.zshrc, after compinit
      eosctl completion fish | source      # in ~/.config/fish/config.fish
    """

    options.console.result(SCRIPTS[shell].format(generated=f"made by `eosctl completion {shell}`"))

"""`eosctl plans`: plan files."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from eosctl.operations.plan_files import kept_plans, own_plans
from eosctl.render.answers.plan import PLANS, view_plans
from eosctl.shell.options import GlobalOptions, answer, printing, showing

app = typer.Typer()


@app.callback()
def plans() -> None:
    """List plan files, and what became of each.

    Use it to find a plan that was cut short, or the way back from one. A plan that no file was given for is kept among
    your state files (~/.local/state/eosctl/plans).
    """


@app.command("list")
@showing(PLANS)
@printing
def list_plans(
    options: GlobalOptions,
    directory: Annotated[
        Path | None,
        typer.Argument(metavar="DIRECTORY", help="Where they are. [default: those that eosctl keeps]"),
    ] = None,
) -> int:
    """List plan files, the newest first, with state and next command.

    Use it before `eosctl apply` and `eosctl undo`: both take a file by the name that is shown here. The state is what
    the journals beside the plans say; no cluster is asked. Whether an undo is still possible says `undo --dry-run`.

    Examples:
      eosctl plans list
      eosctl plans list . -o json
    """
    kept = kept_plans(directory or own_plans())
    return answer(options, kept, partial(view_plans, bare=directory is None))

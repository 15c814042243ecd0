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
    """List plan files and their state.

    Use it to find an interrupted plan, or its undo file. Plans without --plan-file are saved among your state files
     (~/.local/state/eosctl/plans).
    """


@app.command("list")
@showing(PLANS)
@printing
def list_plans(
    options: GlobalOptions,
    directory: Annotated[
        Path | None,
        typer.Argument(metavar="DIRECTORY", help="The directory of the plans. [default: eosctl's saved plans]"),
    ] = None,
) -> int:
    """List plan files, the newest first, with state and next command.

    Use it before `eosctl apply` and `eosctl undo`: both take a file name from this list. The state comes from the
    journals beside the plans; no cluster is read. `undo --dry-run` checks whether an undo is still possible.

    Examples:
      eosctl plans list
      eosctl plans list . -o json
    """
    kept = kept_plans(directory or own_plans())
    return answer(options, kept, partial(view_plans, bare=directory is None))

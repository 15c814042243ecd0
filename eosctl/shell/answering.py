"""The end of every command: show the answer, then end with its exit code."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from eosctl.errors import ConfigError, OutputLost
from eosctl.model.report import Answer, exit_code

if TYPE_CHECKING:
    from eosctl.render.document import Document
    from eosctl.shell.options import GlobalOptions

A = TypeVar("A", bound=Answer)


def answer(options: "GlobalOptions", result: A, view: "Callable[[A], Document | str]") -> int:
    """Shows the result, with what was not read for it, and returns its exit code; raises the error it ended with."""
    from eosctl.render.document import Document, lacking

    result = result.under(options.triage)
    shown = view(result)
    if isinstance(shown, Document):
        shown = shown.with_unread(result.coverage, complete=result.complete)
    try:
        options.console.result(shown)
        options.console.report(result)
    except (OutputLost, ConfigError) as lost:
        if result.failure is None:
            raise
        options.console.warn(lost.message)
    if options.console.output.is_rows or not isinstance(shown, Document):
        # Their stdout has room for rows only.
        for line in lacking(result.coverage, complete=result.complete):
            options.console.warn(line)
    if result.failure is not None:
        raise result.failure
    return exit_code(result)


def previewing(options: "GlobalOptions", view: "Callable[[A], Document]") -> Callable[[A], None]:
    """What shows on the terminal what the question that follows is about."""
    return lambda proposal: options.console.preview(view(proposal))

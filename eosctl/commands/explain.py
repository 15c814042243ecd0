"""`eosctl explain`: what a rule or an error means, and what to do next."""

import sys
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from eosctl.errors import EXIT_FOUND, UsageError
from eosctl.shell.options import GlobalOptions, printing

if TYPE_CHECKING:
    from eosctl.model.explanations import Explanation

app = typer.Typer()

Words: TypeAlias = Annotated[
    list[str] | None, typer.Argument(metavar="[ID|ERROR]...", help="A rule's ID, or words of an error; - is stdin.")
]
ListAll: TypeAlias = Annotated[bool, typer.Option("--list", help="List the rules, and the errors that are recognised.")]
GroupId: TypeAlias = Annotated[
    str | None, typer.Option("--group-id", metavar="ID", help="The Connect cluster, to name in commands.")
]


@app.command()
@printing
def explain(
    options: GlobalOptions,
    words: Words = None,
    list_: ListAll = False,
    group_id: GroupId = None,
) -> int:
    """Explain an error of a worker or a client, or a rule of doctor.

    Use it with an exception from a worker's log, a task's trace or a client: paste the line, or pipe the whole stack
    trace in. It says what the error means for exactly-once in Connect, and the next command, with the connector, task
    and transactional ID that the text names. Everything that the text shows is told, the more special first. The ID of
    a rule (EOS001) explains that rule.

    Examples:
      eosctl explain "org.apache.kafka.common.errors.InvalidPidMappingException"
      eosctl explain --group-id connect-cluster - < trace.txt
      eosctl explain EOS001
      eosctl explain --list

    Columns:
      ERROR   what happened
      ID      its stable name
      CAUSE   what it means for Connect
      NEXT    what to do next
      SOURCE  where it comes from
      TITLE   (--list) what the rule looks for
    """
    from eosctl.analysis.explanations import ERROR_PATTERNS, explain_error
    from eosctl.analysis.rules.registry import RULES
    from eosctl.render.views.explanations import view_explanations, view_known

    if list_:
        options.console.result(view_known([(rule.id, rule.title) for rule in RULES], ERROR_PATTERNS))
        return 0
    text = _text(words or [])
    explanations = (*_rule(text), *explain_error(text, group_id))
    options.console.result(view_explanations(explanations))
    return 0 if explanations else EXIT_FOUND


def _text(words: list[str]) -> str:
    text = sys.stdin.read() if words == ["-"] else " ".join(words)
    if not text.strip():
        raise UsageError("nothing to explain was given", hint="paste an error, or pipe it in: eosctl explain - < FILE")
    return text


def _rule(text: str) -> "tuple[Explanation, ...]":
    """The rule of this ID, where the text is one."""
    from eosctl.analysis.rules.registry import rule_by_id
    from eosctl.model.explanations import Explanation

    rule = rule_by_id(text.strip())
    if rule is None:
        return ()
    return (Explanation(rule.id, rule.title, rule.cause, (rule.cure,), rule.source),)

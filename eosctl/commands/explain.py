"""`eosctl explain`: what a finding or an error means, and what to do next."""

import sys
from typing import Annotated, TypeAlias

import typer

from eosctl.errors import UsageError
from eosctl.operations.explain import explain_text, list_explanations
from eosctl.operations.profiles import chosen_profile
from eosctl.render.answers.explanations import ERROR, ERRORS, FINDING, FINDINGS, view_explanations, view_known
from eosctl.shell.options import GlobalOptions, answer, printing, showing

app = typer.Typer()

Words: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(metavar="ID|ERROR", help="A finding's ID or name, or words of an error; - is stdin."),
]
ListAll: TypeAlias = Annotated[bool, typer.Option("--list", help="List all findings and recognised errors.")]
GroupId: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--group-id",
        envvar="EOSCTL_GROUP_ID",
        metavar="ID",
        show_envvar=False,
        help="The Connect cluster, to name in commands.",
    ),
]

ProfileName: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--profile",
        envvar="EOSCTL_PROFILE",
        metavar="NAME",
        show_envvar=False,
        help="A named cluster, to name in commands; its group ID is used. [default: the one that `profile use` chose]",
    ),
]


@app.command()
@showing(ERROR, FINDING, list=(FINDINGS, ERRORS))
@printing
def explain(
    options: GlobalOptions,
    words: Words = None,
    list_: ListAll = False,
    group_id: GroupId = None,
    profile: ProfileName = None,
) -> int:
    """Explain an error message or a finding.

    Use it with an exception from a worker's log, a task's trace or a client: paste the line, or pipe the whole stack
    trace in. It says what the error means for exactly-once in Connect, and the next command, with the connector, task
    and transactional ID that the text names. Every error in the text is explained, the most specific first. The ID of a
    finding (EOS080), or its name (shadowed-offset), explains that finding.

    Examples:
      eosctl explain "org.apache.kafka.common.errors.InvalidPidMappingException"
      eosctl explain --group-id connect-cluster - < trace.txt
      eosctl explain EOS001
      eosctl explain shadowed-offset
      eosctl explain --list
    """

    if list_:
        return answer(options, list_explanations(), view_known)
    chosen = chosen_profile(profile).profile
    group = group_id or (None if chosen is None else chosen.group_id)
    return answer(options, explain_text(_text(words or []), group, profile), view_explanations)


def _text(words: list[str]) -> str:
    text = sys.stdin.read() if words == ["-"] else " ".join(words)
    if not text.strip():
        raise UsageError(
            "no error or finding to explain was given", hint="paste an error, or pipe it in: eosctl explain - < FILE"
        )
    return text

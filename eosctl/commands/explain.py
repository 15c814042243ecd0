"""`eosctl explain`: the meaning of a finding or an error, and the next step."""

import os
import shlex
import sys
from typing import Annotated, TypeAlias

import typer

from eosctl.errors import UsageError
from eosctl.operations.connector_description import command_line
from eosctl.operations.explain import explain_connector, explain_text, list_explanations
from eosctl.operations.session import Session
from eosctl.render.answers.explanations import ERROR, ERRORS, FINDING, FINDINGS, view_explanations, view_known
from eosctl.shell.options import GlobalOptions, answer, reading, showing

app = typer.Typer()

Words: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(metavar="ID|ERROR", help="A finding's ID or name, or words of an error; - is stdin."),
]
ListAll: TypeAlias = Annotated[bool, typer.Option("--list", help="List all findings and recognised errors.")]
Connector: TypeAlias = Annotated[
    str | None,
    typer.Option("--connector", metavar="NAME", help="Explain why this connector, or a task of it, is FAILED."),
]


@app.command()
@showing(ERROR, FINDING, list=(FINDINGS, ERRORS))
@reading
def explain(
    options: GlobalOptions,
    words: Words = None,
    list_: ListAll = False,
    connector: Connector = None,
) -> int:
    """Explain an error message or a finding.

    Use it with an exception from a worker's log, a task's trace or a client: paste the line, or pipe the whole stack
    trace in. It says what the error means for exactly-once in Connect, and the next command, with the connector, task
    and transactional ID that the text names. Every error in the text is explained, the most specific first. The ID of a
    finding (EOS080), or its name (shadowed-offset), explains that finding.

    With --connector it reads the traces itself, and ends with the two or three commands to run. The answer of a worker
    to GET /connectors/NAME/status can be piped in, too.

    Examples:
      eosctl explain --connector orders --connect-url http://worker:8083
      curl -s http://worker:8083/connectors/orders/status | eosctl explain -
      eosctl explain "org.apache.kafka.common.errors.InvalidPidMappingException"
      eosctl explain --group-id connect-cluster - < trace.txt
      eosctl explain EOS001
      eosctl explain shadowed-offset
      eosctl explain --list
    """

    if list_:
        return answer(options, list_explanations(), view_known)
    with Session(options) as session:
        if connector is not None:
            if words:
                raise UsageError("--connector reads the trace itself: omit the words")
            return answer(options, explain_connector(session, connector), view_explanations)
        named = {"--profile", "EOSCTL_PROFILE"}
        profile = options.profile.name if options.profile and options.sources.get("profile") in named else None
        found = explain_text(_text(words or []), options.group_id, command_line(session), profile)
        return answer(options, found, view_explanations)


def _text(words: list[str]) -> str:
    text = sys.stdin.read() if words == ["-"] else " ".join(words)
    if len(words) == 1 and os.path.isfile(text):  # noqa: PTH113  # a pasted trace is longer than a path may be
        raise UsageError(f"{text} is a file, and no error", hint=f"pipe it in: eosctl explain - < {shlex.quote(text)}")
    if not text.strip():
        raise UsageError(
            "no error or finding to explain was given", hint="paste an error, or pipe it in: eosctl explain - < FILE"
        )
    return text

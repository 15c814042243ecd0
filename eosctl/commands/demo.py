"""`eosctl demo`: the story of a lost position and of a zombie."""

from typing import Annotated, Any

import typer

from eosctl.render.answers.files import STEPS, view_act, view_demo
from eosctl.shell.options import GlobalOptions, answer, printing, showing

app = typer.Typer()


@app.command()
@showing(STEPS)
@printing
def demo(
    options: GlobalOptions,
    kafka_version: Annotated[str, typer.Option(metavar="VERSION", help="Kafka and Connect of this version.")] = "4.3.1",
) -> int:
    """See a connector duplicate its data, and a zombie fenced.

    Use it to see, on a real Kafka and a real Connect worker started for it on this machine, what eosctl is for. First a
    connector with exactly-once enabled copies 1,000 lines, each exactly once. Then it gets an offsets topic of its own,
    one line of configuration, and copies them all again without a warning. A second connector is moved the same way
    with eosctl, and resumes where it was. Then the config topic is inspected, and a producer that holds an open
    transaction in the name of the connector's task is fenced and tries to commit.

    Examples:
      eosctl demo
      eosctl demo --kafka-version 3.9.2
    """
    from eosctl.operations.demo import demonstrate

    def show(act: Any) -> str:  # noqa: ANN401  # what view_act takes
        document = view_act(act)
        options.console.preview(document)
        return document.prose[0]

    return answer(options, demonstrate(options.console, kafka_version, show), view_demo)

"""`eosctl connector list`: the connectors of a Connect cluster."""

import typer

from eosctl.commands.options import ConfigTopicName
from eosctl.operations.session import Session
from eosctl.render.answers.connector_description import CONNECTORS, view_connectors
from eosctl.shell.options import GlobalOptions, answer, reading, showing

app = typer.Typer()


@app.command("list")
@showing(CONNECTORS)
@reading
def list_(options: GlobalOptions, config_topic: ConfigTopicName = None) -> int:
    """List all connectors, with the states of their tasks.

    Use it to find the connector that is in trouble: those that do not run come first. Connectors and states come from
    the workers, and from the config topic where no worker answers; their states are unknown then.

    Examples:
      eosctl connector list -b broker:9092
      eosctl connector list --connect-url http://worker:8083 -o json
      eosctl connector list --snapshot monday.snapshot
    """
    from eosctl.operations.connector_description import list_connectors
    from eosctl.operations.evidence import EvidenceRequest

    with Session(options) as session:
        return answer(options, list_connectors(session, EvidenceRequest({"config": config_topic})), view_connectors)

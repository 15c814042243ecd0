"""`eosctl inspect-config`: the config topic as a worker reads it."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer
from msgspec.structs import replace

from eosctl.commands.options import ConfigTopic, ConnectorNames
from eosctl.model.records import IsolationLevel
from eosctl.operations.session import Session
from eosctl.render.answers.inspection import CONNECTORS, HISTORY, view_history, view_inspection
from eosctl.shell.options import GlobalOptions, answer, judging, showing

app = typer.Typer()

Positional: TypeAlias = Annotated[list[str] | None, typer.Argument(metavar="CONNECTOR", hidden=True)]
Isolation: TypeAlias = Annotated[
    IsolationLevel,
    typer.Option(
        metavar="|".join(IsolationLevel),
        help="Read as a worker with exactly-once enabled (read_committed), or without (read_uncommitted).",
    ),
]
ReaderVersion: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="VERSION",
        help="Read as a worker of this version; otherwise as the oldest at --connect-url, then as 4.3.",
    ),
]
RecordsFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Read records from this file instead of a cluster; the format is described above."
    ),
]
History: TypeAlias = Annotated[bool, typer.Option(help="Show every record and its effect, instead of the result.")]


@app.command()
@showing(CONNECTORS, history=(HISTORY,))
@judging
def inspect_config(
    options: GlobalOptions,
    connectors: Positional = None,
    connector: ConnectorNames = None,
    config_topic: ConfigTopic = "connect-configs",
    isolation_level: Isolation = IsolationLevel.READ_COMMITTED,
    worker_version: ReaderVersion = None,
    records: RecordsFile = None,
    history: History = False,
) -> int:
    """Read the config topic exactly like a worker.

    Use it before you restart or reconfigure a connector, when tasks fail to perform zombie fencing, when a connector
    has no tasks, or when you want to know who wrote to the topic. For each connector it shows the actions of its next
    start, the producers to fence, and the rule behind each. Nothing is written. Secrets are masked.

    With --records FILE no broker is needed: JSON lines {"offset": 41, "timestamp": 1790000000000, "key": "commit-x",
    "value": {"tasks": 3}}, or what kafka-console-consumer prints with print.key=true.

    Examples:
      eosctl inspect-config -b broker:9092 --group-id connect-cluster --config-topic connect-configs
      eosctl inspect-config --connector orders -b broker:9092 --connect-url http://worker:8083
      eosctl inspect-config --records dump.jsonl -o json
      eosctl inspect-config --snapshot monday.snapshot --history
    """
    from eosctl.operations.config_topic import ConfigTopicRequest, config_topic_history, inspect_config_topic

    names = (*(connector or ()), *(connectors or ()))
    request = ConfigTopicRequest(names, config_topic, isolation_level, worker_version)
    with Session(replace(options, records=records)) as session:
        if history:
            return answer(options, config_topic_history(session, request), view_history)
        return answer(options, inspect_config_topic(session, request), view_inspection)

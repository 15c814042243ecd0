"""`eosctl inspect-config`: the config topic as a worker reads it."""

import typer

from eosctl.commands.connect_options import ConfigTopic
from eosctl.commands.inspection_options import History, Isolation, NamedConnectors, ReaderVersion, RecordsFile
from eosctl.model.records import IsolationLevel
from eosctl.shell.options import GlobalOptions, reading

app = typer.Typer()


@app.command()
@reading
def inspect_config(
    options: GlobalOptions,
    connectors: NamedConnectors = None,
    config_topic: ConfigTopic = "connect-configs",
    isolation_level: Isolation = IsolationLevel.READ_COMMITTED,
    worker_version: ReaderVersion = None,
    records: RecordsFile = None,
    history: History = False,
) -> int:
    """Read the config topic exactly as a worker does.

    Use it before you restart or reconfigure a connector, when tasks fail to perform zombie fencing, when a
    connector has no tasks, or when you want to know who wrote to the topic. For each connector it says what its next
    start will do, producers it will fence included, and by which rule. Nothing is written. Secrets are masked.

    With --records FILE no broker is needed: JSON lines {"offset": 41, "timestamp": 1790000000000, "key": "commit-x",
    "value": {"tasks": 3}}, or what kafka-console-consumer prints with print.key=true.

    Examples:
      eosctl inspect-config -b broker:9092 --group-id connect-cluster --config-topic connect-configs
      eosctl inspect-config orders -b broker:9092 --connect-url http://worker:8083
      eosctl inspect-config --records dump.jsonl -o json
      eosctl inspect-config --snapshot monday.snapshot --history

    Columns:
      CONNECTOR   the connector's name
      TYPE        source or sink; - if neither Connect REST nor a task count record tells
      TARGET      STARTED, PAUSED or STOPPED; - if the connector does not exist (only leftovers of it remain)
      TASKS       tasks in the last task commit
      RECORD      the last task count record: how many producers a round of zombie fencing would fence
      PENDING     whether the last task commit is later than the last task count record
      CONSISTENT  no if task configs of the last commit are missing: Connect then runs no task
      FENCES      producers that the next start fences
      NEXT-START  what the next start does, and why
      OFFSET      (--history) offset of the record
      TIME        (--history) its timestamp, UTC
      WRITER      (--history) producer ID/epoch, or plain if the producer was not idempotent
      TXN         (--history) what became of its transaction; - outside transactions
      WHAT        (--history) what the record says and what it did
    """
    from eosctl.operations.config_topic import ConfigTopicRequest, inspect_history, inspect_now
    from eosctl.operations.session import Session

    request = ConfigTopicRequest(tuple(connectors or ()), config_topic, isolation_level, worker_version, records)
    with Session(options) as session:
        answer = inspect_history(session, request) if history else inspect_now(session, request)
        options.console.result(answer.document)
        return answer.exit_code

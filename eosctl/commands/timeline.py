"""`eosctl timeline`: what happened, in order."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from eosctl.commands.options import ConfigTopic, ConnectorNames, OffsetsTopicName, StatusTopicName
from eosctl.operations.session import Session
from eosctl.render.answers.timeline import EVENTS, view_timeline
from eosctl.shell.options import GlobalOptions, answer, reading, showing

app = typer.Typer()

Since: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="2h|TIME", help="From 2 hours ago, or from this time (RFC 3339). [default: all that is left]"),
]
Until: TypeAlias = Annotated[
    str | None, typer.Option(metavar="2h|TIME", help="Up to 2 hours ago, or up to this time. [default: now]")
]
LogDirectories: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(
        "--log-dir",
        metavar="DIR",
        help="Read a broker's log directory, or a copy of it, instead of a cluster. May be repeated.",
    ),
]


@app.command()
@showing(EVENTS)
@reading
def timeline(
    options: GlobalOptions,
    connector: ConnectorNames = None,
    since: Since = None,
    until: Until = None,
    config_topic: ConfigTopic = "connect-configs",
    status_topic: StatusTopicName = None,
    worker_offsets_topic: OffsetsTopicName = None,
    log_dir: LogDirectories = None,
) -> int:
    """Show what happened to connectors, in order of time.

    Use it after an incident: it merges the events of the config topic, the status topic and the transaction log. Equal
    events that follow each other are one row. Between partitions the order is by the records' times, whose clocks may
    disagree; within a partition it is by offsets. What compaction removed, and what could not be read, is said.

    Examples:
      eosctl timeline --connector orders --since 2h -b broker:9092 --group-id connect-cluster
      eosctl timeline --since 2026-01-31T22:00:00Z --until 2026-01-31T22:15:00Z -b broker:9092
      eosctl timeline --log-dir /var/lib/kafka/data --group-id connect-cluster -o json
    """
    from eosctl.operations.timeline import TimelineRequest, read_timeline, time_of

    with Session(options) as session:
        now = session.now()
        request = TimelineRequest(
            connectors=tuple(connector or ()),
            since=None if since is None else time_of(since, now, "--since"),
            until=None if until is None else time_of(until, now, "--until"),
            config_topic=config_topic,
            status_topic=status_topic,
            worker_offsets_topic=worker_offsets_topic,
            log_directories=tuple(log_dir or ()),
        )
        return answer(options, read_timeline(session, request), view_timeline)

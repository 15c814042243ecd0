"""`eosctl timeline`: what happened, in order."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from eosctl.commands.options import ConfigTopic, ConnectorNames, OffsetsTopicName, StatusTopicName
from eosctl.operations.session import Session
from eosctl.render.answers.timeline import EVENTS, view_timeline
from eosctl.render.timeline_page import render_timeline_page
from eosctl.shell.options import GlobalOptions, answer, reading, showing

app = typer.Typer()

Since: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="2h|TIME", help="From 2 hours ago, or from this time (RFC 3339). [default: all records]"),
]
Until: TypeAlias = Annotated[
    str | None, typer.Option(metavar="2h|TIME", help="Up to 2 hours ago, or up to this time. [default: now]")
]
ReportFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write a page with a lane for each worker, task and producer; needs [report]."),
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
    report: ReportFile = None,
) -> int:
    """Show what happened to connectors, in order of time.

    Use it after an incident: it merges the events of the config topic, the status topic, the group's generations, the
    transaction log, the offsets topics and, with --since, the output topics. Equal events that follow each other are
    one row. Within a partition the order is by offsets, between partitions by the records' times, whose clocks may
    disagree: the answer says where. It also names the parts that compaction removed or that could not be read. A
    snapshot has the events of the last week.

    Examples:
      eosctl timeline --connector orders --since 2h -b broker:9092 --group-id connect-cluster
      eosctl timeline --since 2026-01-31T22:00:00Z --until 2026-01-31T22:15:00Z -b broker:9092
      eosctl timeline --snapshot monday.snapshot --report monday.html
      eosctl timeline --log-dir /var/lib/kafka/data --group-id connect-cluster -o json
    """
    from eosctl.operations.timeline import TimelineRequest, read_and_report, time_of

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
            report=report,
        )
        return answer(options, read_and_report(session, request, render_timeline_page), view_timeline)

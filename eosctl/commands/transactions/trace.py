"""`eosctl transactions trace`: the fate of one record."""

from datetime import datetime
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from eosctl.commands.options import ConfigTopic
from eosctl.operations.session import Session
from eosctl.render.answers.tracing import ABORTED, EXTENTS, OFFSETS, OPENED, view_trace
from eosctl.shell.options import GlobalOptions, answer, connecting, showing

app = typer.Typer()

TracedPlace: TypeAlias = Annotated[
    str, typer.Argument(metavar="TOPIC-PARTITION@OFFSET", help="The record; without @OFFSET give one of the options.")
]
TracedKey: TypeAlias = Annotated[
    str | None, typer.Option(metavar="TEXT", help="The last record with this key, or the first from --timestamp on.")
]
TracedTime: TypeAlias = Annotated[
    datetime | None,
    typer.Option(
        metavar="TIME",
        formats=["%Y-%m-%dT%H:%M:%S.%f%z", "%Y-%m-%dT%H:%M:%S%z"],
        help="The first record whose timestamp is that or later, as 2026-01-31T12:00:00Z.",
    ),
]
TraceLimit: TypeAlias = Annotated[
    int,
    typer.Option(
        "--within", metavar="OFFSETS", min=1, help="Maximum distance to read in each direction of a partition."
    ),
]
TracedDirectories: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="DIR", help="Read a broker's log directory, or a copy of it, instead of a cluster. May be repeated."
    ),
]


@app.command()
@showing(EXTENTS, OFFSETS, ABORTED, OPENED)
@connecting
def trace(
    options: GlobalOptions,
    record: TracedPlace,
    key: TracedKey = None,
    timestamp: TracedTime = None,
    within: TraceLimit = 100_000,
    log_dir: TracedDirectories = None,
    config_topic: ConfigTopic = "connect-configs",
) -> int:
    """Trace a record to its transaction and all its partitions.

    Use it if a record is missing, appears twice or came late. It shows whether the record is committed, aborted or
    open, and who wrote it (transactional ID, producer ID and epoch, connector and task). It also shows the first and
    last offset of the transaction in each partition, and the source offsets or group offsets that were committed with
    it. The partitions come from the transaction log if it still has the transaction, otherwise from the partitions that
    know its producer. FOUND says how the offsets are known. If there is no record it shows why: deleted, compacted
    away, not written yet, or a marker, whose transaction it shows. The exit code is then 1, also for a marker. Needs
    Read on the topics, on __transaction_state, and Describe on the TransactionalId. With --log-dir it also lists the
    aborted and the open transactions of the partition, from the broker's index files and producer snapshots.

    Examples:
      eosctl transactions trace orders-0@1042 -b broker:9092 --group-id connect-cluster
      eosctl transactions trace orders --key customer-17 --timestamp 2026-01-31T12:00:00Z -b broker:9092 -o json
      eosctl transactions trace orders-0@1042 --log-dir /var/lib/kafka/data
    """
    from eosctl.operations import tracing

    time_ms = None if timestamp is None else int(timestamp.timestamp() * 1000)
    with Session(options) as session:
        request = tracing.TraceRequest.of(record, key, time_ms, within, tuple(log_dir or ()), config_topic)
        return answer(options, tracing.trace(session, request), view_trace)

"""`eosctl transactions lso`: how far read_committed consumers come."""

from typing import Annotated, TypeAlias

import typer

from eosctl.commands.options import ConfigTopic, NamedPartitions, Partitions
from eosctl.operations.session import Session
from eosctl.render.answers.hanging import BEHIND, OF_A_GROUP, PARTITIONS, view_stability
from eosctl.shell.options import GlobalOptions, answer, reading, showing

app = typer.Typer()

Group: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="ID", help="Only partitions with committed offsets of this consumer group."),
]

Watch: TypeAlias = Annotated[
    float | None, typer.Option(metavar="SECONDS", min=0.05, help="Refresh after this many seconds, until Ctrl-C.")
]
Looks: TypeAlias = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="With --watch: end after this many refreshes.")
]
Within: TypeAlias = Annotated[
    int,
    typer.Option(
        metavar="OFFSETS", min=0, help="With --group: count records where it is at most this many offsets behind."
    ),
]


@app.command()
@showing(PARTITIONS, BEHIND, group=(OF_A_GROUP,))
@reading
def lso(
    options: GlobalOptions,
    topics: NamedPartitions = None,
    topic: Partitions = None,
    watch: Watch = None,
    looks: Looks = None,
    config_topic: ConfigTopic = "connect-configs",
    group: Group = None,
    within: Within = 1_000_000,
) -> int:
    """Show the last stable offsets, and what holds them back.

    Use it when read_committed consumers lag although records arrive: they end at the last stable offset, where the
    first open transaction begins. Without a topic, all blocked partitions of the cluster are shown. --watch refreshes
    on the terminal, and the last refresh is the answer. --group says where one consumer group (or share group) may
    wait, also for a transaction that commits its offsets. For a consumer group it counts the records that
    read_committed members will still get. It also counts the aborted records and markers between them, which make a lag
    that never becomes 0. Without --group these are summed for each group: at most 16 MiB are read, and 100,000 offsets
    of a partition.

    Examples:
      eosctl transactions lso -b broker:9092
      eosctl transactions lso -b broker:9092 --topic orders --topic connect-offsets:3 --group-id connect-cluster
      eosctl transactions lso -b broker:9092 --topic orders --watch 2
      eosctl transactions lso -b broker:9092 --group billing
    """
    from eosctl.operations.hanging import StabilityRequest, watch_last_stable_offsets

    console = options.console
    request = StabilityRequest((*(topic or ()), *(topics or ())), config_topic, watch, looks, group, within)
    with Session(options) as session:
        found = watch_last_stable_offsets(
            session.reader, request, lambda look: console.redraw(view_stability(look)), console
        )
        return answer(options, found, view_stability)

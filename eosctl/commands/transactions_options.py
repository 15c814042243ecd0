"""The options of the commands under `eosctl transactions`."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from eosctl.model.transactions import TransactionState

# list, describe
States: TypeAlias = Annotated[
    list[TransactionState] | None,
    typer.Option(metavar="STATE", help="Ongoing, Empty, … May be repeated.", show_default=False),
]
ProducerIds: TypeAlias = Annotated[
    list[int] | None, typer.Option(metavar="ID", help="Held by this producer. May be repeated.", show_default=False)
]
IdExpression: TypeAlias = Annotated[
    str | None, typer.Option(metavar="REGEX", help="IDs that this regular expression matches as a whole.")
]
LongerThan: TypeAlias = Annotated[
    float | None, typer.Option(metavar="SECONDS", min=0, help="Under way for longer than this.")
]
OwnerName: TypeAlias = Annotated[
    str | None, typer.Option(metavar="NAME", help="Of this connector, group ID or task (orders-0), or shape.")
]
DescribedIds: TypeAlias = Annotated[list[str], typer.Argument(metavar="ID...", help="The transactional IDs.")]

# producers, lso, hanging
NamedPartitions: TypeAlias = Annotated[
    list[str], typer.Argument(metavar="TOPIC[:PARTITION,…]...", help="Partitions, by topic.")
]
OnlyPartitions: TypeAlias = Annotated[
    list[str] | None, typer.Argument(metavar="[TOPIC[:PARTITION,…]]...", help="Only these; all if none is named.")
]
Watch: TypeAlias = Annotated[
    float | None, typer.Option(metavar="SECONDS", min=0.05, help="Look again every so many seconds, until Ctrl-C.")
]
Looks: TypeAlias = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="With --watch: look so often, then end.")
]
SearchedPartitions: TypeAlias = Annotated[
    list[str] | None, typer.Option(metavar="TOPIC[:PARTITION,…]", help="Only there. May be repeated.")
]
SearchedBroker: TypeAlias = Annotated[
    int | None, typer.Option(metavar="ID", help="Only partitions with a replica there.")
]
LeaveYounger: TypeAlias = Annotated[
    float, typer.Option(metavar="MINUTES", min=0, help="Leave younger transactions alone.")
]
OffsetStorageTopic: TypeAlias = Annotated[str, typer.Option(metavar="TOPIC", help="The worker's offset.storage.topic.")]

# abort
AbortTopic: TypeAlias = Annotated[str, typer.Option(metavar="TOPIC", help="The topic.")]
AbortPartition: TypeAlias = Annotated[int, typer.Option(metavar="N", min=0, help="The partition.")]
StartOffset: TypeAlias = Annotated[
    int | None, typer.Option(metavar="OFFSET", min=0, help="Only the one that begins there.")
]
OfProducer: TypeAlias = Annotated[int | None, typer.Option(metavar="ID", min=0, help="Only that of this producer.")]
RefuseYounger: TypeAlias = Annotated[float, typer.Option(metavar="MINUTES", min=0, help="Refuse younger ones.")]
ForceAbort: TypeAlias = Annotated[
    bool, typer.Option("--force", help="Abort although it does not hang; its transaction may break in two.")
]
AbortPlanFile: TypeAlias = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the plan there for `eosctl apply`, and do nothing.")
]

# log
LoggedIds: TypeAlias = Annotated[
    list[str] | None, typer.Argument(metavar="[ID]...", help="Only these; all if none is named.")
]
LogHistory: TypeAlias = Annotated[bool, typer.Option("--history", help="Show every record and what happened by it.")]
SegmentFiles: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(metavar="FILE", help="Read this segment file, no broker. May be repeated.", show_default=False),
]
LogPartitions: TypeAlias = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="How many partitions __transaction_state has.")
]
ExpirationMs: TypeAlias = Annotated[
    int | None, typer.Option(metavar="MS", min=1, help="The brokers' transactional.id.expiration.ms.")
]

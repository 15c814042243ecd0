"""The options of migrate-offsets."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from eosctl.model.migration import MergeRule

MovedConnectors: TypeAlias = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="The connector. May be repeated.", show_default=False)
]
ToTopic: TypeAlias = Annotated[
    str | None, typer.Option("--to-topic", metavar="TOPIC", help="Give it this offsets topic of its own.")
]
ToWorkerTopic: TypeAlias = Annotated[
    bool, typer.Option("--to-worker-topic", help="Put it back to the workers' offsets topic.")
]
RenameTo: TypeAlias = Annotated[
    str | None, typer.Option("--rename-to", metavar="NAME", help="The connector's new name.")
]
RenameMap: TypeAlias = Annotated[
    Path | None,
    typer.Option("--rename-map", metavar="FILE", help='Old names to new ones, as JSON: {"old": "new"}.'),
]
ToGroupId: TypeAlias = Annotated[
    str | None, typer.Option("--to-group-id", metavar="ID", help="Move to the Connect cluster with this group.id.")
]
SetConfig: TypeAlias = Annotated[
    bool, typer.Option("--set-config", help="Change the connector's config afterwards, or create it (REST).")
]
Merge: TypeAlias = Annotated[
    MergeRule,
    typer.Option(metavar="|".join(MergeRule), help="What to do if the target holds other offsets of it already."),
]
Partitions: TypeAlias = Annotated[
    int, typer.Option(metavar="N", min=1, help="Partitions of a topic that has to be created.")
]
ReplicationFactor: TypeAlias = Annotated[
    int, typer.Option(metavar="N", min=-1, help="Its replication factor; -1 is the broker's default.")
]
SourceTopic: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="TOPIC",
        help="Where its offsets are now; else offsets.storage.topic of its config, else the workers'.",
    ),
]

"""The options of acl-plan."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from eosctl.model.acls import PatternType
from eosctl.model.offset_stores import SourceSupport
from eosctl.render.acl_documents import AclFormat

WorkerFiles: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE",
        help="Properties of a worker, or of MirrorMaker 2. May be repeated, for workers of several clusters too.",
        show_default=False,
    ),
]
ConnectorFiles: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[GROUP=]FILE",
        help="Config of a connector, JSON or properties, that need not exist yet. May be repeated.",
        show_default=False,
    ),
]
OnlyConnectors: TypeAlias = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="Only this connector. May be repeated.", show_default=False)
]
Phase: TypeAlias = Annotated[
    SourceSupport | None,
    typer.Option(
        metavar="|".join(SourceSupport),
        help="Plan for this exactly.once.source.support. [default: each worker's own]",
        show_default=False,
    ),
]
RolePrincipals: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ROLE=User:NAME",
        help="Who a role is, where no config tells: worker, producer, consumer, admin, sink-consumer, "
        "dead-letter-queue, sink-admin, eosctl, … or CONNECTOR/ROLE=User:NAME. May be repeated.",
        show_default=False,
    ),
]
IdPattern: TypeAlias = Annotated[
    PatternType,
    typer.Option(metavar="|".join(PatternType), help="How tasks' transactional IDs are named: each one, or by prefix."),
]
Headroom: TypeAlias = Annotated[
    int, typer.Option(metavar="N", min=0, help="Literal IDs for so many tasks more than are known of.")
]
ConnectorTopics: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="CONNECTOR=TOPIC",
        help="A topic that the connector writes or reads, where its config does not tell; PREFIX* for those that "
        "begin so. May be repeated.",
        show_default=False,
    ),
]
Check: TypeAlias = Annotated[bool, typer.Option("--check", help="End with 1 where a required binding is missing.")]
Prune: TypeAlias = Annotated[
    bool, typer.Option("--prune", help="Show, and plan to remove, bindings of these kinds that nothing needs.")
]
Explain: TypeAlias = Annotated[
    bool, typer.Option("--explain", help="Say why each is needed, in which phases, and how its absence looks.")
]
Emit: TypeAlias = Annotated[
    AclFormat | None,
    typer.Option(metavar="|".join(AclFormat), help="Write the bindings for another tool.", show_default=False),
]
ClusterAddresses: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT,…",
        help="How configs name the cluster that -b leads to. [default: the workers' bootstrap.servers]",
        show_default=False,
    ),
]
BrokerVersion: TypeAlias = Annotated[
    str | None, typer.Option(metavar="VERSION", help="The brokers' version, where no cluster is read.")
]
MappingRules: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="RULES", help="The brokers' ssl.principal.mapping.rules. [default: as the brokers say]"),
]
StrimziCluster: TypeAlias = Annotated[
    str, typer.Option(metavar="NAME", help="The strimzi.io/cluster label of --emit strimzi.")
]
MskCluster: TypeAlias = Annotated[str, typer.Option(metavar="ARN", help="The cluster's ARN for --emit msk.")]
OffsetStorageTopic: TypeAlias = Annotated[
    str, typer.Option(metavar="TOPIC", help="The workers' offset.storage.topic, without --worker-config.")
]
StatusStorageTopic: TypeAlias = Annotated[
    str, typer.Option(metavar="TOPIC", help="The workers' status.storage.topic, without --worker-config.")
]

"""`eosctl fence`: fence producers, and prove it."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from eosctl.commands.options import ConfigTopic
from eosctl.model.fencing import FencingRequest
from eosctl.operations.session import Session
from eosctl.render.answers.fencing import PLAN_TABLE, RESULT_TABLE, view_fencing_answer, view_fencing_plan
from eosctl.shell.options import GlobalOptions, answer, previewing, showing, writing

app = typer.Typer()

ConnectorNames: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="The producers of this connector's tasks. May be repeated.", show_default=False),
]
AllConnectors: TypeAlias = Annotated[
    bool, typer.Option("--all-connectors", help="The producers of every source connector in the config topic.")
]
TransactionalIds: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(metavar="ID", help="The producer of this transactional ID. May be repeated.", show_default=False),
]
IdsFile: TypeAlias = Annotated[
    Path | None, typer.Option(metavar="FILE", help="The IDs in this file, one per line; - is standard input.")
]
Prefixes: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(metavar="TEXT", help="Every existing ID with this prefix. May be repeated.", show_default=False),
]
CreateMissing: TypeAlias = Annotated[
    bool, typer.Option("--create-missing", help="Fence IDs that do not exist, too; that creates them for 7 days.")
]
Force: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--force",
        help="Fence even if tasks (may) use the IDs, which fails the tasks, or if a partition has no leader.",
    ),
]
TransactionTimeout: TypeAlias = Annotated[
    int | None,
    typer.Option(
        metavar="MS",
        min=1,
        max=2**31 - 1,
        help="Transaction timeout that each ID keeps; at most the broker's transaction.max.timeout.ms. [default: "
        "60000]",
        show_default=False,
    ),
]


@app.command()
@showing(PLAN_TABLE, RESULT_TABLE)
@writing
def fence(
    options: GlobalOptions,
    connector: ConnectorNames = None,
    all_connectors: AllConnectors = False,
    transactional_id: TransactionalIds = None,
    ids_file: IdsFile = None,
    prefix: Prefixes = None,
    create_missing: CreateMissing = False,
    force: Force = False,
    transaction_timeout_ms: TransactionTimeout = None,
    config_topic: ConfigTopic = "connect-configs",
) -> int:
    """Fence the producers of transactional IDs, and verify it.

    Use it when a worker that you cannot reach may still be writing (a zombie) and its tasks run nowhere else, or when
    an open transaction keeps read_committed consumers waiting. Each ID's producer epoch is raised: its open transaction
    is aborted, and requests of its former producer are rejected from then on. A producer that starts afterwards is not
    affected. It does not replace Connect's own round of fencing: if that round fails, remove its cause and restart
    the FAILED tasks. It does not affect producers without a transactional ID.

    First the plan is shown: state, open transaction and owner of each ID. IDs that do not exist are refused. So are IDs
    of RUNNING or PAUSED tasks of any Connect group on the cluster (--connect-url shows which tasks are FAILED), and of
    tasks of a group that cannot be described. Afterwards eosctl verifies for each ID that no transaction is open, that
    its epoch was raised, and that its coordinator rejects the old producer.

    Examples:
      eosctl fence -b broker:9092 --group-id connect-cluster --connector orders --dry-run
      eosctl fence -b broker:9092 --group-id connect-cluster --connector orders --connect-url http://worker:8083
      eosctl fence -b broker:9092 --group-id connect-cluster --transactional-id connect-cluster-orders-0 --yes
      eosctl fence -b broker:9092 --ids-file ids.txt --yes -o json
    """
    from eosctl.operations import fencing

    request = FencingRequest(
        transactional_ids=tuple(transactional_id or ()),
        connectors=tuple(connector or ()),
        all_connectors=all_connectors,
        prefixes=tuple(prefix or ()),
        create_missing=create_missing,
        force=force,
        transaction_timeout_ms=transaction_timeout_ms,
    )
    with Session(options) as session:
        fenced = fencing.fence(session, request, ids_file, config_topic, previewing(options, view_fencing_plan))
        return answer(options, fenced, view_fencing_answer)

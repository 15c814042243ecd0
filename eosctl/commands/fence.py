"""`eosctl fence`: put producers out, and prove it."""

import typer

from eosctl.commands.connect_options import ConfigTopic
from eosctl.commands.fencing_options import (
    AllConnectors,
    CreateMissing,
    FencedConnectors,
    Force,
    IdsFile,
    Prefixes,
    TransactionalIds,
    TransactionTimeout,
)
from eosctl.errors import EXIT_FINE
from eosctl.shell.options import GlobalOptions, writing

app = typer.Typer()


@app.command()
@writing
def fence(
    options: GlobalOptions,
    connector: FencedConnectors = None,
    all_connectors: AllConnectors = False,
    transactional_id: TransactionalIds = None,
    ids_file: IdsFile = None,
    prefix: Prefixes = None,
    create_missing: CreateMissing = False,
    force: Force = False,
    transaction_timeout_ms: TransactionTimeout = None,
    config_topic: ConfigTopic = "connect-configs",
) -> int:
    """Fence the producers of transactional IDs, and prove that they are.

    Use it when a worker that you cannot reach may still be writing (a zombie), when an open transaction keeps
    read_committed readers waiting, before you move a connector, or when Connect's own round of fencing fails or takes
    too long. Each ID's producer epoch is raised: its open transaction is aborted, and whoever wrote under it before is
    refused from then on. A producer that starts afterwards is not affected.

    First the plan is shown: state, open transaction and owner of each ID. IDs that do not exist are refused, and so are
    connectors whose tasks run (--connect-url tells). Afterwards it is proved for each ID that no transaction is left
    open, that its producer moved on, and that its coordinator refuses the old producer.

    Examples:
      eosctl fence -b broker:9092 --group-id connect-cluster --connector orders --dry-run
      eosctl fence -b broker:9092 --group-id connect-cluster --connector orders --connect-url http://worker:8083
      eosctl fence -b broker:9092 --transactional-id connect-cluster-orders-0 --yes
      eosctl fence -b broker:9092 --ids-file ids.txt --yes -o json

    Columns:
      TRANSACTIONAL-ID  the ID whose producer is fenced
      STATE             its state at the coordinator now; - if no coordinator knows it
      PRODUCER-ID       the producer that holds it now
      EPOCH             the producer's epoch, which fencing raises
      PARTITIONS        partitions in its open transaction
      OWNER             who uses it, as far as the group ID and the config topic tell
      EFFECT            what fencing it does
      OUTCOME           fenced, skipped or failed
      BEFORE            producer ID/epoch before
      AFTER             producer ID/epoch now
      ATTEMPTS          how often InitProducerId was answered
      ELAPSED_MS        from queueing the first request to the last answer
      PROOF             what was seen afterwards
      ERROR             why it failed or was skipped
    """
    from eosctl.model.fencing import FencingRequest
    from eosctl.operations.fencing import agree, carry_out, read_and_plan
    from eosctl.operations.session import Session
    from eosctl.operations.transactional_ids_file import read_ids

    request = FencingRequest(
        transactional_ids=(*(transactional_id or ()), *(read_ids(ids_file) if ids_file is not None else ())),
        connectors=tuple(connector or ()),
        all_connectors=all_connectors,
        prefixes=tuple(prefix or ()),
        create_missing=create_missing,
        force=force,
        transaction_timeout_ms=transaction_timeout_ms,
    )
    with Session(options) as session:
        planned = read_and_plan(session, request, config_topic)
        if options.dry_run:
            options.console.result(planned.document)
            planned.require()
            return EXIT_FINE
        return carry_out(session, agree(session, request, config_topic, planned))

"""`eosctl probe`: what a cluster that calls itself Kafka does with transactions."""

from typing import Annotated, TypeAlias

import typer

from eosctl.operations.session import Session
from eosctl.render.answers.probe import ANSWERS, APIS, LEFT, STEPS, view_probe_answer, view_probe_plan
from eosctl.shell.options import GlobalOptions, answer, previewing, showing, writing

app = typer.Typer()

Prefix: TypeAlias = Annotated[
    str, typer.Option(metavar="TEXT", help="Prefix of the scratch topic and transactional ID.")
]
ReplicationFactor: TypeAlias = Annotated[
    int,
    typer.Option(
        metavar="N", min=-1, max=32_767, help="Replication factor of the scratch topic; -1: the brokers' default."
    ),
]


@app.command()
@showing(STEPS, ANSWERS, APIS, LEFT)
@writing
def probe(
    options: GlobalOptions,
    prefix: Prefix = "eosctl-probe-",
    replication_factor: ReplicationFactor = -1,
) -> int:
    """Test how a cluster handles transactions.

    Use it before you rely on exactly-once on a Kafka-compatible service, and after its provider has changed it. It
    creates a scratch topic, writes some records there in transactions, commits, aborts and fences, and checks the
    brokers' answers. Then it deletes the topic, also after a failure and after Ctrl-C; remaining resources are listed.

    A check without an answer is unknown, with the reason, and never no. The exit code is 1 if the cluster differs
    from Kafka where it matters, and 3 if a check that could be answered is unknown. It needs Create, Delete,
    Read and Write on topics, and Write on TransactionalIds, that begin with the prefix; to try `transactions abort`
    Alter on the cluster (brokers before 3.8: ClusterAction).

    Examples:
      eosctl probe -b broker:9092 --dry-run
      eosctl probe -b broker:9092 --command-config client.properties --replication-factor 3
      eosctl probe -b broker:9092 --yes -o json
    """
    from eosctl.operations import probe as operation

    request = operation.ProbeRequest(prefix, replication_factor)
    with Session(options) as session:
        probed = operation.probe(session, request, previewing(options, view_probe_plan))
        return answer(options, probed, view_probe_answer)

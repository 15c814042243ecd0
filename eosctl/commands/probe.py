"""`eosctl probe`: what a cluster that calls itself Kafka does with transactions."""

from typing import Annotated, TypeAlias

import typer

from eosctl.operations.session import Session
from eosctl.render.answers.probe import ANSWERS, APIS, LEFT, STEPS, view_probe_answer, view_probe_plan
from eosctl.shell.options import GlobalOptions, answer, previewing, showing, writing

app = typer.Typer()

Prefix: TypeAlias = Annotated[
    str, typer.Option(metavar="TEXT", help="How the names of the scratch topic and transactional ID begin.")
]
ReplicationFactor: TypeAlias = Annotated[
    int, typer.Option(metavar="N", help="Of the scratch topic; -1: the brokers' default.")
]


@app.command()
@showing(STEPS, ANSWERS, APIS, LEFT)
@writing
def probe(
    options: GlobalOptions,
    prefix: Prefix = "eosctl-probe-",
    replication_factor: ReplicationFactor = -1,
) -> int:
    """Try what a cluster does with transactions.

    Use it before you rely on exactly-once on a service that speaks Kafka's protocol, and after its provider has changed
    it. It creates a topic of its own, writes some records there in transactions, commits, aborts and fences, and looks
    at what the brokers answer. Then it deletes the topic, after a failure and after Ctrl-C too; resources that remain
    are named.

    A question that got no answer is unknown, with the reason, and never no. The exit code is 1 where the cluster does
    otherwise than Kafka in what matters, and 3 where something is unknown that could be known. It needs Create, Delete,
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

"""`eosctl transactions`: the whole cluster's transactions, with Connect's owners."""

import re

import typer

from eosctl.commands.abort import abort
from eosctl.commands.connect_options import ConfigTopic
from eosctl.commands.log import log
from eosctl.commands.transactions_options import (
    DescribedIds,
    IdExpression,
    LeaveYounger,
    LongerThan,
    Looks,
    NamedPartitions,
    OffsetStorageTopic,
    OnlyPartitions,
    OwnerName,
    ProducerIds,
    SearchedBroker,
    SearchedPartitions,
    States,
    Watch,
)
from eosctl.errors import UsageError
from eosctl.shell.options import GlobalOptions, reading

app = typer.Typer()


@app.callback()
def transactions() -> None:
    """See all transactions of the cluster with their owners, and end those that hang.

    Kafka's own tool looks at one broker or one topic at a time and knows no owners (KIP-664).
    """


@app.command("list")
@reading
def list_(
    options: GlobalOptions,
    state: States = None,
    producer_id: ProducerIds = None,
    pattern: IdExpression = None,
    longer_than: LongerThan = None,
    owner: OwnerName = None,
    config_topic: ConfigTopic = "connect-configs",
) -> None:
    """List every transactional ID, with its transaction and its owner.

    Use it to see which producers write in transactions, which transaction is under way for how long, and whose it is.
    Owners are told by --group-id and the connectors in its config topic and at --connect-url; where an ID can be read
    in several ways, all are told. For other IDs their shape is told, which proves nothing.

    Examples:
      eosctl transactions list -b broker:9092 --group-id connect-cluster
      eosctl transactions list -b broker:9092 --state Ongoing --longer-than 60
      eosctl transactions list -b broker:9092 --group-id connect-cluster --owner orders -o json
      eosctl transactions list --snapshot monday.snapshot

    Columns:
      TRANSACTIONAL-ID  the ID
      STATE             the coordinator's state of it
      PRODUCER-ID       the producer that holds it
      EPOCH             the producer's epoch
      RUNNING_S         how long its open transaction is under way
      TIMEOUT_S         its transaction timeout, after which the coordinator aborts
      PARTITIONS        partitions in its open transaction
      COORDINATOR       the broker that coordinates it
      OWNER             who uses it, or the shape of its name
    """
    from eosctl.analysis.transactions import Selection
    from eosctl.operations.session import Session
    from eosctl.operations.transactions import list_transactions, require_all_listed

    selection = Selection(
        states=tuple(state or ()),
        producer_ids=tuple(producer_id or ()),
        pattern=None if pattern is None else _compiled(pattern),
        longer_than_ms=None if longer_than is None else int(1000 * longer_than),
        owner=owner,
    )
    with Session(options) as session:
        document = list_transactions(session, selection, config_topic)
        options.console.result(document)
        require_all_listed(document)


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise UsageError(f"--pattern {pattern!r} is no regular expression: {error}") from error


@app.command()
@reading
def describe(
    options: GlobalOptions,
    transactional_ids: DescribedIds,
    config_topic: ConfigTopic = "connect-configs",
) -> int:
    """Describe transactional IDs: state, producer, partitions of the open transaction, owner.

    Use it when you know the ID, from an error or a listing. An ID that no coordinator knows was never used, or was idle
    for transactional.id.expiration.ms and is forgotten; the exit code is 1 then.

    Examples:
      eosctl transactions describe -b broker:9092 connect-cluster-orders-0
      eosctl transactions describe -b broker:9092 --group-id connect-cluster connect-cluster-orders-0 -o json

    Columns:
      TRANSACTIONAL-ID  the ID
      STATE             the coordinator's state of it
      PRODUCER-ID       the producer that holds it
      EPOCH             the producer's epoch
      RUNNING_S         how long its open transaction is under way
      TIMEOUT_S         its transaction timeout
      STARTED           when its open transaction began, UTC
      OPEN-IN           partitions of the open transaction; in Prepare* those that lack their marker
      COORDINATOR       the broker that coordinates it
      OWNER             who uses it, or the shape of its name
      ERROR             why there is no description
    """
    from eosctl.operations.session import Session
    from eosctl.operations.transactions import describe_transactions

    with Session(options) as session:
        return describe_transactions(session, transactional_ids, config_topic)


@app.command()
@reading
def producers(
    options: GlobalOptions,
    topics: NamedPartitions,
    config_topic: ConfigTopic = "connect-configs",
) -> None:
    """Show the producers that partitions remember, and the transactions open there.

    Use it to see who wrote to a partition of late, under which producer ID and epoch, and what is open. A leader
    forgets an idle producer after producer.id.expiration.ms (1 day). Needs Read on the topics.

    Examples:
      eosctl transactions producers -b broker:9092 orders
      eosctl transactions producers -b broker:9092 orders:0,3 connect-offsets --group-id connect-cluster

    Columns:
      TOPIC             the topic
      PARTITION         the partition
      PRODUCER-ID       a producer that the leader remembers
      EPOCH             its epoch
      SEQUENCE          the sequence number of its last record
      LAST-TIME         the timestamp of its last batch, UTC
      MARKER-EPOCH      the coordinator epoch of its last marker; - where there was none
      OPEN-FROM         where its open transaction begins; - where none is open
      TRANSACTIONAL-ID  the ID that holds the producer ID now; - where none does
      OWNER             who uses it, or the shape of its name
    """
    from eosctl.operations.last_stable import require_all
    from eosctl.operations.session import Session
    from eosctl.operations.transactions import partition_producers

    with Session(options) as session:
        document = partition_producers(session, topics, config_topic)
        options.console.result(document)
        require_all(document)


@app.command()
@reading
def hanging(
    options: GlobalOptions,
    topic: SearchedPartitions = None,
    broker: SearchedBroker = None,
    max_transaction_timeout: LeaveYounger = 15.0,
    config_topic: ConfigTopic = "connect-configs",
    offsets_topic: OffsetStorageTopic = "connect-offsets",
) -> int:
    """Find hanging transactions: open in a partition, and no coordinator will end them.

    Use it when readers of committed records stand still, when connectors do not start although their workers run, or
    from cron: the exit code is 1 where something hangs. All topics of the cluster are searched, internal ones too, by
    the rule of KIP-664: a transaction hangs where it is older than any transaction may be, and its coordinator does not
    know the producer or has no such partition in its transaction. Each is told with what it holds back, who may wait,
    and whether to abort it, to fence its producer, or to wait.

    It needs Read and Describe on topics and Describe on every TransactionalId, and looks whether it has the latter:
    brokers leave out the IDs that it may not see, and then everything would look as if it hung.

    Examples:
      eosctl transactions hanging -b broker:9092 --group-id connect-cluster
      eosctl transactions hanging -b broker:9092 --topic connect-offsets --max-transaction-timeout 5 -o json
      eosctl transactions hanging --snapshot monday.snapshot

    Columns:
      TOPIC             the topic
      PARTITION         the partition
      PRODUCER-ID       the producer that wrote it
      EPOCH             its epoch
      START-OFFSET      where the transaction begins
      OPEN_S            since its last batch
      HELD-BACK         offsets that readers of committed records do not see
      TRANSACTIONAL-ID  the ID that holds the producer ID; - where none does
      OWNER             who uses it, or the shape of its name
      REASON            why it hangs
      ADVICE            abort, fence or wait
    """
    from eosctl.operations.hanging import HangingRequest, answer, find_hanging
    from eosctl.operations.session import Session

    request = HangingRequest(
        tuple(topic or ()), broker, int(60_000 * max_transaction_timeout), config_topic, offsets_topic
    )
    with Session(options) as session:
        document = find_hanging(session, request)
        options.console.result(document)
        return answer(document)


@app.command()
@reading
def lso(
    options: GlobalOptions,
    topics: OnlyPartitions = None,
    watch: Watch = None,
    looks: Looks = None,
    config_topic: ConfigTopic = "connect-configs",
) -> None:
    """Show how far readers of committed records come, and who keeps them from the rest.

    Use it when such readers lag although records arrive: they end at the last stable offset, where the first open
    transaction begins. Without a topic, all partitions of the cluster that are held back are shown. --watch draws on
    the terminal, and the last look is the answer.

    Examples:
      eosctl transactions lso -b broker:9092
      eosctl transactions lso -b broker:9092 orders connect-offsets:3 --group-id connect-cluster
      eosctl transactions lso -b broker:9092 orders --watch 2

    Columns:
      TOPIC           the topic
      PARTITION       the partition
      LOG-START       its first offset
      LAST-STABLE     the last stable offset: where readers of committed records end
      HIGH-WATERMARK  where its records end
      HELD-BACK       offsets between the two
      HELD_S          since the first of them was written
      STATE           the coordinator's state of the transaction that holds it back
      BY              its transactional ID and owner, or its producer ID/epoch
    """
    from eosctl.operations.last_stable import last_stable_offsets, require_all
    from eosctl.operations.session import Session

    with Session(options) as session:
        document = last_stable_offsets(session, topics or (), config_topic, watch, looks)
        options.console.result(document)
        require_all(document)


app.command()(abort)
app.command()(log)

"""Which Kafka cluster workers keep their topics in, which one a connector produces to, and what a connector was."""

from collections.abc import Collection, Iterable, Mapping

from eosctl.clients.access import ClusterAccess
from eosctl.clients.rest import RestClient
from eosctl.clients.wire import Wire
from eosctl.codecs.config_topic import decode_config_records
from eosctl.errors import EosctlError, NotAuthorized, Refused, UsageError
from eosctl.model.config_topic import ConnectorConfigRecord
from eosctl.model.connectors import Properties
from eosctl.model.names import TopicPartition
from eosctl.model.records import RecordState
from eosctl.model.skipped import Skipped, not_asked
from eosctl.sources.kafka_log import read_log
from eosctl.sources.other_clusters import trusting


def read_worker_cluster(access: ClusterAccess) -> str | Skipped:
    """The ID of the Kafka cluster that the workers keep their topics in, as a worker says it (`GET /`)."""

    def ask(rest: RestClient) -> str | Skipped:
        body = rest.get("/")
        cluster_id = body.get("kafka_cluster_id") if isinstance(body, dict) else None
        return cluster_id if isinstance(cluster_id, str) else Skipped(f"{rest.url} does not report its Kafka cluster")

    return access.ask_worker(ask) if access.connect_urls else not_asked("no worker's address was given")


def read_producer_cluster(clusters: Iterable[ClusterAccess], servers: Collection[str], connector: str) -> str | Skipped:
    """The ID of the cluster that the config of `connector` sends its producer to.

    It is asked with the identity of the first of the clusters that trusts these brokers.
    """
    named_by = f"the config of connector {connector}"
    known = [(trusting(each.wire).at(servers, named_by), each.timeout_s) for each in clusters]
    properties, timeout_s = next((each for each in known if each[0].named_by is None), known[0])
    try:
        with Wire(properties, timeout_s=timeout_s) as wire:
            return wire.cluster_id
    except EosctlError as error:
        return Skipped.of(error)


def read_former_configs(access: ClusterAccess, names: Collection[str]) -> Mapping[str, Properties] | Skipped:
    """The last config of each of these connectors that the config topic still holds, though they may be deleted.

    None of them where no config topic is given; Skipped where it may not be read.
    """
    if not names or access.config_topic is None:
        return {}
    found: dict[str, Properties] = {}
    try:
        for record in decode_config_records(read_log(access.wire, TopicPartition(access.config_topic, 0))):
            if (
                isinstance(record, ConnectorConfigRecord)
                and record.connector in names
                and record.properties is not None
                and record.origin.state is RecordState.COMMITTED
            ):
                found[record.connector] = record.properties
    except (UsageError, NotAuthorized, Refused) as error:
        return Skipped.of(error)
    return found

"""Is this the Kafka cluster where a connector's offsets are? A producer that is sent elsewhere takes them along.

1. A task that writes offsets with its own producer (exactly-once enabled, or an offsets topic of its own) keeps them in
   the cluster that the producer is sent to: producer.override.bootstrap.servers. Its transactional IDs are there, too.
2. Otherwise they are in the cluster where the workers keep their topics, wherever its records go.
3. So a move has to read there, and has to write where the connector will look afterwards. Offsets may be left behind in
   the workers' cluster by a connector that has only now been sent elsewhere: then the target is the producer's cluster.
4. A cluster that did not answer is unknown, which is reported and does not stop the move; a different one does.
5. Workers that answer over REST are in their group: one without members is another, and its IDs would fence no
   producer.
"""

from collections.abc import Iterator

from eosctl.analysis.catalogue.connect import OTHER_KAFKA
from eosctl.analysis.catalogue.internal_topics import PRODUCES_ELSEWHERE
from eosctl.model.migration import MigrationFacts, MigrationRequest, Move
from eosctl.model.names import Side
from eosctl.model.preconditions import ConnectorFacts
from eosctl.model.report import Finding, Severity
from eosctl.model.skipped import Skipped
from eosctl.model.workers import KnownPhase

SETTING = "producer.override.bootstrap.servers"


def find_clusters(request: MigrationRequest, facts: MigrationFacts) -> Iterator[Finding]:
    """Wrong or unknown facts about the clusters that each move reads and writes."""
    for move in request.moves:
        producer = facts.clusters.producers.get(move.connector)
        if isinstance(producer, Skipped):
            yield _unknown(move, producer)
        elif producer is None:
            yield from _among_the_workers(move, facts)
        else:
            yield from _sent_to(move, producer, request, facts)


def _among_the_workers(move: Move, facts: MigrationFacts) -> Iterator[Finding]:
    workers, source = facts.clusters.workers, facts.cluster_ids[Side.SOURCE]
    now = facts.connectors.get((Side.SOURCE, move.connector))
    gone = isinstance(now, ConnectorFacts) and now.state is None
    if not isinstance(workers, Skipped) and workers != source:
        yield OTHER_KAFKA.finding(
            move.connector,
            f"the workers of connector {move.connector} keep their topics in Kafka cluster {workers}; this is {source}",
            {"workers": workers, "source": source},
            cure=(
                "give the brokers of the workers' cluster with -b; for a deleted connector that produced to "
                "another cluster, also give --offsets-topic"
            ),
            # The producer's cluster of a deleted connector is unknown: the user names it with -b and the topic.
            severity=Severity.WARNING if gone and move.named else Severity.ERROR,
        )


def _sent_to(move: Move, producer: str, request: MigrationRequest, facts: MigrationFacts) -> Iterator[Finding]:
    source, target = facts.cluster_ids[Side.SOURCE], facts.cluster_ids[Side.TARGET]
    workers, support = facts.clusters.workers, facts.clusters.exactly_once
    if request.elsewhere:
        if producer != target:
            yield _finding(
                move,
                facts,
                Severity.WARNING,
                f"its config sends its producer to Kafka cluster {producer}, and its offsets go to {target}",
                f"change {SETTING} in its new config before it is resumed",
            )
        if request.other_cluster:
            return
    if request.stays and producer == target:
        return
    own = move.former_setting is not None
    if isinstance(support, Skipped) and not own and producer != workers:
        yield _finding(
            move,
            facts,
            Severity.ERROR,
            "whether its offsets are there depends on the workers' exactly.once.source.support, which is not known "
            f"({support.reason})",
            "--connect-url lets eosctl ask the workers",
        )
        return
    home = producer if own or support is KnownPhase.ENABLED else workers
    if not isinstance(home, Skipped) and home != source:
        yield _finding(
            move,
            facts,
            Severity.ERROR,
            f"its offsets are in cluster {home}, not in {source}"
            + (", and so are its transactional IDs" if support is KnownPhase.ENABLED else ""),
            f"give the brokers of that cluster with -b{_servers(move, facts) if home == producer else ''}, and the "
            "workers with --connect-url",
        )
    elif home != producer and move.setting is not None:
        yield _finding(
            move,
            facts,
            Severity.ERROR,
            f"with a connector-specific offsets topic it will keep its offsets there, not in {target}",
            f"name that cluster: --to-bootstrap-server{_servers(move, facts)}",
        )


def _servers(move: Move, facts: MigrationFacts) -> str:
    servers = facts.clusters.servers.get(move.connector)
    return f" {servers}" if servers else ""


def _finding(move: Move, facts: MigrationFacts, severity: Severity, effect: str, cure: str) -> Finding:
    producer = facts.clusters.producers[move.connector]
    return PRODUCES_ELSEWHERE.finding(
        move.connector,
        f"connector {move.connector} produces to Kafka cluster {producer} ({SETTING}{_equals(move, facts)}): {effect}",
        {"producer": producer, "workers": facts.clusters.workers},
        cure=cure,
        severity=severity,
    )


def _equals(move: Move, facts: MigrationFacts) -> str:
    servers = facts.clusters.servers.get(move.connector)
    return f"={servers}" if servers else ""


def _unknown(move: Move, reason: Skipped) -> Finding:
    return PRODUCES_ELSEWHERE.finding(
        move.connector,
        f"the Kafka cluster that connector {move.connector} produces to is not known ({reason.reason}): with "
        "exactly-once enabled, or with its own offsets topic, its offsets are there",
        cure=f"see {SETTING} of its config; -b must lead to the cluster where its offsets are",
        severity=Severity.WARNING,
    )

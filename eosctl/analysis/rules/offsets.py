"""Rules about offsets that no record shows: what a worker cannot do with them."""

from collections.abc import Iterator
from typing import Final

from eosctl.analysis.connect_requests import for_connector
from eosctl.analysis.rules.workers import probes
from eosctl.model.connectors import connector_path
from eosctl.model.evidence import Evidence
from eosctl.model.report import Finding, Severity
from eosctl.model.rules import Rule
from eosctl.model.skipped import Skipped
from eosctl.model.versions import KafkaVersion

OWN_TOPIC: Final = "offsets.storage.topic"


def _undeletable(evidence: Evidence) -> Iterator[Finding | Skipped]:
    enabled, _, unknown = probes(evidence)
    topics = () if isinstance(evidence.internal_topics, Skipped) else evidence.internal_topics
    workers_topics = {topic.name for topic in topics if topic.role == "offsets"}
    owners = {name: str(evidence.config(name)[OWN_TOPIC]) for name in evidence.sources() if _has_own(evidence, name)}
    if not enabled:
        yield from unknown.values() if owners else ()
        return
    for name, topic in owners.items():
        if topic not in workers_topics:
            message = (
                f"its offsets are in {topic}: the workers never answer `DELETE {connector_path(name)}/offsets`, nor a "
                "PATCH with a null offset, and delete nothing there"
            )
            yield UNDELETABLE.finding(name, message, cure=for_connector(UNDELETABLE.cure, name), offsets_topic=topic)


def _has_own(evidence: Evidence, connector: str) -> bool:
    return evidence.config(connector).get(OWN_TOPIC) is not None


UNDELETABLE: Final = Rule(
    id="EOS089",
    title="offsets that REST cannot delete",
    severity=Severity.INFO,
    question="Can the offsets of every connector be reset over REST?",
    needs=("inspection", "workers", "internal_topics"),
    cause="From 3.8 on tombstones go to the workers' offsets topic first, and the connector's own topic is written "
    "from that answer. By then the transaction is over (`Cannot add partition … while in state READY`), and the "
    "request ends with the 90 s that REST gives it (KAFKA-15018; measured with 3.9.2 and 4.3.1, and fine in 3.6.2).",
    cure="reset with eosctl: `eosctl offsets export --connector <connector>`, set the offsets in the file to null, "
    "and `eosctl offsets restore <file> --connector <connector> --stop --resume`",
    source="KIP-875, KAFKA-15018",
    check=_undeletable,
    since=KafkaVersion(3, 8),
)
RULES: Final = (UNDELETABLE,)

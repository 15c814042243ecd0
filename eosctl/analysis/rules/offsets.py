"""Rules about offsets that no record shows: what a worker cannot do with them."""

from collections.abc import Iterator
from typing import Final

from eosctl.analysis.catalogue import offsets as kinds
from eosctl.analysis.connect_requests import for_connector
from eosctl.analysis.rules.workers import probes
from eosctl.model.connectors import connector_path
from eosctl.model.evidence import Evidence
from eosctl.model.report import Finding
from eosctl.model.rules import Rule, Versions, Whose
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
            yield kinds.UNDELETABLE.finding(
                name, message, {"offsets_topic": topic}, cure=for_connector(kinds.UNDELETABLE.fix, name)
            )


def _has_own(evidence: Evidence, connector: str) -> bool:
    return evidence.config(connector).get(OWN_TOPIC) is not None


RULES: Final = (
    Rule(
        kinds.UNDELETABLE,
        "Can the offsets of every connector be reset over REST?",
        needs=("inspection", "workers", "internal_topics"),
        check=_undeletable,
        versions=Versions(Whose.WORKERS, since=KafkaVersion(3, 8)),
    ),
)

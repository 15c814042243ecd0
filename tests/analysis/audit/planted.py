"""A healthy history of several connectors, in which a test plants a fault, and what is said of it."""

from dataclasses import dataclass
from typing import Any

from eosctl.model.audit import AuditReport, AuditVerdict
from eosctl.model.names import TopicPartition
from eosctl.model.report import Severity
from tests.analysis.audit.brokers import Brokers
from tests.analysis.audit.connect_cluster import ConnectCluster, Connector, key_of
from tests.analysis.audit.runs import audit

MINUTE = 60_000
HELD, BROKEN, CANNOT_TELL = AuditVerdict.HELD, AuditVerdict.BROKEN, AuditVerdict.CANNOT_TELL
ALTERED = AuditVerdict.ALTERED


@dataclass
class Planted:
    """A healthy history, up to the moment at which the fault is planted."""

    cluster: ConnectCluster
    orders: Connector

    @property
    def brokers(self) -> Brokers:
        return self.cluster.brokers

    def report(self) -> AuditReport:
        self.brokers.tick(MINUTE)
        work(self.cluster.connectors["bills"], range(20, 24))
        self.brokers.tick(MINUTE)
        return audit(self.brokers)


def work(connector: Connector, positions: range) -> None:
    for position in positions:
        connector.write(0, {"a": position, "b": position}, outputs=(0, 1))
        connector.write(1, {"c": position}, outputs=(1,))


def only(report: AuditReport, kind: str, severity: Severity = Severity.ERROR) -> dict[str, Any]:
    """The evidence of the one finding that counts."""
    [finding] = [each for each in report.findings if each.counts]
    assert (finding.name, finding.severity) == (kind, severity)
    return dict(finding.evidence)


def place_of(evidence: dict[str, Any], offset: str = "offset") -> tuple[str, int, int]:
    first = evidence["places"][0] if "places" in evidence else evidence
    return first["topic"], first["partition"], first[offset]


def data_of(evidence: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [each for each in evidence["data"] if each["committed_with"] == name]


def verdicts(report: AuditReport) -> dict[str, AuditVerdict]:
    return {each.name: each.verdict for each in report.connectors}


def offsets_place(connector: Connector, source: str) -> TopicPartition:
    return connector.place(key_of(connector.name, source))


def place(at: TopicPartition, offset: int) -> tuple[str, int, int]:
    return at.topic, at.partition, offset

"""Everything that one command read, and when. What could not be read is Skipped with a reason, never empty."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Final

from eosctl.model.clock import ClusterClock
from eosctl.model.cluster_facts import ClusterFacts, ConfigTopicLog
from eosctl.model.coverage import Coverage, Unread, unread_in
from eosctl.model.evidence import ClusterEvidence
from eosctl.model.offsets_facts import OffsetsFacts
from eosctl.model.partition_producers import ProducersFacts
from eosctl.model.report import Answer
from eosctl.model.skipped import Cause, Skipped, not_asked
from eosctl.model.transaction_log import TransactionLogFacts
from eosctl.model.transactions import TransactionDescription
from eosctl.model.workers import ConnectFacts

NOT_ASKED: Final = not_asked("not asked")
NO_SECTIONS: Final = frozenset({"as_of", "group_id", "unlisted", "clock"})


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Facts about one cluster, read at as_of (ms since the epoch).

    group_id names the Connect cluster, None where nobody gave it; transactions holds a description of every
    transactional ID that was asked for and that its coordinator knows, Skipped where the coordinator did not answer;
    unlisted why IDs or topics may be missing from all that is here; offsets those of source connectors;
    transaction_log the last records of each ID; producers those of all partitions; clock the cluster's clock beside the
    one of as_of.
    """

    as_of: int
    cluster: ClusterFacts | Skipped
    group_id: str | None
    config_topic: ConfigTopicLog | Skipped
    transactions: Mapping[str, TransactionDescription | Skipped] | Skipped
    connect: ConnectFacts | Skipped
    offsets: OffsetsFacts | Skipped = NOT_ASKED
    transaction_log: TransactionLogFacts | Skipped = NOT_ASKED
    producers: ProducersFacts | Skipped = NOT_ASKED
    evidence: ClusterEvidence | Skipped = NOT_ASKED
    clock: ClusterClock | Skipped = NOT_ASKED
    unlisted: tuple[str, ...] = ()

    @property
    def coverage(self) -> Coverage:
        """Its sections, and what of each was not read."""
        sections = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in NO_SECTIONS}
        unread = [each for name, fact in sections.items() for each in unread_in(name.replace("_", " "), fact)]
        unread += (Unread("transactional IDs and topics", reason, Cause.UNREACHABLE) for reason in self.unlisted)
        return Coverage(tuple(sections), tuple(unread))


@dataclass(frozen=True, slots=True)
class SnapshotFile(Answer):
    """A snapshot and the path of the file that holds it."""

    snapshot: Snapshot
    file: str

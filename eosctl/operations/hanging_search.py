"""What `transactions hanging`, `lso` and `abort` read: the open transactions of the whole cluster."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eosctl.analysis.hanging import (
    find_candidates,
    judge,
    still_open,
)
from eosctl.errors import Unreachable
from eosctl.model.hanging import JoinedTransactions, TransactionalIdAccess, Verdict
from eosctl.model.names import TopicPartition
from eosctl.operations.partitions import Wanted, chosen
from eosctl.operations.session import Session

if TYPE_CHECKING:
    from eosctl.model.producers import AnsweredProducers

NO_LEADER = -1


@dataclass(frozen=True, slots=True)
class Searched:
    """What a search for hanging transactions found: verdicts on all that were old enough, and how sure they are.

    joined has those too that cannot be judged; unanswered are the partitions whose leaders did not answer.
    """

    as_of: int
    verdicts: tuple[Verdict, ...]
    joined: JoinedTransactions
    unanswered: tuple[TopicPartition, ...]
    access: TransactionalIdAccess

    def require_all(self) -> None:
        """Raise Unreachable where something could not be seen or judged."""
        if self.unanswered:
            raise Unreachable(f"no leader answered for {', '.join(map(str, self.unanswered))}")
        self.joined.require()

    @property
    def hanging(self) -> tuple[Verdict, ...]:
        """Those that hang."""
        return tuple(each for each in self.verdicts if each.hangs)


def partitions_to_search(session: Session, wanted: Wanted, broker: int | None) -> Mapping[TopicPartition, int]:
    """Partitions and their leaders: all that may be described, internal topics too, or those wanted."""
    from eosctl.sources.kafka_producers import cluster_partitions

    leaders = cluster_partitions(session.wire, wanted or None, broker=broker)
    return chosen(leaders, wanted) if wanted else leaders


def search(session: Session, partitions: Mapping[TopicPartition, int], max_timeout_ms: int) -> Searched:
    """Finds hanging transactions in these partitions by KIP-664's rule, confirmed by a second look.

    Raises NotAuthorized where Describe on some transactional ID is missing: brokers leave out what may not be seen, and
    without it every candidate would look as if it hung.
    """
    from eosctl.sources.open_transactions import join_with_answering, require_access
    from eosctl.sources.transactional_id_access import transactional_id_access

    access = transactional_id_access(session.wire)
    require_access(access, session.wire.principal)
    seen = read_producers(session, partitions)
    as_of = session.now()
    candidates = find_candidates(seen.producers, as_of, max_timeout_ms)
    joined = join_with_answering(session.wire, candidates)
    verdicts, unanswered = judge(joined.transactions, as_of), set(seen.unanswered)
    suspected = {each.transaction.topic_partition for each in verdicts if each.hangs}
    if suspected:
        again = read_producers(session, {each: partitions[each] for each in sorted(suspected)}, quiet=True)
        verdicts = still_open(verdicts, again.producers)
        unanswered |= set(again.unanswered)
    return Searched(as_of, verdicts, joined, tuple(sorted(unanswered)), access)


def read_producers(
    session: Session, partitions: Mapping[TopicPartition, int], *, quiet: bool = False
) -> "AnsweredProducers":
    """Producers of these partitions as far as leaders answer, with progress on the terminal."""
    from eosctl.sources.kafka_producers import answering_producers

    if quiet:
        return answering_producers(session.wire, partitions)
    with session.options.console.progress("asking leaders", len(partitions), unit="partitions") as advance:
        return answering_producers(session.wire, partitions, on_answer=advance)

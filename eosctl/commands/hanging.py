"""What `transactions hanging`, `lso` and `abort` read: the open transactions of the whole cluster."""

from collections.abc import Mapping
from dataclasses import dataclass

from eosctl.analysis.hanging import (
    find_candidates,
    judge,
    still_open,
)
from eosctl.commands.context import Context
from eosctl.commands.partitions import Wanted, chosen
from eosctl.model.hanging import TransactionalIdAccess, Verdict
from eosctl.model.names import TopicPartition
from eosctl.model.producers import ActiveProducer

NO_LEADER = -1


@dataclass(frozen=True, slots=True)
class Searched:
    """What a search for hanging transactions found: verdicts on all that were old enough, and how sure they are."""

    as_of: int
    verdicts: tuple[Verdict, ...]
    partitions: Mapping[TopicPartition, int]
    access: TransactionalIdAccess

    @property
    def hanging(self) -> tuple[Verdict, ...]:
        """Those that hang."""
        return tuple(each for each in self.verdicts if each.hangs)


def partitions_to_search(context: Context, wanted: Wanted, broker: int | None) -> Mapping[TopicPartition, int]:
    """Partitions and their leaders: all that may be described, internal topics too, or those wanted."""
    from eosctl.sources.kafka_producers import cluster_partitions

    leaders = cluster_partitions(context.wire, wanted or None, broker=broker)
    return chosen(leaders, wanted) if wanted else leaders


def search(context: Context, partitions: Mapping[TopicPartition, int], max_timeout_ms: int) -> Searched:
    """Finds hanging transactions in these partitions by KIP-664's rule, confirmed by a second look.

    Raises NotAuthorized where Describe on some transactional ID is missing, Unreachable where a coordinator does not
    answer: brokers leave out what may not be seen, and without it every candidate would look as if it hung.
    """
    from eosctl.sources.open_transactions import join_with_coordinators, require_access
    from eosctl.sources.transactional_id_access import transactional_id_access

    access = transactional_id_access(context.wire)
    require_access(access, context.wire.principal)
    producers = read_producers(context, partitions)
    as_of = context.now()
    candidates = find_candidates(producers, as_of, max_timeout_ms)
    verdicts = judge(join_with_coordinators(context.wire, candidates), as_of)
    suspected = {each.transaction.topic_partition for each in verdicts if each.hangs}
    if suspected:
        again = read_producers(context, {each: partitions[each] for each in sorted(suspected)}, quiet=True)
        verdicts = still_open(verdicts, again)
    return Searched(as_of, verdicts, partitions, access)


def read_producers(
    context: Context, partitions: Mapping[TopicPartition, int], *, quiet: bool = False
) -> tuple[ActiveProducer, ...]:
    """Producers of all these partitions, with progress on the terminal."""
    from eosctl.sources.kafka_producers import active_producers

    if quiet:
        return active_producers(context.wire, partitions)
    with context.options.console.progress("asking leaders", len(partitions), unit="partitions") as advance:
        return active_producers(context.wire, partitions, on_answer=advance)

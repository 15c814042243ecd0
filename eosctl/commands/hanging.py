"""What `transactions hanging`, `lso` and `abort` read: the open transactions of the whole cluster."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from eosctl.analysis.hanging import (
    find_candidates,
    join_open_transactions,
    judge,
    still_open,
    transactional_ids_by_producer,
)
from eosctl.commands.context import Context
from eosctl.commands.partitions import Wanted, chosen
from eosctl.commands.reading import read_descriptions
from eosctl.errors import NotAuthorized, Unreachable
from eosctl.model.hanging import OpenTransaction, TransactionalIdAccess, Verdict
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
    from eosctl.sources.transactional_id_access import transactional_id_access

    access = transactional_id_access(context.wire)
    require_access(access, context.wire.principal)
    producers = read_producers(context, partitions)
    as_of = context.now()
    candidates = find_candidates(producers, as_of, max_timeout_ms)
    verdicts = judge(join_with_coordinators(context, candidates), as_of)
    suspected = {each.transaction.topic_partition for each in verdicts if each.hangs}
    if suspected:
        again = read_producers(context, {each: partitions[each] for each in sorted(suspected)}, quiet=True)
        verdicts = still_open(verdicts, again)
    return Searched(as_of, verdicts, partitions, access)


def require_access(access: TransactionalIdAccess, principal: str) -> None:
    """Raise NotAuthorized where some transactional IDs are kept from this principal."""
    if not access.granted:
        shown = ", ".join(access.denied[:3]) + (f" and {len(access.denied) - 3} more" if len(access.denied) > 3 else "")
        raise NotAuthorized(
            principal=principal,
            operation="Describe",
            resource="TransactionalId *",
            hint="without it every open transaction of an ID that may not be seen would look as if it hung; "
            f"refused: {shown}",
        )


def read_producers(
    context: Context, partitions: Mapping[TopicPartition, int], *, quiet: bool = False
) -> tuple[ActiveProducer, ...]:
    """Producers of all these partitions, with progress on the terminal."""
    from eosctl.sources.kafka_producers import active_producers

    if quiet:
        return active_producers(context.wire, partitions)
    with context.options.console.progress("asking leaders", len(partitions), unit="partitions") as advance:
        return active_producers(context.wire, partitions, on_answer=advance)


def join_with_coordinators(context: Context, candidates: Collection[ActiveProducer]) -> tuple[OpenTransaction, ...]:
    """Candidates with what coordinators say of them. Raises where a coordinator does not answer or has no leader."""
    from eosctl.sources.kafka_transactions import list_transactional_ids

    if not candidates:
        return ()
    ids = {each.producer.producer_id for each in candidates}
    listed = list_transactional_ids(context.wire, producer_ids=ids)
    for node_id, error in listed.unanswered.items():
        raise Unreachable(
            f"broker {node_id} does not say which transactional IDs it coordinates: {error.message}",
            hint="without its answer it cannot be told whether a transaction hangs; run the command again",
        ) from error
    names = transactional_ids_by_producer(listed.transactions)
    if ids - names.keys():
        _require_all_coordinators(context)
    return join_open_transactions(candidates, names, read_descriptions(context, sorted(set(names.values()))))


def _require_all_coordinators(context: Context) -> None:
    """A transaction log partition without leader hides its IDs: then nothing is known of an ID that nobody lists."""
    from eosctl.sources.transaction_log import transaction_log_leaders

    try:
        leaders = transaction_log_leaders(context.wire)
    except NotAuthorized as error:
        context.options.console.warn(f"whether all coordinators are there could not be seen: {error.message}")
        return
    lost = [str(partition) for partition, leader in sorted(leaders.items()) if leader == NO_LEADER]
    if lost:
        raise Unreachable(
            f"partitions {', '.join(lost)} of __transaction_state have no leader, so the IDs in them are not known",
            hint="without them it cannot be told whether a transaction hangs; bring their brokers back first",
        )

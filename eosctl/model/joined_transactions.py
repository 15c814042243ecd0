"""Open transactions joined with what their coordinators answer, and none of it where it would mislead."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from eosctl.errors import EosctlError, Unreachable
from eosctl.model.described import transactional_ids_by_producer
from eosctl.model.hanging import OpenTransaction
from eosctl.model.producers import ActiveProducer
from eosctl.model.transactions import Described, ListedTransactions, TransactionDescription


@dataclass(frozen=True, slots=True)
class JoinedTransactions:
    """Open transactions with what coordinators know; undecided are those that a coordinator without answer might know.

    reasons say which coordinators did not answer, where it matters.
    """

    transactions: tuple[OpenTransaction, ...]
    undecided: tuple[OpenTransaction, ...]
    reasons: tuple[str, ...]

    def require(self) -> None:
        """Raise Unreachable where it cannot be said of every one whether it hangs."""
        if self.undecided:
            raise Unreachable(
                "; ".join(self.reasons),
                hint="without its answer it is not known whether a transaction hangs; bring its broker back first",
            )


def join_open_transactions(
    candidates: Iterable[ActiveProducer],
    transactional_ids: Mapping[int, str],
    descriptions: Mapping[str, TransactionDescription],
) -> tuple[OpenTransaction, ...]:
    """Candidates with what coordinators know of them, in the order of partitions and offsets."""
    found = []
    for each in candidates:
        name = transactional_ids.get(each.producer.producer_id)
        described = None if name is None else descriptions.get(name)
        if each.transaction_start_offset is not None:
            found.append(OpenTransaction(each, each.transaction_start_offset, name, described))
    return tuple(sorted(found, key=lambda each: each.place))


def join_answers(
    candidates: Collection[ActiveProducer], listed: ListedTransactions, described: Mapping[str, Described]
) -> JoinedTransactions:
    """Producers with an open transaction, joined with the IDs listed for them and the descriptions of these.

    A broker that does not list its IDs, and a partition of the transaction log without leader, hide theirs: a producer
    that nobody lists is undecided then, and so is one whose coordinator does not answer. Raises NotAuthorized where an
    ID may not be described.
    """
    ids = {each.producer.producer_id for each in candidates}
    names = transactional_ids_by_producer(listed.transactions)
    unlisted = ids - names.keys() if listed.unlisted else set()
    reasons = list(listed.unlisted) if unlisted else []
    silent: set[str] = set()
    descriptions: dict[str, TransactionDescription] = {}
    for name, answer in described.items():
        if isinstance(answer, Unreachable):
            reasons.append(answer.message)
            silent.add(name)
        elif isinstance(answer, EosctlError):
            raise answer
        elif answer is not None:
            descriptions[name] = answer
    hidden = unlisted | {producer_id for producer_id, name in names.items() if name in silent}
    joined = join_open_transactions(candidates, names, descriptions)
    return JoinedTransactions(
        tuple(each for each in joined if each.producer.producer_id not in hidden),
        tuple(each for each in joined if each.producer.producer_id in hidden),
        tuple(dict.fromkeys(reasons)),
    )

"""Writing offsets: one transaction for one connector, and reading it back.

1. InitProducerId under the ID of the connector's task 0, the one that Connect's own alteration of offsets uses: an
   earlier eosctl, the connector's task or a request to Connect that still held the ID is fenced, and what it left open
   is aborted (or committed, where that was decided already) before the call returns.
2. Now the preconditions are read again. The offsets are those before the plan, or those after it: then an earlier run
   committed, and nothing is left to do. Where the same values are to be written again, only records at the places
   of before the plan say that none did.
3. One transaction with explicit partitions, committed. If another producer initialises the ID in between, the commit is
   refused: of two that write, one commits, whole.
4. A coordinator answers a commit before its markers are in all partitions: wait for them, so that who reads next sees
   the records as committed.
"""

import shlex
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from eosctl.clients.access import ClusterAccess
from eosctl.clients.deadline import Deadline
from eosctl.clients.librdkafka import PartitionRecord, TransactionalProducer
from eosctl.errors import Interrupted, Refused, Unreachable
from eosctl.executors.apply import Recheck
from eosctl.model.client_properties import ClientProperties
from eosctl.model.failpoints import Failpoint, no_failpoint
from eosctl.model.names import Side
from eosctl.model.plan import VerifyOffsets, WriteOffsets
from eosctl.model.preconditions import OffsetsNow
from eosctl.model.text import pluralize

POLL_S: Final = 0.05
COMMITTED: Final = "interrupted; the transaction was committed before"

IsDecided = Callable[[str], bool]
"""Whether no transaction of this ID is in progress any more: its markers are in all partitions."""

ReadOffsets = Callable[[Side, str, str], OffsetsNow]
"""The offsets of a connector in a topic, read now: side, topic, connector."""


def write_offsets(
    step: WriteOffsets,
    recheck: Recheck,
    *,
    properties: ClientProperties,
    read_offsets: ReadOffsets,
    is_decided: IsDecided,
    timeout_s: float,
    failpoint: Failpoint = no_failpoint,
) -> str:
    """Bring the topic from `step.before` to `step.after`; returns a description of the written offsets."""
    if not step.records:
        return _unwritten(step, recheck, read_offsets)
    with TransactionalProducer(
        properties,
        step.transactional_id,
        transaction_timeout_ms=step.transaction_timeout_ms,
        timeout_s=timeout_s,
    ) as producer:
        producer.initialise()
        failpoint("initialised")
        recheck()
        now = read_offsets(step.side, step.topic, step.connector)
        unwritten = step.after == step.before_values and now.records == step.before
        if now.values == step.after and step.records and not unwritten:
            return f"the offsets were in topic {step.topic} already"
        if step.before not in _digests(now):
            raise _changed(step)
        try:
            _transact(producer, step, failpoint)
        except KeyboardInterrupt as interrupt:
            raise Interrupted(_interrupted(producer)) from interrupt
    try:
        _await_markers(step, is_decided, timeout_s)
    except KeyboardInterrupt as interrupt:
        raise Interrupted(COMMITTED) from interrupt
    return _summary(step)


def _unwritten(step: WriteOffsets, recheck: Recheck, read_offsets: ReadOffsets) -> str:
    """Nothing to write, so no producer: the offsets must be as planned all the same."""
    recheck()
    if not {step.before, step.after} & set(_digests(read_offsets(step.side, step.topic, step.connector))):
        raise _changed(step)
    return f"topic {step.topic} held the offsets already"


def _digests(now: OffsetsNow) -> tuple[str, str]:
    return now.records, now.values


def _changed(step: WriteOffsets) -> Refused:
    return Refused(f"the offsets of connector {step.connector} in topic {step.topic} changed after the plan was made")


def _await_markers(step: WriteOffsets, is_decided: IsDecided, timeout_s: float) -> None:
    """Step 4. The transaction is committed by now, so a coordinator that does not answer changes nothing of that."""
    deadline = Deadline(timeout_s)
    with suppress(Unreachable):
        while not is_decided(step.transactional_id) and deadline.pause(POLL_S):
            pass


def _transact(producer: TransactionalProducer, step: WriteOffsets, failpoint: Failpoint) -> None:
    """The first record is awaited alone: what the cluster does not allow shows before all others are queued."""
    producer.begin()
    records = [PartitionRecord(each.partition, each.key, each.value) for each in step.records]
    producer.write(step.topic, records[:1])
    producer.flush(step.topic)
    failpoint("first-written")
    producer.write(step.topic, records[1:])
    producer.flush(step.topic)
    failpoint("written")
    producer.commit(step.topic)
    failpoint("committed")


def _interrupted(producer: TransactionalProducer) -> str:
    if not producer.open:
        return COMMITTED
    trouble = producer.abort()
    fate = "was aborted" if trouble is None else f"will be aborted by its coordinator ({trouble})"
    return f"interrupted; the open transaction {fate}, no offset was changed"


def _summary(step: WriteOffsets) -> str:
    tombstones = sum(1 for each in step.records if each.value is None)
    values = len(step.records) - tombstones
    deleted = f" and {pluralize(tombstones, 'deletion')}" if tombstones else ""
    return f"{pluralize(values, 'offset')}{deleted} in one transaction as {step.transactional_id}"


def verify_offsets(step: VerifyOffsets, _: Recheck, *, access: ClusterAccess, read_offsets: ReadOffsets) -> str:
    """The topic read again must hold exactly the offsets that were planned.

    Records that are undecided for a moment are waited for: no other producer can commit them.
    """
    deadline = Deadline(access.timeout_s)
    while (now := read_offsets(step.side, step.topic, step.connector)).open and deadline.pause(POLL_S):
        pass
    if now.values != step.digest or now.open:
        raise Refused(
            f"topic {step.topic} does not hold the offsets of connector {step.connector} that were written",
            hint=f"do not start the connector; `eosctl offsets show --connector {shlex.quote(step.connector)}` shows "
            "the present ones",
        )
    return f"topic {step.topic} holds the offsets as planned"

"""Steps of a plan in words."""

from typing import assert_never

from eosctl.model.counts import counted, some
from eosctl.model.plan import (
    AbortTransaction,
    CreateAcls,
    CreateTopic,
    DeleteAcls,
    FenceProducers,
    ManualStep,
    ResumeConnector,
    SetConnectorConfig,
    Step,
    StopConnector,
    VerifyOffsets,
    WriteOffsets,
)
from eosctl.model.sides import Side


def describe_step(step: Step) -> str:  # noqa: C901, PLR0911  # one line for each kind of step
    """The step in one line."""
    match step:
        case StopConnector(side, connector):
            return f"stop connector {connector}{_where(side)} and wait until it has no tasks"
        case FenceProducers(side, transactional_ids):
            return f"fence the producers of {some(transactional_ids)}{_where(side)}"
        case CreateTopic(_, topic, partitions, replication_factor):
            factor = "the default" if replication_factor < 0 else str(replication_factor)
            return f"create topic {topic}, compact, {counted(partitions, 'partition')}, replication factor {factor}"
        case WriteOffsets():
            return (
                f"write {counted(len(step.records), 'offset')} of connector {step.connector} to topic {step.topic} in "
                f"one transaction as {step.transactional_id}"
            )
        case VerifyOffsets(_, topic, connector):
            return f"read the offsets of connector {connector} in topic {topic} again and compare"
        case SetConnectorConfig(side, connector, changes, _, copied_from):
            begin = f"configure connector {connector}" if copied_from is None else _created(connector, copied_from)
            made = [f"without {key}" if value is None else f"with {key}={value}" for key, value in changes.items()]
            return " ".join([begin + _where(side), *made])
        case ResumeConnector(side, connector):
            return f"resume connector {connector}{_where(side)} and wait until its tasks run"
        case AbortTransaction(_, topic, partition, producer_id, epoch, _, start_offset):
            return f"abort what producer {producer_id}/{epoch} has open in {topic}-{partition} from {start_offset}"
        case CreateAcls(side, bindings):
            return f"create {some([str(each) for each in bindings])}{_where(side)}"
        case DeleteAcls(side, bindings):
            return f"remove {some([str(each) for each in bindings])}{_where(side)}"
        case ManualStep(instruction):
            return f"by hand: {instruction}"
    assert_never(step)


def _created(connector: str, copied_from: str) -> str:
    return f"create connector {connector}, STOPPED, with the config of {copied_from} (or configure it if it exists)"


def _where(side: Side) -> str:
    return " (target)" if side is Side.TARGET else ""

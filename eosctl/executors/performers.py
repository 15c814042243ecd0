"""Who performs which kind of step: one entry for each."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from eosctl.clients.access import ClusterAccess
from eosctl.clients.librdkafka import await_topic, create_topic
from eosctl.codecs.offsets_topic import offsets_now
from eosctl.executors.acls import perform_create_acls, perform_delete_acls
from eosctl.executors.apply import Performer, Recheck
from eosctl.executors.connectors import (
    ReadConfig,
    ResumeChecks,
    await_operator,
    create_connector,
    delete_connector,
    resume_connector,
    set_connector_config,
    stop_connector,
)
from eosctl.executors.fencing import Describe, fence_producers, fence_transaction
from eosctl.executors.offsets import verify_offsets, write_offsets
from eosctl.executors.transactions import CommitChecks, commit_transaction, end_in_partition
from eosctl.model.failpoints import Failpoint, no_failpoint
from eosctl.model.names import Side
from eosctl.model.plan import (
    AbortTransaction,
    AwaitOperator,
    CommitTransaction,
    CreateAcls,
    CreateConnector,
    CreateTopic,
    DeleteAcls,
    DeleteConnector,
    FenceProducers,
    FenceTransaction,
    ResumeConnector,
    SetConnectorConfig,
    StopConnector,
    VerifyOffsets,
    WriteCommitMarker,
    WriteOffsets,
)
from eosctl.model.preconditions import OffsetsNow
from eosctl.model.text import pluralize


def create_offsets_topic(step: CreateTopic, _: Recheck, *, access: ClusterAccess) -> str:
    """Creates the topic if it is missing; the step's preconditions have checked an existing one.

    The next steps may query any broker about it, so all of them must know it.
    """
    created = create_topic(
        access.librdkafka_properties(),
        step.topic,
        partitions=step.partitions,
        replication_factor=step.replication_factor,
        settings=step.settings,
        timeout_s=access.timeout_s,
    )
    await_topic(access.wire, step.topic, timeout_s=access.timeout_s)
    return f"topic {step.topic} with {pluralize(step.partitions, 'partition')}" + (
        "" if created else " was there already"
    )


def performers(
    access: Callable[[Side], ClusterAccess],
    describe: Describe,
    checks: ResumeChecks,
    read_config: ReadConfig,
    commits: CommitChecks,
    failpoint: Failpoint = no_failpoint,
    say: Callable[[str], None] = lambda _: None,
) -> Mapping[type, Performer]:
    """The performer of each kind of step, on the clusters of `access`; say is for instructions to a person."""

    def read_offsets(side: Side, topic: str, connector: str) -> OffsetsNow:
        return offsets_now(checks.read_entries(side, topic, connector))

    def on_its_side(perform: Callable[..., str]) -> Performer:
        def performer(step: Any, recheck: Recheck) -> str:  # noqa: ANN401  # each performer takes its own kind
            return perform(step, recheck, access=access(step.side))

        return performer

    def write(step: Any, recheck: Recheck) -> str:  # noqa: ANN401  # a WriteOffsets
        place = access(step.side)
        return write_offsets(
            step,
            recheck,
            properties=place.librdkafka_properties(),
            read_offsets=read_offsets,
            is_decided=lambda name: not any(each.state.is_open for each in describe(place, [name]).values()),
            timeout_s=place.timeout_s,
            failpoint=failpoint,
        )

    return {
        StopConnector: on_its_side(stop_connector),
        FenceProducers: on_its_side(partial(fence_producers, describe=describe)),
        CreateTopic: on_its_side(create_offsets_topic),
        WriteOffsets: write,
        VerifyOffsets: on_its_side(partial(verify_offsets, read_offsets=read_offsets)),
        CreateConnector: on_its_side(partial(create_connector, read_config=read_config)),
        DeleteConnector: on_its_side(delete_connector),
        SetConnectorConfig: partial(set_connector_config, access=access),
        ResumeConnector: on_its_side(partial(resume_connector, checks=checks)),
        AwaitOperator: on_its_side(partial(await_operator, checks=checks, say=say)),
        AbortTransaction: on_its_side(end_in_partition),
        WriteCommitMarker: on_its_side(end_in_partition),
        CommitTransaction: on_its_side(partial(commit_transaction, checks=commits, failpoint=failpoint)),
        FenceTransaction: on_its_side(partial(fence_transaction, describe=describe)),
        CreateAcls: on_its_side(perform_create_acls),
        DeleteAcls: on_its_side(perform_delete_acls),
    }

"""Creating topics that a plan needs."""

from eosctl.clients.access import ClusterAccess
from eosctl.clients.topics import await_topic, create_topic
from eosctl.executors.apply import Recheck
from eosctl.model.counts import counted
from eosctl.model.plan import CreateTopic


def create_offsets_topic(step: CreateTopic, _: Recheck, *, access: ClusterAccess) -> str:
    """Creates the topic where it is missing; one that exists was found fit by the step's preconditions.

    The next steps may ask any broker for it, so each has to know it by then.
    """
    created = create_topic(
        access.properties,
        step.topic,
        partitions=step.partitions,
        replication_factor=step.replication_factor,
        settings=step.settings,
        timeout_s=access.timeout_s,
    )
    await_topic(access.wire, step.topic, timeout_s=access.timeout_s)
    return f"topic {step.topic} with {counted(step.partitions, 'partition')}" + (
        "" if created else " was there already"
    )

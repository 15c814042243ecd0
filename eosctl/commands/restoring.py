"""What `offsets restore` reads, decides and carries out."""

from dataclasses import dataclass
from pathlib import Path

from eosctl.codecs.kip875 import decode_kip875
from eosctl.commands.context import Context
from eosctl.commands.migrating import Planned, connector_configs, fenced_ids, present, transaction_timeout_ms
from eosctl.commands.sides import Sides
from eosctl.model.migration import MigrationFacts, MigrationWish
from eosctl.model.plan import ConnectorStopped, Side
from eosctl.planning.restore import RestoreWish, plan_restore

OFFSETS_TOPIC_SETTING = "offsets.storage.topic"


@dataclass(frozen=True, slots=True)
class RestoreAsked:
    """The command line."""

    file: Path
    connector: str
    stop: bool
    resume: bool
    offsets_topic: str | None
    worker_offsets_topic: str
    plan_file: Path | None


def restore(context: Context, sides: Sides, asked: RestoreAsked) -> int:
    """The whole command: plan, show, ask, apply. Returns the exit code."""

    def plan(just_stopped: tuple[ConnectorStopped, ...]) -> Planned:
        return _read_and_plan(context, sides, asked, just_stopped)

    return present(context, sides, plan, asked.plan_file)


def _read_and_plan(
    context: Context, sides: Sides, asked: RestoreAsked, just_stopped: tuple[ConnectorStopped, ...]
) -> Planned:
    from eosctl.sources.files import read_text
    from eosctl.sources.plan_facts import (
        read_connector_facts,
        read_connector_states,
        read_offsets_topic,
        read_topic_now,
    )

    offsets = decode_kip875(read_text(asked.file, "the export file"), str(asked.file))
    group_id = context.options.need_group_id()
    access = sides.access(Side.SOURCE)
    states = read_connector_states(access)
    configs = connector_configs(context, states)
    own = asked.offsets_topic or configs.get(asked.connector, {}).get(OFFSETS_TOPIC_SETTING)
    topics = tuple(dict.fromkeys((asked.worker_offsets_topic, str(own)))) if own else (asked.worker_offsets_topic,)
    wish = RestoreWish(asked.connector, group_id, topics, offsets, asked.stop, asked.resume, just_stopped)
    facts = MigrationFacts(
        as_of=context.now(),
        cluster_ids={Side.SOURCE: access.wire.cluster_id},
        connectors={
            (Side.SOURCE, name): each for name, each in read_connector_facts(access, [asked.connector]).items()
        },
        topics={(Side.SOURCE, topic): read_topic_now(access, topic) for topic in topics},
        offsets={(Side.SOURCE, topic): read_offsets_topic(access, topic) for topic in topics},
        fenced_ids=fenced_ids(sides, MigrationWish((), group_id, group_id), states, {asked.connector}),
        transaction_timeout_ms=transaction_timeout_ms(access),
    )
    return Planned(plan_restore(wish, facts), facts.cluster_ids[Side.SOURCE])

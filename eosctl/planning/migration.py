"""The plan that moves connectors' offsets and lets nobody write beside it.

1. Every connector concerned, on both sides, is STOPPED and has no tasks, or does not exist; --stop makes it so.
2. The producers of its tasks are fenced, old and new: what a zombie left open is aborted and it cannot commit again.
3. Target topics that do not exist are created: compact, because Connect refuses others.
4. Each connector's offsets are written in one transaction in the name of its task 0, and read back.
5. Its config is changed and it is resumed, where that was requested; otherwise the plan names what is left to do. It is
   resumed only if the workers answer the offsets that were written: then they look where these were written.

Between reading and writing nothing may have changed: cluster, topics, the records of every key that was read.
"""

from collections.abc import Iterator
from typing import Final

from eosctl.codecs.offsets_digest import entries_by_connector, offsets_now
from eosctl.model.migration import MigrationFacts, MigrationRequest, Move
from eosctl.model.offsets import Entry
from eosctl.model.plan import (
    ClusterIs,
    ConnectorStopped,
    CreateTopic,
    FenceProducers,
    ManualStep,
    NoOpenTransaction,
    OffsetsUnchanged,
    Plan,
    PlannedStep,
    Precondition,
    ResumeConnector,
    SetConnectorConfig,
    StopConnector,
    TopicIsCompact,
    TopicIsCompactOrAbsent,
    VerifyOffsets,
    WriteOffsets,
)
from eosctl.model.plan_facts import ConnectorFacts, OffsetsNow
from eosctl.model.planned import Planned
from eosctl.model.sides import Side
from eosctl.model.skipped import Skipped
from eosctl.planning.manual_steps import configured_by_hand, created_by_hand, deleted_by_hand, resumed_by_hand
from eosctl.planning.merge import Merged, merge_offsets
from eosctl.planning.migration_findings import find_all, objections, replication_factors
from eosctl.planning.unused_ids import unused_ids

KIND: Final = "migrate-offsets"
SETTING: Final = "offsets.storage.topic"


def plan_migration(request: MigrationRequest, facts: MigrationFacts) -> Planned:
    """The plan by the rules above, with everything that was found and everything that speaks against it."""
    planner = _Planner(request, facts)
    findings = find_all(request, facts, planner.merged, [move for move in request.moves if planner.is_empty(move)])
    against = dict(objections(request, facts, (*planner.stopped(), *planner.unused), findings))
    plan = Plan(KIND, facts.as_of, planner.steps())
    return Planned(
        plan=plan,
        cluster_id=facts.cluster_ids[Side.SOURCE],
        findings=findings,
        objections=tuple(against),
        hint=next(iter(against.values()), None),
    )


class _Planner:
    """One migration being planned: the merge of each move, made once."""

    def __init__(self, request: MigrationRequest, facts: MigrationFacts) -> None:
        self._request = request
        self._facts = facts
        self._entries = {place: entries_by_connector(topic) for place, topic in facts.offsets.items()}
        self.unused = unused_ids(request, facts)
        self.merged = {move: self._merge(move) for move in request.moves}

    def steps(self) -> tuple[PlannedStep, ...]:
        """All steps: those that make writing safe for all connectors, then the writing, then what follows."""
        return (*self._stops(), *self._fences(), *self._topics(), *self._writes(), *self._configs(), *self._by_hand())

    # -- what is there -----------------------------------------------------------------------------------------------

    def _source(self, move: Move) -> list[Entry]:
        return self._entries.get((Side.SOURCE, move.source_topic), {}).get(move.connector, [])

    def _target(self, move: Move) -> list[Entry]:
        return self._entries.get((Side.TARGET, move.target_topic), {}).get(move.new_name, [])

    def _partitions(self, move: Move) -> int:
        now = self._facts.topics[Side.TARGET, move.target_topic]
        return self._request.partitions if now is None else now.facts.partitions

    def _merge(self, move: Move) -> Merged:
        return merge_offsets(move, self._source(move), self._target(move), self._partitions(move), self._request.merge)

    def is_empty(self, move: Move) -> bool:
        """Whether the source topic holds nothing of the connector."""
        return not any(records.committed is not None for _, records in self._source(move))

    def _exists(self, side: Side, connector: str) -> bool:
        now = self._facts.connectors.get((side, connector))
        return isinstance(now, ConnectorFacts) and now.state is not None

    def stopped(self) -> tuple[ConnectorStopped, ...]:
        """The connectors that have to be stopped; those of a Connect cluster that cannot be seen are left out."""
        wanted = [ConnectorStopped(Side.SOURCE, move.connector) for move in self._request.moves]
        side = self._request.new_side
        wanted += [
            ConnectorStopped(side, move.new_name)
            for move in self._request.moves
            if (self._request.elsewhere and not self._unknown(move.new_name))
            or (move.renamed and not self._request.elsewhere)
        ]
        return tuple(dict.fromkeys(wanted))

    def _unknown(self, new_name: str) -> bool:
        return isinstance(self._facts.connectors.get((Side.TARGET, new_name)), Skipped)

    def _stopped_for(self, move: Move) -> Iterator[ConnectorStopped]:
        wanted = {(Side.SOURCE, move.connector), (self._request.new_side, move.new_name)}
        return (each for each in self.stopped() if (each.side, each.connector) in wanted)

    def _cluster(self, side: Side) -> ClusterIs:
        return ClusterIs(side, self._facts.cluster_ids[side])

    # -- steps -------------------------------------------------------------------------------------------------------

    def _stops(self) -> Iterator[PlannedStep]:
        for each in self.stopped():
            now = self._facts.connectors[each.side, each.connector]
            stopped = isinstance(now, ConnectorFacts) and now.state == "STOPPED" and now.tasks == 0
            to_stop = self._request.stop and self._exists(each.side, each.connector) and not stopped
            if to_stop or each in self._request.just_stopped:
                yield PlannedStep(StopConnector(each.side, each.connector), (self._cluster(each.side),))

    def _fences(self) -> Iterator[PlannedStep]:
        for side, ids in self._facts.fenced_ids.items():
            if ids:
                unused = (each for each in self.unused if each.side is side)
                preconditions: tuple[Precondition, ...] = (self._cluster(side), *self.stopped(), *unused)
                yield PlannedStep(FenceProducers(side, ids, self._facts.transaction_timeout_ms), preconditions)

    def _topics(self) -> Iterator[PlannedStep]:
        for topic, factor in replication_factors(self._request, self._facts).items():
            if self._facts.topics[Side.TARGET, topic] is None:
                step = CreateTopic(Side.TARGET, topic, self._request.partitions, factor)
                absent = TopicIsCompactOrAbsent(Side.TARGET, topic, self._request.partitions)
                yield PlannedStep(step, (self._cluster(Side.TARGET), absent))

    def _writes(self) -> Iterator[PlannedStep]:
        for move in self._request.moves:
            yield from self._write(move)

    def _write(self, move: Move) -> Iterator[PlannedStep]:
        topic, merged, before = move.target_topic, self.merged[move], offsets_now(self._target(move))
        if merged.writes:
            yield PlannedStep(
                WriteOffsets(
                    Side.TARGET,
                    topic,
                    move.new_name,
                    self._request.target_id(move),
                    self._facts.transaction_timeout_ms,
                    merged.writes,
                    before.records,
                    before.values,
                    merged.after,
                ),
                (*self._guards(move), *self._unchanged(move, before, merged.after), *self.unused),
            )
        yield PlannedStep(VerifyOffsets(Side.TARGET, topic, move.new_name, merged.after), self._guards(move))

    def _guards(self, move: Move) -> tuple[Precondition, ...]:
        now = self._facts.topics[Side.TARGET, move.target_topic]
        topic_id = None if now is None else now.topic_id
        return (
            self._cluster(Side.SOURCE),
            self._cluster(Side.TARGET),
            *self._stopped_for(move),
            TopicIsCompact(Side.TARGET, move.target_topic, self._partitions(move), topic_id),
        )

    def _unchanged(self, move: Move, before: OffsetsNow, after: str) -> tuple[Precondition, ...]:
        source = offsets_now(self._source(move)).records
        return (
            OffsetsUnchanged(Side.SOURCE, move.source_topic, move.connector, source),
            NoOpenTransaction(Side.SOURCE, move.source_topic, move.connector),
            OffsetsUnchanged(Side.TARGET, move.target_topic, move.new_name, before.records, after),
            NoOpenTransaction(Side.TARGET, move.target_topic, move.new_name),
        )

    def _configs(self) -> Iterator[PlannedStep]:
        side = self._request.new_side
        for move in self._request.moves if self._request.set_config else ():
            changes = {} if move.unchanged else {SETTING: move.setting}
            before = {} if move.unchanged else {SETTING: move.former_setting}
            if changes or move.renamed or self._request.elsewhere:
                copied = move.connector if move.renamed or self._request.elsewhere else None
                step = SetConnectorConfig(side, move.new_name, changes, before, copied)
                yield PlannedStep(step, (self._cluster(side), *self._stopped_for(move)))
        for move in self._request.moves if self._request.resume else ():
            resume = ResumeConnector(side, move.new_name, move.target_topic, Side.TARGET)
            yield PlannedStep(resume, (self._cluster(side),))

    def _by_hand(self) -> Iterator[PlannedStep]:
        for move in self._request.moves:
            for step in self._manual_steps(move):
                yield PlannedStep(step)

    def _manual_steps(self, move: Move) -> Iterator[ManualStep]:
        new, moved = move.new_name, move.renamed or self._request.elsewhere
        group_id = self._request.target_group_id if self._request.elsewhere else None
        place = "" if group_id is None else f" in Connect cluster {group_id}"
        if not self._request.set_config and moved:
            yield created_by_hand(new, move.connector, group_id, _setting(move, ", and with "))
        elif not self._request.set_config and not move.unchanged:
            exists = self._exists(Side.SOURCE, move.connector)
            yield configured_by_hand(new, _setting(move, ""), exists=exists)
        if not self._request.resume:
            yield resumed_by_hand(f"resume connector {new}{place}", new, known_as=move.connector)
        if moved and self._exists(Side.SOURCE, move.connector):
            yield deleted_by_hand(move.connector, new, place)


def _setting(move: Move, lead: str) -> str:
    if move.unchanged:
        return ""
    setting = f"with {SETTING}={move.setting}" if move.setting else f"without {SETTING}"
    return lead.replace("with ", "") + setting if lead else setting

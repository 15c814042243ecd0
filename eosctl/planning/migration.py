"""The plan that moves connectors' offsets and excludes every other writer.

1. Every connector concerned, on both sides, is STOPPED and has no tasks, or does not exist; --stop makes it so.
2. The producers of its tasks are fenced, old and new: what a zombie left open is aborted and it cannot commit again.
3. Target topics that do not exist are created: compact, because Connect refuses others.
4. Each connector's offsets are written in one transaction in the name of its task 0, and read back.
5. Its config is changed and it is resumed, where that was requested; otherwise the plan names what is left to do. It is
   resumed only if the workers answer the offsets that were written: then they look where these were written.

Between reading and writing nothing may have changed: cluster, topics, the records of every key that was read.
"""

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from eosctl.analysis.catalogue import plans as kinds
from eosctl.analysis.catalogue.internal_topics import KEY_IN_TWO_PARTITIONS
from eosctl.analysis.catalogue.plans import WORKERS_ANSWER_OTHERWISE
from eosctl.analysis.offsets_report import LOSES_THE_REST
from eosctl.codecs.offsets_topic import (
    Value,
    canonical_partition,
    decode_offsets_key,
    decode_offsets_value,
    encode_offsets_key,
    entries_by_connector,
    hash_map_order,
    offsets_now,
    rename_key,
    value_digest,
)
from eosctl.model.connectors import HISTORIES, OFFSETS_TOPIC
from eosctl.model.migration import KeptHistory, MergeRule, MigrationFacts, MigrationRequest, Move
from eosctl.model.names import Side
from eosctl.model.offsets import (
    ConnectorOffset,
    Entry,
    KeyRecords,
    MalformedKey,
    MalformedValue,
    OffsetKey,
    SourceOffset,
    SourcePartition,
)
from eosctl.model.plan import (
    IN_USE_HINT,
    CreateTopic,
    FenceProducers,
    ManualStep,
    OffsetsWrite,
    Plan,
    PlannedStep,
    ResumeConnector,
    SetConnectorConfig,
    StopConnector,
    VerifyOffsets,
    WriteOffsets,
)
from eosctl.model.planned import Planned
from eosctl.model.preconditions import (
    ClusterIs,
    ConnectorFacts,
    ConnectorStopped,
    NoLiveOwner,
    NoOpenTransaction,
    OffsetsNow,
    OffsetsUnchanged,
    PlanFacts,
    Precondition,
    TopicIsCompact,
    TopicIsCompactOrAbsent,
    not_compact,
)
from eosctl.model.records import java_partition
from eosctl.model.report import Finding, Severity
from eosctl.model.skipped import Skipped
from eosctl.model.text import pluralize
from eosctl.model.workers import connector_path
from eosctl.planning.operated import configured_by_hand, created_by_hand, deleted_by_hand, resumed_by_hand
from eosctl.planning.producing_elsewhere import find_clusters

# One connector's offsets of two topics made one: what has to be written to the target.
#
# 1. The raw bytes of a key are its identity. They are copied; a rename exchanges the connector's name inside them.
# 2. The value of a source key is its last committed record: a value, or a tombstone. If it is in two partitions with
#    different values, the start value of a worker is unknown: an error, never a guess.
# 3. A record goes to the partition that Java's partitioner chooses, because there the connector will write it next. A
#    target that has the key elsewhere would have two live values of it for ever: an error.
# 4. The same value in both needs no writing. A key that only the target has stays. Where both differ, the rule
#    decides: fail refuses, keep-target leaves the target's, keep-source writes the source's (a tombstone, too).


SHOWN = 200


class Merged(Struct, frozen=True):
    """Records to write, the digest of the connector's offsets in the target afterwards, and the findings."""

    writes: tuple[OffsetsWrite, ...]
    after: str
    findings: tuple[Finding, ...]


Held = dict[bytes, list[KeyRecords]]
"""Raw key to what each partition holds under it."""


def merge_offsets(
    move: Move, source: Iterable[Entry], target: Iterable[Entry], partitions: int, rule: MergeRule
) -> Merged:
    """The records that bring the offsets of `source` into a target with this many partitions that holds `target`
    already."""
    held, wanted = _held(target), _held(source)
    findings: list[Finding] = []
    writes: list[OffsetsWrite] = []
    for raw, places in wanted.items():
        key = rename_key(raw, move.new_name) if move.renamed else raw
        problem = _two_values(move, move.source_topic, raw, places)
        if problem is not None:
            findings.append(problem)
            continue
        write, finding = _merge_key(move, key, _value(places), held.pop(key, []), partitions, rule)
        findings += [finding] if finding else []
        writes += [write] if write else []
    findings += _only_in_target(move, held, rule)
    return Merged(tuple(writes), value_digest(after_writing(target, writes)), tuple(findings))


def after_writing(target: Iterable[Entry], writes: Iterable[OffsetsWrite]) -> list[Value]:
    """The live offsets of the connector once the records are written."""
    live = {
        (key.raw, records.topic_partition.partition): records.committed.value
        for key, records in target
        if records.committed is not None
    }
    live |= {(each.key, each.partition): each.value for each in writes}
    return [(key, partition, value) for (key, partition), value in live.items() if value is not None]


def _held(entries: Iterable[Entry]) -> Held:
    held: Held = {}
    for key, records in entries:
        if records.committed is not None:
            held.setdefault(key.raw, []).append(records)
    return held


def _value(places: Sequence[KeyRecords]) -> bytes | None:
    committed = places[0].committed
    return None if committed is None else committed.value


def _merge_key(
    move: Move, key: bytes, value: bytes | None, places: Sequence[KeyRecords], partitions: int, rule: MergeRule
) -> tuple[OffsetsWrite | None, Finding | None]:
    partition = java_partition(key, partitions)
    live = [each for each in places if _value([each]) is not None]
    elsewhere = [each for each in live if each.topic_partition.partition != partition]
    if elsewhere:
        return None, _elsewhere(move, key, elsewhere[0], partition)
    there = _value(live) if live else None
    write = OffsetsWrite(partition, key, value, there)
    if there == value:
        return None, None
    if there is None:
        return write, None
    finding = _conflict(move, key, value, there, rule)
    return (write if rule is MergeRule.KEEP_SOURCE else None), finding


def _two_values(move: Move, topic: str, raw: bytes, places: Sequence[KeyRecords]) -> Finding | None:
    if len({_value([each]) for each in places}) < 2:
        return None
    where = ", ".join(f"{each.topic_partition.partition}: {text(_value([each]))}" for each in places)
    return KEY_IN_TWO_PARTITIONS.finding(
        move.connector,
        f"{text(raw)} has different offsets in partitions of topic {topic}: {where}",
        {"topic": topic, "partitions": [each.topic_partition.partition for each in places]},
        cure=(
            "a worker starts from the offset that it reads last; write the right offset to both (`eosctl offsets "
            f"restore FILE --connector {shlex.quote(move.connector)}`), and plan the move again"
        ),
    )


def _elsewhere(move: Move, key: bytes, held: KeyRecords, partition: int) -> Finding:
    found = held.topic_partition
    return kinds.KEY_IN_FOREIGN_PARTITION.finding(
        move.new_name,
        f"{text(key)} is in partition {found.partition} of topic {found.topic}, a Java producer writes it to "
        f"{partition}: the topic would keep both values",
        {"topic": found.topic, "partition": found.partition, "java_partition": partition},
    )


def _conflict(move: Move, key: bytes, value: bytes | None, there: bytes, rule: MergeRule) -> Finding:
    kept = {
        MergeRule.FAIL: "nothing is written",
        MergeRule.KEEP_TARGET: "the target's stays",
        MergeRule.KEEP_SOURCE: "the source's replaces it",
    }[rule]
    return kinds.OFFSETS_CONFLICT.finding(
        move.new_name,
        f"{text(key)} is {text(value)} in {move.source_topic} and {text(there)} in {move.target_topic}: {kept}",
        {"key": text(key), "source": text(value), "target": text(there)},
        severity=Severity.ERROR if rule is MergeRule.FAIL else Severity.WARNING,
    )


def _only_in_target(move: Move, held: Held, rule: MergeRule) -> list[Finding]:
    left = [raw for raw, places in held.items() if any(_value([each]) is not None for each in places)]
    if not left:
        return []
    return [
        kinds.OFFSETS_ONLY_IN_TARGET.finding(
            move.new_name,
            f"topic {move.target_topic} holds {len(left)} source partitions of connector {move.new_name} that topic "
            f"{move.source_topic} does not, such as {text(left[0])}",
            {"keys": len(left)},
            severity=Severity.ERROR if rule is MergeRule.FAIL else Severity.WARNING,
        )
    ]


def text(raw: bytes | None) -> str:
    """A key or value for people: cut where it is long, `deleted` for a tombstone."""
    if raw is None:
        return "deleted"
    return _cut(raw.decode("utf-8", "replace"))


def _cut(shown: str) -> str:
    return shown if len(shown) <= SHOWN else shown[:SHOWN] + "…"


# Compares the workers' answer for a connector (`GET /connectors/C/offsets`, KIP-875) with a topic.
#
# Settings can be misread: another offsets topic, another Connect cluster with a connector of the same name. The
# workers answer from where they look, so their answer is compared with the topic before a move and before a connector
# is resumed.
#
# 1. Workers list the source partitions of all stores, and look each of them up under the key that they encode. They
#    answer null where the first store has none (shadowed), and where the connector writes its key in other bytes:
#    members in another order than a HashMap's.
# 2. A null source partition is not listed, nor one that was deleted. Doubles come back changed (-0.0 as 0.0), so
#    source partitions with one are left out here; and nothing is compared where a value of the connector cannot be
#    used.
# 3. A worker that reads uncommitted answers an offset whose transaction was aborted; any record of the key will do.


class _Held(Struct, frozen=True):
    """Source partitions of a topic as canonical JSON: the offsets that were ever written, and which are live.

    found are live ones that workers find: they encode the same bytes.
    """

    seen: dict[str, set[str]]
    live: frozenset[str]
    found: frozenset[str]


def contradictions(request: MigrationRequest, facts: MigrationFacts) -> Iterator[Finding]:
    """Where the workers answer something else than the topic holds that a move reads, or fail. A null is the shadow."""
    for move in request.moves:
        answer = facts.answers.get(move.connector)
        held = facts.offsets.get((Side.SOURCE, move.source_topic))
        if answer is None or held is None:
            continue
        entries = entries_by_connector(held).get(move.connector, [])
        if not isinstance(answer, Skipped):
            different = contradiction(answer, entries)
            if different is not None:
                yield _finding(move, different)
        elif _held_answers(entries) is not None:
            yield _unknown(move, answer)


def contradiction(answer: Sequence[ConnectorOffset], entries: Iterable[Entry], *, nulls: bool = True) -> str | None:
    """The first difference between the answer and the topic, in words, or None. nulls: a null answer is no difference.

    Without nulls every live offset that workers can find must be answered.
    """
    held = _held_answers(entries)
    if held is None:
        return None
    answered = {canonical_partition(each.partition): each.offset for each in answer if _is_exact(each.partition)}
    others = [
        f"{partition} is {_plain(offset)}"
        for partition, offset in answered.items()
        if offset is not None and _plain(offset) not in held.seen.get(partition, ())
    ]
    unheard = sorted(held.live - answered.keys())
    begun = [] if nulls else sorted(partition for partition in held.found if answered.get(partition) is None)
    lost = unheard or begun
    wrong = pluralize(len(others), "offset that is not there", "offsets that are not there")
    for found, what in ((others, wrong), (lost, f"none for {pluralize(len(lost), 'source partition')}")):
        if found:
            return f"{what} (the first: {_cut(found[0])})"
    return None


def _held_answers(entries: Iterable[Entry]) -> _Held | None:
    """None where a value cannot be used: then the workers' answer is an error."""
    seen: dict[str, set[str]] = {}
    live, found = set(), set()
    for key, records in entries:
        if key.partition is None or not _is_exact(key.partition):
            continue
        partition = canonical_partition(key.partition)
        for record in (records.committed, records.open, records.aborted):
            offset = None if record is None else decode_offsets_value(record.value)
            if isinstance(offset, MalformedValue):
                return None
            if offset is not None:
                seen.setdefault(partition, set()).add(_plain(offset))
                live |= {partition} if record is records.committed else set()
        found |= {partition} & live if _is_found(key) else set()
    return _Held(seen, frozenset(live), frozenset(found))


def _is_exact(partition: SourcePartition) -> bool:
    return not any(isinstance(value, float | dict | list) for value in partition.values())


def _is_found(key: OffsetKey) -> bool:
    return encode_offsets_key(key.connector, hash_map_order(key.members)) == key.raw


def _finding(move: Move, different: str) -> Finding:
    """A topic that the user named is the user's request, even if the workers do not use it."""
    return WORKERS_ANSWER_OTHERWISE.finding(
        move.connector,
        f"of topic {move.source_topic} the workers of connector {move.connector} answer {different} (GET "
        f"{connector_path(move.connector)}/offsets): they keep its offsets somewhere else",
        severity=Severity.WARNING if move.named else Severity.ERROR,
    )


def _unknown(move: Move, answer: Skipped) -> Finding:
    return WORKERS_ANSWER_OTHERWISE.finding(
        move.connector,
        f"the workers' answers for connector {move.connector} (GET {connector_path(move.connector)}/offsets) were "
        f"not compared with topic {move.source_topic}: {answer.reason}",
        severity=Severity.WARNING,
    )


def _plain(offset: SourceOffset) -> str:
    exact = {name: value + 0.0 if isinstance(value, float) else value for name, value in offset.items()}
    return json.dumps(exact, sort_keys=True, ensure_ascii=False)


# Findings about a migration before it is applied, and the objections to it.


def find_all(
    request: MigrationRequest, facts: MigrationFacts, merged: Mapping[Move, Merged], empty: Iterable[Move]
) -> tuple[Finding, ...]:
    """Every finding once, the worst first."""
    found = [each for one in merged.values() for each in one.findings]
    for topic in dict.fromkeys(move.target_topic for move in request.moves):
        found += _foreign_keys(request, facts, topic)
    found += [_nothing_there(move) for move in empty]
    found += _unknown_targets(request, facts)
    found += _existing_targets(request, facts)
    found += find_clusters(request, facts)
    found += contradictions(request, facts)
    found += _histories(request, facts)
    found += [_assumed(move) for move in request.moves if move.assumed]
    return tuple(sorted(found, key=lambda each: list(Severity).index(each.severity)))


def _nothing_there(move: Move) -> Finding:
    return kinds.NO_OFFSETS.finding(
        move.connector,
        f"topic {move.source_topic} holds no offset of connector {move.connector}: it will begin from nothing",
    )


def _assumed(move: Move) -> Finding:
    return kinds.SOURCE_TOPIC_ASSUMED.finding(
        move.connector,
        f"connector {move.connector} does not exist and the config topic no longer holds its config. The plan "
        f"assumes that its offsets are in the worker-global offsets topic {move.source_topic}. If it had its own "
        "offsets topic, these are copies that may be older",
    )


def _foreign_keys(request: MigrationRequest, facts: MigrationFacts, topic: str) -> Iterator[Finding]:
    """Worth refusing where a worker that will read the topic may be one that loses offsets over them."""
    held = facts.offsets.get((Side.TARGET, topic))
    raws = () if held is None else held.raw_keys()
    foreign = sum(1 for raw in raws if isinstance(decode_offsets_key(raw), MalformedKey))
    if foreign:
        keys = f"topic {topic} holds {pluralize(foreign, 'key that is', 'keys that are')} not of source offsets"
        oldest = facts.worker_version
        ignored = not request.elsewhere and not isinstance(oldest, Skipped) and oldest > LOSES_THE_REST[-1][1]
        yield kinds.FOREIGN_KEYS.finding(
            topic,
            f"{keys}: workers of {oldest} and newer log and ignore them" if ignored else keys,
            {"keys": foreign},
            severity=Severity.WARNING if ignored else None,
        )


def _histories(request: MigrationRequest, facts: MigrationFacts) -> Iterator[Finding]:
    """Of connectors whose schema history does not come along by itself."""
    for name, history in facts.histories.items():
        unknown = history if isinstance(history, Skipped) else history.cluster_id
        if isinstance(history, KeptHistory) and history.topic is None:
            said = "its schema history is a file of its worker's host, which no plan of eosctl moves"
            yield kinds.HISTORY_LEFT.finding(name, said, cure=kinds.HISTORY_FILE, severity=Severity.WARNING)
        elif isinstance(unknown, Skipped):
            said = f"eosctl could not check where its schema history is: {unknown.reason}"
            yield kinds.HISTORY_LEFT.finding(name, said, severity=Severity.WARNING)
        elif isinstance(history, KeptHistory) and history.records and unknown == facts.cluster_ids[Side.SOURCE]:
            yield _history(name, history, facts.cluster_ids)


def _history(connector: str, history: KeptHistory, clusters: Mapping[Side, str]) -> Finding:
    records, target = pluralize(history.records, "record"), clusters[Side.TARGET]
    said = f"its schema history, {records} of topic {history.topic}, is in Kafka cluster {clusters[Side.SOURCE]}"
    evidenced = {"topic": history.topic, "records": history.records}
    if not history.is_copied:
        return kinds.HISTORY_LEFT.finding(connector, f"{said}, and {target} has no copy of it", evidenced)
    said = (
        f"{said}, and {target} has a copy of it; the connector reads the copy only if its config names the brokers "
        f"of {target}"
    )
    cure = f"set {HISTORIES[0]}bootstrap.servers of its new config to the brokers of {target} before it is resumed"
    return kinds.HISTORY_LEFT.finding(connector, said, evidenced, cure=cure, severity=Severity.WARNING)


def _unknown_targets(request: MigrationRequest, facts: MigrationFacts) -> Iterator[Finding]:
    for name in dict.fromkeys(move.new_name for move in request.moves):
        now = facts.connectors.get((Side.TARGET, name))
        if request.elsewhere and isinstance(now, Skipped):
            yield kinds.TARGET_CONNECTOR_UNKNOWN.finding(
                name,
                f"whether connector {name} runs in Connect cluster {request.target_group_id} is unknown: {now.reason}",
            )


def _existing_targets(request: MigrationRequest, facts: MigrationFacts) -> Iterator[Finding]:
    """A new name that already belongs to a connector: only its offsets are replaced by the old one's."""
    for move in request.moves:
        now = facts.connectors.get((request.new_side, move.new_name))
        if (move.renamed or request.elsewhere) and isinstance(now, ConnectorFacts) and now.state is not None:
            yield kinds.TARGET_CONNECTOR_EXISTS.finding(
                move.new_name,
                f"connector {move.new_name} exists already: it keeps its config, and resumes from the offsets of "
                f"{move.connector}",
                cure=f"check that it reads the same source as {move.connector}; otherwise take another name, or "
                "delete it first",
            )


def objections(
    request: MigrationRequest,
    facts: MigrationFacts,
    needed: Iterable[ConnectorStopped | NoLiveOwner],
    findings: Iterable[Finding],
) -> Iterator[tuple[str, str]]:
    """Why nothing may be written, each with the remedy. needed are connectors to stop, and IDs that no other client
    may have."""
    plan_facts = PlanFacts(connectors=facts.connectors, live_owners=facts.live_owners)
    for precondition in needed:
        reason = precondition.violation(plan_facts)
        if isinstance(precondition, NoLiveOwner):
            if reason is not None:
                yield reason, IN_USE_HINT
            continue
        will_stop = request.stop and not isinstance(
            facts.connectors[precondition.side, precondition.connector], Skipped
        )
        if reason is not None and not will_stop:
            yield reason, precondition.how_to_stop(plan_facts)
    for topic in dict.fromkeys(move.target_topic for move in request.moves):
        now = facts.topics[Side.TARGET, topic]
        reason = None if now is None else not_compact(now.facts)
        if reason is not None:
            yield reason, f"set cleanup.policy=compact on {topic}, or move to another topic"
    yield from _missing_topics(request, facts)
    yield from _too_few_brokers(request, facts)
    yield from _missing_configs(request, facts)
    for finding in findings:
        if finding.severity is Severity.ERROR:
            yield finding.message, finding.cure


def replication_factors(request: MigrationRequest, facts: MigrationFacts) -> dict[str, int]:
    """The replication factor with which each target topic would be created; -1: the broker's default."""
    if request.replication_factor is not None:
        return dict.fromkeys((move.target_topic for move in request.moves), request.replication_factor)
    found: dict[str, int] = {}
    for move in request.moves:
        now = facts.topics.get((Side.SOURCE, move.source_topic))
        factor = -1 if now is None else now.facts.replication_factor
        found[move.target_topic] = max(factor, found.get(move.target_topic, -1))
    return found


def _too_few_brokers(request: MigrationRequest, facts: MigrationFacts) -> Iterator[tuple[str, str]]:
    """A topic that has to be created with more replicas than the target has brokers: CreateTopics is refused."""
    for topic, factor in replication_factors(request, facts).items():
        brokers = facts.target_brokers
        if facts.topics[Side.TARGET, topic] is None and brokers is not None and factor > brokers:
            yield (
                f"the plan creates topic {topic} with replication factor {factor}, and the target cluster has "
                f"{pluralize(brokers, 'broker')}",
                f"give --replication-factor {brokers}, or start the other brokers first",
            )


def _missing_topics(request: MigrationRequest, facts: MigrationFacts) -> Iterator[tuple[str, str]]:
    """The topic that offsets are taken from, and the workers' own, must be there, or their name is a wrong one."""
    for topic in dict.fromkeys(move.source_topic for move in request.moves):
        if facts.topics.get((Side.SOURCE, topic)) is None:
            yield (
                f"topic {topic}, from which offsets were to be taken, does not exist",
                "--worker-offsets-topic is the workers' offset.storage.topic, --offsets-topic wins over all",
            )
    for move in request.moves:
        if move.to_workers and facts.topics[Side.TARGET, move.target_topic] is None:
            yield (
                f"topic {move.target_topic} does not exist: it is not the workers' offsets topic",
                "--worker-offsets-topic is the workers' offset.storage.topic",
            )


def _missing_configs(request: MigrationRequest, facts: MigrationFacts) -> Iterator[tuple[str, str]]:
    """--set-config changes or copies a config that has to be there, and is read from a worker of the source only."""
    for move in request.moves if request.set_config else ():
        old = facts.connectors.get((Side.SOURCE, move.connector))
        new = facts.connectors.get((request.new_side, move.new_name))
        exists = isinstance(new, ConnectorFacts) and new.state is not None
        if (move.renamed or request.elsewhere) and not exists and not facts.source_workers:
            yield (
                f"connector {move.new_name} gets the config of {move.connector}, and only a worker of Connect "
                f"cluster {request.source_group_id} has that config",
                f"give --connect-url, a worker of {request.source_group_id}; or leave out --set-config and --resume, "
                "and create it once its offsets are in place",
            )
        if all(isinstance(each, ConnectorFacts) and each.state is None for each in (old, new)):
            yield (
                f"connector {move.connector} does not exist, so there is no config for --set-config",
                "leave out --set-config and --resume, and create it once its offsets are in place",
            )


# The IDs that must be free when a plan takes them.


def unused_ids(request: MigrationRequest, facts: MigrationFacts) -> tuple[NoLiveOwner, ...]:
    """For each side the IDs that a move fences, and the IDs of task 0 with which it writes offsets.

    Other preconditions stop moving connectors in their own group, unless the new group's connectors are unknown.
    """
    if request.force:
        return ()
    sides = tuple(facts.fenced_ids) or (Side.SOURCE,)
    written = {request.target_id(move) for move in request.moves}
    besides: dict[Side, str | None] = {Side.SOURCE: request.source_group_id, Side.TARGET: request.target_group_id}
    if any(isinstance(facts.connectors.get((Side.TARGET, move.new_name)), Skipped) for move in request.moves):
        besides[Side.TARGET] = None
    wanted = {side: {*facts.fenced_ids.get(side, ()), *(written if side is sides[-1] else ())} for side in sides}
    return tuple(NoLiveOwner(side, tuple(sorted(ids)), besides[side]) for side, ids in wanted.items() if ids)


KIND: Final = "migrate-offsets"


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
        """True if the source topic holds nothing of the connector."""
        return not any(records.committed is not None for _, records in self._source(move))

    def _exists(self, side: Side, connector: str) -> bool:
        now = self._facts.connectors.get((side, connector))
        return isinstance(now, ConnectorFacts) and now.state is not None

    def stopped(self) -> tuple[ConnectorStopped, ...]:
        """The connectors to stop; those of an invisible Connect cluster are left out."""
        wanted = [ConnectorStopped(Side.SOURCE, move.connector) for move in self._request.moves]
        side = self._request.new_side
        wanted += [
            ConnectorStopped(side, move.new_name)
            for move in self._request.moves
            if not (self._request.elsewhere and self._unknown(move.new_name))
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
            paused = isinstance(now, ConnectorFacts) and now.state == "PAUSED"
            at = each.side, each.connector
            before = [step for step in self._request.just_stopped if (step.side, step.connector) == at]
            for step in before or [StopConnector(*at, paused)] * to_stop:
                yield PlannedStep(step, (self._cluster(each.side),))

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
        """The step is there also where the target holds all: it says from which position the connector goes on."""
        topic, merged, before = move.target_topic, self.merged[move], offsets_now(self._target(move))
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
            changes = {} if move.unchanged else {OFFSETS_TOPIC: move.setting}
            before = {} if move.unchanged else {OFFSETS_TOPIC: move.former_setting}
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
            yield created_by_hand(new, move.connector, group_id, _setting(move, ", and "))
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
    setting = f"with {OFFSETS_TOPIC}={move.setting}" if move.setting else f"without {OFFSETS_TOPIC}"
    return lead + setting

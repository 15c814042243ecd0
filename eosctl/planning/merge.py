"""One connector's offsets of two topics made one: what has to be written to the target.

1. The raw bytes of a key are its identity. They are copied; a rename exchanges the connector's name inside them.
2. What a source key stands for is its last committed record: a value, or a tombstone. Where it lies in two partitions
   with different values, nobody can say which of them a worker starts from: an error, never a guess.
3. A record goes to the partition that Java's partitioner chooses, because there the connector will write it next. A
   target that has the key elsewhere would have two live values of it for ever: an error.
4. The same value in both needs no writing. A key that only the target has stays. Where both differ, the rule decides:
   fail refuses, keep-target leaves the target's, keep-source writes the source's (a tombstone, too).
"""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from eosctl.analysis.catalogue import migration as kinds
from eosctl.analysis.catalogue.offsets import KEY_IN_TWO_PARTITIONS
from eosctl.codecs.offsets_digest import Value, value_digest
from eosctl.codecs.offsets_topic import rename_key
from eosctl.model.migration import MergeRule, Move
from eosctl.model.offsets import Entry, KeyRecords
from eosctl.model.partitioner import java_partition
from eosctl.model.plan import OffsetsWrite
from eosctl.model.report import Finding, Severity

SHOWN = 200


@dataclass(frozen=True, slots=True)
class Merged:
    """Records to write, the digest of the connector's offsets in the target afterwards, and what was found."""

    writes: tuple[OffsetsWrite, ...]
    after: str
    findings: tuple[Finding, ...]


Held = dict[bytes, list[KeyRecords]]
"""Raw key to what each partition holds under it."""


def merge_offsets(
    move: Move, source: Iterable[Entry], target: Iterable[Entry], partitions: int, rule: MergeRule
) -> Merged:
    """What brings the offsets of `source` into a target of so many partitions that holds `target` already."""
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
            "a worker starts from the one that it happens to read last; write the right one to both (`eosctl offsets "
            f"restore FILE --connector {shlex.quote(move.connector)}`), and plan the move again"
        ),
    )


def _elsewhere(move: Move, key: bytes, held: KeyRecords, partition: int) -> Finding:
    found = held.topic_partition
    return kinds.KEY_IN_FOREIGN_PARTITION.finding(
        move.new_name,
        f"{text(key)} lies in partition {found.partition} of topic {found.topic}, a Java producer writes it to "
        f"{partition}: both values would live on",
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
    shown = raw.decode("utf-8", "replace")
    return shown if len(shown) <= SHOWN else shown[:SHOWN] + "…"

"""Random histories of a connector, and runs of the audit over them."""

import json
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace

from eosctl.codecs.record_batches import Codec
from eosctl.engines.auditing import AuditResult, run_audit
from eosctl.engines.local import LocalEngine
from eosctl.model.audit import AuditReport, StateKind, StateRow, TopicRole
from eosctl.model.ledger import Cursor
from eosctl.model.names import TopicPartition
from eosctl.model.topics import OffsetRange
from eosctl.planning.audit import plan_ranges, resume
from eosctl.render.answers.audit import view_audit
from eosctl.render.formats import Output, text_of_envelope
from tests.analysis.audit.brokers import (
    CONFIGS,
    OFFSETS,
    PARTITIONS,
    Brokers,
    ConnectCluster,
    Connector,
    Producer,
    Seen,
    value_of,
)

MINUTE = 60_000
SOURCES = ("a", "b", "c")
STRANGE_KEYS = (
    None,
    b"",
    b"no json",
    b"[1]",
    b'["orders",{"b":1, "a":2}]',
    b'["orders",{"a":2,"b":1}]',
    b'["gone",{}]',
)
STRANGE_VALUES = (None, b"{}", b"[1]", b"broken", b'{"file":"log.000002","position":3}', b'{"position":2.5}')

steps = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(0, 1), st.integers(0, 1), st.sets(st.sampled_from(SOURCES), max_size=3),
                  st.sets(st.integers(0, PARTITIONS - 1), max_size=2), st.integers(0, 12), st.sampled_from(Codec)),
        st.tuples(st.just("end"), st.integers(0, 1), st.integers(0, 1), st.sampled_from(["commit", "abort", "open"]),
                  st.integers(0, 3)),
        st.tuples(st.just("restart"), st.integers(0, 1), st.integers(0, 1)),
        st.tuples(st.just("reconfigure"), st.integers(0, 1), st.integers(0, 3), st.booleans()),
        st.tuples(st.just("zombie"), st.integers(0, 1), st.sampled_from(SOURCES), st.integers(0, 12)),
        st.tuples(st.just("plain"), st.integers(0, 1), st.sampled_from(SOURCES), st.integers(0, 12)),
        st.tuples(st.just("strange"), st.sampled_from(STRANGE_KEYS), st.sampled_from(STRANGE_VALUES),
                  st.integers(0, PARTITIONS - 1)),
        st.tuples(st.just("missing"), st.integers(0, 1), st.sampled_from(SOURCES)),
        st.tuples(st.just("move"), st.booleans(), st.integers(0, 12)),
        st.tuples(st.just("snapshot"), st.integers(0, 1), st.integers(0, 2), st.booleans()),
        st.tuples(st.just("leader"), st.booleans()),
        st.tuples(st.just("wait"), st.sampled_from([3, 900, 7_000, 70_000, 16 * MINUTE, 100 * MINUTE])),
        st.tuples(st.just("look")),
    ),
    min_size=5,
    max_size=40,
)  # fmt: skip
spoils = st.lists(
    st.tuples(st.sampled_from(["crc", "magic", "lose", "compact"]), st.integers(0, 12), st.integers(0, 60)), max_size=3
)


class History:
    """Carries steps out; `moments` are the times of looking at the cluster, the last one at the end."""

    def __init__(self, transaction_version: int, clock_skew_ms: int = 0) -> None:
        self.brokers = Brokers(transaction_version=transaction_version, clock_skew_ms=clock_skew_ms)
        self.cluster = ConnectCluster(self.brokers)
        self.connectors = [self.cluster.connector("orders", 2), self.cluster.connector("bills", 2, own="bills-offsets")]
        self.moments: list[Seen] = []
        self._old: dict[str, list[Producer]] = {}

    def play(self, played: list[tuple[Any, ...]], spoiled: list[tuple[str, int, int]] = ()) -> "History":  # type: ignore[assignment]
        for name, *how in played:
            step: Callable[..., None] = getattr(self, f"_{name}")
            step(*how)
        for kind, place, index in spoiled:
            self._spoil(kind, place, index)
        self.moments.append(self.brokers.seen())
        return self

    def _task(self, connector: int, task: int) -> Producer | None:
        tasks = self.connectors[connector].tasks
        return tasks[task % len(tasks)] if tasks else None

    def _write(self, connector: int, task: int, sources: set[str], outputs: set[int], at: int, codec: Codec) -> None:
        mine, producer = self.connectors[connector], self._task(connector, task)
        if producer is not None:
            mine.data(producer, at % 4, outputs=sorted(outputs), codec=codec)
            for source in sorted(sources):
                mine.offset(producer, source, value_of(at))
            producer.commit()

    def _end(self, connector: int, task: int, how: str, records: int) -> None:
        producer = self._task(connector, task)
        if producer is not None:
            self.connectors[connector].data(producer, records, outputs=(1,))
            self.connectors[connector].offset(producer, "a", value_of(records))
            {"commit": producer.commit, "abort": producer.abort, "open": lambda: None}[how]()

    def _restart(self, connector: int, task: int) -> None:
        mine = self.connectors[connector]
        if mine.count:
            self._keep_old(mine)
            mine.start(task % mine.count)

    def _reconfigure(self, connector: int, tasks: int, fenced: bool) -> None:
        mine = self.connectors[connector]
        self._keep_old(mine)
        mine.configure(tasks)
        self.brokers.tick(200)
        if fenced:
            mine.fence()
        mine.tasks = []
        mine.start()

    def _keep_old(self, connector: Connector) -> None:
        self._old[connector.name] = [each for each in connector.tasks if not each.touched]

    def _zombie(self, connector: int, source: str, at: int) -> None:
        """Where commits raise epochs its first one takes it to the epoch of its successor, which no broker allows."""
        mine = self.connectors[connector]
        for producer in self._old.get(mine.name, ())[:1]:
            mine.offset(producer, source, value_of(at))
            producer.commit()
            if self.brokers.transaction_version == 2:
                self._old[mine.name] = self._old[mine.name][1:]

    def _plain(self, connector: int, source: str, at: int) -> None:
        mine = self.connectors[connector]
        key = b'["%s",{"table":"%s"}]' % (mine.name.encode(), source.encode())
        self.brokers.append(TopicPartition(OFFSETS, at % PARTITIONS), [(key, value_of(at))])
        self.brokers.append(TopicPartition(mine.name, at % PARTITIONS), [(None, b"x")] * 2)

    def _strange(self, key: bytes | None, value: bytes | None, partition: int) -> None:
        self.brokers.append(TopicPartition(OFFSETS, partition), [(key, value), (key, value)])

    def _missing(self, connector: int, source: str) -> None:
        mine, producer = self.connectors[connector], self._task(connector, 0)
        if producer is not None and not producer.touched:
            mine.data(producer, 2, outputs=(2,))
            mine.offset(producer, source, value_of(7))
            producer.commit(missing=[TopicPartition(mine.name, 2)])

    def _move(self, copied: bool, at: int) -> None:
        """Moves the second connector to its own offsets topic, or away from it; with copied, a tool copies its
        offsets."""
        mine = self.connectors[1]
        mine.own = "bills-offsets" if mine.own is None else None
        if copied:
            tool = self.brokers.init("group-bills-0")
            for source in SOURCES:
                mine.offset(tool, source, value_of(at))
            tool.commit()
        self._reconfigure(1, 2, True)

    def _snapshot(self, connector: int, lsn: int, finished: bool) -> None:
        producer = self._task(connector, 0)
        if producer is not None:
            mine = self.connectors[connector]
            mine.data(producer, 1)
            value = b'{"lsn":%d,"snapshot":%s,"txId":1}' % (lsn, b'"last"' if finished else b"true")
            mine.offset(producer, "a", value)
            producer.commit()

    def _leader(self, plain: bool) -> None:
        self.cluster.elect()
        self.cluster.write_config(("session-key", {"key": "x"}), plain=plain)

    def _wait(self, ms: int) -> None:
        self.brokers.tick(ms)

    def _look(self) -> None:
        self.moments.append(self.brokers.seen())

    def _spoil(self, kind: str, place: int, index: int) -> None:
        """Damages anywhere; compaction only in the part that the first look has seen, as it never reaches the log's
        end.

        A hole in a compacted topic counts as compaction: a later batch exists that the first look has seen.
        """
        compacted = [OFFSETS, "bills-offsets", CONFIGS]
        topics = compacted if kind == "compact" else list(self.brokers.topics)
        places = [each for each in sorted(self.brokers.logs) if each.topic in topics]
        chosen = places[place % len(places)]
        batches = self.brokers.logs[chosen].batches
        if kind == "compact":
            self._compact(chosen)
        elif batches and kind == "lose":
            number = index % len(batches)
            behind = [each for each in batches[number + 1 :] if each.last < self._first_seen(chosen)]
            if chosen.topic not in compacted or behind:
                self.brokers.lose(chosen, number)
        elif batches:
            each = batches[index % len(batches)]
            if each.data is not None and each.kind is None:
                self.brokers.damage(chosen, index % len(batches), magic=kind == "magic")

    def _compact(self, place: TopicPartition) -> None:
        self.brokers.compact(place, max(0, self._first_seen(place) - 2))

    def _first_seen(self, place: TopicPartition) -> int:
        """Up to where the first look reads a partition."""
        for seen in self.moments[:1]:
            return next(
                each.last_stable_offset
                for each in seen.bounds
                if (each.topic, each.partition) == (place.topic, place.partition)
            )
        return self.brokers.logs[place].last_stable_offset


Cut = Callable[[OffsetRange], Iterable[int]]
"""Offsets inside a range at which it is cut."""


def whole(_: OffsetRange) -> Iterable[int]:
    return ()


def everywhere(offsets: OffsetRange) -> Iterable[int]:
    return range(offsets.start + 1, offsets.end)


def audit(brokers: Brokers, seen: Seen | None = None, cut: Cut = whole, selected: tuple[str, ...] = ()) -> AuditReport:
    """One audit of everything; selected are the connectors that a verdict is asked for."""
    return audited(brokers, seen or brokers.seen(), (), cut, selected=selected).report


def audit_by_runs(brokers: Brokers, moments: Sequence[Seen], cut: Cut = whole) -> AuditReport:
    """One run for each moment; each reads only new records, and begins with the previous run's state."""
    carried: tuple[StateRow, ...] = ()
    before: Seen | None = None
    for seen in moments:
        done = audited(brokers, seen, carried, cut, before)
        carried, before = done.carried, seen
    return done.report


def audited(
    brokers: Brokers,
    seen: Seen,
    carried: Sequence[StateRow],
    cut: Cut,
    before: Seen | None = None,
    selected: tuple[str, ...] = (),
    named: tuple[str, ...] = (),
) -> AuditResult:
    plan = replace(brokers.plan(seen), selected=selected, named=named)
    if named:
        topics = tuple(each for each in plan.topics if each.role is not TopicRole.OUTPUT or each.name in named)
        read = {each.name for each in topics}
        plan = replace(plan, topics=topics, bounds=tuple(each for each in plan.bounds if each.topic in read))
    cursors = {
        TopicPartition(each.topic, each.partition): Cursor(each.topic, each.partition, None, each.last_stable_offset)
        for each in (() if before is None else before.bounds)
    }
    logs = [row for row in carried if row.kind is StateKind.LOG]
    begins = {TopicPartition(row.topic, row.partition): row.start for row in logs}
    plan = plan_ranges(plan, resume(cursors, plan.topics, plan.bounds), begins, 1)
    plan = replace(plan, ranges=tuple(part for each in plan.ranges for part in _parts(each, cut)))
    return run_audit(
        plan,
        LocalEngine(brokers.source, processes=1),
        lambda kind: (r for r in carried if r.kind is kind),
        read_again=brokers.source,
    )


def _parts(offsets: OffsetRange, cut: Cut) -> Iterable[OffsetRange]:
    edges = [offsets.start, *sorted({at for at in cut(offsets) if offsets.start < at < offsets.end}), offsets.end]
    return [offsets._replace(start=start, end=end) for start, end in pairwise(edges)]


def text_of(report: AuditReport) -> str:
    """The report's JSON without its plan, members sorted."""
    document = json.loads(text_of_envelope(view_audit(report).envelope(), Output.JSON))
    del document["data"]["plan"]
    return json.dumps(document, sort_keys=True, indent=1)


def found(report: AuditReport) -> list[str]:
    """IDs of the findings that count, as often as they were found."""
    return sorted(each.name for each in report.findings if each.counts)

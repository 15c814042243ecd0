"""Audits of a cluster in memory: at once or run by run, with ranges cut anywhere."""

import json
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

from msgspec.structs import replace

from eosctl.engines.auditing import AuditResult, run_audit
from eosctl.engines.local import LocalEngine
from eosctl.model.audit import AuditReport, OffsetRange, StateKind, StateRow
from eosctl.model.ledger import Cursor
from eosctl.model.names import TopicPartition
from eosctl.planning.audit import plan_ranges, resume
from eosctl.render.answers.audit import view_audit
from eosctl.render.formats import Output, text_of_envelope
from tests.analysis.audit.brokers import Brokers, Seen

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
    """One run for each moment; each reads only what is new, and begins with what the one before carried."""
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
) -> AuditResult:
    plan = replace(brokers.plan(seen), selected=selected)
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

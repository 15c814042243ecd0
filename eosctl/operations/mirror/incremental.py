"""A mirror's audit that goes on where the last one of its job ended, pair of partitions by pair of partitions.

The ledger has a cursor for each partition of the target, and carries a row for each pair: how far it was compared. A
row of no pair names the source cluster. Pairs that a run was not asked for are carried on as they are.
"""

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, Protocol

from eosctl import __version__
from eosctl.codecs.audit_states import decode_state, encode_state
from eosctl.errors import Refused
from eosctl.ledger.ledger import Ledger
from eosctl.model.audit import StateKind, StateRow
from eosctl.model.audit_report import RangeEvidence
from eosctl.model.ledger import Advance, LedgerRun
from eosctl.model.mirror import MirrorReport, TopicPair
from eosctl.model.mirror_progress import MirrorProgress
from eosctl.model.names import TopicPartition
from eosctl.operations.audit.incremental import buckets_of, until_committed
from eosctl.operations.mirror.plan import Planned
from eosctl.planning.ledger import advance, newly_read, resume

PairKey = tuple[TopicPair, int]
Earlier = Mapping[PairKey, MirrorProgress]
NO_PAIR: Final = ""


class Auditor(Protocol):
    """What runs plans."""

    def plan(self) -> Planned:
        """All that is to be compared, of this moment."""

    def run(self, planned: Planned, earlier: Earlier) -> tuple[MirrorReport, tuple[MirrorProgress, ...]]:
        """The report, and what the next run can go on from."""


def run_incrementally(
    auditor: Auditor, ledger: Ledger, job: str, as_json: Callable[[MirrorReport], str]
) -> MirrorReport:
    """The report over all runs of the job; the ledger has this one when it returns.

    Raises Refused where the job is not that of a mirror, or that of a mirror of another source cluster.
    """
    return until_committed(lambda: _Attempt(auditor, ledger, job).report(as_json))


class _Attempt:
    """One run, from the state that it was planned from to its commit."""

    def __init__(self, auditor: Auditor, ledger: Ledger, job: str) -> None:
        self._auditor, self._ledger = auditor, ledger
        self._planned = auditor.plan()
        self._state = ledger.state(job, self._planned.plan.target_cluster)
        rows = tuple(ledger.carried(self._state, StateKind.MIRROR)) if self._state.run_number else ()
        self._source = self._source_cluster([each for each in rows if each.topic == NO_PAIR])
        found = [decode_state(each.payload, MirrorProgress) for each in rows if each.topic != NO_PAIR]
        self._earlier: Earlier = {(each.topics, each.partition): each for each in found}

    def _source_cluster(self, kept: Sequence[StateRow]) -> str:
        now, job = self._planned.plan.source_cluster or "", self._state.job
        if not self._state.run_number:
            return now
        if not kept:
            raise Refused(f"job {job} is that of an audit of connectors", hint="use another job")
        before = decode_state(kept[0].payload, str)
        if before and now and before != now:
            raise Refused(f"job {job} compares with source cluster {before}, this is {now}", hint="use another job")
        return before or now

    def report(self, as_json: Callable[[MirrorReport], str]) -> MirrorReport:
        """Runs the plan and commits."""
        report, progress = self._auditor.run(self._planned, self._earlier)
        self._ledger.commit(
            LedgerRun(
                run_id=str(uuid.uuid4()),
                state=self._state,
                as_of=self._planned.plan.as_of,
                verdict=report.verdict.value,
                findings=len(report.findings),
                report=as_json(report),
                eosctl_version=__version__,
                advances=tuple(self._advances(report, progress)),
                carried=buckets_of(self._carried(progress)),
            )
        )
        return report

    def _carried(self, progress: Sequence[MirrorProgress]) -> Iterator[StateRow]:
        yield StateRow(StateKind.MIRROR, 0, NO_PAIR, 0, 0, True, encode_state(self._source))
        asked = {(each.topics, each.partition) for each in self._planned.plan.pairs}
        for each in (*progress, *(kept for key, kept in self._earlier.items() if key not in asked)):
            name = " ".join(each.topics)
            yield StateRow(StateKind.MIRROR, 0, name, each.partition, each.kept.target_next, True, encode_state(each))

    def _advances(self, report: MirrorReport, progress: Sequence[MirrorProgress]) -> Iterator[Advance]:
        """Each partition of the target up to where its records are compared for good."""
        found = {TopicPartition(each.topics.target, each.partition): each for each in progress}
        continued = {
            TopicPartition(each.pair.topics.target, each.pair.partition)
            for each in report.pairs
            if each.alignment.continued is not None
        }
        bounds = [each.target for each in self._planned.plan.pairs]
        resumptions = resume(self._state.cursors, self._planned.target.topics, bounds)
        evidence = [
            RangeEvidence(
                place.topic, place.partition, 0, each.kept.target_next, each.kept.target_place + each.target.aborted
            )
            for place, each in found.items()
            if place in continued or place not in self._state.cursors
        ]
        read = newly_read(evidence, self._ledger.ranges(self._state.job), resumptions)
        for each in resumptions:
            place = each.topic_partition
            yield advance(
                each, max(each.start, found[place].kept.target_next if place in found else 0), read.get(place)
            )

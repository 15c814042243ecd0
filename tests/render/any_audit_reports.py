"""Audit reports for the tests: any that Hypothesis can think of."""

from hypothesis import strategies as st

from eosctl.analysis.catalogue import audit
from eosctl.model.audit import (
    AuditedTopic,
    AuditPlan,
    AuditReport,
    AuditVerdict,
    ConnectorVerdict,
    EpochPoint,
    Gap,
    Growth,
    OffsetRange,
    PartitionBounds,
    RangeEvidence,
    Stall,
    TimelineEvent,
    TopicRole,
    TransactionalIdHolder,
    TransactionStatistics,
)
from eosctl.model.report import Finding, Severity
from eosctl.model.skipped import Skipped
from tests.render.audit_reports import AS_OF, DAY, HOSTILE_NAMES

names = st.one_of(st.sampled_from(HOSTILE_NAMES), st.text(min_size=1, max_size=30))
topics = st.sampled_from(["connect-offsets", "orders", "orders.public.lines", "a" * 249])
offsets = st.integers(0, 2**63 - 1)
timestamps = st.one_of(st.integers(AS_OF - 30 * DAY, AS_OF), st.sampled_from([-1, 0, 2**62]))
histograms = st.dictionaries(st.integers(0, 40), st.integers(1, 10**12), max_size=12)
producer_ids = st.integers(0, 2**63 - 1)
epochs = st.integers(0, 32767)
scalars = st.one_of(st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), names)
findings = st.builds(
    Finding,
    kind=st.sampled_from([kind for kind in audit.KINDS if kind.severity is Severity.ERROR]),
    severity=st.sampled_from(list(Severity)),
    subject=names,
    message=names,
    cure=names,
    evidence=st.dictionaries(
        names,
        st.one_of(scalars, st.lists(scalars, max_size=3), st.lists(st.dictionaries(names, scalars), max_size=3)),
        max_size=4,
    ),
)


def _tuples(each: st.SearchStrategy, most: int) -> st.SearchStrategy:
    return st.lists(each, max_size=most).map(tuple)


gaps = st.builds(Gap, offsets, offsets, st.sampled_from(["aborted", "compacted", "below-log-start", "lost"]))
plans = st.builds(
    AuditPlan,
    as_of=st.integers(AS_OF - DAY, AS_OF),
    cluster_id=st.none() | names,
    group_id=st.none() | names,
    topics=_tuples(st.builds(AuditedTopic, topics, st.sampled_from(TopicRole), st.none() | names, names), 4),
    bounds=_tuples(st.builds(PartitionBounds, topics, st.integers(0, 9), offsets, offsets, offsets, offsets), 4),
    ranges=_tuples(st.builds(OffsetRange, topics, st.integers(0, 9), offsets, offsets, st.booleans()), 4),
    connectors=_tuples(names, 4) | st.builds(Skipped, names),
    holders=_tuples(st.builds(TransactionalIdHolder, producer_ids, names), 3) | st.builds(Skipped, names),
    unread=st.dictionaries(names, st.builds(Skipped, names), max_size=3),
)
reports = st.builds(
    AuditReport,
    plan=plans,
    connectors=_tuples(
        st.builds(
            ConnectorVerdict, names, st.sampled_from(AuditVerdict), _tuples(st.just("zombie"), 2), _tuples(names, 2)
        ),
        6,
    ),
    findings=_tuples(findings, 6),
    ranges=_tuples(
        st.builds(
            RangeEvidence,
            topics,
            st.integers(0, 9),
            offsets,
            offsets,
            records=offsets,
            control_records=offsets,
            aborted_records=offsets,
            plain_records=offsets,
            batches=offsets,
            size_bytes=offsets,
            first_timestamp=st.none() | timestamps,
            last_timestamp=st.none() | timestamps,
            gaps=_tuples(gaps, 3),
        ),
        6,
    ),
    transactions=_tuples(
        st.builds(
            TransactionStatistics,
            st.none() | names,
            committed=offsets,
            aborted=offsets,
            records=offsets,
            size_bytes=offsets,
            aborted_records=offsets,
            aborted_bytes=offsets,
            sizes=histograms,
            durations=histograms,
        ),
        4,
    ),
    timeline=_tuples(
        st.builds(
            TimelineEvent,
            names,
            timestamps,
            st.sampled_from(["commit", "fencing", "session", "deleted"]),
            topics,
            st.integers(0, 9),
            offsets,
            st.none() | st.integers(0, 100),
            st.none() | producer_ids,
            st.none() | epochs,
        ),
        10,
    ),
    epochs=_tuples(
        st.builds(EpochPoint, topics, st.integers(0, 9), producer_ids, epochs, timestamps, st.none() | names), 10
    ),
    growth=_tuples(
        st.builds(Growth, topics, st.integers(0, 9), st.integers(490_000, 490_800), offsets, st.integers(0, 99)), 10
    ),
    stalls=_tuples(
        st.builds(
            Stall,
            topics,
            st.integers(0, 9),
            offsets,
            timestamps,
            st.none() | timestamps,
            producer_ids,
            st.none() | names,
        ),
        5,
    ),
)

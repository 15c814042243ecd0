"""Reports of audits: the golden files' and random ones."""

import random
from collections import Counter
from functools import cache

from hypothesis import strategies as st

from eosctl.analysis.catalogue import audit
from eosctl.analysis.catalogue.index import kinds_of_command
from eosctl.model.audit import (
    AuditedTopic,
    AuditPlan,
    AuditReport,
    AuditVerdict,
    ConnectorVerdict,
    EpochPoint,
    Gap,
    Growth,
    PartitionBounds,
    RangeEvidence,
    Stall,
    TimelineEvent,
    TopicRole,
    TransactionStatistics,
)
from eosctl.model.report import Finding, Severity
from eosctl.model.skipped import Skipped
from eosctl.model.topics import OffsetRange
from eosctl.model.transaction_log import TransactionalIdHolder
from tests.render.rich_findings import RICH_FINDINGS

AS_OF = 1_767_182_400_000  # 2025-12-31T12:00:00Z
HOUR = 3_600_000
DAY = 24 * HOUR
OFFSETS_TOPIC = "connect-offsets"
CONFIG_TOPIC = "connect-configs"
HOSTILE_NAMES = (
    "</script><script>document.title='owned'</script>",
    '"><img src=x onerror="document.title=\'owned\'">',
    "{{ 7 * 7 }} ${7 * 7} <%= 7 %>",
    "quote' double\" back\\slash &amp; <b>bold</b>",
    "clear\x1b[2J\x1b]0;owned\x07 bell\nsecond line\ttab",
    "naïve-Ünïcode-漢字-🦆-\u202eright-to-left\u2028line",
    "<a href='https://example.invalid/'>link</a><br>%{customdata}<extra></extra>",
    "lone surrogate \ud800 and null \x00 end",
)
RICH_CONNECTORS = ("customers-cdc", "inventory-mirror", "invoices-cdc", "legacy-import", "orders-cdc", "payments-cdc")


@cache
def rich_report() -> AuditReport:
    """Three days of six connectors: three held, two are broken, of one nobody can tell."""
    return build_report(RICH_CONNECTORS, days=3, restarts_a_day=2, seed=618)


@cache
def large_report(connectors: int = 500, findings_count: int = 5000, days: int = 8) -> AuditReport:
    """Five hundred connectors and thousands of findings."""
    names = tuple(f"connector-{number:03d}" for number in range(connectors - len(HOSTILE_NAMES))) + HOSTILE_NAMES
    report = build_report(names, days=days, restarts_a_day=3, seed=98)
    many = tuple(
        Finding(
            kind=(audit.OFFSET_SET_BACK, audit.DATA_WITHOUT_OFFSETS, audit.START_WITHOUT_FENCING)[number % 3],
            severity=list(Severity)[number % 3],
            subject=names[number % len(names)],
            message=f"finding number {number}: offsets {number * 17} to {number * 17 + 9} were committed twice",
            cure="stop the connector and compare its offsets",
            evidence={"topic": OFFSETS_TOPIC, "partition": number % 25, "offset": number * 17},
        )
        for number in range(findings_count)
    )
    return AuditReport(
        report.plan,
        report.connectors,
        many,
        report.ranges,
        report.transactions,
        report.timeline,
        report.epochs,
        report.growth,
        report.stalls,
    )


def build_report(names: tuple[str, ...], days: int, restarts_a_day: int, seed: int) -> AuditReport:
    """A report about these connectors, each with an output topic; the same for the same arguments."""
    dice = random.Random(seed)
    begin = AS_OF - days * DAY
    verdicts = [_verdict(name, number) for number, name in enumerate(names)]
    timeline, points = _history(names, dice, begin, restarts_a_day)
    outputs = [f"out.{number:03d}" if number >= len(RICH_CONNECTORS) else name for number, name in enumerate(names)]
    growth = [
        Growth(topic, partition, hour, records, dice.choice((0, 0, 0, records // 40)) if topic == OFFSETS_TOPIC else 0)
        for topic, partitions in [(OFFSETS_TOPIC, 5), *((each, 3) for each in outputs)]
        for partition in range(partitions)
        for hour in range(begin // HOUR, AS_OF // HOUR)
        for records in [
            int(4000 * (1 + 0.7 * ((hour % 24) in range(8, 18))) * dice.uniform(0.6, 1.2) / (partition + 1))
        ]
    ]
    ranges = _ranges(growth, dice, begin)
    return AuditReport(
        plan=_plan(names, outputs, ranges),
        connectors=tuple(verdicts),
        findings=RICH_FINDINGS,
        ranges=tuple(ranges),
        transactions=tuple(_statistics(name, dice) for name in (*names, None)),
        timeline=tuple(timeline),
        epochs=tuple(points),
        growth=tuple(growth),
        stalls=_stalls(names),
    )


def _verdict(name: str, number: int) -> ConnectorVerdict:
    if number in (2, 4):
        ids = ("EOS220", "EOS203") if number == 2 else ("EOS200",)
        return ConnectorVerdict(name, AuditVerdict.BROKEN, ids, (BROKEN_WORDS[number],))
    if number == 3:
        reason = "partition 2 of its topic begins at 18,211: 4,011 records expired before this audit"
        return ConnectorVerdict(name, AuditVerdict.CANNOT_TELL, ("EOS232",), (reason,))
    return ConnectorVerdict(name, AuditVerdict.HELD, (), ("every transaction has its offsets, no offset went back",))


BROKEN_WORDS = {
    2: "its tasks started at 09:14 without a round of fencing, and two producers wrote at once",
    4: "source partition {'table': 'lines'} was read twice from offset 88,102",
}


def _history(names, dice, begin, restarts_a_day):
    timeline, points = [], []
    for number, name in enumerate(names):
        tasks = 1 + number % 4
        times = sorted(dice.randrange(begin + 2 * HOUR, AS_OF) for _ in range(restarts_a_day * (AS_OF - begin) // DAY))
        for epoch, when in enumerate([begin + HOUR, *times]):
            timeline.append(TimelineEvent(name, when, "commit", CONFIG_TOPIC, 0, 90 + epoch * 7, tasks))
            if not (number == 2 and epoch % 3 == 1):
                timeline.append(TimelineEvent(name, when + 800, "fencing", CONFIG_TOPIC, 0, 92 + epoch * 7, tasks))
            for task in range(tasks):
                producer = 4000 + number * 10 + task
                moment, offset = when + 4_000 + task * 700, epoch * 900 + task
                timeline.append(
                    TimelineEvent(name, moment, "session", OFFSETS_TOPIC, task % 5, offset, None, producer, epoch)
                )
                points.append(EpochPoint(OFFSETS_TOPIC, task % 5, producer, epoch, moment, name))
    points.append(EpochPoint("invoices-cdc", 2, 4020, 3, AS_OF - 5 * HOUR, names[min(2, len(names) - 1)]))
    points.append(EpochPoint("invoices-cdc", 2, 9917, 0, AS_OF - 5 * HOUR, None))
    points.append(EpochPoint("invoices-cdc", 2, 4021, 7, AS_OF - 9 * HOUR, names[min(2, len(names) - 1)]))
    points.append(EpochPoint("invoices-cdc", 2, 4021, 2, AS_OF - 3 * HOUR, names[min(2, len(names) - 1)]))
    timeline.append(TimelineEvent(names[0], AS_OF - 2 * HOUR, "deleted", CONFIG_TOPIC, 0, 400))
    return timeline, points


def _ranges(growth, dice, begin):
    counts = Counter()
    for each in growth:
        counts[each.topic, each.partition] += each.records
    ranges = []
    for (topic, partition), records in counts.items():
        markers, aborted = records // 60, records // 900
        lost = (Gap(14_200, 18_211, "below-log-start"),) if topic == "legacy-import" and partition == 2 else ()
        ranges.append(
            RangeEvidence(
                topic,
                partition,
                14_200 if lost else 0,
                records + markers,
                records,
                markers,
                aborted,
                dice.choice((0, 0, 0, 7)),
                records // 30,
                records * 212,
                begin,
                AS_OF - 900,
                lost,
            )
        )
    return ranges


def _plan(names, outputs, ranges):
    return AuditPlan(
        as_of=AS_OF,
        cluster_id="q1Sh-9_ISia_zwGINzRvyQ",
        group_id="connect-cluster",
        topics=(
            AuditedTopic(OFFSETS_TOPIC, TopicRole.OFFSETS, "Zm9vYmFyYmF6cXV4MTIzNA", "compact"),
            AuditedTopic(CONFIG_TOPIC, TopicRole.CONFIG, "Y29uZmlnLXRvcGljLWlkMQ", "compact"),
            *(
                AuditedTopic(topic, TopicRole.OUTPUT, None, "delete", (name,))
                for topic, name in zip(outputs, names, strict=True)
            ),
        ),
        bounds=tuple(PartitionBounds(each.topic, each.partition, 0, each.end, each.end + 40, 0) for each in ranges),
        ranges=tuple(
            part
            for each in ranges
            for part in (
                OffsetRange(each.topic, each.partition, each.start, each.end),
                OffsetRange(each.topic, each.partition, each.end, each.end + 40, settled=False),
            )
        ),
        connectors=names,
        holders=(TransactionalIdHolder(4000, f"connect-cluster-{names[0]}-0"),),
        unread={"__transaction_state": Skipped("User:auditor may not READ topic __transaction_state")},
    )


def _statistics(name, dice):
    committed, centre = dice.randrange(8_000, 60_000), dice.choice((5, 6, 7))
    shape = {-3: 0.01, -2: 0.05, -1: 0.2, 0: 0.4, 1: 0.24, 2: 0.08, 3: 0.015, 5: 0.005}
    sizes = {centre + each: int(committed * share) for each, share in shape.items()}
    durations = {centre + 3 + each: int(committed * share) for each, share in shape.items()}
    records = sum(count << bucket for bucket, count in sizes.items()) * 3 // 4
    aborted = committed // 400
    return TransactionStatistics(
        name, sum(sizes.values()), aborted, records, records * 212, aborted * 40, aborted * 8_480, sizes, durations
    )


def _stalls(names):
    second, last = names[min(2, len(names) - 1)], names[-1]
    return (
        Stall(OFFSETS_TOPIC, 1, 41_200, AS_OF - 40 * HOUR, AS_OF - 40 * HOUR + 900_000, 4020, second),
        Stall(OFFSETS_TOPIC, 3, 77_004, AS_OF - 21 * HOUR, AS_OF - 18 * HOUR, 4021, second),
        Stall("orders-cdc", 0, 190_331, AS_OF - 7 * HOUR, AS_OF - 6 * HOUR, 4040, last),
        Stall("invoices-cdc", 2, 88_977, AS_OF - 5 * HOUR, None, 9917, None),
    )


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
    kind=st.sampled_from([kind for kind in kinds_of_command("audit") if kind.severity is Severity.ERROR]),
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

"""Conclusions for the neighbours of each situation: a record more or less, a time one off, a fact left out or
unread."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from eosctl.analysis.certification import judge as judge_records
from eosctl.analysis.connector_description import describe_connector, list_all
from eosctl.analysis.hanging import find_candidates, held_back, judge, stability, still_open
from eosctl.analysis.inspection import ReportedConnectors, inspect
from eosctl.analysis.metrics.samples import connector_samples
from eosctl.analysis.phases import worker_phases
from eosctl.analysis.positions import at_source, compare_positions, explain_position, meaning_of_rewind
from eosctl.analysis.probe import judge as judge_probe
from eosctl.analysis.probe import probed_apis
from eosctl.analysis.rules.registry import diagnose
from eosctl.analysis.source_audit import Unusable, is_seen, read_record, table_text, topic_text
from eosctl.analysis.timeline import Events, in_order
from eosctl.analysis.topic_events import Marker, TransactionEvents, config_events, marker_events, status_events
from eosctl.analysis.tracing import logged_transaction, nearest, pieces
from eosctl.analysis.transaction_log import fold_transaction_log, history, log_findings, quietness
from eosctl.analysis.transactions import ownership
from eosctl.analysis.upgrade import check_feature, check_upgrade
from eosctl.model.certification import Generation
from eosctl.model.config_topic import ConfigRecord
from eosctl.model.connector_description import DescribedConnector
from eosctl.model.evidence import Evidence, WorkerEvidence
from eosctl.model.groups import ConnectGroup
from eosctl.model.hanging import WaitingGroup
from eosctl.model.names import ProducerIdAndEpoch
from eosctl.model.offsets import OffsetsTopic, SourceOffset, SourcePartition
from eosctl.model.rules import FeatureLevel, Phase
from eosctl.model.skipped import Skipped
from eosctl.model.source_audit import CapturedTable, ColumnKind, Handling, SourcePoint, SourcePosition, TableColumn
from eosctl.model.topics import PartitionOffsets
from eosctl.model.tracing import Ending, Written
from eosctl.model.transaction_log import CommitHistory
from eosctl.model.workers import ConnectorStatus, WrittenStatus
from tests.analysis import evidence as healthy
from tests.analysis import test_certification, test_connector_description, test_hanging, test_positions
from tests.analysis import test_inspection as inspected
from tests.analysis import test_source_audit as sources
from tests.analysis import test_timeline as story
from tests.analysis import test_transactions as log
from tests.analysis import test_upgrade as rolls
from tests.analysis.config_records import Log
from tests.analysis.offset_records import AS_OF, record, report, topic
from tests.analysis.test_offsets_report import KEY, OWN
from tests.analysis.test_probe import KAFKA
from tests.looked_at import AsLookedAt
from tests.neighbours import by_call, flat
from tests.planning import test_restore

Commits = Mapping[str, CommitHistory | Skipped] | Skipped
Statuses = Mapping[str, ConnectorStatus] | Skipped
Workers = Mapping[str, WorkerEvidence | Skipped] | Skipped
Files = Mapping[str, Mapping[str, str]] | Skipped
Asked = tuple[Callable[..., Any], tuple[Any, ...]]

FAILED = healthy.but(
    statuses=test_connector_description.having("RUNNING", "FAILED"),
    transactions={"g-x-0": healthy.described("g-x-0", healthy.TransactionState.ONGOING, healthy.NOW - 200_000)},
    commits={"g-x-0": healthy.commits(silent_ms=10_800_001, longest_ms=3_600_000)},
    inspection=healthy.inspection(**{"transaction.boundary": "interval", "exactly.once.support": "requested"}),
)
ROLLING = rolls.cluster(Phase.PREPARING, Phase.PREPARING, Phase.ENABLED)
WRITTEN = WrittenStatus(test_connector_description.having("FAILED")["x"], healthy.NOW - 90_000)
FOO0 = test_hanging.FOO0


def described(evidence: Evidence) -> DescribedConnector:
    """Without the findings, which the rules' own tests hold."""
    about = diagnose(replace(evidence, about=frozenset({"x"})), ())
    return describe_connector(about, "x", test_connector_description.NO_OUTPUT, test_connector_description.LINE, None)


def written(statuses: Any, status: WrittenStatus) -> DescribedConnector:
    about = diagnose(healthy.but(statuses=statuses, about=frozenset({"x"})), ())
    return describe_connector(about, "x", test_connector_description.NO_OUTPUT, test_connector_description.LINE, status)


def samples(commits: Commits, statuses: Statuses) -> list[tuple[str, object, object]]:
    evidence = replace(FAILED, commits=commits, statuses=statuses)
    return [(each.metric.name, each.labels, each.value) for each in connector_samples(diagnose(evidence))]


def upgrade(workers: Workers, files: Files, group: ConnectGroup | Skipped, target: Phase) -> tuple[object, ...]:
    found = check_upgrade(replace(ROLLING, workers=workers, worker_files=files, group=group), target)
    findings = [f"{each.id} {each.subject}" for each in (*found.blockers, *found.warnings)]
    return found.verdict, found.done, findings, found.unknown, found.steps, found.workers


def feature(features: Mapping[str, int] | Skipped, level: FeatureLevel) -> tuple[object, ...]:
    found = check_feature(healthy.but(finalized_features=features), level)
    findings = [f"{each.id} {each.subject}" for each in (*found.blockers, *found.warnings)]
    return found.verdict, found.done, findings, found.unknown, found.consequences


def inspection_of(survey: Any, reported: ReportedConnectors) -> Any:
    found = inspect(survey, topic="connect-configs", topic_facts=inspected.COMPACT, reported=reported, group_id="g")
    return found.findings, [each.next_start for each in found.connectors]


def offsets(own: OffsetsTopic, workers: OffsetsTopic) -> Any:
    found = report(own, workers, configs=OWN)
    return found.findings, found.connectors


def positions(partition: SourcePartition, before: SourceOffset, after: SourceOffset) -> tuple[object, ...]:
    words = (explain_position(partition, before), meaning_of_rewind(partition, before))
    return compare_positions(partition, before, after), *(str(each).split() for each in words)


def read(table: CapturedTable, value: dict[str, Any], key: dict[str, Any] | None, handling: Handling) -> Any:
    def raw(each: object) -> bytes | None:
        return None if each is None else sources.json.dumps(each).encode()

    try:
        return read_record(table, raw(key), raw(value), handling)
    except Unusable as error:
        return str(error).split()


def events_of(records: Iterable[Any], add: Callable[[Iterable[Any], Events], object]) -> list[Any]:
    events = Events()
    add(records, events)
    return list(in_order(events.collected()))


def of_config(records: Iterable[ConfigRecord]) -> list[Any]:
    return events_of(records, lambda each, events: list(config_events(each, story.PLACE, events)))


def of_statuses(records: Iterable[Any]) -> list[Any]:
    return events_of(records, lambda each, events: status_events(each, story.PLACE, events))


def of_transactions(records: Iterable[Any]) -> list[Any]:
    def add(each: Iterable[Any], events: Events) -> None:
        found = TransactionEvents(events, story.NAMES, "g")
        found.add_all(each)
        found.finish()

    return events_of(records, add)


def of_markers(markers: Iterable[Marker], ends: dict[int, list[int]]) -> list[Any]:
    return events_of(markers, lambda each, events: marker_events(each, story.PLACE, events, ends, {}))


def of_groups(generations: Iterable[Any]) -> list[Any]:
    def add(each: Iterable[Any], events: Events) -> None:
        found = story.GroupEvents(events, story.PLACE)
        for offset, generation in enumerate(each):
            found.add(story.GroupRecord(offset, offset * 100_000, generation))

    return events_of(generations, add)


def of_log(records: Iterable[Any]) -> tuple[object, ...]:
    kept = list(records)
    folded = fold_transaction_log(kept)
    owners = {log.NAME: ownership(log.NAME, log.NAMES)}
    return list(history(kept)), log_findings(folded, owners, log.NOW + log.WEEK - 1, log.WEEK, 50)


RECORDS = [
    story.ConnectorConfigRecord(story.origin(0), "orders", {"connector.class": "Source", "tasks.max": "1"}),
    story.TaskConfigRecord(story.origin(1), "orders", 0, {}),
    story.TaskCommitRecord(story.origin(2), "orders", 1),
    story.TaskCountRecord(story.origin(3), "orders", 1),
    story.ConnectorConfigRecord(story.origin(4), "orders", {"connector.class": "Source", "tasks.max": "2"}),
    story.TargetStateRecord(story.origin(6), "orders", "PAUSED", "STOPPED"),
    story.ConnectorConfigRecord(story.origin(7), "orders", None),
]
STATES = [
    story.state(0, "RUNNING", "w1:8083", 3),
    story.state(2, "UNASSIGNED", "w1:8083", 3),
    story.state(3, "FAILED", "w2:8083", 5, "a.ConnectException: gone\n\tat A\nCaused by: Y: 2"),
]
LOGGED = [
    story.logged(0, "g-orders-0", story.EMPTY),
    story.logged(1, "g-orders-0", story.ONGOING, start=1000),
    story.logged(3, "g-orders-0", story.PREPARE_ABORT, 1, start=1000),
    story.logged(4, "g-orders-0", story.ABORTED, 1, start=1000),
    story.logged(9, "g-orders-0", story.EMPTY, 2, 90_000),
    story.logged(10, "g-orders-0", story.ONGOING, 2),
]
VALUES = [
    log.value(),
    log.value(log.State.ONGOING, 0, partitions=2, start=log.NOW),
    log.value(log.State.PREPARE_COMMIT, 0, partitions=2, start=log.NOW),
    log.value(log.State.COMPLETE_COMMIT, 1, partitions=0, start=log.NOW, client=2),
    log.value(log.State.EMPTY, 32_766),
]
OF_LOG = [log.TransactionLogRecord(log.HOME, at, log.NOW + at, log.NAME, each) for at, each in enumerate(VALUES)]
GENERATIONS = [
    story.generation(1, "w1", w1=(0,), w2=(1,)),
    story.generation(2, "w2", w2=(0, 1)),
    story.generation(3, "w2", w2=(0,), w3=()),
]
ITEMS = [
    Written(0, 1, 7, 3, 5), Written(2, 2, 8, 0, 0), Written(3, 3, 7, 3, 7), log.ending(offset=4),
    Written(5, 5, 7, 3, 8), Written(6, 6, 7, 4, 0), Ending(7, log.T, False, 8, 0, 0), log.ending(epoch=5, offset=8),
]  # fmt: skip
PIECES = [log.piece(log.T), log.piece(log.T + 10, first=20), log.piece(log.T + 20, 4, 5, first=40)]
DECIDED = log.logged((log.T - 30, log.T - 20), (log.T - 1, log.T + 2), (log.T + 10, log.T + 12))
SOURCE = {"lsn": 100, "txId": 7, "table": "orders"}
ORDERS_ROW = {
    "op": "u",
    "before": None,
    "after": {"id": 5, "name": "x"},
    "source": {"lsn": 100, "txId": 7, "table": "orders"},
}
PLAIN_ROW = {"id": 5, "name": "x", "__deleted": "true", "__op": "d", "__source_lsn": 9, "__table": "orders"}
SHADOWED = topic("own", [record(0, KEY, '{"p":1}'), record(1, '["c",{"f":2}]', None)])
GLOBAL = topic(
    "global",
    [record(0, KEY, '{"p":2}', timestamp=AS_OF + 1), record(2, '["c", {"f":1}]', '{"p":3}')],
    [record(4, KEY, '{"p":4}'), record(5, "hello", "x")],
)
OPEN = test_hanging.join_open_transactions(
    [test_hanging.producer(), test_hanging.producer(test_hanging.FOO1, start=9)],
    {9: "id"},
    {"id": test_hanging.described()},
)
WAITING = WaitingGroup("readers", "Stable", 54, 36, "consumer")
PLACED = {FOO0: PartitionOffsets(FOO0, 0, 55, 90)}
CERTIFIED = (
    [*test_certification.delivered("a", "c", "b", "b", None), *test_certification.delivered("d", "a", partition=1)],
    test_certification.ordered("a", "b", "c", "d", "e"),
    (Generation({}),),
)
POSITIONS: dict[str, tuple[Any, Any, Any]] = {
    "postgresql": (test_positions.PG, {"lsn": 255, "lsn_commit": 200, "txId": 7, "snapshot": "last"}, {"lsn": 300}),
    "mysql": (test_positions.PG, test_positions.mysql(gtids=f"{test_positions.UUID}:1-5"), test_positions.mysql(pos=9)),
    "mysql-rows": (test_positions.PG, test_positions.mysql(event=2, row=1), test_positions.mysql(event=2, row=2)),
    "sqlserver": (
        test_positions.SQL,
        {"commit_lsn": "00000027:00000758:0003", "change_lsn": "00000027:00000758:0002", "event_serial_no": 1},
        {"commit_lsn": "00000027:00000758:0003", "change_lsn": "NULL", "event_serial_no": 2},
    ),
    "file": (test_positions.FILE, {"position": 9}, {"position": 10}),
    "mirror": (test_positions.MIRROR, {"offset": 9}, {"offset": 10}),
    "table": (test_positions.TABLE, {"incrementing": 3, "timestamp": 9}, {"incrementing": 4, "timestamp": 9}),
}
SITUATIONS: dict[str, Asked] = {
    "metrics": (samples, (FAILED.commits, FAILED.statuses)),
    "described": (described, (FAILED,)),
    "written": (written, (Skipped("no worker"), WRITTEN)),
    "listed": (list_all, (healthy.HEALTHY.statuses, healthy.HEALTHY.inspection, {"x": WRITTEN, "y": WRITTEN})),
    "upgrade": (upgrade, (ROLLING.workers, ROLLING.worker_files, ROLLING.group, Phase.ENABLED)),
    "feature": (feature, (healthy.HEALTHY.finalized_features, FeatureLevel("transaction.version", 0))),
    "phases": (worker_phases, (rolls.PREPARED.workers, rolls.PREPARED.worker_files)),
    "inspected": (
        inspection_of,
        (
            Log().writer(7).healthy("x", 2).writer(7).tasks("x", 0, 1).commit("x", 2).survey(),
            ReportedConnectors({"x": "source"}, {"x": 2}, AS_OF),
        ),
    ),
    "offsets": (offsets, (SHADOWED, GLOBAL)),
    **{f"position-{name}": (positions, each) for name, each in POSITIONS.items()},
    "at-source": (at_source, ({"lsn": 0x1FF}, "shop", test_restore.SERVER)),
    "source-seen": (is_seen, (SourcePosition(1500, 103), SourcePoint(1000, 2000, "100:110:103,105"))),
    "source-read": (read, (sources.ORDERS, ORDERS_ROW, {"id": 5}, Handling())),
    "source-row": (read, (sources.ORDERS, PLAIN_ROW, None, Handling())),
    "events-config": (of_config, (RECORDS,)),
    "events-status": (of_statuses, (STATES,)),
    "events-transactions": (of_transactions, (LOGGED,)),
    "events-group": (of_groups, (GENERATIONS,)),
    "events-markers": (
        of_markers,
        (
            [Marker(at, 2_000 + at, at % 2 == 0, ProducerIdAndEpoch(7, 0), 0) for at in (5, 8)],
            {7: [2 * 2_000 + 1, 2 * 70_000]},
        ),
    ),
    "transaction-log": (of_log, (OF_LOG,)),
    "pieces": (pieces, (ITEMS, 7)),
    "nearest": (nearest, (PIECES, log.HELD, log.ending())),
    "decided": (logged_transaction, (DECIDED, log.HELD, log.HERE, log.ending())),
    "quietness": (quietness, (healthy.commits(silent_ms=10_800_001, longest_ms=3_600_000), healthy.NOW)),
    "candidates": (find_candidates, ([test_hanging.producer()], test_hanging.NOW, test_hanging.LIMIT)),
    "hanging": (judge, (OPEN, test_hanging.NOW)),
    "still-open": (still_open, (judge(OPEN, test_hanging.NOW), [test_hanging.producer()])),
    "stability": (stability, (PLACED, OPEN, {FOO0: 5})),
    "held-back": (held_back, (OPEN[0], PLACED[FOO0], [WAITING], ["offsets"])),
    "probe": (judge_probe, (KAFKA,)),
    "probed": (probed_apis, (KAFKA,)),
    "certified": (judge_records, CERTIFIED),
}


def lines(name: str) -> Iterator[str]:
    function, given = SITUATIONS[name]
    yield from flat(function(*given))
    yield from by_call(function, *given)


@pytest.mark.parametrize("name", SITUATIONS)
def test_each_situation_gives_the_conclusions_of_its_golden_file(name: str, as_looked_at: AsLookedAt) -> None:
    as_looked_at(f"analysis/{name}", lines(name))


JSON_VALUES = (
    None,
    True,
    7,
    -1,
    1.5,
    "x",
    "7",
    "2026-11-26T12:30:16.053224Z",
    "AP8Q",
    [],
    [1, None],
    {"scale": 1, "value": "AQ=="},
)
TABLE_VALUES = (None, "", "7", "-1", "1.50", "true", "NaN", "infinite", "none", "x", '["a",null]', "00ff10", "-141428")
HANDLINGS = (
    Handling(),
    Handling(decimals="string", binaries="hex", times="connect"),
    Handling(decimals="double", binaries="base64-url-safe", times="isostring"),
    Handling(times="adaptive_time_microseconds", unsigned="precise"),
)


def of_columns() -> Iterator[str]:
    for kind in ColumnKind:
        for digits in (None, 2, 6):
            column = TableColumn("c", "t", kind, digits)
            yield f"{kind} {digits} of the table: {[table_text(column, each) for each in TABLE_VALUES]}"
            for number, handling in enumerate(HANDLINGS):
                texts = [text_of_json(column, each, handling) for each in JSON_VALUES]
                yield f"{kind} {digits} of the topic, handling {number}: {texts}"


def text_of_json(column: TableColumn, value: object, handling: Handling) -> object:
    try:
        return topic_text(column, value, handling)
    except Unusable as error:
        return str(error)


def test_each_value_of_each_kind_of_column_has_the_text_of_its_golden_file(as_looked_at: AsLookedAt) -> None:
    as_looked_at("columns", of_columns())

"""Answers with names and offsets as data platforms have them, for the tables on a terminal.

`python -m tests.render.real_names` writes the golden files again: check the changes before committing.
"""

import json
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from eosctl.analysis.catalogue.internal_topics import ORPHAN_OFFSETS, SHADOWED_OFFSET
from eosctl.analysis.inspection import ReportedConnectors, inspect
from eosctl.analysis.rules.registry import RULES, diagnose
from eosctl.model.config_topic import InspectedConfigTopic
from eosctl.model.names import ConnectorTaskId, ProducerIdAndEpoch, TopicPartition
from eosctl.model.offsets import OffsetsReport
from eosctl.model.rules import Diagnosis, RuleAnswer
from eosctl.model.skipped import Coverage
from eosctl.model.timeline import Actor, Event, EventKind, EventSource, Timeline, TimelineFacts
from eosctl.model.topics import TopicFacts
from eosctl.model.transactions import (
    HiddenIds,
    LeaderOwner,
    ListedTransaction,
    Owner,
    Ownership,
    TaskOwner,
    TransactionDescription,
    TransactionList,
    TransactionState,
)
from eosctl.render.answers.audit import view_audit
from eosctl.render.answers.diagnosis import view_diagnosis
from eosctl.render.answers.inspection import view_inspection
from eosctl.render.answers.offsets import view_offsets
from eosctl.render.answers.timeline import view_timeline
from eosctl.render.answers.transactions import view_transactions
from eosctl.render.cells import Page
from eosctl.render.document import Document
from eosctl.render.formats import Output, text_of
from tests.analysis.config_records import LATEST, Log
from tests.analysis.evidence import HEALTHY
from tests.analysis.offset_records import record, report, topic
from tests.render.audit_reports import rich_report

GOLDEN: Final = Path(__file__).resolve().parents[1] / "golden" / "tables"
WIDTHS: Final = (80, 120)
CONNECTORS: Final = (
    "commerce-orders-postgresql-cdc-eu-west-1",
    "commerce-payments-postgresql-cdc-eu-we-1",
    "logistics-shipment-events-file-eu-west-1",
)
TOPIC: Final = "commerce.orders.postgresql.public.order_line_items.eu-west-1"
AS_OF: Final = 1_790_000_000_000


def lsn(number: int, **more: object) -> str:
    """An offset of Debezium for PostgreSQL."""
    members = {"lsn_proc": number, "messageType": "INSERT", "lsn_commit": number - 56, "lsn": number, "txId": 771}
    return json.dumps({**members, "ts_usec": 1_789_999_999_000_000, **more})


def offsets() -> OffsetsReport:
    """Two Debezium connectors, one of which has an offset in two stores, and one that reads a file."""
    orders, payments, files = CONNECTORS
    keys = [json.dumps([name, {"server": name.split("-", maxsplit=2)[1]}]) for name in (orders, payments)]
    keys.append(json.dumps([files, {"filename": "/var/spool/shipments/events.jsonl"}]))
    values = (lsn(24_058_880), lsn(24_100_000), '{"position": 3943}')
    worker = topic("global", [record(number, *each) for number, each in enumerate(zip(keys, values, strict=True))])
    own = topic("own", [record(0, keys[0], lsn(24_990_000, snapshot="initial"))])
    configs = {orders: {"offsets.storage.topic": "own"}, payments: {}, files: {}}
    return report(worker, own, configs=configs)


def listed(name: str, state: TransactionState, owner: Owner | None, started: int | None = None) -> ListedTransaction:
    """A transactional ID in this state, with its open transaction in one partition."""
    open_in = () if started is None else (TopicPartition(TOPIC, 11),)
    described = TransactionDescription(name, state, ProducerIdAndEpoch(412_007, 31), 60_000, started, open_in, 2)
    owned = Ownership(() if owner is None else (owner,), () if owner else ("Kafka Streams",))
    running = None if started is None else AS_OF - started
    return ListedTransaction(name, state, 412_007, 2, described, owned, running)


def transactions() -> TransactionList:
    """IDs of tasks, of a leader, and of somebody else."""
    group = "connect-commerce"
    tasks = [
        listed(
            f"{group}-{name}-{task}",
            TransactionState.ONGOING if task else TransactionState.COMPLETE_COMMIT,
            TaskOwner(group, ConnectorTaskId(name, task)),
            AS_OF - 12_300 if task else None,
        )
        for name in CONNECTORS[:2]
        for task in range(2)
    ]
    leader = listed(f"connect-cluster-{group}", TransactionState.COMPLETE_COMMIT, LeaderOwner(group))
    other = listed("enrichment-7c1e-0_3", TransactionState.COMPLETE_ABORT, None)
    return TransactionList(
        as_of=AS_OF,
        cluster_id="q1Sh-9_ISia_zwGINzRvyQ",
        transactions=(*tasks, leader, other),
        hidden=HiddenIds(True, 0, None),
        unanswered={},
        missing=(),
        notes=(),
    )


def inspection() -> InspectedConfigTopic:
    """Three connectors that are well."""
    log = Log().writer(7)
    for number, name in enumerate(CONNECTORS, 1):
        log = log.config(name, topic=TOPIC).tasks(name, *range(number)).commit(name, number).fencing(name, number)
    found = inspect(
        log.survey(),
        topic="connect-configs",
        topic_facts=TopicFacts("connect-configs", 1, 3, {"cleanup.policy": "compact"}),
        reported=ReportedConnectors(
            dict.fromkeys(CONNECTORS, "source"), {name: number for number, name in enumerate(CONNECTORS, 1)}
        ),
        group_id="connect-commerce",
    )
    return InspectedConfigTopic(inspection=found, reader=LATEST, group_id="g", as_of=AS_OF, cluster_id="K")


def diagnosis() -> Diagnosis:
    """Nine connectors with one fault, one with another, and rules that cannot tell."""
    names = [f"{CONNECTORS[0][:-1]}{number}" for number in range(1, 10)]
    shadowed = tuple(
        SHADOWED_OFFSET.finding(name, f"the worker's topic has an offset of {name}, and its own has none")
        for name in names
    )
    orphan = ORPHAN_OFFSETS.finding(CONNECTORS[2], f"3 source partitions in {TOPIC} of a connector that does not exist")
    well = diagnose(HEALTHY)
    unread = (f"topics: User:eosctl may not Describe on Topic {TOPIC}",)
    answers = (
        RuleAnswer(RULES[0], (*shadowed, orphan)),
        *(RuleAnswer(each, (), unread) for each in RULES[1:8]),
        *well.answers[8:],
    )
    return replace(well, answers=answers)


def timeline() -> Timeline:
    """A connector that was changed, whose task failed, and the commits before."""
    orders, payments, _ = CONNECTORS
    leader, task = Actor(transactional_id="connect-commerce"), Actor(transactional_id=f"connect-commerce-{payments}-0")
    trace = (
        "FAILED: org.apache.kafka.connect.errors.ConnectException: Failed to perform zombie fencing for source tasks"
    )
    at = count(AS_OF, 1_204)
    events = (
        Event(next(at), EventSource.CONFIG, EventKind.CONFIG_CHANGED, "batch.size=7 (was 2048)", orders, actor=leader),
        Event(
            next(at),
            EventSource.STATUS,
            EventKind.TASK_STATE,
            trace,
            orders,
            11,
            Actor(worker="connect-eu-1.shop:8083"),
        ),
        Event(next(at), EventSource.OFFSETS, EventKind.OFFSETS_COMMITTED, "committed 3 offsets", payments, 0, task),
        Event(next(at), EventSource.CONFIG, EventKind.TARGET_STATE, "target state STOPPED", orders),
    )
    facts = TimelineFacts(AS_OF, events, ())
    return Timeline(
        as_of=AS_OF, cluster_id="K", group_id="commerce", connectors=(), since=AS_OF, until=None, facts=facts,
        coverage=Coverage((), ()),
    )  # fmt: skip


ANSWERS: Final[dict[str, Callable[[], Document]]] = {
    "offsets-show": lambda: view_offsets(offsets()),
    "transactions-list": lambda: view_transactions(transactions()),
    "inspect-config": lambda: view_inspection(inspection()),
    "doctor": lambda: view_diagnosis(diagnosis()),
    "audit": lambda: view_audit(rich_report()),
    "timeline": lambda: view_timeline(timeline()),
}


def shown(name: str, width: int) -> str:
    """The answer on a terminal of that width."""
    return text_of(ANSWERS[name](), Output.TABLE, Page(width, colour=False))


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for each in ANSWERS:
        for columns in WIDTHS:
            (GOLDEN / f"{each}-{columns}.txt").write_text(shown(each, columns))

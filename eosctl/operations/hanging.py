"""What `transactions hanging` decides and shows."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eosctl.analysis.connect_waits import ConnectTopics
from eosctl.analysis.hanging import judge
from eosctl.analysis.transactions import ownership
from eosctl.errors import EXIT_FINE, EXIT_FOUND, Unreachable, UsageError
from eosctl.model.counts import counted
from eosctl.model.hanging import HeldBack, JoinedTransactions, Verdict
from eosctl.model.skipped import Skipped
from eosctl.model.times import rfc3339
from eosctl.operations.blocked_consumers import connect_topics, read_held_back
from eosctl.operations.hanging_search import NO_LEADER, partitions_to_search, search
from eosctl.operations.owners import ConnectNames, read_connect_names
from eosctl.operations.partitions import wanted_partitions
from eosctl.operations.saved_transactions import (
    Saved,
    read_saved,
    saved_held_back,
    saved_joined,
    saved_partitions,
)
from eosctl.operations.session import Session
from eosctl.render.document import Document
from eosctl.render.views.hanging import hanging_row, undecided_row, view_hanging


@dataclass(frozen=True, slots=True)
class HangingRequest:
    """Where to search, how old a transaction must be, and which internal topics Connect has."""

    topics: tuple[str, ...]
    broker: int | None
    max_timeout_ms: int
    config_topic: str
    offsets_topic: str


def find_hanging(session: Session, request: HangingRequest) -> Document:
    """All that hangs in the partitions asked for, with what it holds back and who owns it."""
    if session.options.snapshot is not None:
        return _find_saved(session.options.snapshot, session.options.group_id, request)
    partitions = partitions_to_search(session, wanted_partitions(request.topics), request.broker)
    led = {partition: leader for partition, leader in partitions.items() if leader != NO_LEADER}
    searched = search(session, led, request.max_timeout_ms)
    connect = read_connect_names(session, request.config_topic)
    topics = connect_topics(session, connect, request.config_topic, request.offsets_topic)
    held = read_held_back(session, [each.transaction for each in searched.verdicts], connect, topics)
    rows = _rows(searched.verdicts, held, connect, searched.as_of)
    missing = [str(each) for each in partitions if each not in led or each in searched.unanswered]
    return view_hanging(
        rows,
        undecided_rows(searched.joined, connect, searched.as_of),
        searched.access,
        len(partitions) - len(missing),
        missing,
        connect.notes,
        rfc3339(searched.as_of),
        session.wire.cluster_id,
    )


def undecided_rows(joined: JoinedTransactions, connect: ConnectNames, as_of: int) -> list[dict[str, Any]]:
    """Those of which it cannot be told whether they hang."""
    reason = "; ".join(joined.reasons)
    return [
        undecided_row(each, ownership(each.transactional_id, connect.names), reason, as_of) for each in joined.undecided
    ]


def _rows(
    verdicts: Sequence[Verdict], held: Sequence[HeldBack], connect: ConnectNames, as_of: int
) -> list[tuple[Verdict, dict[str, Any]]]:
    return [
        (
            verdict,
            hanging_row(verdict, back, ownership(verdict.transaction.transactional_id, connect.names), as_of),
        )
        for verdict, back in zip(verdicts, held, strict=True)
    ]


def _find_saved(path: Path, group_id: str | None, request: HangingRequest) -> Document:
    """All that hung when the snapshot was saved."""
    if request.broker is not None:
        raise UsageError("a snapshot does not say which brokers have replicas, so --broker cannot be answered from one")
    saved = read_saved(path, group_id)
    partitions = saved_partitions(saved, wanted_partitions(request.topics))
    joined = saved_joined(saved, partitions, request.max_timeout_ms)
    verdicts = judge(joined.transactions, saved.snapshot.as_of)
    topics = _saved_connect_topics(saved, group_id, request)
    held = saved_held_back(saved, [each.transaction for each in verdicts], topics)
    missing = [str(place) for place, each in partitions.items() if each.leader == NO_LEADER]
    return view_hanging(
        _rows(verdicts, held, saved.connect, saved.snapshot.as_of),
        undecided_rows(joined, saved.connect, saved.snapshot.as_of),
        saved.producers.access,
        len(partitions) - len(missing),
        missing,
        saved.connect.notes,
        rfc3339(saved.snapshot.as_of),
        saved.cluster_id,
    )


def _saved_connect_topics(saved: Saved, group_id: str | None, request: HangingRequest) -> ConnectTopics | None:
    """The internal topics of the Connect cluster that the snapshot is about; None where it is about none."""
    group_id = group_id or saved.snapshot.group_id
    if group_id is None:
        return None
    connectors = {} if isinstance(saved.connect.connectors, Skipped) else saved.connect.connectors
    log = saved.snapshot.config_topic
    config_topic = request.config_topic if isinstance(log, Skipped) else log.topic
    offsets = saved.snapshot.offsets
    offsets_topic = request.offsets_topic if isinstance(offsets, Skipped) else offsets.worker.offsets_topic
    return ConnectTopics(group_id, config_topic, offsets_topic, connectors)


def answer(document: Document) -> int:
    """The exit code, once the document is shown: 1 where something hangs; raises Unreachable where not all was seen."""
    if document.data["transactions"]:
        return EXIT_FOUND
    missing, undecided = document.data["not_searched"], document.data["undecided"]
    if undecided:
        raise Unreachable(
            f"of {counted(len(undecided), 'open transaction')} it cannot be told whether they hang: "
            f"{undecided[0]['reason']}",
            hint="bring the brokers of these coordinators back first, then run the command again",
        )
    if missing:
        raise Unreachable(
            f"nothing hangs where it could be seen, but no leader answers for {counted(len(missing), 'partition')}"
        )
    return EXIT_FINE

"""Rules about those who read what the connectors write."""

import shlex
from collections.abc import Iterator
from typing import Final

from eosctl.analysis.catalogue import consumers as kinds
from eosctl.analysis.connect_requests import for_connector
from eosctl.analysis.rules.client_configs import clients_of
from eosctl.model.client_roles import ClientRole
from eosctl.model.counts import counted
from eosctl.model.evidence import NOT_READ, Evidence
from eosctl.model.groups import CONNECT_PROTOCOL, SHARE_PROTOCOL, ShareGroup
from eosctl.model.report import Finding
from eosctl.model.rules import Rule
from eosctl.model.skipped import Skipped, not_asked

ISOLATION: Final = "isolation.level"
SHOWN: Final = 20
LONG_S: Final = 120
"""Twice offset.flush.interval.ms: by default a task commits as often."""
NOT_LISTED: Final = ShareGroup(NOT_READ, NOT_READ)


def _uncommitted(evidence: Evidence) -> Iterator[Finding | Skipped]:
    known = {} if isinstance(evidence.groups, Skipped) else evidence.groups
    consumers = sorted(name for name, kind in known.items() if kind not in {CONNECT_PROTOCOL, SHARE_PROTOCOL})
    if consumers:
        # No request asks for it, so no answer lacks it.
        yield not_asked(
            f"no broker reports a consumer's isolation.level; there are {counted(len(consumers), 'consumer group')}: "
            f"{_few(consumers)}"
        )
    yield from _share_groups(evidence, sorted(name for name, kind in known.items() if kind == SHARE_PROTOCOL))


def _share_groups(evidence: Evidence, names: list[str]) -> Iterator[Finding | Skipped]:
    """Of those that read topics of source connectors, those that read uncommitted."""
    shares, outputs = evidence.share_groups, evidence.outputs
    lacking = next((each for each in (shares, outputs) if isinstance(each, Skipped)), None)
    if names and lacking is not None:
        yield Skipped(f"how {counted(len(names), 'share group')} ({_few(names)}) read: {lacking.reason}", lacking.cause)
    if isinstance(shares, Skipped) or isinstance(outputs, Skipped):
        return
    yield from (each for each in outputs.values() if isinstance(each, Skipped) and names)
    written = {topic for each in outputs.values() if not isinstance(each, Skipped) for topic in each}
    for name in names:
        group = shares.get(name, NOT_LISTED)
        unread = [each for each in (group.isolation, group.starts) if isinstance(each, Skipped)]
        yield from (Skipped(f"share group {name}: {each.reason}", each.cause) for each in unread)
        topics = set() if isinstance(group.starts, Skipped) else {each.topic for each in group.starts}
        if group.reads_uncommitted and topics & written:
            message = f"share group {name} reads {_few(sorted(topics & written))} uncommitted"
            cure = kinds.SET_ISOLATION.format(shlex.quote(name))
            yield kinds.UNCOMMITTED.finding(name, message, {"topics": sorted(topics & written)}, cure=cure)


def _few(names: list[str]) -> str:
    return ", ".join(names[:SHOWN]) + (" …" if len(names) > SHOWN else "")


def _sinks(evidence: Evidence) -> Iterator[Finding | Skipped]:
    statuses = {} if isinstance(evidence.statuses, Skipped) else evidence.statuses
    for name in (name for name, status in statuses.items() if status.type == "sink"):
        levels = [
            each.setting(ISOLATION) for each in clients_of(evidence, name, ClientRole.SINK_CONSUMER, exactly_once=True)
        ]
        yield from (each for each in levels if isinstance(each, Skipped))
        uncommitted = any(not isinstance(each, Skipped) and each.lower() != "read_committed" for each in levels)
        if uncommitted and not evidence.config(name):
            yield Skipped(f"the config of {name}, which may set {ISOLATION}, is not known")
        elif uncommitted:
            message = "its consumer reads uncommitted: records of aborted transactions reach its target"
            yield kinds.SINK.finding(name, message, cure=for_connector(kinds.SINK.fix, name))


def _held_back(evidence: Evidence) -> Iterator[Finding]:
    """Transactions that hold partitions back for longer than those of tasks do by default."""
    known = () if isinstance(evidence.open_transactions, Skipped) else evidence.open_transactions
    for each in known:
        began = evidence.as_of if each.start_ms is None else each.start_ms
        lasted_s = (evidence.as_of - began) // 1000
        if lasted_s >= LONG_S and each.partitions:
            held = counted(len(each.partitions), "partition is", "partitions are")
            ends = "" if each.is_two_phase else f"; it times out {each.timeout_ms // 1000} s after it began"
            message = f"{held} held back by a transaction in progress for {lasted_s} s{ends}"
            facts = {"transactional_id": each.transactional_id, "partitions": list(map(str, each.partitions[:SHOWN]))}
            cure = kinds.HELD_BACK.fix.replace("<transactional-id>", shlex.quote(each.transactional_id))
            yield kinds.HELD_BACK.finding(each.transactional_id, message, facts, cure=cure)


RULES: Final = (
    Rule(
        kinds.HELD_BACK,
        "Is nobody who reads committed held back by a transaction in progress?",
        needs=("open_transactions",),
        check=_held_back,
        unproven="a transaction has to be in progress for two minutes; it is decided on evidence made by hand",
    ),
    Rule(
        kinds.UNCOMMITTED,
        "Do all consumers and share groups of the output read committed?",
        needs=("groups",),
        check=_uncommitted,
    ),
    Rule(
        kinds.SINK,
        "Does every sink connector read committed?",
        needs=("statuses", "inspection"),
        check=_sinks,
        unproven="it is decided from the config topic and the workers' files alone, on evidence made by hand",
    ),
)

"""Rules about other Connect clusters that have, or may have, the transactional IDs of this one's tasks."""

from collections.abc import Iterator
from typing import Final

from eosctl.analysis.catalogue import transactions as kinds
from eosctl.analysis.connect_requests import for_connector
from eosctl.model.counts import counted
from eosctl.model.evidence import Evidence
from eosctl.model.groups import CONNECT_PROTOCOL
from eosctl.model.live_owners import LiveOwners
from eosctl.model.names import ConnectorTaskId, task_transactional_id
from eosctl.model.report import Finding
from eosctl.model.rules import Rule
from eosctl.model.skipped import Skipped
from eosctl.model.versions import NEWEST


def _shared(evidence: Evidence) -> Iterator[Finding | Skipped]:
    group_id, others, statuses = evidence.group_id, evidence.other_groups, evidence.statuses
    if isinstance(group_id, Skipped) or isinstance(others, Skipped) or isinstance(statuses, Skipped):
        return
    owners = LiveOwners.of(others)
    yield from owners.unknown.values()
    for name in evidence.sources():
        tasks = statuses[name].tasks if name in statuses else ()
        ids = [task_transactional_id(group_id, ConnectorTaskId(name, task.task)) for task in tasks]
        found = {each: owner for each in ids for owner in owners.of_id(each) if owner.task is not None}
        for each, owner in list(found.items())[:1]:
            more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
            yield kinds.SHARED_IDS.finding(
                name,
                f"{each}{more} is also the ID of {owner}: they fence each other",
                {"transactional_ids": sorted(found), "group_id": owner.group_id},
                cure=for_connector(kinds.SHARED_IDS.fix_for(min(evidence.versions, default=NEWEST)), name),
            )


def _elsewhere(evidence: Evidence) -> Iterator[Finding | Skipped]:
    groups = {} if isinstance(evidence.groups_elsewhere, Skipped) else evidence.groups_elsewhere
    for name, group in groups.items():
        if isinstance(group, Skipped):
            yield group
        elif group.members and group.protocol_type == CONNECT_PROTOCOL:
            there = counted(len(group.members), "member")
            message = (
                f"it writes to another Kafka cluster, and a group {evidence.group_id} of workers is there: {there}"
            )
            yield kinds.SAME_GROUP_ELSEWHERE.finding(name, message, {"members": len(group.members)})


RULES: Final = (
    Rule(
        kinds.SHARED_IDS,
        "Has no task the ID of another group's task?",
        needs=("group_id", "statuses", "other_groups"),
        check=_shared,
        blocks=frozenset({"preparing", "enabled"}),
    ),
    Rule(
        kinds.SAME_GROUP_ELSEWHERE,
        "Is the group.id nobody else's in the Kafka clusters that connectors write to?",
        needs=("group_id", "groups_elsewhere"),
        check=_elsewhere,
        blocks=frozenset({"enabled"}),
    ),
)

"""Rules about the group that the workers form."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from eosctl.analysis.catalogue import group as kinds
from eosctl.analysis.client_configs import override_policy
from eosctl.analysis.rules.workers import ALL
from eosctl.model.client_configs import as_properties
from eosctl.model.client_properties import listed
from eosctl.model.client_roles import WorkerConfig
from eosctl.model.connect_groups import ConnectGroup
from eosctl.model.evidence import Evidence
from eosctl.model.report import Finding
from eosctl.model.rules import Rule
from eosctl.model.skipped import Skipped
from eosctl.model.workers import TaskStatus, is_loopback, place_of

POLICY_PREFIX: Final = "connector.client.config.override."
POLICY: Final = f"{POLICY_PREFIX}policy"
SIGNATURE: Final = "inter.worker.signature.algorithm"
VERIFICATION: Final = "inter.worker.verification.algorithms"
HMAC: Final = "HmacSHA256"


def _no_group(evidence: Evidence) -> Iterator[Finding]:
    group = evidence.group
    if not isinstance(group, Skipped):
        found = no_group(str(evidence.group_id), group, workers_answer=bool(evidence.answering))
        yield from () if found is None else (found,)


def no_group(group_id: str, group: ConnectGroup, *, workers_answer: bool) -> Finding | None:
    """EOS020 where the group is not that of the workers that answer, or not one of workers."""
    if group.members and group.protocol_type != "connect":
        message = f"the group is one of {group.protocol_type or 'unknown'} clients, not of Connect workers"
        return kinds.NO_GROUP.finding(group_id, message, {"protocol_type": group.protocol_type})
    if group.members or not workers_answer:
        return None
    message = f"the group has no member (state {group.state}), though workers answer"
    return kinds.NO_GROUP.finding(group_id, message, {"state": group.state})


def _unnamed(evidence: Evidence) -> Iterator[Finding | Skipped]:
    if isinstance(evidence.group, Skipped) or isinstance(evidence.workers, Skipped):
        return
    given = {place_of(url) for url in evidence.workers}
    for member in evidence.group.members:
        if member.url is None:
            yield Skipped(f"member {member.member_id} of the group does not report its address")
        elif place_of(member.url) not in given:
            message = f"the group has a member at {member.url} that is not among the given workers"
            cure = f"add --connect-url {member.url.rstrip('/')}: nothing is known about this worker"
            yield kinds.UNNAMED.finding(member.url, message, {"member_id": member.member_id}, cure=cure)


def _stranger(evidence: Evidence) -> Iterator[Finding | Skipped]:
    yield from (each.connectors for each in evidence.answering if isinstance(each.connectors, Skipped))
    reported = {each.url: each.connectors for each in evidence.answering if not isinstance(each.connectors, Skipped)}
    if len(reported) > 1:
        usual, count = Counter(reported.values()).most_common(1)[0]
        for url, names in reported.items():
            if names != usual and (count > 1 or not names & usual):
                message = f"the worker knows other connectors than the others: {_difference(names, usual)}"
                yield kinds.STRANGER.finding(
                    url, message, {"more": sorted(names - usual), "fewer": sorted(usual - names)}
                )


def _difference(names: frozenset[str], usual: frozenset[str]) -> str:
    parts = [f"{len(names - usual)} more"] if names - usual else []
    return " and ".join(parts + ([f"{len(usual - names)} fewer"] if usual - names else []))


def _protocol(evidence: Evidence) -> Iterator[Finding | Skipped]:
    group = evidence.group
    if isinstance(group, Skipped) or not group.members:
        return
    if not group.protocol:
        yield Skipped(f"the group is {group.state}: which protocol it uses is known when it is stable")
    elif group.protocol != "sessioned":
        name = "eager" if group.protocol == "default" else group.protocol
        message = f"the group uses connect.protocol={name}: whoever reaches a worker's REST address can fence its tasks"
        yield kinds.PROTOCOL.finding(str(evidence.group_id), message, {"protocol": name})


def _moving(evidence: Evidence) -> Iterator[Finding]:
    group = evidence.group
    statuses = {} if isinstance(evidence.statuses, Skipped) else evidence.statuses
    if not isinstance(group, Skipped) and group.members and group.state != "Stable":
        yield kinds.MOVING.finding(
            str(evidence.group_id), f"the group is {group.state}: tasks move just now", {"state": group.state}
        )
    gone = _places_that_left(evidence)
    waiting = [name for name, each in statuses.items() if any(_waits(task, gone) for task in each.tasks)]
    if waiting:
        message = (
            f"tasks of {', '.join(waiting[:10])} run on no worker: those of a worker that left are held back for it"
        )
        yield kinds.MOVING.finding("tasks", message, {"connectors": waiting})


def _places_that_left(evidence: Evidence) -> frozenset[str]:
    """Workers that tasks are said to run on and that are no members: one that is killed cannot take its status back."""
    group, statuses = evidence.group, evidence.statuses
    if isinstance(group, Skipped) or isinstance(statuses, Skipped) or group.state != "Stable" or not group.members:
        return frozenset()
    members = [None if member.url is None else place_of(member.url) for member in group.members]
    said = {task.worker_id for each in statuses.values() for task in each.tasks}
    return frozenset() if None in members else frozenset(each for each in said if place_of(each) not in members)


def _waits(task: TaskStatus, gone: frozenset[str]) -> bool:
    return task.state == "UNASSIGNED" or (task.state == "RUNNING" and task.worker_id in gone)


def _one_address(evidence: Evidence) -> Iterator[Finding]:
    members = () if isinstance(evidence.group, Skipped) else evidence.group.members
    urls = [member.url for member in members if member.url is not None]
    places = Counter(place_of(url) for url in urls)
    for place, count in places.items():
        if count > 1:
            message = f"{count} members of the group advertise {place}"
            yield kinds.ONE_ADDRESS.finding(place, message, {"members": count})
    loopback = [place for place in places if is_loopback(place)]
    if len(loopback) < len(places):
        for place in loopback:
            message = f"a member advertises {place}, which leads every other host to itself"
            yield kinds.ONE_ADDRESS.finding(place, message, {"members": places[place]})


def _policies(evidence: Evidence) -> Iterator[Finding]:
    files = {} if isinstance(evidence.worker_files, Skipped) else evidence.worker_files
    policies = {name: _policy(properties) for name, properties in files.items()}
    if len(set(policies.values())) > 1:
        values = {name: policy for name, (policy, _) in policies.items()}
        message = f"the workers' files set {POLICY} or its allowlist to different values"
        yield kinds.POLICIES.finding(POLICY, message, {"values": values})


def _policy(properties: Mapping[str, str]) -> tuple[str, frozenset[str]]:
    worker = WorkerConfig(as_properties(properties))
    policy = override_policy(worker) or worker.override_policy
    return policy, frozenset(listed(worker.get(f"{POLICY_PREFIX}allowlist")) if policy == "Allowlist" else ())


def _signatures(evidence: Evidence) -> Iterator[Finding]:
    files = {} if isinstance(evidence.worker_files, Skipped) else evidence.worker_files
    signed = {name: each for name, each in files.items() if each.get("connect.protocol", "sessioned") == "sessioned"}
    for signer, properties in signed.items():
        algorithm = properties.get(SIGNATURE, HMAC)
        refusing = [name for name, each in signed.items() if algorithm not in listed(each.get(VERIFICATION, HMAC))]
        if refusing:
            message = f"it signs with {algorithm}, which {VERIFICATION} of {', '.join(refusing)} does not hold"
            yield kinds.SIGNATURES.finding(signer, message, {"algorithm": algorithm, "refused_by": refusing})


RULES: Final = (
    Rule(
        kinds.NO_GROUP,
        "Do the workers form the group that was named?",
        needs=("group",),
        check=_no_group,
        blocks=ALL,
    ),
    Rule(
        kinds.UNNAMED,
        "Is every member of the group among the given workers?",
        needs=("group", "workers"),
        check=_unnamed,
        blocks=ALL,
    ),
    Rule(
        kinds.STRANGER,
        "Do all given workers know the same connectors?",
        needs=("workers",),
        check=_stranger,
        blocks=ALL,
    ),
    Rule(
        kinds.PROTOCOL,
        "Are requests between workers signed?",
        needs=("group",),
        check=_protocol,
    ),
    Rule(
        kinds.MOVING,
        "Is the group at rest, and does every task have a worker?",
        needs=("group", "statuses"),
        check=_moving,
        blocks=ALL,
    ),
    Rule(
        kinds.ONE_ADDRESS,
        "Does every member advertise an address of its own that the others reach?",
        needs=("group",),
        check=_one_address,
        blocks=frozenset({"preparing", "enabled"}),
        unproven="workers of one machine reach each other by the loopback address, and each has a port of its own",
    ),
    Rule(
        kinds.POLICIES,
        "Do all workers allow connectors the same overrides?",
        needs=("worker_files",),
        check=_policies,
    ),
    Rule(
        kinds.SIGNATURES,
        "Does every worker take the signatures of all others?",
        needs=("worker_files",),
        check=_signatures,
        blocks=frozenset({"preparing", "enabled"}),
    ),
)

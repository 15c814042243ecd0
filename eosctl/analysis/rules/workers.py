"""Rules about what each worker is set to."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from eosctl.analysis.catalogue import connect
from eosctl.analysis.catalogue import connect as kinds
from eosctl.analysis.client_configs import connector_config, override_policy
from eosctl.analysis.connect_requests import for_connector
from eosctl.late_pattern import late_pattern
from eosctl.model.client_properties import split_list
from eosctl.model.client_roles import WorkerConfig, as_properties, class_name, server_set
from eosctl.model.config_topic import RecordKind
from eosctl.model.evidence import Evidence, WorkerEvidence, declared_support
from eosctl.model.names import leader_transactional_id
from eosctl.model.report import Finding, Severity
from eosctl.model.rules import Rule
from eosctl.model.skipped import Cause, Skipped
from eosctl.model.transactions import TransactionDescription
from eosctl.model.versions import EXACTLY_ONCE_SOURCES, SEVERAL_PLUGIN_VERSIONS, KafkaVersion, Release
from eosctl.model.workers import SOURCE_SUPPORT, SourceSupport, TaskStatus, host_port, is_loopback

ALL: Final = frozenset({"preparing", "enabled", "disabled"})
DRAFT_SETTING: Final = "exactly.once.source.enabled"
DRAFT_RECORD: Final = "tasks-count-"
PROTOCOL: Final = "connect.protocol"
SAME_IN_ALL: Final = (
    *("group.id", "config.storage.topic", "offset.storage.topic", "status.storage.topic"),
    PROTOCOL,
)
DEFAULTS: Final = {PROTOCOL: "sessioned"}
SERVERS: Final = "bootstrap.servers"
STANDALONE_OFFSETS: Final = "offset.storage.file.filename"
"""The setting with the place of a standalone worker's offsets; it does not start without it."""


def _silent(evidence: Evidence) -> Iterator[Finding]:
    for url, reason in evidence.silent.items():
        if reason.cause is not Cause.OTHER_GROUP:
            yield kinds.SILENT.finding(url, f"the worker does not answer: {reason.reason}")


def _other_kafka(evidence: Evidence) -> Iterator[Finding]:
    clusters = {worker.url: worker.kafka_cluster_id for worker in evidence.answering}
    expected = evidence.cluster_id
    if isinstance(expected, Skipped):
        if len(set(clusters.values())) > 1:
            yield kinds.OTHER_KAFKA.finding(
                "workers", "the workers are attached to different Kafka clusters", {"workers": clusters}
            )
        return
    for url, found in clusters.items():
        if found != expected:
            message = f"the worker is attached to Kafka cluster {found}, the brokers at -b are cluster {expected}"
            yield kinds.OTHER_KAFKA.finding(url, message, {"kafka_cluster_id": found, "expected": expected})


def _mixed(evidence: Evidence) -> Iterator[Finding | Skipped]:
    enabled, others, unknown = probes(evidence)
    if enabled and others:
        yield kinds.MIXED.finding(
            "workers",
            f"exactly-once is enabled on {', '.join(enabled)} and not on {', '.join(others)}: tasks that run on the "
            "latter write without transactions, and nothing fences them",
            {"enabled": list(enabled), "not_enabled": list(others)},
        )
    yield from _not_known(unknown)


def _nowhere(evidence: Evidence) -> Iterator[Finding | Skipped]:
    enabled, others, unknown = probes(evidence)
    if others and not evidence.all_sources() and not isinstance(evidence.statuses, Skipped):
        return
    if others and not enabled and not unknown:
        yield kinds.NOWHERE.finding("workers", "no worker has exactly-once enabled", {"not_enabled": list(others)})
    elif unknown and not enabled:
        yield Skipped("; ".join(f"{url}: {reason.reason}" for url, reason in unknown.items()))


def probes(evidence: Evidence) -> tuple[tuple[str, ...], tuple[str, ...], dict[str, Skipped]]:
    """Addresses of the enabled workers, of the others, and the workers whose answer is unknown.

    If no worker was queried, that is unknown: none of them counts as not enabled.
    """
    if isinstance(evidence.workers, Skipped):
        return (), (), {"the workers": evidence.workers}
    workers = evidence.answering
    return (
        tuple(each.url for each in workers if each.enabled is True),
        tuple(each.url for each in workers if each.enabled is False),
        {each.url: each.enabled for each in workers if isinstance(each.enabled, Skipped)},
    )


def _contradiction(evidence: Evidence) -> Iterator[Finding | Skipped]:
    """Not of standalone workers: they let connectors require exactly-once (only DistributedHerder asks)."""
    enabled, others, unknown = probes(evidence)
    files = {} if isinstance(evidence.worker_files, Skipped) else evidence.worker_files
    for name, properties in files.items():
        declared = declared_support(properties)
        urls = {name}.intersection((*enabled, *others)) or {*enabled, *others}
        agreeing = urls.intersection(enabled) if declared is SourceSupport.ENABLED else urls.difference(enabled)
        standalone = STANDALONE_OFFSETS in properties and "group.id" not in properties
        if declared is None or not urls or agreeing or standalone:
            continue
        if name not in urls and (unknown or evidence.silent):
            yield from _not_known({**unknown, **evidence.silent})  # it may be the file of one of these
        elif declared is SourceSupport.ENABLED:
            message = f"{name} has {SOURCE_SUPPORT}=enabled, but {', '.join(sorted(urls))} answers that it is not"
            yield kinds.CONTRADICTION.finding(name, message, {"declared": declared.value, "not_enabled": sorted(urls)})
        else:
            answering = f"{', '.join(sorted(urls))} answers that exactly-once is enabled"
            message = f"{name} has {SOURCE_SUPPORT}={declared}, but {answering}"
            yield kinds.CONTRADICTION.finding(name, message, {"declared": str(declared), "enabled": sorted(urls)})


def _not_known(unknown: Mapping[str, Skipped]) -> Iterator[Skipped]:
    return (Skipped(f"whether {url} has it enabled is not known: {each.reason}") for url, each in unknown.items())


def _invalid(evidence: Evidence) -> Iterator[Finding | Skipped]:
    for name, value in evidence.configured(SOURCE_SUPPORT).items():
        if "${" in value:
            yield Skipped(
                f"{SOURCE_SUPPORT} of {name} is {value!r}: a config provider resolves it, and its value is not known"
            )
        elif value.lower() not in set(SourceSupport):
            message = (
                f"{SOURCE_SUPPORT} is {value!r}: a worker accepts disabled, preparing and enabled, and does not start"
            )
            yield kinds.INVALID.finding(name, message, {"value": value})


def _draft(evidence: Evidence) -> Iterator[Finding | Skipped]:
    for fact in (evidence.worker_files, evidence.inspection):
        if isinstance(fact, Skipped):
            yield fact
    for name, value in evidence.configured(DRAFT_SETTING).items():
        message = f"{DRAFT_SETTING}={value} is a name of KIP-618's draft that no release knows: it has no effect"
        yield kinds.DRAFT.finding(name, message, {"value": value})
    if isinstance(evidence.inspection, Skipped):
        return
    census = evidence.inspection.census
    keys = [key for _, key in census.invalid_keys.examples if key.startswith(DRAFT_RECORD)]
    if keys:
        message = (
            f"records such as {keys[0]} follow KIP-618's draft: released workers write tasks-fencing-<connector> and "
            "ignore these"
        )
        records = census.kinds.get(RecordKind.TASK_COUNT, 0)
        yield kinds.DRAFT.finding(evidence.inspection.topic, message, {"keys": keys, "task_count_records": records})


def _differ(evidence: Evidence) -> Iterator[Finding | Skipped]:
    files = {} if isinstance(evidence.worker_files, Skipped) else evidence.worker_files
    for key in SAME_IN_ALL:
        values = {name: each.get(key, DEFAULTS.get(key)) for name, each in files.items()}
        values = {name: value for name, value in values.items() if value is not None}
        if len(set(values.values())) > 1:
            yield _differing(key, values)
    servers = {name: server_set(text) for name, text in evidence.configured(SERVERS).items()}
    first = next(iter(servers.values()), frozenset[str]())
    others = [name for name, each in servers.items() if each.isdisjoint(first)]
    if others:
        yield Skipped(
            f"whether {SERVERS} of {others[0]} leads to the same Kafka cluster as {SERVERS} of {next(iter(servers))}"
        )


def _differing(key: str, values: Mapping[str, str | None]) -> Finding:
    message = f"the workers' files set {key} to different values"
    if key != PROTOCOL:
        return kinds.DIFFER.finding(key, message, {"values": dict(values)})
    message += ": the group uses the newest protocol that all workers support, and signs requests only with sessioned"
    return kinds.DIFFER.finding(key, message, {"values": dict(values)}, severity=Severity.WARNING)


RULES: Final = (
    Rule(
        kinds.SILENT,
        "Does every worker answer?",
        needs=("workers",),
        check=_silent,
        blocks=ALL,
    ),
    Rule(
        kinds.OTHER_KAFKA,
        "Are all workers attached to the same Kafka cluster?",
        needs=("workers",),
        check=_other_kafka,
        blocks=ALL,
    ),
    Rule(
        kinds.MIXED,
        "Is exactly-once enabled on all workers or on none?",
        needs=("workers",),
        check=_mixed,
    ),
    Rule(
        kinds.NOWHERE,
        "Is exactly-once enabled on any worker?",
        needs=("workers",),
        check=_nowhere,
    ),
    Rule(
        kinds.CONTRADICTION,
        "Do the workers run with the settings in their properties files?",
        needs=("workers", "worker_files"),
        check=_contradiction,
    ),
    Rule(
        kinds.INVALID,
        "Is exactly.once.source.support one of its three values?",
        needs=("worker_files",),
        check=_invalid,
        blocks=ALL,
    ),
    Rule(
        kinds.DRAFT,
        "Does any config use names that only the draft of KIP-618 had?",
        needs=(),
        check=_draft,
    ),
    Rule(
        kinds.DIFFER,
        "Do all workers' files name the same group, topics, brokers and protocol?",
        needs=("worker_files",),
        check=_differ,
    ),
)


# Rules about the group that the workers form.


POLICY_PREFIX: Final = "connector.client.config.override."
POLICY: Final = f"{POLICY_PREFIX}policy"
SIGNATURE: Final = "inter.worker.signature.algorithm"
VERIFICATION: Final = "inter.worker.verification.algorithms"
HMAC: Final = "HmacSHA256"


LEFT: Final = (
    "find in the workers' logs why they left the group (session.timeout.ms, rebalances), and restart a worker that "
    "does not come back. If they have another group.id, give it as --group-id"
)
"""The fix if the group had a leader, and its workers answer but are not members."""


def _no_group(evidence: Evidence) -> Iterator[Finding]:
    group = evidence.group
    if isinstance(group, Skipped):
        return
    against = group.objection(workers_answer=bool(evidence.answering))
    if against is None:
        return
    details = {"protocol_type": group.protocol_type, "state": group.state}
    leader = leader_transactional_id(str(evidence.group_id))
    known = {} if isinstance(evidence.transactions, Skipped) else evidence.transactions
    if group.members or not isinstance(known.get(leader), TransactionDescription):
        yield kinds.NO_GROUP.finding(str(evidence.group_id), against, details)
        return
    message = f"{against}; they left it: the transactional ID {leader} of its leader exists"
    yield kinds.NO_GROUP.finding(str(evidence.group_id), message, {**details, "leader": leader}, cure=LEFT)


def _unnamed(evidence: Evidence) -> Iterator[Finding | Skipped]:
    if isinstance(evidence.group, Skipped) or isinstance(evidence.workers, Skipped):
        return
    given = {host_port(url) for url in evidence.workers}
    for member in evidence.group.members:
        if member.url is None:
            yield Skipped(f"member {member.member_id} of the group does not report its address")
        elif host_port(member.url) not in given:
            message = f"the group has a member at {member.url} that is not among the given workers"
            cure = f"add --connect-url {member.url.rstrip('/')}: nothing is known about this worker"
            yield kinds.UNNAMED.finding(member.url, message, {"member_id": member.member_id}, cure=cure)


def _stranger(evidence: Evidence) -> Iterator[Finding | Skipped]:
    for url, reason in evidence.silent.items():
        if reason.cause is Cause.OTHER_GROUP:
            yield kinds.STRANGER.finding(url, reason.reason, {})
    yield from (each.connectors for each in evidence.answering if isinstance(each.connectors, Skipped))
    reported = {each.url: each.connectors for each in evidence.answering if not isinstance(each.connectors, Skipped)}
    if reported:
        usual, count = Counter(reported.values()).most_common(1)[0]
        for url, names in reported.items():
            if names != usual and (count > 1 or not names & usual):
                message = f"the worker knows different connectors than the others: {_difference(names, usual)}"
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
        message = (
            f"the group uses connect.protocol={name}: any client that reaches a worker's REST address can "
            "fence its tasks"
        )
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
            f"tasks of {', '.join(waiting[:10])} run on no worker: the group keeps the tasks of a lost worker for "
            "its return"
        )
        yield kinds.MOVING.finding("tasks", message, {"connectors": waiting})


def _places_that_left(evidence: Evidence) -> frozenset[str]:
    """Workers that tasks are said to run on and that are no members: one that is killed cannot take its status back."""
    group, statuses = evidence.group, evidence.statuses
    if isinstance(group, Skipped) or isinstance(statuses, Skipped) or group.state != "Stable" or not group.members:
        return frozenset()
    members = [None if member.url is None else host_port(member.url) for member in group.members]
    said = {task.worker_id for each in statuses.values() for task in each.tasks}
    return frozenset() if None in members else frozenset(each for each in said if host_port(each) not in members)


def _waits(task: TaskStatus, gone: frozenset[str]) -> bool:
    return task.state == "UNASSIGNED" or (task.state == "RUNNING" and task.worker_id in gone)


def _one_address(evidence: Evidence) -> Iterator[Finding]:
    members = () if isinstance(evidence.group, Skipped) else evidence.group.members
    urls = [member.url for member in members if member.url is not None]
    places = Counter(host_port(url) for url in urls)
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
    return policy, frozenset(split_list(worker.get(f"{POLICY_PREFIX}allowlist")) if policy == "Allowlist" else ())


def _signatures(evidence: Evidence) -> Iterator[Finding]:
    files = {} if isinstance(evidence.worker_files, Skipped) else evidence.worker_files
    signed = {name: each for name, each in files.items() if each.get("connect.protocol", "sessioned") == "sessioned"}
    for signer, properties in signed.items():
        algorithm = properties.get(SIGNATURE, HMAC)
        refusing = [name for name, each in signed.items() if algorithm not in split_list(each.get(VERIFICATION, HMAC))]
        if refusing:
            message = f"it signs with {algorithm}, which {VERIFICATION} of {', '.join(refusing)} does not hold"
            yield kinds.SIGNATURES.finding(signer, message, {"algorithm": algorithm, "refused_by": refusing})


GROUP_RULES: Final = (
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
        "Does every member advertise an address that is unique and that the others reach?",
        needs=("group",),
        check=_one_address,
        blocks=frozenset({"preparing", "enabled"}),
        unproven="workers of one machine reach each other by the loopback address, and each has its own port",
    ),
    Rule(
        kinds.POLICIES,
        "Do all workers allow connectors the same overrides?",
        needs=("worker_files",),
        check=_policies,
    ),
    Rule(
        kinds.SIGNATURES,
        "Does every worker accept the signatures of all others?",
        needs=("worker_files",),
        check=_signatures,
        blocks=frozenset({"preparing", "enabled"}),
    ),
)


# Rules about the versions of workers and brokers.


class FixedBug(NamedTuple):
    """A bug of Kafka: its effect on transactions, and the first release of each branch that has the fix.

    since is the first release that has it; severity counts where exactly-once is enabled.
    """

    issue: str
    effect: str
    fixed: tuple[str, ...]
    since: KafkaVersion = EXACTLY_ONCE_SOURCES
    severity: Severity = Severity.INFO

    def concerns(self, version: KafkaVersion) -> bool:
        """Whether this version has the bug: it is older than the fix on its own branch, or than every fixed branch."""
        own = [fix for fix in self.fixes if (fix.major, fix.minor) == (version.major, version.minor)]
        return self.since <= version < (own[0] if own else min(self.fixes))

    @property
    def fixes(self) -> tuple[KafkaVersion, ...]:
        """The first release of each branch that has the fix."""
        return tuple(KafkaVersion.parse(text) for text in self.fixed)

    def fixed_for(self, version: KafkaVersion) -> KafkaVersion:
        """The first release after this one that has the fix."""
        return min(fix for fix in self.fixes if fix > version)

    def may_concern(self, release: Release) -> bool:
        """True if a broker between these bounds may have the bug: its patch release is unknown."""
        return release.before is not None and release.before > self.since and release.at_least < max(self.fixes)


FIXED_BUGS: Final = (
    FixedBug("KAFKA-16047", "fencing sends a timeout of 1 ms and fails when the log is slow", ("3.7.1", "3.8.0")),
    FixedBug("KAFKA-16570", "fencing fails where a transaction is open", ("3.7.1", "3.8.0")),
    FixedBug("KAFKA-15059", "fencing is refused during a rebalance and all tasks turn FAILED", ("3.6.0",)),
    FixedBug("KAFKA-14727", "a transaction stays open while an interval source is idle", ("3.4.1", "3.5.0")),
    FixedBug("KAFKA-14799", "a connector that aborts an empty transaction fails", ("3.4.1", "3.5.0")),
    FixedBug("KAFKA-14339", "records are committed though their offsets were not", ("3.3.2", "3.4.0")),
    FixedBug("KAFKA-15018", "tombstones reach the two offset stores in the wrong order", ("3.8.0",)),
    FixedBug(
        "KAFKA-15800", "a key that is not JSON loses other offsets", ("3.5.2", "3.6.1", "3.7.0"), KafkaVersion(3, 5)
    ),
    FixedBug("KAFKA-16838", "tasks of a deleted connector come back", ("3.7.1", "3.8.0")),
    FixedBug("KAFKA-9228", "a change of client settings alone does not restart tasks", ("3.7.1", "3.8.0")),
    FixedBug("KAFKA-14455", "a failed write to the config topic is not reported", ("3.4.1", "3.5.0")),
    FixedBug("KAFKA-14401", "the thread that reads an internal topic dies, and the worker runs on", ("3.9.0",)),
    FixedBug(
        "KAFKA-19012",
        "a producer can write records of one topic to another, or corrupt",
        ("3.9.2", "4.0.2", "4.1.2", "4.2.0"),
        severity=Severity.ERROR,
    ),
)
"""Bugs of workers, and of the clients in them."""
BROKER_BUGS: Final = (
    FixedBug("KAFKA-16352", "a transaction can stay in Prepare* for ever", ("3.8.0",), KafkaVersion(0, 11)),
    FixedBug(
        "KAFKA-19367",
        "with transaction.version 2 fencing fails at epoch 32766 while a transaction is open",
        ("4.0.1", "4.1.0"),
        KafkaVersion(4, 0),
    ),
    FixedBug(
        "KAFKA-20090",
        "with transaction.version 2 a transaction at the last epoch, 32767, can stay open for ever",
        ("4.3.0",),
        KafkaVersion(4, 0),
    ),
    FixedBug(
        "KAFKA-20322",
        "beside brokers older than 4.2 its transactions do not end: UnsupportedVersionException",
        ("4.2.1", "4.3.0"),
        KafkaVersion(4, 2),
    ),
)
"""Bugs of brokers. KAFKA-18660 was fixed before 4.0.0, and KAFKA-20734 has no fix yet (EOS116 shows its effect).
KAFKA-19925 concerns clients that commit a group's offsets in a transaction: no class of Connect does."""
UP: Final = frozenset({"preparing", "enabled"})


def _too_old(evidence: Evidence) -> Iterator[Finding | Skipped]:
    for worker in evidence.answering:
        if isinstance(worker.version, Skipped):
            yield worker.version
        elif worker.version < EXACTLY_ONCE_SOURCES:
            message = f"the worker runs Kafka {worker.version}, which ignores exactly.once.source.support"
            yield kinds.TOO_OLD.finding(worker.url, message, {"version": str(worker.version)})


def _mixed_versions(evidence: Evidence) -> Iterator[Finding | Skipped]:
    yield from _unnamed_versions(evidence)
    known = {worker.url: worker.version for worker in evidence.answering}
    versions = {url: str(version) for url, version in known.items() if not isinstance(version, Skipped)}
    if len(set(versions.values())) > 1:
        reported = ", ".join(sorted(set(versions.values())))
        yield kinds.MIXED_VERSIONS.finding(
            "workers", f"the workers run different versions: {reported}", {"versions": versions}
        )


def _bugs(evidence: Evidence) -> Iterator[Finding | Skipped]:
    yield from _unnamed_versions(evidence)
    for version in sorted(set(evidence.versions)):
        bugs = [bug for bug in FIXED_BUGS if bug.concerns(version)]
        transactional = any(each.enabled is not False for each in evidence.answering if each.version == version)
        for severe in (True, False):
            some = [bug for bug in bugs if severe is (bug.severity is Severity.ERROR)]
            if some:
                yield _bugs_of(version, some, _severity(severe=severe, transactional=transactional))
    yield from _bugs_of_brokers(evidence)


def _severity(*, severe: bool, transactional: bool) -> Severity:
    if not severe:
        return Severity.INFO
    return Severity.ERROR if transactional else Severity.WARNING


def _bugs_of(version: KafkaVersion, bugs: list[FixedBug], severity: Severity) -> Finding:
    reported = "; ".join(f"{bug.issue} ({bug.effect})" for bug in bugs)
    message = f"workers run Kafka {version}, which has bugs that concern exactly-once: {reported}"
    needed = max(bug.fixed_for(version) for bug in bugs)
    cure = f"upgrade the workers to Kafka {needed} or newer, which has all these fixes"
    evidenced = {"issues": [bug.issue for bug in bugs]}
    return kinds.BUGS.finding(str(version), message, evidenced, cure=cure, severity=severity)


def _bugs_of_brokers(evidence: Evidence) -> Iterator[Finding]:
    """The newest of each bug's fixes is named: which patch release a broker runs cannot be asked."""
    releases = {} if isinstance(evidence.broker_releases, Skipped) else evidence.broker_releases
    known = {node: each for node, each in releases.items() if not isinstance(each, Skipped)}
    for bug in BROKER_BUGS:
        nodes = sorted(node for node, release in known.items() if bug.may_concern(release))
        if nodes:
            fixed = " and ".join(bug.fixed)
            these = ", ".join(map(str, nodes))
            message = f"brokers {these} may have {bug.issue}, fixed in {fixed}: {bug.effect}"
            evidenced = {"issues": [bug.issue], "brokers": nodes}
            cure = f"upgrade the brokers to Kafka {max(bug.fixes)} or newer"
            yield kinds.BUGS.finding("brokers", message, evidenced, cure=cure, severity=bug.severity)


def _unnamed_versions(evidence: Evidence) -> Iterator[Skipped]:
    return (each.version for each in evidence.answering if isinstance(each.version, Skipped))


VERSION_RULES: Final = (
    Rule(
        kinds.TOO_OLD,
        "Does every worker know exactly.once.source.support?",
        needs=("workers",),
        check=_too_old,
        blocks=UP,
        unproven="the sandbox runs Kafka from 3.3.0 on, the first with exactly-once sources",
    ),
    Rule(
        kinds.MIXED_VERSIONS,
        "Do all workers run the same version?",
        needs=("workers",),
        check=_mixed_versions,
    ),
    Rule(
        kinds.BUGS,
        "Do workers or brokers have bugs of exactly-once that a newer release fixes?",
        needs=("workers",),
        check=_bugs,
    ),
)


# Rules about the connector plugins of the workers.
#
# 1. A worker of 4.1 or newer loads several versions of a class side by side (KIP-891). A connector runs in the version
#    that `connector.plugin.version` asks for, or in the newest; older workers do not know the setting.
# 2. A version without brackets is asked for exactly (PluginUtils.connectorVersionRequirement). Which one a range of
#    versions chooses is not worked out: all versions have to be the same then.


ASKED: Final = "connector.plugin.version"
NEWEST: Final = ("", "latest")
RANGE: Final = late_pattern(r"[\[\](),]")

Asked = Mapping[str, Mapping[str, list[str]]]
"""The connectors by the class, as `class_name` has it, and by the version that they ask for."""


def _plugins(evidence: Evidence) -> Iterator[Finding | Skipped]:
    yield from (each.plugins for each in evidence.answering if isinstance(each.plugins, Skipped))
    asked = _asked(evidence)
    for plugin in sorted({name for each in evidence.answering for name in _versions(each)}):
        users = {"": []} if asked is None else asked.get(class_name(plugin), {})
        for version, connectors in (users or {"": []}).items():
            yield from _differing_plugins(evidence, plugin, version, connectors, is_used=bool(users))


def _differing_plugins(
    evidence: Evidence, plugin: str, asked: str, connectors: list[str], *, is_used: bool
) -> Iterator[Finding]:
    known = [each for each in evidence.answering if not isinstance(each.plugins, Skipped)]
    found = {each.url: _loaded(each, plugin, asked) for each in known}
    there = {version for version in found.values() if version is not None}
    missing = [url for url, version in found.items() if version is None]
    if missing or len(there) > 1:
        wanted = "" if asked in NEWEST else f" in version {asked}, which {', '.join(connectors)} asks for,"
        what = f"is missing on {', '.join(missing)}" if missing else f"has versions {', '.join(sorted(there))}"
        user = "" if is_used else ", and no connector uses it"
        versions = {each.url: ", ".join(_versions(each).get(plugin, ())) or None for each in known}
        yield kinds.PLUGINS.finding(
            plugin,
            f"the plugin{wanted} {what}{user}",
            {"versions": versions},
            severity=None if is_used else Severity.INFO,
        )


def _asked(evidence: Evidence) -> Asked | None:
    """The versions that all connectors request, sinks included; None if unknown."""
    if isinstance(evidence.inspection, Skipped):
        return None
    asked: dict[str, dict[str, list[str]]] = {}
    for name in evidence.inspection.state.connectors:
        config = connector_config(evidence, name)
        asked.setdefault(config.class_name, {}).setdefault(config.get(ASKED).strip(), []).append(name)
    return asked


def _loaded(worker: WorkerEvidence, plugin: str, asked: str) -> str | None:
    """The plugin version in which this worker runs a connector that requests this one; None: it has none.

    Of Kafka's own plugins the newest has the version of the worker, which another rule checks: it is "".
    """
    versions = _versions(worker).get(plugin, ())
    is_old = not isinstance(worker.version, Skipped) and worker.version < SEVERAL_PLUGIN_VERSIONS
    if asked in NEWEST or is_old:
        return ("" if plugin.startswith("org.apache.kafka.") else versions[-1]) if versions else None
    if RANGE.search(asked.removeprefix("[").removesuffix("]")):
        return " and ".join(versions) or None
    exact = _without_zeros(asked.strip("[]"))
    return exact if exact in map(_without_zeros, versions) else None


def _without_zeros(version: str) -> str:
    """1.0 is 1 to Maven's order of versions."""
    return re.sub(r"(\.0+)+$", "", version.strip())


def _versions(worker: WorkerEvidence) -> Mapping[str, tuple[str, ...]]:
    return {} if isinstance(worker.plugins, Skipped) else worker.plugins


def _answers_differ(evidence: Evidence) -> Iterator[Finding | Skipped]:
    preflight = {} if isinstance(evidence.preflight, Skipped) else evidence.preflight
    for name, answer in preflight.items():
        if len(answer.by_worker) > 1:
            yield from (Skipped(f"{name} could not be validated: {each.reason}") for each in answer.unread)
        if len(set(answer.answers.values())) > 1:
            said = (f"{url} {_said(each)}" for url, each in answer.answers.items())
            message = f"whether it supports exactly-once depends on the worker: {', '.join(said)}"
            cure = for_connector(connect.ANSWERS_DIFFER.fix, name)
            yield connect.ANSWERS_DIFFER.finding(name, message, {"messages": answer.answers}, cure=cure)


def _said(messages: tuple[str, ...]) -> str:
    return f"would refuse it ({'; '.join(messages)})" if messages else "accepts it"


PLUGIN_RULES: Final = (
    Rule(
        kinds.PLUGINS,
        "Does every worker have the connectors' versions of their plugins?",
        needs=("workers",),
        check=_plugins,
    ),
    Rule(
        connect.ANSWERS_DIFFER,
        "Do all workers give the same answer to a connector's preflight check?",
        needs=("preflight",),
        check=_answers_differ,
    ),
)

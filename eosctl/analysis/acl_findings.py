"""Faults of Connect clusters before any ACL is compared: names that collide, overrides that Connect refuses, topics
that no config names, clients without an owner."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from msgspec import Struct

from eosctl.analysis.catalogue import plans as kinds
from eosctl.analysis.catalogue.index import kinds_of_command
from eosctl.analysis.catalogue.transactions import PREFIX
from eosctl.analysis.client_configs import override_policy, overrides, refused_overrides
from eosctl.analysis.inspection import FILE_SOURCE, impossible_connector
from eosctl.analysis.output_topics import (
    has_own_policy,
    named_or_configured,
    regex_patterns,
    renames_topics,
    signals_topic,
)
from eosctl.late_pattern import late_pattern
from eosctl.model.acl_plan import AclDifference, AclRequest, PlannedBinding
from eosctl.model.acls import ALLOW_EVERYONE, SUPER_USERS, AclBinding, PatternType, topic
from eosctl.model.client_roles import ConnectCluster, ConnectorConfig
from eosctl.model.names import is_topic_name, leader_transactional_id, stem_and_task
from eosctl.model.report import Finding, FindingKind, Severity, Uncertainty
from eosctl.model.skipped import Skipped
from eosctl.model.text import pluralize

# Transactional IDs that two owners would share, and prefixes that hold the IDs of another owner.
#
# Connect joins `<group.id>-<connector>-<task>` without escaping, and the leader's `connect-cluster-<group.id>`.
#
# 1. Two connectors share their IDs where `<group.id>-<connector>-` is the same text: group a, connector b-c and group
#    a-b, connector c. Where the texts differ no two IDs are equal, because a task number holds no dash.
# 2. A leader's ID equals a task's where it is such a text and a number: the leader of group x-3 and task 3 of
#    connector x in a group that is called connect-cluster.
# 3. A prefixed pattern `<group.id>-<connector>-` also covers every other ID with this prefix.
#
# Sorted texts that begin alike lie together, so all of this costs sorting: each gets its nearest enclosing text.


class IdOwner(Struct, frozen=True):
    """The owner of transactional IDs with this beginning: a connector of a group, or its leader (connector None)."""

    group_id: str
    connector: str | None

    @property
    def text(self) -> str:
        """The beginning of a connector's IDs, with its last dash; the whole of a leader's."""
        if self.connector is None:
            return leader_transactional_id(self.group_id)
        return f"{self.group_id}-{self.connector}-"

    def __str__(self) -> str:
        if self.connector is None:
            return f"the leader of group {self.group_id}"
        return f"connector {self.connector} of group {self.group_id}"


class Collision(Struct, frozen=True):
    """Two owners; `shared` is the ID or prefix that both use. equal: they use the same IDs."""

    shared: str
    first: IdOwner
    second: IdOwner
    equal: bool


def find_collisions(connectors: Mapping[str, Iterable[str]]) -> Iterator[Collision]:
    """Collisions among source connectors by group.id and the groups' leaders."""
    groups = {group: tuple(dict.fromkeys(names)) for group, names in connectors.items()}
    tasks = [IdOwner(group, name) for group, names in groups.items() for name in names]
    leaders = [IdOwner(group, None) for group in groups]
    by_text: dict[str, IdOwner] = {}
    for owner in tasks:
        first = by_text.setdefault(owner.text, owner)
        if first is not owner:
            yield Collision(owner.text, first, owner, equal=True)
    for leader in leaders:
        parts = stem_and_task(leader.text)
        holder = None if parts is None else by_text.get(f"{parts[0]}-")
        if holder is not None:
            yield Collision(leader.text, holder, leader, equal=True)
    yield from _enclosing([*by_text.values(), *leaders])


def _enclosing(owners: Iterable[IdOwner]) -> Iterator[Collision]:
    open_texts: list[IdOwner] = []
    for owner in sorted(owners, key=lambda each: (each.text, each.connector is None)):
        while open_texts and not owner.text.startswith(open_texts[-1].text):
            open_texts.pop()
        if open_texts:
            yield Collision(open_texts[-1].text, open_texts[-1], owner, equal=False)
        if owner.connector is not None:
            open_texts.append(owner)


WORKERS: Final = "workers"
SHOWN: Final = 3
MOST: Final = 20
"""Bindings that the message of a finding names, and its evidence."""
_OWN_CLIENT = late_pattern(
    r"(?!(?:producer|consumer|admin)\.override\.)(?!(?:source|target)\.(?:cluster|producer|consumer|admin)\.)"
    r".*bootstrap\.servers"
)
_SIGNALS = frozenset({"signal.kafka.bootstrap.servers", "signal.consumer.bootstrap.servers"})


def kinds_looked_for(*, check: bool) -> tuple[FindingKind, ...]:
    """The kinds that a plan looks for; missing bindings are found by a check only."""
    return tuple(kind for kind in kinds_of_command("acl-plan") if check or kind != kinds.REQUIRED_MISSING)


def find_in_acls(request: AclRequest) -> Iterator[Finding]:
    """Findings about the clusters of a request, collisions first."""
    yield from find_colliding(request)
    for cluster in request.clusters:
        for connector in cluster.connectors:
            yield from impossible_connector(connector, ". The plan has no ACL for it: it is not a valid topic name")
            yield from _overrides(cluster, connector)
            yield from _topics(connector)
            yield from _own_clients(connector)
            yield from _tasks(request, connector)


def find_colliding(request: AclRequest) -> Iterator[Finding]:
    """Transactional IDs and prefixes that two owners share, over all clusters together.

    A connector that is not planned for counts only as the other one of two.
    """
    sources: dict[str, list[str]] = {}
    planned: set[tuple[str, str | None]] = set()
    for cluster in request.clusters:
        asked = [each.name for each in cluster.connectors if not each.is_sink]
        sources.setdefault(cluster.group_id, []).extend((*asked, *cluster.others))
        planned |= {(cluster.group_id, name) for name in (*asked, None)}
    for collision in find_collisions(sources):
        first, second = ((each.group_id, each.connector) in planned for each in (collision.first, collision.second))
        if collision.equal and (first or second):
            yield _equal(collision)
        elif first:
            yield _prefix(collision, request.pattern_type)


def find_hidden(settings: Collection[str]) -> Iterator[Finding]:
    """Possible effects of authorizer settings whose values brokers hide."""
    for name, message, cure in (
        (
            SUPER_USERS,
            "brokers do not report their super users: a super user may do all this without an ACL",
            "name those among the principals: --super-user User:NAME",
        ),
        (
            ALLOW_EVERYONE,
            "brokers do not report its value. If it is true, every principal may use a resource without ACLs. The "
            "first ACL on a resource takes it from all other principals",
            "look into the brokers' settings; if it is true, give the other users of these resources their ACLs first",
        ),
    ):
        if name in settings:
            yield kinds.SETTING_HIDDEN.finding(name, message, {"setting": name}, cure=cure)


def find_missing(planned: Iterable[PlannedBinding]) -> Iterator[Finding]:
    """One finding for each connector, and one for the workers, that needs some of these missing bindings."""
    missing: dict[str, list[AclBinding]] = {}
    for each in planned:
        for name in dict.fromkeys(reason.connector or WORKERS for reason in each.reasons):
            missing.setdefault(name, []).append(each.binding)
    for name, bindings in missing.items():
        named = list(map(str, bindings[:MOST]))
        said = [f"{each.operation} on {each.pattern} for {each.principal}" for each in bindings[:SHOWN]]
        more = f"; and {len(bindings) - SHOWN} more" if len(bindings) > SHOWN else ""
        yield kinds.REQUIRED_MISSING.finding(
            name,
            f"{pluralize(len(bindings), 'required ACL is', 'required ACLs are')} missing: {'; '.join(said)}{more}",
            {"bindings": named, "count": len(bindings)},
        )


def find_unchecked(difference: AclDifference) -> Iterator[Uncertainty]:
    """Reason why bindings of other clusters were not checked."""
    for reason in dict.fromkeys(each.status.reason for each in difference.compared if isinstance(each.status, Skipped)):
        yield Uncertainty(kinds.REQUIRED_MISSING.id, reason, needed=False)


def _equal(collision: Collision) -> Finding:
    return kinds.COLLISION.finding(
        collision.shared,
        f"{collision.first} and {collision.second} use the same transactional IDs: on one Kafka cluster with "
        "exactly-once each fences the other, and ACLs and offsets do not distinguish them",
        {"first": str(collision.first), "second": str(collision.second)},
    )


def _prefix(collision: Collision, pattern_type: PatternType) -> Finding:
    prefixed = pattern_type is PatternType.PREFIXED
    return PREFIX.finding(
        collision.shared,
        f"a prefixed ACL for {collision.first} also covers the IDs of {collision.second}",
        {"first": str(collision.first), "second": str(collision.second)},
        cure="use --pattern literal for it" if prefixed else "keep its ACLs literal, as planned",
        severity=Severity.WARNING if prefixed else Severity.INFO,
    )


def _overrides(cluster: ConnectCluster, connector: ConnectorConfig) -> Iterator[Finding]:
    for worker in cluster.workers:
        refused = refused_overrides(worker, connector)
        if refused:
            yield kinds.OVERRIDE_REFUSED.finding(
                connector.name,
                f"connector.client.config.override.policy={worker.override_policy} refuses {', '.join(refused)}: the "
                "connector cannot be created or changed, and the plan takes the worker's own settings instead",
                {"policy": worker.override_policy, "properties": list(refused)},
            )
            return
        if override_policy(worker) is None and (reported := overrides(connector)):
            yield kinds.OVERRIDE_POLICY_UNKNOWN.finding(
                connector.name,
                f"connector.client.config.override.policy={worker.override_policy} is not one of Kafka's, so eosctl "
                f"cannot check whether it allows {', '.join(reported)}; the plan assumes that it allows them",
                {"policy": worker.override_policy, "properties": list(reported)},
                cure=kinds.OVERRIDE_POLICY_UNKNOWN.fix.replace("<connector>", connector.name),
            )
            return


def _topics(connector: ConnectorConfig) -> Iterator[Finding]:
    if connector.is_sink:
        regex = connector.get("topics.regex").strip()
        if not connector.topics and topic("*") in regex_patterns(regex):
            yield _unknown_topics(connector, f"topics.regex {regex} begins with no literal text", "is given all topics")
        return
    if not named_or_configured(connector):
        used = f"gets ACLs only on those that it used: {', '.join(connector.active_topics)}"
        yield _unknown_topics(
            connector, _why_unknown(connector), used if connector.active_topics else "gets no ACL on them"
        )
        return
    odd = [
        each.name
        for each in named_or_configured(connector)
        if not each.is_wildcard and not is_topic_name(f"a{each.name}")
    ]
    if odd and connector.class_name != FILE_SOURCE:
        yield _unknown_topics(connector, f"{odd[0]!r} is not a topic's name", "gets no ACL on that")


def _why_unknown(connector: ConnectorConfig) -> str:
    if renames_topics(connector):
        return "a transformation renames them"
    if has_own_policy(connector):
        return f"{connector.get('replication.policy.class')} names them"
    return "its config does not name them"


def _unknown_topics(connector: ConnectorConfig, reason: str, effect: str) -> Finding:
    kind = "reads" if connector.is_sink else "writes"
    return kinds.TOPICS_UNKNOWN.finding(
        connector.name,
        f"which topics it {kind} is not known ({reason}), so it {effect}",
        cure=kinds.TOPICS_UNKNOWN.fix.replace("<connector>", connector.name),
    )


def _own_clients(connector: ConnectorConfig) -> Iterator[Finding]:
    planned = frozenset() if signals_topic(connector) is None else _SIGNALS
    own = sorted(key for key in connector.properties if _OWN_CLIENT.fullmatch(key) and key not in planned)
    if own:
        yield kinds.OWN_KAFKA_CLIENT.finding(
            connector.name,
            f"it creates another Kafka client ({', '.join(own)}), whose ACLs are not planned",
            {"properties": own},
        )


def _tasks(request: AclRequest, connector: ConnectorConfig) -> Iterator[Finding]:
    reported = connector.get("tasks.max", "1").strip()
    if connector.is_sink or "${" not in reported or request.pattern_type is PatternType.PREFIXED:
        return
    yield kinds.TASKS_UNKNOWN.finding(
        connector.name,
        f"how many tasks it may have is not known: tasks.max is {reported}, a reference that only a worker resolves. "
        f"IDs are planned for {connector.most_tasks + request.headroom}",
        {"tasks_max": reported},
    )

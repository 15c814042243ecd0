"""What is worth knowing about a migration before it is applied, and what speaks against it."""

from collections.abc import Iterable, Iterator, Mapping

from eosctl.analysis.catalogue import migration as kinds
from eosctl.analysis.offset_findings import LOSES_THE_REST
from eosctl.codecs.offsets_topic import decode_offsets_key
from eosctl.model.counts import counted
from eosctl.model.migration import MigrationFacts, MigrationRequest, Move
from eosctl.model.offsets import MalformedKey
from eosctl.model.plan import ConnectorStopped, NoLiveOwner
from eosctl.model.plan_facts import ConnectorFacts, PlanFacts
from eosctl.model.preconditions import IN_USE_HINT, how_to_stop, not_compact, violation
from eosctl.model.report import Finding, Severity
from eosctl.model.sides import Side
from eosctl.model.skipped import Skipped
from eosctl.planning.answered_offsets import contradictions
from eosctl.planning.merge import Merged
from eosctl.planning.producing_elsewhere import find_clusters


def find_all(
    request: MigrationRequest, facts: MigrationFacts, merged: Mapping[Move, Merged], empty: Iterable[Move]
) -> tuple[Finding, ...]:
    """Every finding once, the worst first."""
    found = [each for one in merged.values() for each in one.findings]
    for topic in dict.fromkeys(move.target_topic for move in request.moves):
        found += _foreign_keys(request, facts, topic)
    found += [_nothing_there(move) for move in empty]
    found += _unknown_targets(request, facts)
    found += _existing_targets(request, facts)
    found += find_clusters(request, facts)
    found += contradictions(request, facts)
    found += [_assumed(move) for move in request.moves if move.assumed]
    return tuple(sorted(found, key=lambda each: list(Severity).index(each.severity)))


def _nothing_there(move: Move) -> Finding:
    return kinds.NO_OFFSETS.finding(
        move.connector,
        f"topic {move.source_topic} holds no offset of connector {move.connector}: it will begin from nothing",
    )


def _assumed(move: Move) -> Finding:
    return kinds.SOURCE_TOPIC_ASSUMED.finding(
        move.connector,
        f"connector {move.connector} does not exist and the config topic does not hold its config any more: that its "
        f"offsets are in the workers' topic {move.source_topic} is assumed; if it had a topic of its own, these are "
        "copies that may be older",
    )


def _foreign_keys(request: MigrationRequest, facts: MigrationFacts, topic: str) -> Iterator[Finding]:
    """Worth refusing where a worker that will read the topic may be one that loses offsets over them."""
    held = facts.offsets.get((Side.TARGET, topic))
    raws = () if held is None else held.raw_keys()
    foreign = sum(1 for raw in raws if isinstance(decode_offsets_key(raw), MalformedKey))
    if foreign:
        keys = f"topic {topic} holds {counted(foreign, 'key that is', 'keys that are')} not of source offsets"
        oldest = facts.worker_version
        ignored = not request.elsewhere and not isinstance(oldest, Skipped) and oldest > LOSES_THE_REST[-1][1]
        yield kinds.FOREIGN_KEYS.finding(
            topic,
            f"{keys}: workers of {oldest} and newer log and ignore them" if ignored else keys,
            {"keys": foreign},
            severity=Severity.WARNING if ignored else None,
        )


def _unknown_targets(request: MigrationRequest, facts: MigrationFacts) -> Iterator[Finding]:
    for name in dict.fromkeys(move.new_name for move in request.moves):
        now = facts.connectors.get((Side.TARGET, name))
        if request.elsewhere and isinstance(now, Skipped):
            yield kinds.TARGET_CONNECTOR_UNKNOWN.finding(
                name,
                f"whether connector {name} runs in Connect cluster {request.target_group_id} is unknown: {now.reason}",
            )


def _existing_targets(request: MigrationRequest, facts: MigrationFacts) -> Iterator[Finding]:
    """A new name that stands for a connector already: only its offsets become those of the old one."""
    for move in request.moves:
        now = facts.connectors.get((request.new_side, move.new_name))
        if (move.renamed or request.elsewhere) and isinstance(now, ConnectorFacts) and now.state is not None:
            yield kinds.TARGET_CONNECTOR_EXISTS.finding(
                move.new_name,
                f"connector {move.new_name} exists already: it keeps its own config, and resumes where "
                f"{move.connector} was",
                cure=f"does it read what {move.connector} reads? If it does not, take another name, or delete it first",
            )


def objections(
    request: MigrationRequest,
    facts: MigrationFacts,
    needed: Iterable[ConnectorStopped | NoLiveOwner],
    findings: Iterable[Finding],
) -> Iterator[tuple[str, str]]:
    """Why nothing may be written, each with what to do about it. needed are connectors that have to be stopped, and IDs
    that nobody else may have.
    """
    plan_facts = PlanFacts(connectors=facts.connectors, live_owners=facts.live_owners)
    for precondition in needed:
        reason = violation(precondition, plan_facts)
        if isinstance(precondition, NoLiveOwner):
            if reason is not None:
                yield reason, IN_USE_HINT
            continue
        will_stop = request.stop and not isinstance(
            facts.connectors[precondition.side, precondition.connector], Skipped
        )
        if reason is not None and not will_stop:
            yield reason, how_to_stop(precondition, plan_facts)
    for topic in dict.fromkeys(move.target_topic for move in request.moves):
        now = facts.topics[Side.TARGET, topic]
        reason = None if now is None else not_compact(now.facts)
        if reason is not None:
            yield reason, f"set cleanup.policy=compact on {topic}, or move to another topic"
    yield from _missing_topics(request, facts)
    yield from _too_few_brokers(request, facts)
    yield from _missing_configs(request, facts)
    for finding in findings:
        if finding.severity is Severity.ERROR:
            yield finding.message, finding.cure


def replication_factors(request: MigrationRequest, facts: MigrationFacts) -> dict[str, int]:
    """The replication factor with which each target topic would be created; -1: the broker's default."""
    if request.replication_factor is not None:
        return dict.fromkeys((move.target_topic for move in request.moves), request.replication_factor)
    found: dict[str, int] = {}
    for move in request.moves:
        now = facts.topics.get((Side.SOURCE, move.source_topic))
        factor = -1 if now is None else now.facts.replication_factor
        found[move.target_topic] = max(factor, found.get(move.target_topic, -1))
    return found


def _too_few_brokers(request: MigrationRequest, facts: MigrationFacts) -> Iterator[tuple[str, str]]:
    """A topic that has to be created with more replicas than the target has brokers: CreateTopics is refused."""
    for topic, factor in replication_factors(request, facts).items():
        brokers = facts.target_brokers
        if facts.topics[Side.TARGET, topic] is None and brokers is not None and factor > brokers:
            yield (
                f"topic {topic} is to be created with replication factor {factor}, and the target cluster has "
                f"{counted(brokers, 'broker')}",
                f"give --replication-factor {brokers}, or start the other brokers first",
            )


def _missing_topics(request: MigrationRequest, facts: MigrationFacts) -> Iterator[tuple[str, str]]:
    """The topic that offsets are taken from, and the workers' own, must be there, or their name is a wrong one."""
    for topic in dict.fromkeys(move.source_topic for move in request.moves):
        if facts.topics.get((Side.SOURCE, topic)) is None:
            yield (
                f"topic {topic}, from which offsets were to be taken, does not exist",
                "--worker-offsets-topic is the workers' offset.storage.topic, --offsets-topic wins over all",
            )
    for move in request.moves:
        if move.to_workers and facts.topics[Side.TARGET, move.target_topic] is None:
            yield (
                f"topic {move.target_topic} does not exist: it is not the workers' offsets topic",
                "--worker-offsets-topic is the workers' offset.storage.topic",
            )


def _missing_configs(request: MigrationRequest, facts: MigrationFacts) -> Iterator[tuple[str, str]]:
    """--set-config changes or copies a config that has to be there, and is had from a worker of the source only."""
    for move in request.moves if request.set_config else ():
        old = facts.connectors.get((Side.SOURCE, move.connector))
        new = facts.connectors.get((request.new_side, move.new_name))
        exists = isinstance(new, ConnectorFacts) and new.state is not None
        if (move.renamed or request.elsewhere) and not exists and not facts.source_workers:
            yield (
                f"connector {move.new_name} is to be created with the config of {move.connector}, which is had from a "
                f"worker of Connect cluster {request.source_group_id} only",
                f"give --connect-url, a worker of {request.source_group_id}; or leave out --set-config and --resume, "
                "and create it once its offsets are in place",
            )
        if all(isinstance(each, ConnectorFacts) and each.state is None for each in (old, new)):
            yield (
                f"connector {move.connector} does not exist, so there is no config for --set-config",
                "leave out --set-config and --resume, and create it once its offsets are in place",
            )

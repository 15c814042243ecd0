"""Rules about what each worker is set to."""

from collections.abc import Iterator, Mapping
from typing import Final

from eosctl.analysis.catalogue import workers as kinds
from eosctl.model.client_configs import server_set
from eosctl.model.config_topic import RecordKind
from eosctl.model.evidence import Evidence, declared_support
from eosctl.model.offset_stores import SOURCE_SUPPORT, SourceSupport
from eosctl.model.report import Finding, Severity
from eosctl.model.rules import Rule
from eosctl.model.skipped import Skipped

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
"""Where a standalone worker keeps its offsets; it does not start without."""


def _silent(evidence: Evidence) -> Iterator[Finding]:
    for url, reason in evidence.silent.items():
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
    if others and not evidence.sources() and not isinstance(evidence.statuses, Skipped):
        return
    if others and not enabled and not unknown:
        yield kinds.NOWHERE.finding("workers", "no worker has exactly-once enabled", {"not_enabled": list(others)})
    elif unknown and not enabled:
        yield Skipped("; ".join(f"{url}: {reason.reason}" for url, reason in unknown.items()))


def probes(evidence: Evidence) -> tuple[tuple[str, ...], tuple[str, ...], dict[str, Skipped]]:
    """Addresses of the workers that are enabled, of those that are not, and those whose answer is not known.

    Where no worker was asked, that is what is not known: none of them is taken for one that is not enabled.
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
            message = f"{name} says {SOURCE_SUPPORT}=enabled, but {', '.join(sorted(urls))} answers that it is not"
            yield kinds.CONTRADICTION.finding(name, message, {"declared": declared.value, "not_enabled": sorted(urls)})
        else:
            message = f"{name} says {declared}, but {', '.join(sorted(urls))} answers that exactly-once is enabled"
            yield kinds.CONTRADICTION.finding(name, message, {"declared": str(declared), "enabled": sorted(urls)})


def _not_known(unknown: Mapping[str, Skipped]) -> Iterator[Skipped]:
    return (Skipped(f"whether {url} has it enabled is not known: {each.reason}") for url, each in unknown.items())


def _invalid(evidence: Evidence) -> Iterator[Finding | Skipped]:
    for name, value in evidence.configured(SOURCE_SUPPORT).items():
        if "${" in value:
            yield Skipped(f"{SOURCE_SUPPORT} of {name} is {value!r}: what a config provider makes of it is not known")
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
            f"whether {SERVERS} of {others[0]} leads to the same Kafka cluster as that of {next(iter(servers))}"
        )


def _differing(key: str, values: Mapping[str, str | None]) -> Finding:
    message = f"the workers' files set {key} to different values"
    if key != PROTOCOL:
        return kinds.DIFFER.finding(key, message, {"values": dict(values)})
    message += ": the group uses the best that all of them know, and signs requests only where that is sessioned"
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
        "Do the workers run with what their properties files say?",
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
        "Does anybody rely on names that only the draft of KIP-618 had?",
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

"""Rules about what each worker is set to."""

from collections.abc import Iterator
from typing import Final

from eosctl.model.config_topic import RecordKind
from eosctl.model.evidence import SOURCE_SUPPORT, Evidence, declared_support
from eosctl.model.offset_stores import SourceSupport
from eosctl.model.report import Finding, Severity
from eosctl.model.rules import Rule
from eosctl.model.skipped import Skipped

ALL: Final = frozenset({"preparing", "enabled", "disabled"})
DRAFT_SETTING: Final = "exactly.once.source.enabled"
DRAFT_RECORD: Final = "tasks-count-"
SAME_IN_ALL: Final = (
    *("group.id", "config.storage.topic", "offset.storage.topic", "status.storage.topic"),
    *("bootstrap.servers", "connect.protocol"),
)


def _silent(evidence: Evidence) -> Iterator[Finding]:
    for url, reason in evidence.silent.items():
        yield SILENT.finding(url, f"the worker does not answer: {reason.reason}")


def _other_kafka(evidence: Evidence) -> Iterator[Finding]:
    clusters = {worker.url: worker.kafka_cluster_id for worker in evidence.answering}
    expected = evidence.cluster_id
    if isinstance(expected, Skipped):
        if len(set(clusters.values())) > 1:
            yield OTHER_KAFKA.finding(
                "workers", "the workers are attached to different Kafka clusters", workers=clusters
            )
        return
    for url, found in clusters.items():
        if found != expected:
            message = f"the worker is attached to Kafka cluster {found}, the brokers at -b are cluster {expected}"
            yield OTHER_KAFKA.finding(url, message, kafka_cluster_id=found, expected=expected)


def _mixed(evidence: Evidence) -> Iterator[Finding | Skipped]:
    enabled, others, unknown = probes(evidence)
    if enabled and others:
        yield MIXED.finding(
            "workers",
            f"exactly-once is enabled on {', '.join(enabled)} and not on {', '.join(others)}: tasks that run on the "
            "latter write without transactions, and nothing fences them",
            enabled=list(enabled),
            not_enabled=list(others),
        )
    for url, reason in unknown.items():
        yield Skipped(f"whether {url} has it enabled is not known: {reason.reason}")


def _nowhere(evidence: Evidence) -> Iterator[Finding | Skipped]:
    enabled, others, unknown = probes(evidence)
    if others and not enabled and not unknown:
        yield NOWHERE.finding("workers", "no worker has exactly-once enabled", not_enabled=list(others))
    elif unknown and not enabled:
        yield Skipped("; ".join(f"{url}: {reason.reason}" for url, reason in unknown.items()))


def probes(evidence: Evidence) -> tuple[tuple[str, ...], tuple[str, ...], dict[str, Skipped]]:
    """Addresses of the workers that are enabled, of those that are not, and those whose answer is not known."""
    workers = evidence.answering
    return (
        tuple(each.url for each in workers if each.enabled is True),
        tuple(each.url for each in workers if each.enabled is False),
        {each.url: each.enabled for each in workers if isinstance(each.enabled, Skipped)},
    )


def _contradiction(evidence: Evidence) -> Iterator[Finding]:
    enabled, others, _ = probes(evidence)
    files = {} if isinstance(evidence.worker_files, Skipped) else evidence.worker_files
    for name, properties in files.items():
        declared = declared_support(properties)
        urls = {url for url in (name,) if url in (*enabled, *others)} or {*enabled, *others}
        if declared is SourceSupport.ENABLED and urls and not urls & set(enabled):
            message = f"{name} says {SOURCE_SUPPORT}=enabled, but {', '.join(sorted(urls))} answers that it is not"
            yield CONTRADICTION.finding(name, message, declared=declared.value, not_enabled=sorted(urls))
        if declared not in {None, SourceSupport.ENABLED} and urls and urls <= set(enabled):
            message = f"{name} says {declared}, but {', '.join(sorted(urls))} answers that exactly-once is enabled"
            yield CONTRADICTION.finding(name, message, declared=str(declared), enabled=sorted(urls))


def _invalid(evidence: Evidence) -> Iterator[Finding]:
    for name, value in evidence.configured(SOURCE_SUPPORT).items():
        if value.lower() not in set(SourceSupport):
            message = (
                f"{SOURCE_SUPPORT} is {value!r}: a worker accepts disabled, preparing and enabled, and does not start"
            )
            yield INVALID.finding(name, message, value=value)


def _draft(evidence: Evidence) -> Iterator[Finding | Skipped]:
    for fact in (evidence.worker_files, evidence.inspection):
        if isinstance(fact, Skipped):
            yield fact
    for name, value in evidence.configured(DRAFT_SETTING).items():
        message = f"{DRAFT_SETTING}={value} is a name of KIP-618's draft that no release knows: it has no effect"
        yield DRAFT.finding(name, message, value=value)
    if isinstance(evidence.inspection, Skipped):
        return
    census = evidence.inspection.census
    keys = [key for _, key in census.invalid_keys.examples if key.startswith(DRAFT_RECORD)]
    if keys:
        message = (
            f"records such as {keys[0]} follow KIP-618's draft: released workers write tasks-fencing-<connector> and "
            "ignore these"
        )
        kinds = census.kinds.get(RecordKind.TASK_COUNT, 0)
        yield DRAFT.finding(evidence.inspection.topic, message, keys=keys, task_count_records=kinds)


def _differ(evidence: Evidence) -> Iterator[Finding]:
    for key in SAME_IN_ALL:
        values = evidence.configured(key)
        if len(set(values.values())) > 1:
            yield DIFFER.finding(key, f"the workers' files set {key} to different values", values=dict(values))


SILENT: Final = Rule(
    id="EOS010",
    title="worker does not answer",
    severity=Severity.ERROR,
    question="Does every worker answer?",
    needs=("workers",),
    cause="What a worker is set to can only be asked of itself.",
    cure="start the worker or mend its address (--connect-url); take it out of the group if it is gone for good",
    source="Kafka Connect REST API",
    check=_silent,
    blocks=ALL,
)
OTHER_KAFKA: Final = Rule(
    id="EOS011",
    title="worker of another Kafka cluster",
    severity=Severity.ERROR,
    question="Are all workers attached to the same Kafka cluster?",
    needs=("workers",),
    cause="Workers on different Kafka clusters do not form one Connect cluster: leader, config topic and fencing "
    "differ.",
    cure="give --connect-url only workers of one Connect cluster, and -b the brokers that are their bootstrap.servers",
    source="KIP-238",
    check=_other_kafka,
    blocks=ALL,
)
MIXED: Final = Rule(
    id="EOS012",
    title="mixed phases",
    severity=Severity.ERROR,
    question="Is exactly-once enabled on all workers or on none?",
    needs=("workers",),
    cause="A worker that is not enabled writes without transactions and is fenced by nothing; only its peers hold the "
    "promise. During the second rolling restart this is so for a while.",
    cure="finish the rolling step: `eosctl upgrade-check --to enabled` says which worker is next",
    source="KIP-618",
    check=_mixed,
)
NOWHERE: Final = Rule(
    id="EOS013",
    title="exactly-once is not enabled",
    severity=Severity.WARNING,
    question="Is exactly-once enabled on any worker?",
    needs=("workers",),
    cause="exactly.once.source.support is disabled unless it is set; preparing alone gives no transactions to tasks.",
    cure="`eosctl upgrade-check --to preparing`, then `eosctl upgrade-check --to enabled`",
    source="KIP-618",
    check=_nowhere,
)
CONTRADICTION: Final = Rule(
    id="EOS014",
    title="file and worker contradict each other",
    severity=Severity.WARNING,
    question="Do the workers run with what their properties files say?",
    needs=("workers", "worker_files"),
    cause="A worker reads its properties file when it starts; a change has no effect before.",
    cure="restart the workers whose file was changed, one after the other; or give the file that they run with",
    source="Kafka Connect configuration",
    check=_contradiction,
)
INVALID: Final = Rule(
    id="EOS015",
    title="value that no worker accepts",
    severity=Severity.ERROR,
    question="Is exactly.once.source.support one of its three values?",
    needs=("worker_files",),
    cause="A worker refuses to start with any other value.",
    cure="set exactly.once.source.support to disabled, preparing or enabled",
    source="Kafka Connect configuration",
    check=_invalid,
    blocks=ALL,
)
DRAFT: Final = Rule(
    id="EOS016",
    title="names of KIP-618's draft",
    severity=Severity.WARNING,
    question="Does anybody rely on names that only the draft of KIP-618 had?",
    needs=(),
    cause="The draft said exactly.once.source.enabled and tasks-count-<connector>; releases say "
    "exactly.once.source.support and tasks-fencing-<connector>.",
    cure="replace exactly.once.source.enabled=true by exactly.once.source.support=preparing, roll, then enabled, roll",
    source="KIP-618",
    check=_draft,
)
DIFFER: Final = Rule(
    id="EOS017",
    title="workers' files disagree",
    severity=Severity.ERROR,
    question="Do all workers' files name the same group, topics, brokers and protocol?",
    needs=("worker_files",),
    cause="Workers of one group that use different internal topics overwrite each other's state; two groups that use "
    "the same topics do too.",
    cure="give all workers of one Connect cluster the same values, and each Connect cluster its own topics and "
    "group.id",
    source="Kafka Connect configuration",
    check=_differ,
)
RULES: Final = (SILENT, OTHER_KAFKA, MIXED, NOWHERE, CONTRADICTION, INVALID, DRAFT, DIFFER)

"""The workers' phase of exactly.once.source.support, and its origin: the one place that decides it.

1. A worker's answer says only whether it is enabled: otherwise it is disabled or preparing
   (DistributedHerder.validateSourceConnectorExactlyOnceSupport).
2. Its properties file says with which of the three it starts; one that does not set it, with Kafka's default.
3. Without both the phase is unknown. It is never assumed to be the default.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from eosctl.model.client_properties import Property
from eosctl.model.client_roles import ConnectCluster, WorkerConfig
from eosctl.model.evidence import Properties, WorkerEvidence, declared_support
from eosctl.model.rules import Phase, WorkerPhase
from eosctl.model.skipped import Skipped, not_asked
from eosctl.model.workers import SOURCE_SUPPORT, SourceSupport

Workers = Mapping[str, WorkerEvidence | Skipped] | Skipped
NO_WORKER = not_asked("no worker was queried")


def worker_phases(workers: Workers, files: Mapping[str, Properties] | Skipped) -> Iterator[WorkerPhase]:
    """The phase of each worker: by its own answer, then by its properties file; silent workers last."""
    known = {} if isinstance(workers, Skipped) else workers
    given = {} if isinstance(files, Skipped) else files
    for each in known.values():
        if not isinstance(each, Skipped):
            yield _phase(each, given)
    for url, each in known.items():
        if isinstance(each, Skipped):
            yield WorkerPhase(url, Phase.UNKNOWN, each.reason)


def _phase(worker: WorkerEvidence, files: Mapping[str, Properties]) -> WorkerPhase:
    if isinstance(worker.enabled, Skipped):
        return WorkerPhase(worker.url, Phase.UNKNOWN, worker.enabled.reason)
    if worker.enabled:
        return WorkerPhase(worker.url, Phase.ENABLED, "its own answer")
    declared = declared_support(files[worker.url]) if worker.url in files else None
    if declared is SourceSupport.ENABLED:
        return WorkerPhase(worker.url, Phase.NOT_ENABLED, "its own answer; its file has enabled: it was not restarted")
    if declared is None:
        said = "its own answer, which does not distinguish preparing from disabled"
        return WorkerPhase(worker.url, Phase.NOT_ENABLED, said)
    return WorkerPhase(worker.url, Phase(declared.value), "its own answer (not enabled) and its file")


def possible_phases(workers: Workers) -> tuple[SourceSupport, ...]:
    """Possible phases of workers without files: all, or the remaining ones where each is not enabled."""
    phases = {each.phase for each in worker_phases(workers, {})}
    return (SourceSupport.DISABLED, SourceSupport.PREPARING) if phases == {Phase.NOT_ENABLED} else tuple(SourceSupport)


def in_force(cluster: ConnectCluster, workers: Workers) -> ConnectCluster | Skipped:
    """The cluster with one worker for each phase of its workers; Skipped if the phase is unknown.

    1. Files say it of their workers. Where none of them says enabled and a worker answers that it is, it is both.
    2. Without files each worker's answer. Beside one that is enabled another is preparing at least (KIP-618 allows
       no other roll), which needs all that disabled needs.
    """
    phases = tuple(worker_phases(workers, {}))
    enabled = [each.url for each in phases if each.phase is Phase.ENABLED]
    if all(each.phase is not None for each in cluster.workers):
        stale = enabled and not any(each.phase is SourceSupport.ENABLED for each in cluster.workers)
        return replace(cluster, workers=(*cluster.workers, *_each(cluster, enabled))) if stale else cluster
    if not enabled:
        return _unknown(workers, phases)
    others = [each for each in phases if each.phase is not Phase.ENABLED]
    preparing = [_at(each, SourceSupport.PREPARING, _beside(others)) for each in cluster.workers] if others else []
    return replace(cluster, workers=(*_each(cluster, enabled), *preparing))


def _each(cluster: ConnectCluster, urls: Sequence[str]) -> Iterator[WorkerConfig]:
    answer = f"the answer of {_some(urls)}"
    return (_at(each, SourceSupport.ENABLED, answer) for each in cluster.workers)


def _beside(others: Sequence[WorkerPhase]) -> str:
    return f"what else {_some([each.url for each in others])} may be while the workers are restarted one by one"


def _some(urls: Sequence[str]) -> str:
    return urls[0] if len(urls) == 1 else f"{urls[0]} and {len(urls) - 1} more"


def _at(worker: WorkerConfig, phase: SourceSupport, known_by: str) -> WorkerConfig:
    return replace(worker, properties={**worker.properties, SOURCE_SUPPORT: Property(phase.value, known_by)})


def _unknown(workers: Workers, phases: Iterable[WorkerPhase]) -> Skipped:
    if isinstance(workers, Skipped):
        return Skipped(f"the workers' {SOURCE_SUPPORT} is not known: {workers.reason}", workers.cause)
    first = next(iter(phases), None)
    if first is None:
        return NO_WORKER
    known = first.phase is Phase.NOT_ENABLED
    said = f"{first.url} answers that it is not enabled, which is disabled or preparing" if known else first.known_by
    return not_asked(f"the workers' {SOURCE_SUPPORT} is not known: {said}")

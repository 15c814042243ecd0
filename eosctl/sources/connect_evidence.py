"""What Connect workers say about themselves and about connectors, asked in parallel. Nothing is written.

The validate probe: a worker that is asked to validate a connector with `exactly.once.support=required` answers with an
error about itself unless its own exactly.once.source.support is enabled (KIP-618). It answers by itself, without the
leader. The endpoint by which workers have the leader fence is never called.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar
from urllib.parse import quote

from eosctl.clients.rest import RestClient
from eosctl.errors import EosctlError, Undecodable
from eosctl.model.evidence import WorkerEvidence
from eosctl.model.offset_stores import SourceSupport
from eosctl.model.skipped import Skipped, or_skipped
from eosctl.model.versions import KafkaVersion
from eosctl.sources.connect_offsets import NOT_ENABLED, probe_source_support
from eosctl.sources.connect_rest import read_worker

PARALLEL: Final = 32
PREFLIGHT_FIELDS: Final = frozenset({"exactly.once.support", "transaction.boundary"})

T = TypeVar("T")
Workers = Mapping[str, WorkerEvidence | Skipped]


def read_worker_evidence(urls: Sequence[str], timeout_s: float) -> Workers:
    """Each worker's evidence by its address, Skipped where it does not answer; raises the first error if none does."""
    with ThreadPoolExecutor(max_workers=min(PARALLEL, len(urls))) as pool:
        found = dict(zip(urls, pool.map(lambda url: _attempt(lambda: _worker(url, timeout_s)), urls), strict=True))
    errors = [each for each in found.values() if isinstance(each, EosctlError)]
    if len(errors) == len(found):
        raise errors[0]
    return {url: Skipped.of(each) if isinstance(each, EosctlError) else each for url, each in found.items()}


def _attempt(read: Callable[[], T]) -> T | EosctlError:
    try:
        return read()
    except EosctlError as error:
        return error


def _worker(url: str, timeout_s: float) -> WorkerEvidence:
    facts = read_worker(url, timeout_s)
    try:
        version = KafkaVersion.parse(facts.version)
    except ValueError as error:
        raise Undecodable(f"{url} names no version: {facts.version!r}") from error
    support = or_skipped(lambda: probe_source_support([url], timeout_s))
    enabled = support if isinstance(support, Skipped) else support is SourceSupport.ENABLED
    return WorkerEvidence(
        url, version, facts.kafka_cluster_id, enabled, or_skipped(lambda: _connector_names(url, timeout_s))
    )


def _connector_names(url: str, timeout_s: float) -> frozenset[str]:
    with RestClient(url, timeout_s) as rest:
        body = rest.get("/connectors")
    if not isinstance(body, list):
        raise Undecodable(f"{url}/connectors answered {type(body).__name__} instead of a list")
    return frozenset(map(str, body))


def read_preflight(urls: Sequence[str], timeout_s: float) -> Mapping[str, tuple[str, ...] | Skipped]:
    """What each source connector says when exactly-once is required of it: no message where it supports it.

    Configs are read from the first worker that answers and validated by all in turn; they are not kept. What a worker
    says about itself is left out.
    """
    with RestClient(urls[0], timeout_s) as rest:
        body = rest.get("/connectors?expand=info")
    if not isinstance(body, dict):
        raise Undecodable(f"{urls[0]}/connectors answered {type(body).__name__} instead of a JSON object")
    configs = {name: entry["info"]["config"] for name, entry in sorted(body.items()) if _is_source(entry)}
    clients = [RestClient(url, timeout_s) for url in urls]
    try:
        with ThreadPoolExecutor(max_workers=min(PARALLEL, max(1, len(configs)))) as pool:
            asked = [
                pool.submit(or_skipped, lambda rest=rest, config=config: _messages(rest, config))
                for rest, config in zip(_in_turn(clients, len(configs)), configs.values(), strict=True)
            ]
            return dict(zip(configs, (each.result() for each in asked), strict=True))
    finally:
        for client in clients:
            client.__exit__()


def _in_turn(clients: Sequence[RestClient], count: int) -> Sequence[RestClient]:
    return [clients[number % len(clients)] for number in range(count)]


def _is_source(entry: object) -> bool:
    info = entry.get("info") if isinstance(entry, dict) else None
    return isinstance(info, dict) and info.get("type") == "source" and isinstance(info.get("config"), dict)


def _messages(rest: RestClient, config: Mapping[str, object]) -> tuple[str, ...]:
    name = str(config.get("connector.class", ""))
    asked = {**config, "exactly.once.support": "required"}
    body = rest.request("PUT", f"/connector-plugins/{quote(name, safe='')}/config/validate", asked).body
    fields = body.get("configs", ()) if isinstance(body, dict) else ()
    values = [each.get("value", {}) for each in fields if isinstance(each, dict)]
    errors = [text for value in values if value.get("name") in PREFLIGHT_FIELDS for text in value.get("errors", ())]
    return tuple(str(text) for text in errors if NOT_ENABLED not in str(text))

"""What Connect workers say about themselves and about connectors, asked in parallel. Nothing is written.

The validate probe: a worker that is asked to validate a connector with `exactly.once.support=required` answers with an
error about itself unless its own exactly.once.source.support is enabled (KIP-618). It answers by itself, without the
leader. The endpoint by which workers have the leader fence is never called.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType
from typing import Final, TypeVar
from urllib.parse import quote

from eosctl.clients.rest import RestClient
from eosctl.clients.rest_answers import decoding, list_of, object_of, said, text_of, texts_of
from eosctl.clients.rest_configs import expanded_connectors
from eosctl.clients.rest_identity import DiscoveredUrl
from eosctl.errors import EosctlError, Undecodable
from eosctl.model.client_roles import class_name
from eosctl.model.evidence import Preflight, WorkerEvidence
from eosctl.model.skipped import Skipped, or_skipped
from eosctl.model.workers import version_of
from eosctl.sources.connect_offsets import NOT_ENABLED, probe_source_support, validated_values
from eosctl.sources.connect_rest import read_worker

PARALLEL: Final = 32
NOT_PROBED: Final = Skipped(
    "only the Connect group names this worker, and its exactly.once.source.support is asked for by a PUT: give its "
    "--connect-url, or its properties file"
)
PREFLIGHT_FIELDS: Final = frozenset({"exactly.once.support", "transaction.boundary", "connector.plugin.version"})

T = TypeVar("T")
Workers = Mapping[str, WorkerEvidence | EosctlError]
Plugins = Mapping[str, tuple[str, ...]]


def read_worker_evidence(
    urls: Sequence[str], timeout_s: float, probed: Mapping[str, bool] = MappingProxyType({})
) -> Workers:
    """Each worker's evidence by its address, or why it gave none; those in `probed` are not probed again."""

    def attempt(url: str) -> WorkerEvidence | EosctlError:
        try:
            return _worker(url, timeout_s, probed)
        except EosctlError as error:
            return error

    with ThreadPoolExecutor(max_workers=min(PARALLEL, len(urls))) as pool:
        return dict(zip(urls, pool.map(attempt, urls), strict=True))


def _worker(url: str, timeout_s: float, probed: Mapping[str, bool]) -> WorkerEvidence:
    facts = read_worker(url, timeout_s)
    version = version_of(facts)
    enabled: bool | Skipped | None = probed.get(url)
    if enabled is None:
        enabled = NOT_PROBED if isinstance(url, DiscoveredUrl) else probe_source_support(url, timeout_s)
    names, plugins = or_skipped(lambda: _connector_names(url, timeout_s)), or_skipped(lambda: _plugins(url, timeout_s))
    return WorkerEvidence(url, version, facts.kafka_cluster_id, enabled, names, plugins)


def _connector_names(url: str, timeout_s: float) -> frozenset[str]:
    with RestClient(url, timeout_s) as rest:
        body = rest.get("/connectors")
    with decoding(f"{url}/connectors answered no list of connectors"):
        return frozenset(texts_of(body))


def _plugins(url: str, timeout_s: float) -> Plugins:
    """Connector classes with the versions of each; a worker names the newest last (PluginDesc.compareTo)."""
    with RestClient(url, timeout_s) as rest:
        body = rest.get("/connector-plugins")
    found: dict[str, tuple[str, ...]] = {}
    with decoding(f"{url}/connector-plugins answered no list of plugins"):
        for each in map(object_of, list_of(body)):
            found[text_of(each["class"])] = (*found.get(text_of(each["class"]), ()), str(each.get("version")))
    return found


def read_preflight(urls: Sequence[str], timeout_s: float) -> Mapping[str, Preflight]:
    """What each source connector says when exactly-once is required of it.

    Configs are read from the first worker; they are not kept. Each is validated by one worker of every set of versions
    of its plugin, these in turn. What a worker says about itself is left out.
    """
    with RestClient(urls[0], timeout_s) as rest:
        body = expanded_connectors(rest, "info")
    if not all("info" in each for each in body.values()):
        raise Undecodable(f"{urls[0]}/connectors answered something else than connectors with their configs")
    configs = {name: entry["info"]["config"] for name, entry in sorted(body.items()) if _is_source(entry)}
    clients = {url: RestClient(url, timeout_s) for url in urls}
    try:
        with ThreadPoolExecutor(max_workers=PARALLEL) as pool:
            known = pool.map(lambda url: or_skipped(lambda: _plugins(url, timeout_s)), urls if len(urls) > 1 else ())
            plugins = dict(zip(urls, known, strict=False))
            asked = [
                (name, url, pool.submit(or_skipped, lambda rest=clients[url], config=config: _messages(rest, config)))
                for number, (name, config) in enumerate(configs.items())
                for url in _unlike(plugins, str(config.get("connector.class", "")), number) or urls
            ]
    finally:
        for client in clients.values():
            client.__exit__()
    return {name: Preflight({url: each.result() for of, url, each in asked if of == name}) for name in configs}


def _unlike(plugins: Mapping[str, Plugins | Skipped], connector_class: str, turn: int) -> list[str]:
    """One worker of each set of versions of this class, the turn decides which; none where no plugins were read."""
    alike: dict[object, list[str]] = {}
    for url, known in plugins.items():
        versions: object = url
        if not isinstance(known, Skipped):
            versions = tuple(each for name, each in known.items() if class_name(name) == class_name(connector_class))
        alike.setdefault(versions, []).append(url)
    return [urls[turn % len(urls)] for urls in alike.values()]


def _is_source(entry: object) -> bool:
    info = entry.get("info") if isinstance(entry, dict) else None
    return isinstance(info, dict) and info.get("type") == "source" and isinstance(info.get("config"), dict)


def _messages(rest: RestClient, config: Mapping[str, object]) -> tuple[str, ...]:
    name = str(config.get("connector.class", ""))
    asked = {**config, "exactly.once.support": "required"}
    body = rest.request("PUT", f"/connector-plugins/{quote(name, safe='')}/config/validate", asked).body
    values = validated_values(body, rest.url)
    with decoding(f"{rest.url} answered the validation of a config with something else"):
        errors = [text for value in values if value.get("name") in PREFLIGHT_FIELDS for text in value["errors"]]
    return tuple(said(text) for text in errors if NOT_ENABLED not in text)

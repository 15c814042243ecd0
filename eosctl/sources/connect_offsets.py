"""What Connect's REST interface says about where offsets are kept: connector configs, and exactly-once support."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import quote

from eosctl.clients import rest_offsets
from eosctl.clients.rest import RestClient
from eosctl.clients.rest_answers import decoding, list_of, object_of, text_of, texts_of
from eosctl.clients.rest_configs import expanded_connectors
from eosctl.codecs import connector_files
from eosctl.codecs.secrets import mask_properties
from eosctl.errors import EosctlError, Undecodable
from eosctl.model import plan_facts
from eosctl.model.offset_stores import SourceSupport
from eosctl.model.skipped import Cause, Skipped, or_skipped

if TYPE_CHECKING:
    from eosctl.clients.access import ClusterAccess
    from eosctl.model.client_roles import ConnectorConfig
    from eosctl.model.exported_offsets import ConnectorOffset

T = TypeVar("T")
Infos = Mapping[str, Mapping[str, Any]]
"""Type and config of each connector, by name."""

HEARTBEAT: Final = "org.apache.kafka.connect.mirror.MirrorHeartbeatConnector"
NOT_ENABLED: Final = "does not have exactly-once source support enabled"


def read_connector_configs(urls: Sequence[str], timeout_s: float) -> Mapping[str, Mapping[str, object]]:
    """Source connectors' configs by name, masked, from the first worker that answers."""

    def decode(infos: Infos, _: str) -> Mapping[str, Mapping[str, object]]:
        return {name: mask_properties(info["config"]) for name, info in infos.items() if info.get("type") != "sink"}

    return _first_infos(urls, timeout_s, decode)


def read_client_configs(urls: Sequence[str], timeout_s: float) -> Mapping[str, ConnectorConfig]:
    """Every connector's config by name, with its secrets, from the first worker that answers."""

    def decode(infos: Infos, url: str) -> Mapping[str, ConnectorConfig]:
        return {name: _client_config(name, info, url) for name, info in sorted(infos.items())}

    return _first_infos(urls, timeout_s, decode)


def _client_config(name: str, info: Mapping[str, Any], url: str) -> ConnectorConfig:
    connector = connector_files.known_connector(info["config"], url, name)
    # A worker that lacks the connector's plugin calls the type unknown; then its settings decide.
    return replace(connector, type=info["type"] if info.get("type") in {"source", "sink"} else None)


def _first_infos(urls: Sequence[str], timeout_s: float, decode: Callable[[Infos, str], T]) -> T:
    """What `decode` makes of `GET /connectors?expand=info` at the first worker that answers."""
    failure: EosctlError | None = None
    for url in urls:
        try:
            with RestClient(url, timeout_s) as rest:
                body = expanded_connectors(rest, "info")
            with decoding(f"{url}/connectors answered an entry that is not a connector's"):
                infos = {name: object_of(entry["info"]) for name, entry in body.items()}
                configs = {name: object_of(info["config"]) for name, info in infos.items()}
                return decode({name: {**info, "config": configs[name]} for name, info in infos.items()}, url)
        except EosctlError as error:
            failure = failure or error
    assert failure is not None
    raise failure


def read_answers(
    access: ClusterAccess, connectors: Mapping[str, plan_facts.ConnectorFacts | Skipped]
) -> Mapping[str, tuple[ConnectorOffset, ...] | Skipped]:
    """What the workers answer for those of the connectors that are STOPPED, and so do not move.

    One that they cannot report (before 3.5) is missing; Skipped where they fail.
    """
    found: dict[str, tuple[ConnectorOffset, ...] | Skipped] = {}
    for name, facts in connectors.items() if access.connect_urls else ():
        if isinstance(facts, plan_facts.ConnectorFacts) and facts.state == "STOPPED" and not facts.tasks:
            answer = or_skipped(partial(access.ask_worker, partial(rest_offsets.answered_offsets, connector=name)))
            found |= {} if answer is None else {name: answer}
    return found


def probe_source_support(url: str, timeout_s: float) -> bool | Skipped:
    """Whether this worker has exactly-once enabled, by asking it to validate a connector that requires it.

    It answers that about itself and writes nothing. False stands for `preparing` too, which keeps offsets in the same
    way. Skipped where it does not answer, or has no source connector.
    """
    try:
        with RestClient(url, timeout_s) as rest:
            return _is_enabled(rest)
    except EosctlError as error:
        return Skipped.of(error)


def common_support(enabled: Mapping[str, bool | Skipped]) -> SourceSupport | Skipped:
    """What the answers of workers to that are together: Skipped where one gave none, or they differ."""
    for each in enabled.values():
        if isinstance(each, Skipped):
            return each
    if len(set(enabled.values())) > 1:
        without = ", ".join(url for url, each in enabled.items() if not each)
        return Skipped(f"the workers differ: {without} has it not enabled", Cause.MIXED)
    return SourceSupport.ENABLED if all(enabled.values()) else SourceSupport.DISABLED


def _is_enabled(rest: RestClient) -> bool | Skipped:
    body = rest.get("/connector-plugins")
    with decoding(f"{rest.url}/connector-plugins answered no list of plugins"):
        plugins = [object_of(each) for each in list_of(body)]
        sources = [text_of(each["class"]) for each in plugins if each.get("type") == "source"]
    if not sources:
        return Skipped(f"{rest.url} has no source connector to ask about")
    with decoding(f"{rest.url}/connectors answered an entry that is not a connector's"):
        config = _probing_config(rest, sources)
    name = quote(config["connector.class"], safe="")
    body = rest.request("PUT", f"/connector-plugins/{name}/config/validate", config).body
    return not any(NOT_ENABLED in text for each in validated_values(body, rest.url) for text in each["errors"])


def _probing_config(rest: RestClient, sources: Sequence[str]) -> Mapping[str, str]:
    """A config of which a worker says whether it has exactly-once enabled, and logs no error.

    Asked what it supports, a connector whose config lacks what it requires throws, and the worker logs that with ERROR
    (DistributedHerder.validateSourceConnectorExactlyOnceSupport). MirrorHeartbeatConnector comes with Kafka and is not
    asked: it takes the answer of SourceConnector. Elsewhere a connector that exists gives its whole config, which the
    worker has already. Without one, the first plugin is asked with a config that it may find too short.
    """
    required = {"tasks.max": "1", "exactly.once.support": "required"}
    if HEARTBEAT in sources:
        return {"name": "eosctl", "connector.class": HEARTBEAT, **required}
    for each in expanded_connectors(rest, "info").values():
        info = object_of(each.get("info", {}))
        if info.get("type") == "source":
            config = {key: value for key, value in object_of(info["config"]).items() if isinstance(value, str)}
            if "connector.class" in config:
                return {**config, "exactly.once.support": "required"}
    return {"name": "eosctl", "connector.class": sources[0], **required}


def validated_values(body: object, url: str) -> list[Mapping[str, Any]]:
    """The values, with their errors, in an answer to `PUT …/config/validate`; Undecodable where it is none."""
    otherwise = f"{url} answered the validation of a config with something else"
    with decoding(otherwise):
        values = [object_of(each["value"]) for each in list_of(object_of(body)["configs"])]
        found: list[Mapping[str, Any]] = [{**each, "errors": texts_of(each.get("errors", []))} for each in values]
    if not found:
        raise Undecodable(otherwise)
    return found

"""Why a connector that a Connect cluster has can never run, by its name and its config alone.

1. Its name is empty, has control characters (ConnectorConfig.configDef), or is longer than a string of the group's
   protocol: then the leader cannot hand out any task of any connector, and every worker ends.
2. A topic that it names is none that a topic may be called (Topic.validate): its own offsets topic, a sink's topics,
   FileStreamSource's topic. What others make of their settings, as a template or without its odd characters, only they
   know.
3. A setting of Connect's own is none that it takes (ConnectorConfig, SourceConnectorConfig). References to a config
   provider are left alone: only a worker knows what they stand for.

A value that is no text is masked where secrets may be; one of these settings is never a secret.
"""

import unicodedata
from collections.abc import Callable, Collection, Iterator
from typing import Final

from eosctl.analysis.catalogue.internal_topics import IMPOSSIBLE_CONNECTOR
from eosctl.analysis.connect_requests import for_connector
from eosctl.analysis.output_topics import named_or_told
from eosctl.model.client_properties import HIDDEN, is_broker_address, split_list
from eosctl.model.client_roles import SERVERS, ConnectorConfig
from eosctl.model.names import is_topic_name
from eosctl.model.report import Finding
from eosctl.model.whole_numbers import whole

MOST_NAME_BYTES: Final = 2**15 - 1
FILE_SOURCE: Final = "FileStreamSource"
FILE_SINK: Final = "FileStreamSink"
SHOWN: Final = 60
_OWN_TOPIC: Final = "offsets.storage.topic"


def why_impossible(connector: ConnectorConfig) -> Iterator[str]:
    """Each reason, in words that follow the connector's name; none where it may run."""
    yield from _name(connector.name)
    for setting, name in dict.fromkeys(_topics(connector)):
        if "${" not in name and not is_topic_name(name):
            yield f"{setting} {_shown(name)} is not a topic's name"
    yield from _brokers(connector)
    for setting, accepts, wanted in _SETTINGS if not connector.is_sink else _SETTINGS[:1]:
        text = connector.get(setting)
        if setting in connector.properties and "${" not in text and not accepts(text.strip()):
            yield f"{setting} is {_shown(text)}, not {wanted}"


def _brokers(connector: ConnectorConfig) -> Iterator[str]:
    """Addresses that a client of it cannot be made with (ClientUtils.parseAndValidateAddresses)."""
    for key in sorted(key for key in connector.properties if key.endswith(f".override.{SERVERS}")):
        text = connector.get(key)
        if text != HIDDEN and "${" not in text and not all(map(is_broker_address, split_list(text) or [""])):
            yield f"{key} {_shown(text)} is not HOST:PORT,…"


def impossible_connector(connector: ConnectorConfig, effect: str = "") -> Iterator[Finding]:
    """The finding that the connector can never run; effect is the consequence for the answer."""
    reasons = list(why_impossible(connector))
    if reasons:
        yield IMPOSSIBLE_CONNECTOR.finding(
            connector.name,
            f"no worker can run it: {'; '.join(reasons)}{effect}",
            {"reasons": reasons},
            cure=for_connector(IMPOSSIBLE_CONNECTOR.fix, connector.name),
        )


def _name(name: str) -> Iterator[str]:
    if not name.strip():
        yield "its name is empty"
    if any(unicodedata.category(char) == "Cc" for char in name):
        yield "its name has control characters"
    length = len(name.encode("utf-8", "surrogatepass"))
    if length > MOST_NAME_BYTES:
        yield f"its name has {length} bytes, and no worker of the group survives one of more than {MOST_NAME_BYTES}"


def _topics(connector: ConnectorConfig) -> Iterator[tuple[str, str]]:
    """The names one by one, and where they stand."""
    if connector.is_sink:
        if connector.type is not None or connector.class_name == FILE_SINK:  # a guess is no reason
            yield from (("topics", name) for name in split_list(connector.get("topics")))
        return
    if _OWN_TOPIC in connector.properties:
        yield _OWN_TOPIC, connector.get(_OWN_TOPIC)
    if connector.class_name == FILE_SOURCE:
        yield from (("topic", pattern.name) for pattern in named_or_told(connector))


def _shown(text: str) -> str:
    if text == HIDDEN:
        return "no text"
    return repr(text) if len(text) <= SHOWN else f"{text[:SHOWN]!r}… ({len(text)} characters)"


def _whole_number(least: int, most: int) -> Callable[[str], bool]:
    def accepts(text: str) -> bool:
        number = whole(text)
        return number is not None and least <= number <= most

    return accepts


def _one_of(*words: str) -> Callable[[str], bool]:
    accepted: Collection[str] = frozenset(words)
    return lambda text: text.lower() in accepted


_SETTINGS: Final = (
    ("tasks.max", _whole_number(1, 2**31 - 1), "a whole number from 1 on"),
    ("exactly.once.support", _one_of("requested", "required"), "requested or required"),
    ("transaction.boundary", _one_of("poll", "interval", "connector"), "poll, interval or connector"),
    ("transaction.boundary.interval.ms", _whole_number(1, 2**63 - 1), "a whole number of ms from 1 on"),
)

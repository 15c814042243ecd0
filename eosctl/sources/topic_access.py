"""Does this principal see every topic? Metadata of all topics leaves out those without Describe."""

import string
from typing import Final

from eosctl.clients.messages import topics_metadata
from eosctl.clients.wire import Wire
from eosctl.model.acls import ResourceType
from eosctl.model.skipped import Cause, Skipped, or_skipped
from eosctl.sources.authorization_probes import probes_of

FIRST_CHARACTERS: Final = string.digits + string.ascii_letters + "._-"
"""A topic's name has no other characters."""
TOPIC_AUTHORIZATION_FAILED: Final = 29
SHOWN: Final = 3


def hidden_topics(wire: Wire) -> Skipped | None:
    """Why topics may be missing from a list of all; None where none can be."""
    return or_skipped(lambda: _hidden(wire))


def _hidden(wire: Wire) -> Skipped | None:
    probes = probes_of(wire, ResourceType.TOPIC, FIRST_CHARACTERS, "topics")
    # Metadata names a topic that does not exist with UNKNOWN_TOPIC_OR_PARTITION, and creates none.
    topics = wire.request_any(topics_metadata(probes.names)).topics
    denied = sorted(probes.names[each.name] for each in topics if each.error_code == TOPIC_AUTHORIZATION_FAILED)
    if denied:
        more = f" and {len(denied) - SHOWN} more" if len(denied) > SHOWN else ""
        names = f"{', '.join(denied[:SHOWN])}{more}"
        return Skipped(
            f"{wire.principal} may not Describe on every Topic, and brokers leave the others out; refused: {names}",
            Cause.DENIED,
        )
    return None if probes.unknown is None else Skipped(probes.unknown, Cause.DENIED)

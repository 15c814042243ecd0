"""Does this principal see every name of a kind? Brokers leave names without Describe out of a list, without a word.

1. A broker decides about Describe before it looks whether a name exists. So names that nobody uses can be asked about,
   and nothing is created.
2. Random names, one for each character that names may begin with, are refused unless a pattern `*`, a superuser's
   rights or prefixes for all those characters allow them. No probe begins with a star: StandardAuthorizer takes the
   pattern `*` for a name that is no more than a beginning of such a name and passes it over.
3. Where ACLs may be read (Describe on the cluster), each pattern on such names, whoever it names, is tried as well: a
   literal one by its own name, a prefixed one by its prefix and a random rest. What an authorizer of ACLs decides about
   any name it decides about one of these, a Deny and `allow.everyone.if.no.acl.found` included.
4. Without that, a Deny on some names and names that have ACLs of their own under `allow.everyone.if.no.acl.found` can
   not be ruled out, and neither can they where an authorizer does not decide by ACLs.
"""

import secrets
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from eosctl.clients.wire import Wire
from eosctl.errors import EosctlError
from eosctl.model.acls import WILDCARD, PatternType, ResourceType
from eosctl.model.skipped import Skipped
from eosctl.sources.kafka_acls import read_acls


class Probes(NamedTuple):
    """Names to ask about, with how to write each in a message; unknown: why patterns are not among them, or None."""

    names: Mapping[str, str]
    unknown: str | None


def probes_of(wire: Wire, resource_type: ResourceType, first_characters: Iterable[str], noun: str) -> Probes:
    """The probes for names of that type, which the messages call `noun`."""
    names = {f"{first}{secrets.token_hex(16)}": f"{first}…" for first in first_characters}
    try:
        bindings = read_acls(wire)
    except EosctlError as error:
        return Probes(names, f"a Deny on some {noun} cannot be ruled out: {error.message}")
    if isinstance(bindings, Skipped):
        return Probes(names, None)
    for pattern in {binding.pattern for binding in bindings}:
        if pattern.resource_type is resource_type:
            if pattern.pattern_type is PatternType.PREFIXED:
                names[f"{pattern.name}{secrets.token_hex(16)}"] = f"{pattern.name}…"
            elif pattern.name != WILDCARD:
                names[pattern.name] = pattern.name
    return Probes(names, None)

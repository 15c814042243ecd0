"""Does this principal see every transactional ID? Brokers leave IDs without Describe out of a list, without a word.

1. DescribeTransactions says 53 (TRANSACTIONAL_ID_AUTHORIZATION_FAILED) for an ID without Describe, before it looks
   whether the ID exists or is coordinated there. So any broker can be asked about IDs that nobody uses, and nothing is
   created. FindCoordinator would be no probe: it creates `__transaction_state` where that is missing.
2. Random IDs, one for each printable ASCII character and some others to begin with, are refused unless a pattern `*`,
   a superuser's rights or prefixes for all those characters allow them.
   No probe begins with a star: StandardAuthorizer takes the pattern `*` for a name that is no more than a beginning of
   such an ID and passes it over, so only a superuser and a prefix see an ID that begins so.
3. Where ACLs may be read (Describe on the cluster), each pattern on transactional IDs, whoever it names, is tried as
   well: a literal one by its own name, a prefixed one by its prefix and a random rest. What an authorizer of ACLs
   decides about any ID it decides about one of these, a Deny and `allow.everyone.if.no.acl.found` included.
4. Without that, a Deny on some IDs and IDs that have ACLs of their own under `allow.everyone.if.no.acl.found` cannot be
   ruled out, and neither can they where an authorizer does not decide by ACLs.
"""

import secrets
import string
from typing import Final

from eosctl.clients import codes
from eosctl.clients.messages import describe_transactions
from eosctl.clients.wire import Wire
from eosctl.errors import EosctlError
from eosctl.model.acls import WILDCARD, PatternType, ResourceType
from eosctl.model.hanging import TransactionalIdAccess
from eosctl.model.skipped import Skipped
from eosctl.sources.kafka_acls import read_acls

FIRST_CHARACTERS: Final = string.digits + string.ascii_letters + string.punctuation.replace("*", "") + "äжש中😀"
IDS_PER_REQUEST: Final = 500


def transactional_id_access(wire: Wire) -> TransactionalIdAccess:
    """Whether Describe on every transactional ID is granted, as far as can be seen. Raises Unsupported before 3.0."""
    patterns = _patterns(wire)
    probes = {f"{first}{secrets.token_hex(16)}": f"{first}…" for first in FIRST_CHARACTERS}
    if not isinstance(patterns, Skipped):
        probes |= patterns
    denied: list[str] = []
    names = list(probes)
    for start in range(0, len(names), IDS_PER_REQUEST):
        answer = wire.request_any(describe_transactions(names[start : start + IDS_PER_REQUEST]))
        denied += [
            probes[state.transactional_id]
            for state in answer.transaction_states
            if state.error_code == codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        ]
    unknown = patterns.reason if isinstance(patterns, Skipped) else None
    return TransactionalIdAccess(tuple(denied), unknown)


def _patterns(wire: Wire) -> dict[str, str] | Skipped:
    """A name that each pattern on transactional IDs matches, and how to tell it; empty without an authorizer."""
    try:
        bindings = read_acls(wire)
    except EosctlError as error:
        return Skipped(f"a Deny on some transactional IDs cannot be ruled out: {error.message}")
    if isinstance(bindings, Skipped):
        return {}
    found = {}
    for pattern in {binding.pattern for binding in bindings}:
        if pattern.resource_type is ResourceType.TRANSACTIONAL_ID:
            if pattern.pattern_type is PatternType.PREFIXED:
                found[f"{pattern.name}{secrets.token_hex(16)}"] = f"{pattern.name}…"
            elif pattern.name != WILDCARD:
                found[pattern.name] = pattern.name
    return found

"""Does this principal see every transactional ID?

DescribeTransactions says 53 (TRANSACTIONAL_ID_AUTHORIZATION_FAILED) for an ID without Describe, before it looks
whether the ID exists or is coordinated there. So any broker can be asked about IDs that nobody uses. FindCoordinator
would be no probe: it creates `__transaction_state` where that is missing.
"""

import string
from typing import Final

from eosctl.clients import codes
from eosctl.clients.messages import describe_transactions
from eosctl.clients.wire import Wire
from eosctl.model.acls import ResourceType
from eosctl.model.id_access import TransactionalIdAccess
from eosctl.sources.authorization_probes import probes_of

FIRST_CHARACTERS: Final = string.digits + string.ascii_letters + string.punctuation.replace("*", "") + "äжש中😀"
IDS_PER_REQUEST: Final = 500


def transactional_id_access(wire: Wire) -> TransactionalIdAccess:
    """Whether Describe on every transactional ID is granted, as far as can be seen. Raises Unsupported before 3.0."""
    probes = probes_of(wire, ResourceType.TRANSACTIONAL_ID, FIRST_CHARACTERS, "transactional IDs")
    denied: list[str] = []
    names = list(probes.names)
    for start in range(0, len(names), IDS_PER_REQUEST):
        answer = wire.request_any(describe_transactions(names[start : start + IDS_PER_REQUEST]))
        denied += [
            probes.names[state.transactional_id]
            for state in answer.transaction_states
            if state.error_code == codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        ]
    return TransactionalIdAccess(tuple(denied), probes.unknown)

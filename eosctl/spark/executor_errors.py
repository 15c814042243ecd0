"""An EosctlError of an executor, carried through Spark's own error text to the driver and made one again there."""

import json
import re
from typing import Final

from eosctl import errors
from eosctl.errors import EosctlError, NotAuthorized, Undecodable

_CARRIED: Final = re.compile(r"<eosctl-error>(\{.*?\})</eosctl-error>", re.DOTALL)


class ExecutorFailure(Exception):
    """What an executor raises; its text holds the error."""


def carried(error: EosctlError) -> ExecutorFailure:
    """The error as one whose text survives the way."""
    facts = {"type": type(error).__name__, "message": error.message, "hint": error.hint}
    if isinstance(error, NotAuthorized):
        facts |= {"principal": error.principal, "operation": error.operation, "resource": error.resource}
    return ExecutorFailure(f"<eosctl-error>{json.dumps(facts)}</eosctl-error>")


def restored(failure: Exception) -> EosctlError | None:
    """The EosctlError that an executor met; None where Spark failed for another reason."""
    found = _CARRIED.search(str(failure))
    if found is None:
        return None
    facts = json.loads(found[1])
    kind = getattr(errors, facts["type"], EosctlError)
    hint = facts["hint"]
    if kind is NotAuthorized:
        return NotAuthorized(
            principal=facts["principal"], operation=facts["operation"], resource=facts["resource"], hint=hint
        )
    if kind is Undecodable:
        return Undecodable(facts["message"], hint=hint)
    error = kind(facts["message"], hint=hint)
    return error if isinstance(error, EosctlError) else None

"""Which IDs nobody may have when a plan takes them."""

from eosctl.model.migration import MigrationFacts, MigrationRequest
from eosctl.model.plan import NoLiveOwner
from eosctl.model.sides import Side
from eosctl.model.skipped import Skipped


def unused_ids(request: MigrationRequest, facts: MigrationFacts) -> tuple[NoLiveOwner, ...]:
    """For each side the IDs that a move fences, and those of task 0 that it writes offsets with.

    Connectors that move are STOPPED in their own group by other preconditions, unless the new group's are not known.
    """
    if request.force:
        return ()
    sides = tuple(facts.fenced_ids) or (Side.SOURCE,)
    written = {request.target_id(move) for move in request.moves}
    besides: dict[Side, str | None] = {Side.SOURCE: request.source_group_id, Side.TARGET: request.target_group_id}
    if any(isinstance(facts.connectors.get((Side.TARGET, move.new_name)), Skipped) for move in request.moves):
        besides[Side.TARGET] = None
    wanted = {side: {*facts.fenced_ids.get(side, ()), *(written if side is sides[-1] else ())} for side in sides}
    return tuple(NoLiveOwner(side, tuple(sorted(ids)), besides[side]) for side, ids in wanted.items() if ids)

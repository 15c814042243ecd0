"""Whether a comparison can go on where an earlier one ended: only where nothing that it rests on has changed."""

from collections.abc import Sequence

from eosctl.model.mirror import PartitionPair
from eosctl.model.mirror_progress import Again, Counts, EqualPiece, Kept, MirrorProgress
from eosctl.model.sides import Side

ANOTHER = Again("the records where the last run ended are no longer the same on both sides")


def why_again(pair: PartitionPair, ids: tuple[str | None, str | None], earlier: MirrorProgress) -> Again | None:
    """Why all of the pair has to be compared again, as far as bounds and topic IDs (source, target) say; None: not."""
    sides = (
        (Side.SOURCE, ids[0], earlier.source_id, pair.source, earlier.kept.source_next),
        (Side.TARGET, ids[1], earlier.target_id, pair.target, earlier.kept.target_next),
    )
    for side, found, before, bounds, following in sides:
        if found is None:
            return Again(f"the {side.value} reports no topic ID, so whether it is the same topic is not known")
        if found != before:
            return Again(f"the topic of the {side.value} was created again since the last run", hides=True)
        if bounds.log_start_offset > following:
            begins = bounds.log_start_offset
            what = f"the {side.value} was deleted up to {begins}, and the last run had come to {following}"
            return Again(what, hides=True)
        if bounds.last_stable_offset < following:
            what = f"the {side.value} ends at {bounds.last_stable_offset}, and the last run had come to {following}"
            return Again(what, hides=True)
    return Again("checkpoints are held against every record") if pair.checkpoints else None


BothCounts = tuple[Counts, Counts]
"""Of the source, and of the target."""


def with_pieces(own: BothCounts, pieces: Sequence[EqualPiece]) -> BothCounts:
    """What was counted by one process, and by those that compared these pieces."""
    return _sum(own[0], [each.source for each in pieces]), _sum(own[1], [each.target for each in pieces])


def counts_at(own: BothCounts, kept: Kept, pieces: Sequence[EqualPiece]) -> BothCounts | None:
    """What was counted up to where a later run goes on; None where pieces lie on both sides of it."""
    passed = [each for each in pieces if each.run.source_last < kept.source_next]
    ahead = [each for each in pieces if each not in passed]
    if any(each.begins[0] < kept.source_next or each.begins[1] < kept.target_next for each in ahead):
        return None
    source, target = with_pieces(own, passed)
    return (
        source._replace(until=min([source.until, *(each.begins[0] for each in ahead)])),
        target._replace(until=min([target.until, *(each.begins[1] for each in ahead)])),
    )


def _sum(own: Counts, pieces: Sequence[Counts]) -> Counts:
    """Added up; until is the furthest."""
    every = [own, *pieces]
    return Counts(
        max(each.until for each in every), *(sum(column) for column in zip(*(each[1:] for each in every), strict=True))
    )

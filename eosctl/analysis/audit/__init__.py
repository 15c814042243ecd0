"""The audit's folds: what a range of a partition's log says, merged, judged. Pure, and the same in every engine."""

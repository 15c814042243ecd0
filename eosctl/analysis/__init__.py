"""Snapshot to Report or to derived state, pure: the folds over topics and the rules."""

"""Snapshot to Report or to derived state, pure: the folds over topics and the rules."""

from eosctl.bare_packages import open_bare

open_bare()

"""Bytes to model and back, pure: topics, record batches, properties, snapshot files."""

from eosctl.bare_packages import open_bare

open_bare()

"""I/O that reads: each source returns model values or raises an EosctlError."""

from eosctl.bare_packages import open_bare

open_bare()

"""Which database a store URL names."""

from pathlib import Path
from typing import Final

from eosctl.codecs.config_providers import Lookup
from eosctl.codecs.secrets import mask_url
from eosctl.errors import UsageError
from eosctl.ledger.postgresql import postgresql_store
from eosctl.ledger.sqlite import SqliteStore
from eosctl.ledger.store import LedgerStore

LONGEST_SCHEME: Final = 12
FORMS: Final = "sqlite:///FILE (sqlite:////DIRECTORY/FILE where it is absolute) or postgresql://USER@HOST/DATABASE"


def ledger_store(url: str, lookup: Lookup, *, timeout_s: float = 10.0) -> LedgerStore:
    """The store that `url` names; `lookup` resolves references in it, timeout_s bounds connecting. Opens nothing.

    Raises UsageError for any other URL and for a password in it.
    """
    scheme, colon, rest = url.partition("://")
    if scheme == "sqlite" and colon:
        return SqliteStore(_sqlite_path(rest))
    if scheme in {"postgresql", "postgres"} and colon:
        return postgresql_store(f"postgresql://{rest}", lookup, timeout_s)
    named = scheme if colon and scheme.isalnum() and len(scheme) <= LONGEST_SCHEME else "this"
    raise UsageError(f"{named}: no kind of store", hint=f"a store is {FORMS}")


def _sqlite_path(rest: str) -> Path:
    if not rest.startswith("/") or rest in {"/", "/:memory:"} or "\0" in rest:
        raise UsageError(f"{mask_url(f'sqlite://{rest}')} names no file", hint=f"a store is {FORMS}")
    if ":" in rest.rpartition("@")[0]:  # the URL of a database that was given the wrong scheme
        raise UsageError(f"{mask_url(f'sqlite://{rest}')} holds a user or password, and a file has none", hint=FORMS)
    return Path(rest[1:]).expanduser().absolute()

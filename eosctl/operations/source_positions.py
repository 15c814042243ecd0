"""What a connector's source says of its positions: asked of its database, where the user names it."""

from collections.abc import Mapping
from typing import Final

from eosctl.ledger.postgresql import Called, PostgresqlStore, postgresql_store
from eosctl.model.client_properties import HIDDEN
from eosctl.model.replication_slots import SourceRead, SourceServer
from eosctl.model.skipped import Skipped, or_skipped
from eosctl.sources.config_providers import look_up
from eosctl.sources.replication_slots import read_slots

CALLED: Final = Called("source", "source database", is_short=True)
SLOT: Final = "slot.name"
DEFAULT_SLOT: Final = "debezium"


def read_source(dsn: str, timeout_s: float) -> SourceServer | Skipped:
    """The slots of the database at a libpq URL; Skipped where it does not answer. UsageError for a password in it."""
    store = postgresql_store(dsn, look_up, timeout_s, CALLED)
    return or_skipped(lambda: _read(store))


def _read(store: PostgresqlStore) -> SourceServer:
    with store.connect() as connection:
        connection.begin_reading()
        return read_slots(connection.rows)


def source_read(server: SourceServer | Skipped, connector: str, config: Mapping[str, object] | None) -> SourceRead:
    """What was read for this connector; its slot is that of its config, or Debezium's default."""
    if not config:
        return SourceRead(
            server, Skipped(f"the config of connector {connector} is not known, and so its {SLOT} is not")
        )
    name = str(config.get(SLOT) or DEFAULT_SLOT)
    if "${" in name or name == HIDDEN:
        return SourceRead(server, Skipped(f"{SLOT} of connector {connector} is {name}, which cannot be resolved here"))
    return SourceRead(server, name)

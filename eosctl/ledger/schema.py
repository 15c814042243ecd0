"""Making the tables of a ledger, and bringing those of an older eosctl up to date."""

from eosctl.codecs.ledger import FIRST_OF_ALL, SCHEMA, SCHEMA_TABLE, Step
from eosctl.errors import ConfigError, Undecodable, Unsupported
from eosctl.ledger.store import LedgerConnection, LedgerStore


def prepare_ledger(store: LedgerStore, *, create: bool, schema: tuple[Step, ...] = SCHEMA) -> None:
    """The store has the tables of `schema` when this returns; nothing is written where it had them.

    1. A newer schema is left alone: Unsupported.
    2. An older one is brought up to date in one transaction, for which those who come at the same time wait.
    3. None at all is made if `create`, otherwise ConfigError.
    """
    with store.connect(create=create) as connection:
        connection.begin_reading()
        version = _version(connection, store.name, len(schema))
        connection.roll_back()
        if version == len(schema):
            return
        if not version and not create:
            raise ConfigError(f"{store.name} holds no ledger", hint="an audit with --store makes it")
        connection.begin_writing("schema")
        _migrate(connection, _version(connection, store.name, len(schema)), schema)
        connection.commit()


def _version(connection: LedgerConnection, name: str, newest: int) -> int:
    if not connection.has_table(SCHEMA_TABLE):
        return 0
    versions = [row[0] for row in connection.rows("SELECT version FROM audit_schema")]
    if len(versions) != 1 or not isinstance(versions[0], int) or versions[0] < 0:
        raise Undecodable(f"ledger {name}: audit_schema says {versions}, not one version")
    if versions[0] > newest:
        raise Unsupported(
            f"ledger {name} has schema {versions[0]}, this eosctl knows those up to {newest}",
            hint="use the eosctl that wrote it, or a newer one",
        )
    return int(versions[0])


def _migrate(connection: LedgerConnection, version: int, schema: tuple[Step, ...]) -> None:
    if not version and not connection.has_table(SCHEMA_TABLE):
        for statement in FIRST_OF_ALL:
            connection.define(statement)
    for step in schema[version:]:
        for statement in step:
            connection.define(statement)
    connection.change("UPDATE audit_schema SET version = ?", [(len(schema),)])

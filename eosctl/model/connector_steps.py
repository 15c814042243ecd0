"""Steps of a plan that create a connector and delete one that was created so, and what must hold before them."""

from dataclasses import dataclass

from eosctl.model.sides import Side


@dataclass(frozen=True, slots=True)
class CreateConnector:
    """POST /connectors with the config in `file` and initial_state STOPPED (KIP-980).

    Configs may hold secrets, so a plan has only the file's absolute path, and the digest of the config in it
    (codecs.connector_files): the file is read again when the step is performed.
    """

    side: Side
    connector: str
    file: str
    digest: str


@dataclass(frozen=True, slots=True)
class DeleteConnector:
    """DELETE /connectors/C, if its config still has the digest that CreateConnector gave it. Its offsets stay."""

    side: Side
    connector: str
    file: str
    digest: str


@dataclass(frozen=True, slots=True)
class ConnectorConfigIs:
    """The connector has the config with this digest (codecs.connector_files), or does not exist."""

    side: Side
    connector: str
    digest: str

"""Steps of a plan that create a connector, delete one that was created so, or wait for who operates it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

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
class AwaitOperator:
    """A person applies the changed resource in `file`, Strimzi's operator carries it out, and a worker answers it.

    state is STOPPED (without tasks) or RUNNING (all tasks); settings are what the config must have then, None: lack.
    With offsets_topic (of offsets_side) the workers must answer the offsets in it before the file may be applied, as
    with ResumeConnector. before is what settings were. copied_from names the connector whose resource the file begins
    from, where the connector is new. undo_file is the resource that leads back: to RUNNING from a step that stops, to
    STOPPED from the others; None: there is none. Resources may hold secrets, so a plan has only their paths.

    changed_file is applied instead of `file` where the config has the settings `changed`. An operator changes the
    config first and the state then (AbstractConnectOperator.maybeCreateOrUpdateConnector), at its next reconciliation
    where the second request fails: a resource that did both would let the connector run with the other offsets topic.
    """

    side: Side
    connector: str
    file: str
    state: str
    settings: Mapping[str, str | None] = field(default_factory=dict)
    offsets_topic: str | None = None
    offsets_side: Side = Side.SOURCE
    undo_file: str | None = None
    before: Mapping[str, str | None] = field(default_factory=dict)
    copied_from: str | None = None
    changed: Mapping[str, str | None] = field(default_factory=dict)
    changed_file: str | None = None

    @property
    def stops(self) -> bool:
        """Whether all that it waits for is that the connector is STOPPED."""
        return self.state == "STOPPED" and not self.settings and self.copied_from is None


@dataclass(frozen=True, slots=True)
class ConnectorConfigIs:
    """The connector has the config with this digest (codecs.connector_files), or does not exist."""

    side: Side
    connector: str
    digest: str

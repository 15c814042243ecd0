"""Operators of connectors beside eosctl: how the user names them, and the resources that a plan waits for."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Final

from msgspec import field
from msgspec.structs import replace

from eosctl.codecs.offsets_topic import offsets_in
from eosctl.codecs.strimzi import (
    altering_connector,
    changed_connector,
    connect_resource,
    connector_homes,
    decode_resources,
    is_resource,
    listing_connector,
)
from eosctl.errors import UsageError
from eosctl.executors.files import write_resource_file
from eosctl.files import CONNECTOR_CONFIG, WORKER_CONFIG, read_text
from eosctl.model.hidden_fields import HiddenFields
from eosctl.model.names import Side
from eosctl.model.plan import AwaitOperator, Plan, WriteOffsets
from eosctl.model.planned import Planned
from eosctl.model.strimzi import KAFKA_MIRROR_MAKER_2, RUNNING, STOPPED, USE_CONNECTOR_RESOURCES, OperatedConnectors
from eosctl.operations.plan_files import own_plans
from eosctl.planning.operated import for_operator, objections


class ConnectorOperator(HiddenFields, frozen=True):
    """The operator of connectors that the user named; texts are its resources' files, by connector."""

    hidden: ClassVar = ("texts",)

    operated: OperatedConnectors = field(default_factory=OperatedConnectors)
    texts: Mapping[str, str] = field(default_factory=dict)

    def planned(self, planned: Planned) -> Planned:
        """The plan with its changes as changes of resources, and its objections."""
        return for_operator(planned, self.operated)

    def write(self, plan: Plan, narrate: Callable[[str], None]) -> None:
        """Writes the resources that the plan and its undo wait for; a repeated plan has the same ones.

        It also writes resources that list and alter offsets, for users whose operator writes offsets.
        """
        if self.operated.directory is None:
            return
        changes: dict[str, Mapping[str, str | None]] = {}
        for each in plan.steps:
            step = each.step
            if isinstance(step, AwaitOperator) and (step.copied_from or step.connector) in self.texts:
                self._write(step.file, self._changed(step, step.state.lower(), step.settings), narrate)
                changes[step.connector] = step.settings
                if step.undo_file is not None:
                    settings = step.settings if step.copied_from is not None else {}
                    self._write(
                        step.undo_file, self._changed(step, RUNNING if step.stops else STOPPED, settings), narrate
                    )
        for each in plan.steps:
            written = each.step
            if not isinstance(written, WriteOffsets) or not written.records:
                continue
            if written.connector in self.texts and not self.operated.to_cluster:
                home, name = self.texts[written.connector], written.connector
                before = changed_connector(home, name, state=STOPPED, settings={})
                after = changed_connector(home, name, state=STOPPED, settings=changes.get(name, {}))
                altered = altering_connector(after, name, offsets_in(written.records))
                self._write(self.operated.file(name, "list"), listing_connector(before, name), narrate)
                self._write(self.operated.file(name, "alter"), altered, narrate)

    def _changed(self, step: AwaitOperator, state: str, settings: Mapping[str, str | None]) -> str:
        name = step.copied_from or step.connector
        return changed_connector(
            self.texts[name],
            name,
            state=state,
            settings=settings,
            new_name=None if name == step.connector else step.connector,
            new_cluster=self.operated.to_cluster if step.side is Side.TARGET else None,
        )

    @staticmethod
    def _write(path: str, text: str, narrate: Callable[[str], None]) -> None:
        write_resource_file(Path(path), text)
        narrate(f"wrote {path}")


NO_OPERATOR: Final = ConnectorOperator()


def still_operated(plan: Plan, operated: OperatedConnectors) -> dict[str, str]:
    """Changes in a plan's file that an operator would revert, with the fix, by the plan and present facts."""
    known = plan.operated or OperatedConnectors()
    return dict(objections(plan, replace(known, every=known.every or operated.every)))


def connector_operator(
    files: Sequence[Path],
    worker_files: Sequence[Path] = (),
    *,
    is_strimzis: bool,
    emits: bool = False,
    directory: Path | None = None,
    to_cluster: str | None = None,
) -> ConnectorOperator:
    """The operator that the options name; UsageError for options that do not go together, ConfigError for files.

    A KafkaMirrorMaker2, or a KafkaConnect with use-connector-resources, among the workers' files says that every
    connector has one.
    """
    if (directory is not None or to_cluster is not None) and not emits:
        option = "--emit-to" if directory is not None else "--to-kafka-connect"
        raise UsageError(f"{option} is for --emit strimzi", hint="add --emit strimzi")
    if emits and not files:
        raise UsageError("--emit strimzi needs the connector's resource", hint="give --connector-config FILE")
    texts: dict[str, str] = {}
    states: dict[str, str] = {}
    mirrors: dict[str, str] = {}
    for file in files:
        text = read_text(file, CONNECTOR_CONFIG)
        if not is_resource(text):
            raise UsageError(
                f"--connector-config {file} holds no resource of Strimzi's", hint="give the connector's KafkaConnector"
            )
        found = connector_homes(text, str(file))
        if not found:
            raise UsageError(
                f"--connector-config {file} holds no KafkaConnector and no KafkaMirrorMaker2",
                hint="give the resource that describes the connector",
            )
        texts |= dict.fromkeys(found, text)
        states |= {name: home.state for name, home in found.items()}
        mirrors |= {name: home.resource for name, home in found.items() if home.kind == KAFKA_MIRROR_MAKER_2}
    home = str((directory or own_plans() / "strimzi").absolute()) if emits else None
    every = is_strimzis or any(_has_operator(file, emits=emits) for file in worker_files)
    return ConnectorOperator(OperatedConnectors(every, states, mirrors, home, to_cluster), texts)


def _has_operator(file: Path, *, emits: bool) -> bool:
    """True if this worker's file is a resource whose operator reverts changes over REST."""
    text = read_text(file, WORKER_CONFIG)
    if not is_resource(text):
        return False
    resource = connect_resource(decode_resources(text, str(file)), str(file))
    if emits and not resource.manages_connectors:
        raise UsageError(
            f"{resource.place} has no annotation {USE_CONNECTOR_RESOURCES}: its operator ignores KafkaConnector "
            "resources",
            hint="omit --emit strimzi: its operator keeps changes over REST",
        )
    return resource.manages_connectors

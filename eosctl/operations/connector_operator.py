"""Who operates connectors beside eosctl: the options that say so, and the resources that a plan waits for."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from eosctl.codecs.kafka_connectors import (
    altering_connector,
    changed_connector,
    listing_connector,
    resource_states,
)
from eosctl.codecs.offsets_topic import offsets_in
from eosctl.codecs.strimzi_resources import is_resource
from eosctl.errors import UsageError
from eosctl.executors.resource_files import write_resource_file
from eosctl.model.connector_steps import AwaitOperator
from eosctl.model.operated import RUNNING, STOPPED, OperatedConnectors
from eosctl.model.plan import Plan, WriteOffsets
from eosctl.model.planned import Planned
from eosctl.operations.plan_files import own_plans
from eosctl.planning.operated import for_operator
from eosctl.sources.files import read_text


@dataclass(frozen=True, slots=True)
class ConnectorOperator:
    """The operator of connectors, as far as the user said; texts are the files with their resources."""

    operated: OperatedConnectors = field(default_factory=OperatedConnectors)
    texts: tuple[str, ...] = field(default=(), repr=False)
    old_names: Mapping[str, str] = field(default_factory=dict)

    def renaming(self, names: Mapping[str, str]) -> "ConnectorOperator":
        """The same, for connectors that get these new names."""
        return replace(self, old_names={new: old for old, new in names.items() if new != old})

    def planned(self, planned: Planned) -> Planned:
        """The plan with its changes as changes of resources, and what speaks against it."""
        return for_operator(planned, self.operated)

    def write(self, plan: Plan, narrate: Callable[[str], None]) -> None:
        """Writes the resources that the plan waits for; those of a plan that was made again are the same.

        And, for those who have the operator write offsets, the resources that list and alter them.
        """
        if self.operated.directory is None:
            return
        homes = {name: text for text in self.texts for name in resource_states(text, "--connector-config")}
        changes: dict[str, Mapping[str, str | None]] = {}
        for each in plan.steps:
            step = each.step
            if isinstance(step, AwaitOperator) and (old := self.old_names.get(step.connector, step.connector)) in homes:
                new = None if old == step.connector else step.connector
                state = RUNNING if step.state == "RUNNING" else STOPPED
                text = changed_connector(homes[old], old, state=state, settings=step.settings, new_name=new)
                self._write(step.file, text, narrate)
                changes[step.connector] = step.settings
        for each in plan.steps:
            step = each.step
            if isinstance(step, WriteOffsets) and step.connector in homes:
                home, name = homes[step.connector], step.connector
                before = changed_connector(home, name, state=STOPPED, settings={})
                after = changed_connector(home, name, state=STOPPED, settings=changes.get(name, {}))
                altered = altering_connector(after, offsets_in(step.records))
                self._write(self.operated.file(name, "list"), listing_connector(before), narrate)
                self._write(self.operated.file(name, "alter"), altered, narrate)

    @staticmethod
    def _write(path: str, text: str, narrate: Callable[[str], None]) -> None:
        write_resource_file(Path(path), text)
        narrate(f"wrote {path}")


NOBODY: Final = ConnectorOperator()


def connector_operator(
    files: Sequence[Path],
    *,
    is_strimzis: bool,
    emits: bool,
    directory: Path | None,
) -> ConnectorOperator:
    """The operator that the options name; UsageError for options that do not go together, ConfigError for files."""
    if directory is not None and not emits:
        raise UsageError("--emit-to is for --emit strimzi", hint="add --emit strimzi")
    if emits and not files:
        raise UsageError("--emit strimzi needs the connector's resource", hint="give --connector-config FILE")
    texts: list[str] = []
    states: dict[str, str] = {}
    for file in files:
        text = read_text(file, "--connector-config")
        if not is_resource(text):
            raise UsageError(
                f"--connector-config {file} holds no resource of Strimzi's", hint="give the connector's KafkaConnector"
            )
        found = resource_states(text, str(file))
        if not found:
            raise UsageError(f"--connector-config {file} holds no KafkaConnector")
        texts.append(text)
        states |= found
    home = str((directory or own_plans() / "strimzi").absolute()) if emits else None
    operated = OperatedConnectors(is_strimzis, states, home)
    return ConnectorOperator(operated, tuple(texts))

"""A sandbox for people and scripts: where it answers, who may come in, which processes it is made of."""

from collections.abc import Mapping, Sequence
from typing import Any

from eosctl.render.document import Column, Document, Fields, Table, figure

ADDRESSES = (
    Column("DIRECTORY", "directory", "where properties, data and logs are"),
    Column("KAFKA", "kafka_version", "version of brokers and workers"),
    Column("BOOTSTRAP", "bootstrap_servers", "plaintext listeners; who connects there is the super user"),
    Column("SASL-BOOTSTRAP", "sasl_bootstrap_servers", "SASL/PLAIN listeners; a user may do what ACLs allow"),
    Column("CONNECT", "connect_urls", "REST addresses of the workers"),
)
PROCESSES = (
    Column("PROCESS", "name", "broker or worker and its number"),
    Column("ADDRESS", "address", "plaintext listener of a broker, REST address of a worker"),
    figure("PID", "pid", "process ID"),
    Column("READY", "ready", "whether it answers now"),
    Column("LOG", "log", "its log"),
)


def up_document(data: Mapping[str, Any], *, already_up: bool) -> Document:
    """The answer of `sandbox up`: the addresses, without passwords. `data` is a SandboxState as a mapping."""
    state = "up already, as it was started before" if already_up else "up"
    shown = {**_without_passwords(data), "already_up": already_up}
    prose = (f"The sandbox is {state}.",)
    return Document("sandbox.up", shown, cluster_id=data["cluster_id"], blocks=(Fields(ADDRESSES),), prose=prose)


def status_document(
    directory: str, data: Mapping[str, Any] | None, processes: Sequence[Mapping[str, Any]], as_of: str
) -> Document:
    """The answer of `sandbox status`; `data` is None when none is up, `processes` say whether each is `ready`."""
    if data is None:
        shown: Mapping[str, Any] = {"directory": directory, "up": False, "processes": []}
        blocks: tuple[Table | Fields, ...] = (Table("processes", PROCESSES, empty="no processes"),)
        prose = (f"No sandbox is up in {directory}.",)
        return Document("sandbox.status", shown, as_of, blocks=blocks, prose=prose)
    shown = {**_without_passwords(data), "up": True, "processes": processes}
    blocks = (Table("processes", PROCESSES), Fields(ADDRESSES))
    return Document("sandbox.status", shown, as_of, data["cluster_id"], blocks)


def down_document(directory: str, *, was_up: bool, removed: bool) -> Document:
    """The answer of `sandbox down`."""
    said = f"The sandbox in {directory} is down" if was_up else f"No sandbox was up in {directory}"
    kept = "its data is removed" if removed else "its data and logs are kept"
    shown = {"directory": directory, "was_up": was_up, "removed": removed}
    fields = Fields((Column("DIRECTORY", "directory"), Column("WAS-UP", "was_up"), Column("REMOVED", "removed")))
    return Document("sandbox.down", shown, blocks=(fields,), prose=(f"{said}; {kept}.",))


def env_document(data: Mapping[str, Any]) -> Document:
    """The answer of `sandbox env`: addresses and credentials. `data` is a SandboxState as a mapping."""
    shown = {name: value for name, value in data.items() if name != "processes"}
    passwords = tuple(Column(name, f"users.{name}", "password of this SASL user") for name in data["users"])
    more = (Column("JAVA", "java", "the java that runs it"), Column("CLASSPATH", "classpath", "Kafka's jars"))
    blocks = (Fields((*ADDRESSES, *more)), Fields(passwords, title="Passwords"))
    return Document("sandbox.env", shown, cluster_id=data["cluster_id"], blocks=blocks)


def _without_passwords(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name not in {"users", "classpath", "java"}}

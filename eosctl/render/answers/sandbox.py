"""A sandbox for people and scripts: where it answers, who may come in, which processes it is made of."""

from collections.abc import Iterator
from typing import Annotated, Any, Final

from msgspec import UNSET, Struct, UnsetType

from eosctl.model.sandbox import SandboxEnvironment, SandboxStatus, StartedSandbox, State, StoppedSandbox
from eosctl.model.text import shell_word
from eosctl.model.times import rfc3339
from eosctl.render.document import Column, Document, Fields, Table, col, columns

# The answers of the commands of `sandbox`.


class ProcessRow(Struct, frozen=True, kw_only=True):
    """A broker, worker or PostgreSQL; ready is there where it was asked."""

    name: Annotated[str, col("broker or worker and its number", "PROCESS")]
    address: Annotated[str, "plaintext listener of a broker, REST address of a worker"]
    pid: Annotated[int | None, "process ID"]
    log: Annotated[str, "its log"]
    ready: Annotated[bool | UnsetType, "whether it answers now"] = UNSET


class SandboxAddresses(Struct, frozen=True):
    """Where a sandbox answers."""

    bootstrap_servers: Annotated[str, col("plaintext listeners; every client there is the super user", "BOOTSTRAP")]
    sasl_bootstrap_servers: Annotated[
        str, col("SASL/PLAIN listeners; ACLs decide what a user may do", "SASL-BOOTSTRAP")
    ]
    connect_urls: Annotated[list[str], col("REST addresses of the workers", "CONNECT")]
    kafka_version: Annotated[str, col("version of the brokers", "KAFKA")]
    connect_version: Annotated[str, "version of the workers"]
    cluster_id: str
    group_id: Annotated[str, "the workers' group.id"]
    directory: Annotated[str, "where properties, data and logs are"]


class StartedData(SandboxAddresses, frozen=True):
    """A running sandbox; other_options are options in which it differs from the request."""

    processes: list[ProcessRow]
    already_up: bool
    other_options: list[str]
    silent: list[str]


class StatusData(Struct, frozen=True, kw_only=True):
    """The sandbox of a directory; its addresses are there where one is up."""

    directory: str
    up: bool
    processes: list[ProcessRow]
    bootstrap_servers: str | UnsetType = UNSET
    sasl_bootstrap_servers: str | UnsetType = UNSET
    connect_urls: list[str] | UnsetType = UNSET
    kafka_version: str | UnsetType = UNSET
    connect_version: str | UnsetType = UNSET
    cluster_id: str | UnsetType = UNSET
    group_id: str | UnsetType = UNSET


class StoppedData(Struct, frozen=True):
    """A sandbox that is down; removed: its directory is gone."""

    directory: Annotated[str, "where properties, data and logs are"]
    was_up: Annotated[bool, "whether a sandbox was up"]
    removed: Annotated[bool, "whether its directory was removed"]


class EnvironmentData(SandboxAddresses, frozen=True):
    """Addresses and credentials: users has the password of each SASL user."""

    users: dict[str, str]
    classpath: Annotated[str, "jars that the brokers run from, as java -cp takes them"]
    java: Annotated[str, "the java that runs it"]
    postgresql_url: Annotated[
        str | None, col("URL of the PostgreSQL, with the password of its super user", "POSTGRESQL")
    ]


ADDRESSES: Final = Fields(
    columns(
        SandboxAddresses,
        "directory kafka_version connect_version bootstrap_servers sasl_bootstrap_servers connect_urls group_id",
    )
)
PROCESSES: Final = Table("processes", columns(ProcessRow, "name address pid ready log"), empty="no processes")
STOPPED: Final = Fields(columns(StoppedData, "directory was_up removed"))
CREDENTIALS: Final = Fields((*ADDRESSES.columns, *columns(EnvironmentData, "java classpath")))
POSTGRESQL: Final = Fields(columns(EnvironmentData, "postgresql_url"))


def view_started(started: StartedSandbox) -> Document:
    """The answer of `sandbox up`: the addresses, without passwords."""
    state = "already up" if started.already_up else "up"
    shown = {
        **_without_passwords(started.state),
        "already_up": started.already_up,
        "other_options": list(started.other_options),
        "silent": list(started.silent),
    }
    prose = (f"The sandbox is {state}.", *_deviations(started))
    return Document("sandbox.up", shown, cluster_id=started.state["cluster_id"], blocks=(ADDRESSES,), prose=prose)


def _deviations(started: StartedSandbox) -> Iterator[str]:
    if started.silent:
        yield f"These do not answer: {', '.join(started.silent)}. Take it down, and up again."
    if started.other_options:
        yield f"It was started with other options: {'; '.join(started.other_options)}. Take it down to change that."


def view_status(status: SandboxStatus) -> Document:
    """The answer of `sandbox status`; each process says whether it is `ready`."""
    as_of, state = rfc3339(status.as_of), status.state
    if state is None:
        empty = {"directory": status.directory, "up": False, "processes": []}
        blocks: tuple[Table | Fields, ...] = (PROCESSES,)
        prose = (f"No sandbox is up in {status.directory}.",)
        return Document("sandbox.status", empty, as_of, blocks=blocks, prose=prose)
    processes = [{**each, "ready": status.ready[each["name"]]} for each in state["processes"]]
    shown = {**_without_passwords(state), "up": True, "processes": processes}
    blocks = (PROCESSES, ADDRESSES)
    return Document("sandbox.status", shown, as_of, state["cluster_id"], blocks)


def view_stopped(stopped: StoppedSandbox) -> Document:
    where = stopped.directory
    kept = "its data is removed" if stopped.removed else "its data and logs remain"
    down = f"The sandbox in {where} is down; {kept}."
    prose = down if stopped.was_up or stopped.removed else f"No sandbox was up in {where}; nothing changed."
    shown = {"directory": where, "was_up": stopped.was_up, "removed": stopped.removed}
    return Document("sandbox.down", shown, blocks=(STOPPED,), prose=(prose,))


def view_environment(environment: SandboxEnvironment) -> Document:
    state = environment.state
    shown = {name: value for name, value in state.items() if name != "processes"}
    passwords = tuple(Column(name, f"users.{name}", "password of this SASL user") for name in state["users"])
    shown_columns = CREDENTIALS.columns + (POSTGRESQL.columns if state["postgresql_url"] is not None else ())
    blocks = (Fields(shown_columns), Fields(passwords, title="Passwords"))
    return Document("sandbox.env", shown, cluster_id=state["cluster_id"], blocks=blocks)


def shell_lines(environment: SandboxEnvironment) -> str:
    """Lines for `eval`: the commands of that shell after it are for this sandbox. No password is in them."""
    state = environment.state
    values = {
        "EOSCTL_BOOTSTRAP_SERVER": state["bootstrap_servers"],
        "EOSCTL_CONNECT_URL": " ".join(state["connect_urls"]),
        "EOSCTL_GROUP_ID": state["group_id"] if state["connect_urls"] else "",
    }
    lines = (f"export {name}={shell_word(value)}" if value else f"unset {name}" for name, value in values.items())
    return "\n".join(lines)


def _without_passwords(state: State) -> dict[str, Any]:
    return {
        name: value for name, value in state.items() if name not in {"users", "classpath", "java", "postgresql_url"}
    }

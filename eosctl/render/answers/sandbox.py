"""A sandbox for people and scripts: where it answers, who may come in, which processes it is made of."""

from collections.abc import Iterator
from typing import Any, NotRequired, TypedDict

from eosctl.model.sandbox import SandboxEnvironment, SandboxStatus, StartedSandbox, State, StoppedSandbox
from eosctl.model.text import shell_word
from eosctl.model.times import rfc3339
from eosctl.render.document import Column, Document, Fields, Table, figure

ADDRESSES = (
    Column("DIRECTORY", "directory", "where properties, data and logs are"),
    Column("KAFKA", "kafka_version", "version of the brokers"),
    Column("CONNECT-VERSION", "connect_version", "version of the workers"),
    Column("BOOTSTRAP", "bootstrap_servers", "plaintext listeners; who connects there is the super user"),
    Column("SASL-BOOTSTRAP", "sasl_bootstrap_servers", "SASL/PLAIN listeners; a user may do what ACLs allow"),
    Column("CONNECT", "connect_urls", "REST addresses of the workers"),
    Column("GROUP-ID", "group_id", "the workers' group.id"),
)
PROCESSES = (
    Column("PROCESS", "name", "broker or worker and its number"),
    Column("ADDRESS", "address", "plaintext listener of a broker, REST address of a worker"),
    figure("PID", "pid", "process ID"),
    Column("READY", "ready", "whether it answers now"),
    Column("LOG", "log", "its log"),
)


def view_started(started: StartedSandbox) -> Document:
    """The answer of `sandbox up`: the addresses, without passwords."""
    state = "up already, as it was started before" if started.already_up else "up"
    shown = {
        **_without_passwords(started.state),
        "already_up": started.already_up,
        "other_options": list(started.other_options),
        "silent": list(started.silent),
    }
    prose = (f"The sandbox is {state}.", *_deviations(started))
    return Document(
        "sandbox.up", shown, cluster_id=started.state["cluster_id"], blocks=(Fields(ADDRESSES),), prose=prose
    )


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
        blocks: tuple[Table | Fields, ...] = (Table("processes", PROCESSES, empty="no processes"),)
        prose = (f"No sandbox is up in {status.directory}.",)
        return Document("sandbox.status", empty, as_of, blocks=blocks, prose=prose)
    processes = [{**each, "ready": status.ready[each["name"]]} for each in state["processes"]]
    shown = {**_without_passwords(state), "up": True, "processes": processes}
    blocks = (Table("processes", PROCESSES), Fields(ADDRESSES))
    return Document("sandbox.status", shown, as_of, state["cluster_id"], blocks)


def view_stopped(stopped: StoppedSandbox) -> Document:
    """The answer of `sandbox down`."""
    where = stopped.directory
    what = f"The sandbox in {where} is down" if stopped.was_up else f"No sandbox was up in {where}"
    kept = "its data is removed" if stopped.removed else "its data and logs are kept"
    shown = {"directory": where, "was_up": stopped.was_up, "removed": stopped.removed}
    fields = Fields((Column("DIRECTORY", "directory"), Column("WAS-UP", "was_up"), Column("REMOVED", "removed")))
    return Document("sandbox.down", shown, blocks=(fields,), prose=(f"{what}; {kept}.",))


def view_environment(environment: SandboxEnvironment) -> Document:
    """The answer of `sandbox env`: addresses and credentials."""
    state = environment.state
    shown = {name: value for name, value in state.items() if name != "processes"}
    passwords = tuple(Column(name, f"users.{name}", "password of this SASL user") for name in state["users"])
    more: tuple[Column, ...] = (
        Column("JAVA", "java", "the java that runs it"),
        Column("CLASSPATH", "classpath", "Kafka's jars"),
    )
    if state["postgresql_url"] is not None:
        more += (Column("POSTGRESQL", "postgresql_url", "URL of the PostgreSQL, with the password of its super user"),)
    blocks = (Fields((*ADDRESSES, *more)), Fields(passwords, title="Passwords"))
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


# What the commands of `sandbox` answer.


class ProcessRow(TypedDict):
    """A broker, worker or PostgreSQL; ready is there where it was asked."""

    name: str
    address: str
    pid: int | None
    log: str
    ready: NotRequired[bool]


class SandboxAddresses(TypedDict):
    """Where a sandbox answers."""

    bootstrap_servers: str
    sasl_bootstrap_servers: str
    connect_urls: list[str]
    kafka_version: str
    connect_version: str
    cluster_id: str
    group_id: str
    directory: str


class StartedData(SandboxAddresses):
    """A sandbox that is up; other_options are those in which it is another one than was asked for."""

    processes: list[ProcessRow]
    already_up: bool
    other_options: list[str]
    silent: list[str]


class StatusData(TypedDict):
    """The sandbox of a directory; its addresses are there where one is up."""

    directory: str
    up: bool
    processes: list[ProcessRow]
    bootstrap_servers: NotRequired[str]
    sasl_bootstrap_servers: NotRequired[str]
    connect_urls: NotRequired[list[str]]
    kafka_version: NotRequired[str]
    connect_version: NotRequired[str]
    cluster_id: NotRequired[str]
    group_id: NotRequired[str]


class StoppedData(TypedDict):
    """A sandbox that is down; removed: its directory is gone."""

    directory: str
    was_up: bool
    removed: bool


class EnvironmentData(SandboxAddresses):
    """Addresses and credentials: users has the password of each SASL user."""

    users: dict[str, str]
    classpath: str
    java: str
    postgresql_url: str | None

"""What the commands of `sandbox` answer."""

from typing import NotRequired, TypedDict


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

"""`eosctl sandbox`: a real Kafka with Connect workers on this machine."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from eosctl.commands.options import settings_of
from eosctl.errors import EXIT_FINE
from eosctl.operations.sandbox import (
    SandboxSpec,
    read_sandbox_environment,
    read_sandbox_status,
    run_sandbox,
    start_sandbox,
    stop_sandbox,
)
from eosctl.render.answers.sandbox import (
    ADDRESSES,
    CREDENTIALS,
    POSTGRESQL,
    PROCESSES,
    STOPPED,
    shell_lines,
    view_environment,
    view_started,
    view_status,
    view_stopped,
)
from eosctl.shell.options import GlobalOptions, answer, printing, showing

Directory: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--directory",
        metavar="DIR",
        help="Directory of the sandbox, one sandbox per directory. down keeps it, and the next up resumes it. "
        "[default: one in the user's cache, removed by down]",
        show_default=False,
    ),
]
KafkaVersion: TypeAlias = Annotated[
    str, typer.Option(metavar="VERSION", help="Brokers of this version, 3.3.0 or newer, and workers.")
]
ConnectVersion: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="VERSION", help="Workers of this version. [default: the brokers']", show_default=False),
]
Brokers: TypeAlias = Annotated[int, typer.Option(metavar="N", min=1, max=3, help="Number of brokers.")]
Workers: TypeAlias = Annotated[
    int,
    typer.Option(
        metavar="N", min=0, max=3, help="Number of Connect workers; with 0 only the jars of brokers are fetched."
    ),
]
ExactlyOnce: TypeAlias = Annotated[
    str, typer.Option(metavar="disabled|preparing|enabled", help="The workers' exactly.once.source.support.")
]
BrokerSettings: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(metavar="KEY=VALUE", help="A setting of every broker. May be repeated.", show_default=False),
]
WorkerSettings: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(metavar="KEY=VALUE", help="A setting of every worker. May be repeated.", show_default=False),
]
FeatureLevels: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=LEVEL",
        help="A feature level to format new storage with, as transaction.version=0. May be repeated.",
        show_default=False,
    ),
]
SaslUsers: TypeAlias = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="An additional SASL user. May be repeated.", show_default=False)
]
Plugins: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="DIR|GROUP:ARTIFACT:VERSION[:CLASSIFIER][@TYPE]",
        help="A further plugin of the workers: the directory of its jars, or an artifact to fetch with all it needs. "
        "May be repeated.",
        show_default=False,
    ),
]
PostgreSQL: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--postgres",
        help="Start a PostgreSQL with logical decoding, from this machine or a wheel; down removes its data.",
    ),
]
PlaintextPort: TypeAlias = Annotated[
    int | None, typer.Option(metavar="PORT", min=1, max=65535, help="Plaintext port of broker 1. [default: a free one]")
]
Foreground: TypeAlias = Annotated[
    bool, typer.Option("--foreground", help="Stay in the foreground; Ctrl-C ends the sandbox.")
]

app = typer.Typer()


@app.callback()
def sandbox() -> None:
    """Run a real Kafka with Connect workers on this machine.

    Use it to try a change before you make it on a cluster, and to test against a real Kafka. Kafka comes from its own
    jars, fetched once. On the plaintext listener every client is the super user; the SASL listener knows the users
    worker, connector, admin and tool, whose permissions are ACLs.

    Examples:
      eosctl sandbox up --workers 1
      eosctl sandbox env -o json
      eosctl sandbox down
    """


@app.command("up")
@showing(ADDRESSES)
@printing
def up(
    options: GlobalOptions,
    kafka_version: KafkaVersion = "4.3.1",
    connect_version: ConnectVersion = None,
    brokers: Brokers = 1,
    workers: Workers = 1,
    exactly_once: ExactlyOnce = "enabled",
    broker_config: BrokerSettings = None,
    worker_config: WorkerSettings = None,
    feature: FeatureLevels = None,
    user: SaslUsers = None,
    plugin: Plugins = None,
    postgres: PostgreSQL = False,
    port: PlaintextPort = None,
    directory: Directory = None,
    foreground: Foreground = False,
) -> int:
    """Start a sandbox and return when it is ready.

    Use it as the first step. The sandbox runs until down, also after the command has ended. A sandbox that is already
    up in that directory is not changed; if it differs from your options, or a process does not answer, the command
    reports it and exits with 1.

    Workers from 3.6 on find only plugins with a manifest for the ServiceLoader, which is quick. Others need
    --worker-config plugin.discovery=hybrid_warn.

    Examples:
      eosctl sandbox up
      eosctl sandbox up --postgres --plugin io.debezium:debezium-connector-postgres:3.3.1.Final
      eosctl sandbox up --brokers 3 --workers 2 --exactly-once preparing
      eosctl sandbox up --kafka-version 4.3.1 --connect-version 3.6.2
      eosctl sandbox up --kafka-version 4.4.0 --connect-version 4.3.1
      eosctl sandbox up --kafka-version 3.9.2 --directory ./old --broker-config transaction.max.timeout.ms=60000
    """

    spec = SandboxSpec(
        kafka_version=kafka_version,
        connect_version=connect_version,
        brokers=brokers,
        workers=workers,
        exactly_once=exactly_once,
        broker_config=settings_of("--broker-config", broker_config),
        worker_config=settings_of("--worker-config", worker_config),
        features=settings_of("--feature", feature),
        users=tuple(user or ()),
        plugins=tuple(plugin or ()),
        postgres=postgres,
        port=port,
    )
    narrate = options.console.narrate
    if foreground:
        run_sandbox(directory, spec, narrate, lambda started: answer(options, started, view_started))
        return EXIT_FINE
    return answer(options, start_sandbox(directory, spec, narrate), view_started)


@app.command("down")
@showing(STOPPED)
@printing
def down(options: GlobalOptions, directory: Directory = None) -> int:
    """Stop the sandbox.

    Use it when you are done. Workers and brokers end in order. A directory that you named is kept, with data and logs;
    the default directory is removed. If no sandbox is up, the command succeeds.

    Examples:
      eosctl sandbox down
      eosctl sandbox down --directory ./old
    """

    return answer(options, stop_sandbox(directory), view_stopped)


@app.command("status")
@showing(PROCESSES, ADDRESSES)
@printing
def status(options: GlobalOptions, directory: Directory = None) -> int:
    """Show whether the sandbox is up and its processes answer.

    Use it to see what runs where. It exits with 1 if no sandbox is up or a process does not answer.

    Examples:
      eosctl sandbox status
      eosctl sandbox status -o json
    """

    return answer(options, read_sandbox_status(directory), view_status)


@app.command("env")
@showing(CREDENTIALS, POSTGRESQL)
@printing
def env(
    options: GlobalOptions,
    directory: Directory = None,
    shell: Annotated[
        bool,
        typer.Option(
            "--shell", help="Print lines for eval, so that later commands of this shell use the sandbox. No passwords."
        ),
    ] = False,
) -> int:
    """Print the sandbox's addresses and credentials.

    Use it to point other programs at the sandbox. It prints the passwords of the SASL users, which are generated and
    valid only for this sandbox. DIRECTORY/clients/NAME.properties holds the same for Java clients and for
    --command-config.

    Examples:
      eosctl sandbox env --shell
      eosctl sandbox env -o json
    """

    return answer(options, read_sandbox_environment(directory), shell_lines if shell else view_environment)

"""`eosctl sandbox`: a real Kafka with Connect workers on this machine."""

from dataclasses import asdict
from pathlib import Path

import typer

from eosctl.commands.sandbox_options import (
    Brokers,
    BrokerSettings,
    Directory,
    ExactlyOnce,
    FeatureLevels,
    Foreground,
    KafkaVersion,
    PlaintextPort,
    SaslUsers,
    Workers,
    WorkerSettings,
)
from eosctl.errors import EXIT_FINE, EXIT_FOUND, Unreachable, UsageError
from eosctl.shell.options import GlobalOptions, printing

app = typer.Typer()


@app.callback()
def sandbox() -> None:
    """Run a real Kafka with Connect workers on this machine.

    Use it to try a change before it meets a cluster, and to test against the real thing. Kafka comes from its own jars,
    fetched once. The plaintext listener takes everybody as the super user; the SASL listener knows the users worker,
    connector, admin and tool, who may do what ACLs allow.

    Examples:
      eosctl sandbox up --workers 1
      eosctl sandbox env -o json
      eosctl sandbox down
    """


@app.command("up")
@printing
def up(
    options: GlobalOptions,
    kafka_version: KafkaVersion = "4.3.1",
    brokers: Brokers = 1,
    workers: Workers = 1,
    exactly_once: ExactlyOnce = "enabled",
    broker_config: BrokerSettings = None,
    worker_config: WorkerSettings = None,
    feature: FeatureLevels = None,
    user: SaslUsers = None,
    port: PlaintextPort = None,
    directory: Directory = None,
    foreground: Foreground = False,
) -> int:
    """Start a sandbox and return when it is ready.

    Use it as the first step. It goes on after the command has ended, until down. Where one is up in that directory
    already, it is left as it is.

    Examples:
      eosctl sandbox up
      eosctl sandbox up --brokers 3 --workers 2 --exactly-once preparing
      eosctl sandbox up --kafka-version 3.9.2 --directory ./old --broker-config transaction.max.timeout.ms=60000

    Columns:
      DIRECTORY       where properties, data and logs are
      KAFKA           version of brokers and workers
      BOOTSTRAP       plaintext listeners; who connects there is the super user
      SASL-BOOTSTRAP  SASL/PLAIN listeners; a user may do what ACLs allow
      CONNECT         REST addresses of the workers
    """
    from eosctl.sandbox.spec import SandboxSpec
    from eosctl.sandbox.supervisor import bring_up, keep

    home = _home(directory)
    spec = SandboxSpec(
        kafka_version=kafka_version,
        brokers=brokers,
        workers=workers,
        exactly_once=exactly_once,
        broker_config=_settings("--broker-config", broker_config),
        worker_config=_settings("--worker-config", worker_config),
        features=_settings("--feature", feature),
        users=tuple(user or ()),
        port=port,
    )
    if foreground:
        keep(home, spec, options.console.narrate, lambda state: _show_up(options, asdict(state), already_up=False))
        return EXIT_FINE
    state, already_up = bring_up(home, spec, options.console.narrate)
    _show_up(options, asdict(state), already_up=already_up)
    return EXIT_FINE


def _show_up(options: GlobalOptions, data: dict[str, object], *, already_up: bool) -> None:
    from eosctl.render.views.sandbox import up_document

    options.console.result(up_document(data, already_up=already_up))


@app.command("down")
@printing
def down(options: GlobalOptions, directory: Directory = None) -> int:
    """Stop the sandbox.

    Use it when you are done. Workers and brokers end in order. A directory that was named is kept, with data and logs;
    the default one is removed. It is no error when none is up.

    Examples:
      eosctl sandbox down
      eosctl sandbox down --directory ./old

    Columns:
      DIRECTORY  where it lived
      WAS-UP     whether one was up
      REMOVED    whether its directory was removed
    """
    from eosctl.render.views.sandbox import down_document
    from eosctl.sandbox.supervisor import remove, take_down

    home = _home(directory)
    was_up = take_down(home)
    if directory is None:
        remove(home)
    options.console.result(down_document(str(home), was_up=was_up, removed=directory is None))
    return EXIT_FINE


@app.command("status")
@printing
def status(options: GlobalOptions, directory: Directory = None) -> int:
    """Tell whether the sandbox is up, and which of its processes answer.

    Use it to see what runs where. It ends with 1 when none is up or when a process does not answer.

    Examples:
      eosctl sandbox status
      eosctl sandbox status -o json

    Columns:
      PROCESS  broker or worker and its number
      ADDRESS  plaintext listener of a broker, REST address of a worker
      PID      process ID
      READY    whether it answers now
      LOG      its log
    """
    from eosctl.model.times import rfc3339
    from eosctl.operations.session import Session
    from eosctl.render.views.sandbox import status_document
    from eosctl.sandbox.state import is_ready
    from eosctl.sandbox.supervisor import kept_state

    home = _home(directory)
    state = kept_state(home)
    as_of = rfc3339(Session.now())
    if state is None:
        options.console.result(status_document(str(home), None, (), as_of))
        return EXIT_FOUND
    processes = [{**asdict(process), "ready": is_ready(process)} for process in state.processes]
    options.console.result(status_document(str(home), asdict(state), processes, as_of))
    return EXIT_FINE if all(process["ready"] for process in processes) else EXIT_FOUND


@app.command("env")
@printing
def env(options: GlobalOptions, directory: Directory = None) -> int:
    """Print the sandbox's addresses and credentials.

    Use it to point other programs at the sandbox. It prints the passwords of the SASL users, which were made up for
    this sandbox and open nothing else. DIRECTORY/clients/NAME.properties holds the same for Java clients and for
    --command-config.

    Examples:
      eosctl sandbox env -o json

    Columns:
      DIRECTORY       where properties, data and logs are
      KAFKA           version of brokers and workers
      BOOTSTRAP       plaintext listeners; who connects there is the super user
      SASL-BOOTSTRAP  SASL/PLAIN listeners; a user may do what ACLs allow
      CONNECT         REST addresses of the workers
      JAVA            the java that runs it
      CLASSPATH       Kafka's jars, as java -cp takes them
    """
    from eosctl.render.views.sandbox import env_document
    from eosctl.sandbox.supervisor import kept_state

    home = _home(directory)
    state = kept_state(home)
    if state is None:
        raise Unreachable(f"no sandbox is up in {home}", hint="start one with eosctl sandbox up")
    options.console.result(env_document(asdict(state)))
    return EXIT_FINE


def _home(directory: Path | None) -> Path:
    from eosctl.sandbox.cache import cache_directory

    return (directory or cache_directory() / "sandbox").resolve()


def _settings(option: str, pairs: list[str] | None) -> dict[str, str]:
    settings = {}
    for pair in pairs or ():
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"{option} {pair}: expected KEY=VALUE")
        settings[key.strip()] = value
    return settings

"""`eosctl profile`: named clusters."""

from pathlib import Path
from typing import Annotated

import typer

from eosctl.model.text import shell_word
from eosctl.operations.profiles import (
    add_profile,
    check_connection,
    chosen_profile,
    distrust_project_file,
    effective_settings,
    how_to_name_a_cluster,
    known_profiles,
    trust_project_file,
    use_profile,
)
from eosctl.operations.session import Session
from eosctl.render.answers.profile import (
    PROFILES,
    SETTINGS,
    STEPS,
    view_connection_check,
    view_profile,
    view_profiles,
    view_settings,
)
from eosctl.shell.options import GlobalOptions, answer, connecting, printing, showing

app = typer.Typer()

ProjectFile = Annotated[
    Path | None, typer.Argument(metavar="FILE", help="The project's file. [default: the nearest .eosctl.yaml]")
]


@app.callback()
def profile() -> None:
    """Name clusters, and check how a command connects.

    Use it with more than one cluster. Profiles are in ~/.config/eosctl/config.yaml. They hold no secrets, only
    references to them. A project's file, the nearest .eosctl.yaml of this directory and those above it, adds profiles
    once you trust it.
    """


@app.command("add")
@printing
def add(
    options: GlobalOptions,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The profile.")],
    bootstrap_server: Annotated[
        str | None,
        typer.Option("--bootstrap-server", "-b", metavar="HOST:PORT,…", help="Bootstrap brokers of the Kafka cluster."),
    ] = None,
    command_config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A Java client's properties file; passwords stay there.")
    ] = None,
    connect_url: Annotated[
        list[str] | None, typer.Option(metavar="URL", help="A Connect worker's REST address. May be repeated.")
    ] = None,
    group_id: Annotated[
        str | None, typer.Option(metavar="ID", help="The Connect cluster: its workers' group.id.")
    ] = None,
    worker_config: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="A worker's properties file. May be repeated.")
    ] = None,
    cluster_id: Annotated[
        str | None, typer.Option(metavar="ID", help="The ID of the only Kafka cluster that eosctl may change.")
    ] = None,
    protected: Annotated[
        bool, typer.Option("--protected", help="Accept --yes only together with --profile NAME.")
    ] = False,
    update: Annotated[bool, typer.Option("--update", help="Change the given settings of an existing profile.")] = False,
) -> None:
    """Name a cluster: write a profile into your file of profiles.

    Use it once for each cluster; afterwards you can omit the cluster's options. It connects to nothing; `eosctl profile
    check` does. No other line of the file changes, and paths become absolute. It takes no passwords: keep these in the
    file that --command-config names.

    Examples:
      eosctl profile add staging -b broker:9092 --connect-url http://worker:8083 --group-id connect-cluster
      eosctl profile add production -b broker:9093 --command-config client.properties --protected
      eosctl profile add staging -b broker-2:9092 --update
    """

    given = {
        "bootstrap-server": bootstrap_server,
        "command-config": command_config,
        "connect-url": connect_url,
        "group-id": group_id,
        "worker-config": worker_config,
        "cluster-id": cluster_id,
        "protected": protected or None,
    }
    added = add_profile(name, {key: value for key, value in given.items() if value}, update=update)
    options.console.result(f"profile {name} is in {added.origin}")
    word = shell_word(name)
    options.console.narrate(f"next: eosctl profile check --profile {word}")
    options.console.narrate(f"to use it by default: eosctl profile use {word}")


@app.command("list")
@showing(PROFILES)
@printing
def list_(options: GlobalOptions) -> None:
    """List the profiles.

    Use it to see which clusters are named, and which one is in use.

    Examples:
      eosctl profile list
    """

    known = known_profiles()
    for each in known.unused:
        options.console.warn(each)
    options.console.result(view_profiles(known))
    if not known.profiles:
        options.console.narrate(how_to_name_a_cluster())


@app.command("use")
@printing
def use(options: GlobalOptions, name: Annotated[str, typer.Argument(metavar="NAME", help="The profile.")]) -> None:
    """Choose the profile that is used by default.

    Use it to work with one cluster for a while. It writes `current` into the user's file and changes no other line.

    Examples:
      eosctl profile use staging
    """

    options.console.result(f"profile {name} is in use ({use_profile(name)})")


@app.command("show")
@printing
def show(options: GlobalOptions, name: Annotated[str, typer.Argument(metavar="NAME", help="The profile.")]) -> None:
    """Show one profile.

    Use it to see the settings behind a name. Client properties are shown by name, without their values.

    Examples:
      eosctl profile show staging -o yaml
    """

    chosen = chosen_profile(name).profile
    assert chosen is not None
    options.console.result(view_profile(chosen))


@app.command("explain")
@showing(SETTINGS)
@connecting
def explain_(options: GlobalOptions) -> int:
    """Show each setting of a connection, and where it comes from.

    Use it when a command connects to a cluster, or as a principal, that you did not expect. It connects to nothing. The
    first of these wins: option, -X, EOSCTL_ variable, profile, default. Secrets are hidden.

    Examples:
      eosctl profile explain --profile staging
      eosctl profile explain -b broker:9092 --command-config client.properties
    """

    with Session(options) as session:
        return answer(options, effective_settings(session), view_settings)


@app.command("check")
@showing(STEPS)
@connecting
def check(options: GlobalOptions) -> int:
    """Connect with every client, and report which step fails.

    Use it first when something cannot connect. It resolves the names, connects, makes the TLS handshake, authenticates
    with both Kafka clients, lists the principal's permissions, and asks the Connect workers. It exits with 1 if a step
    failed.

    Examples:
      eosctl profile check --profile staging
      eosctl profile check -b broker:9093 --command-config client.properties
    """

    with Session(options) as session:
        return answer(options, check_connection(session), view_connection_check)


@app.command("trust")
@showing(PROFILES)
@printing
def trust(options: GlobalOptions, file: ProjectFile = None) -> None:
    """Trust the profiles of a project's file as it is now.

    Use it after you have read the file: its author decides where commands in that directory connect to. The trust ends
    when the file, or a file of client properties that it names, changes. Files that others can change are refused, and
    so are references to config providers in them. A project's file adds profiles and replaces none. It prints the
    file's profiles.

    Examples:
      eosctl profile trust
      eosctl profile trust .eosctl.yaml
    """

    path, profiles = trust_project_file(file)
    options.console.result(view_profiles(profiles))
    options.console.narrate(f"{path} is trusted until it changes; `eosctl profile distrust` undoes that")


@app.command("distrust")
@printing
def distrust(options: GlobalOptions, file: ProjectFile = None) -> None:
    """Stop using the profiles of a project's file.

    Use it when you have finished with a project. Profiles of your own are left as they are.

    Examples:
      eosctl profile distrust
    """

    options.console.result(f"{distrust_project_file(file)} is not trusted")

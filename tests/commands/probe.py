"""A command that shows everything the boundary and the options do; `python probe.py …` is an eosctl with only it."""

import sys
import time
from typing import Annotated

import typer

from eosctl import cli, errors
from eosctl.cli import Entry
from eosctl.commands.options import ConfigTopic, WorkerConfig, WorkerOffsetsTopic
from eosctl.render.document import Column, Document, Fields, Table, figure
from eosctl.shell.options import GlobalOptions, printing, reading, writing

app = typer.Typer()
ENTRIES = (Entry("probe", "Show what was given.", module="probe"),)


@app.callback()
def probe() -> None:
    """Show what was given."""


@app.command()
@reading
def show(
    options: GlobalOptions,
    connectors: Annotated[list[str] | None, typer.Argument(metavar="CONNECTOR")] = None,
    found: Annotated[bool, typer.Option("--found", help="End as one that found something.")] = False,
) -> int:
    """Show the options.

    Needed where a test asks what a command gets.

    Examples:
      eosctl probe show orders

    Columns:
      CONNECTOR  as given
      LENGTH     of its name
    """
    options.console.narrate("reading")
    options.console.narrate("reading in detail", verbosity=1)
    options.console.warn("a warning")
    connectors = connectors or []
    document = Document(
        kind="probe",
        data={
            "connectors": [{"name": name, "length": len(name)} for name in connectors],
            "bootstrap_servers": options.bootstrap_servers,
            "properties": options.properties,
            "connect_urls": options.connect_urls,
            "group_id": options.group_id,
            "timeout_s": options.timeout_s,
            "snapshot": None if options.snapshot is None else str(options.snapshot),
            "verbosity": options.console.verbosity,
        },
        blocks=(
            Table("connectors", (Column("CONNECTOR", "name"), figure("LENGTH", "length"))),
            Fields((Column("BROKERS", "bootstrap_servers"),), title="Given"),
        ),
        prose=(f"{len(connectors)} connectors were given",),
    )
    options.console.result(document)
    return 1 if found else 0


@app.command()
@reading
def places(
    options: GlobalOptions,
    config_topic: ConfigTopic = "connect-configs",
    worker_offsets_topic: WorkerOffsetsTopic = None,
    store: Annotated[str | None, typer.Option(metavar="URL")] = None,
) -> None:
    """Show where things are.

    Needed where a test asks what a worker's file and a profile give.

    Examples:
      eosctl probe places
    """
    options.console.result(
        Document(
            "places",
            {
                "group_id": options.group_id,
                "config_topic": config_topic,
                "worker_offsets_topic": worker_offsets_topic,
                "store": store,
                "worker_configs": [path.name for path in options.worker_configs],
            },
        )
    )


@app.command("own-file")
@reading
def own_file(options: GlobalOptions, worker_config: WorkerConfig = None) -> None:
    """Show the one file that the command takes itself.

    Needed where a test asks whether its own option wins over the shared one.

    Examples:
      eosctl probe own-file
    """
    options.console.result(Document("file", {"file": None if worker_config is None else worker_config.name}))


@app.command()
@printing
def fail(options: GlobalOptions, how: str) -> None:
    """Fail in a named way.

    Needed where a test asks what a failure leaves.

    Examples:
      eosctl probe fail Refused
    """
    if how == "answered":
        options.console.result("done")
        raise errors.PartlyApplied("1 of 2 steps was applied")
    if how == "bug":
        raise KeyError("hunter2")
    if how == "socket":
        raise BrokenPipeError
    if how == "interrupt":
        raise KeyboardInterrupt
    if how == "denied":
        raise errors.NotAuthorized(principal="User:tool", operation="WRITE", resource="topic orders", hint="ask for it")
    raise getattr(errors, how)(f"{how} happened", hint="try again")


@app.command()
@writing
def change(options: GlobalOptions) -> int:
    """Change something after asking.

    Needed where a test asks how a command asks.

    Examples:
      eosctl probe change --yes
    """
    if options.dry_run:
        options.console.result("would change")
        return 0
    options.console.confirm("Change it?", yes=options.yes)
    options.console.result("changed")
    return 0


@app.command()
@printing
def endless(options: GlobalOptions) -> None:
    """Say that it began, then wait to be interrupted.

    Needed where a test sends a signal.

    Examples:
      eosctl probe endless
    """
    options.console.narrate("began")
    while True:
        time.sleep(60)


@app.command()
@printing
def rows(options: GlobalOptions, count: int) -> int:
    """Answer with many rows, and that something was found.

    Needed where a test closes the pipe early.

    Examples:
      eosctl probe rows 100000
    """
    data = {"rows": [{"number": number} for number in range(count)]}
    options.console.result(Document("rows", data, blocks=(Table("rows", (figure("NUMBER", "number"),)),)))
    return 1


if __name__ == "__main__":
    sys.modules["probe"] = sys.modules["__main__"]
    cli.COMMANDS = ENTRIES
    cli.main()

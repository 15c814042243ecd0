"""`eosctl snapshot`: keep what the reading commands read."""

from pathlib import Path
from typing import Annotated

import typer

from eosctl.commands.options import ConfigTopic, Overwrite, WorkerConfig, WorkerOffsetsTopic
from eosctl.operations.session import Session
from eosctl.render.answers.files import SECTIONS, view_snapshot
from eosctl.shell.options import GlobalOptions, answer, connecting, printing, showing

app = typer.Typer()

File = Annotated[Path, typer.Argument(metavar="FILE", help="The snapshot file.")]


@app.callback()
def snapshot() -> None:
    """Save the facts that the reading commands need in a file.

    Use it to look at a cluster offline: for a support case, to compare before and after, or to let a person without
    access inspect it. Secrets are never in the file.
    """


@app.command()
@showing(SECTIONS)
@connecting
def save(
    options: GlobalOptions,
    file: File,
    config_topic: ConfigTopic = "connect-configs",
    worker_offsets_topic: WorkerOffsetsTopic = None,
    worker_config: WorkerConfig = None,
    overwrite: Overwrite = False,
) -> int:
    """Save everything that the reading commands need in one file.

    Use it before a change, or to inspect the cluster elsewhere. Facts that cannot be read are listed in the file with
    the reason. Session keys and property values that may be secrets are not written. A file of an earlier time is not
    overwritten without --overwrite.

    Examples:
      eosctl snapshot save monday.snapshot -b broker:9092 --group-id connect-cluster
      eosctl snapshot save monday.snapshot -b broker:9092 --connect-url http://worker:8083
    """
    from eosctl.operations.snapshot import SnapshotRequest, save_snapshot

    request = SnapshotRequest(file, config_topic, worker_offsets_topic, worker_config, overwrite)
    with Session(options) as session:
        return answer(options, save_snapshot(session, request), view_snapshot)


@app.command()
@showing(SECTIONS)
@printing
def show(options: GlobalOptions, file: File) -> int:
    """Show the contents of a snapshot file.

    Use it to see when a snapshot was taken, of which cluster, and what could not be read then.

    Examples:
      eosctl snapshot show monday.snapshot
      eosctl snapshot show monday.snapshot -o json
    """
    from eosctl.operations.snapshot import show_snapshot

    return answer(options, show_snapshot(file), view_snapshot)

"""`eosctl snapshot`: keep what the reading commands read."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from eosctl.commands.connect_options import ConfigTopic, WorkerConfig, WorkerOffsetsTopic
from eosctl.shell.options import GlobalOptions, connecting, printing

app = typer.Typer()

File = Annotated[Path, typer.Argument(metavar="FILE", help="The snapshot file.")]


@app.callback()
def snapshot() -> None:
    """Save what the other commands read, and read it again later.

    Use it to look at a cluster without being connected to it: for a support case, to compare before and after, or to
    let somebody look who may not touch the cluster. Secrets are never in the file.
    """


@app.command()
@connecting
def save(
    options: GlobalOptions,
    file: File,
    config_topic: ConfigTopic = "connect-configs",
    worker_offsets_topic: WorkerOffsetsTopic = None,
    worker_config: WorkerConfig = None,
) -> None:
    """Write everything that the reading commands need into one file.

    Use it before a change, or where the answer has to be looked at elsewhere. What cannot be read is noted in the file
    with the reason. Session keys and property values that may be secrets are not written.

    Examples:
      eosctl snapshot save monday.snapshot -b broker:9092 --group-id connect-cluster
      eosctl snapshot save monday.snapshot -b broker:9092 --connect-url http://worker:8083

    Columns:
      SECTION  what was read
      SEEN     how much of it, or why it was not read
    """
    from eosctl.codecs.snapshot import encode_snapshot
    from eosctl.executors.snapshot_file import write_snapshot_file
    from eosctl.model.skipped import or_skipped
    from eosctl.operations.evidence.read import read_cluster_evidence
    from eosctl.operations.evidence.request import EvidenceRequest
    from eosctl.operations.offset_stores import OffsetsRequest
    from eosctl.operations.offsets import read_offsets_facts
    from eosctl.operations.session import Session
    from eosctl.operations.snapshot import read_everything
    from eosctl.render.views.snapshot import view_snapshot
    from eosctl.sources.snapshot_file import read_snapshot_file

    worker_files = () if worker_config is None else (worker_config,)
    request = OffsetsRequest(
        config_topic=config_topic, worker_offsets_topic=worker_offsets_topic, worker_config=worker_config
    )
    with Session(options) as session:
        read = read_everything(session, config_topic, lambda: read_offsets_facts(session.reader, request))
        asked = EvidenceRequest({"config": config_topic, "offsets": worker_offsets_topic}, worker_files)
        snapshot_ = replace(read, evidence=or_skipped(lambda: read_cluster_evidence(session, asked, read.transactions)))
        write_snapshot_file(file, encode_snapshot(snapshot_))
        options.console.result(view_snapshot(read_snapshot_file(file), str(file)))


@app.command()
@printing
def show(options: GlobalOptions, file: File) -> None:
    """Say what a snapshot file holds.

    Use it to see when a snapshot was taken, of which cluster, and what could not be read then.

    Examples:
      eosctl snapshot show monday.snapshot
      eosctl snapshot show monday.snapshot -o json

    Columns:
      SECTION  what was read
      SEEN     how much of it, or why it was not read
    """
    from eosctl.render.views.snapshot import view_snapshot
    from eosctl.sources.snapshot_file import read_snapshot_file

    options.console.result(view_snapshot(read_snapshot_file(file), str(file)))

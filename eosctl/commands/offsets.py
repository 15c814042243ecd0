"""`eosctl offsets`: where source connectors are, and where they will begin."""

from typing import TYPE_CHECKING

import typer

from eosctl.commands.connect_options import ConfigTopic, WorkerOffsetsTopic
from eosctl.commands.offsets_options import (
    CreateKeys,
    ExportTarget,
    FirstOffsets,
    OffsetsTopic,
    RestoredConnector,
    RestoredFile,
    SecondOffsets,
    StoreName,
    Tombstones,
    about_offsets,
)
from eosctl.commands.plan_options import PlanFile, ResumeAfter, StopFirst
from eosctl.model.exported_offsets import Store
from eosctl.shell import answering
from eosctl.shell.options import GlobalOptions, reading, writing

if TYPE_CHECKING:
    from eosctl.operations.offsets_reading import OffsetsRequest

app = typer.Typer()


@app.callback()
def offsets() -> None:
    """Show where source connectors are and where they will begin, keep it, and compare.

    Use it before and after anything that touches offsets: an offsets topic of a connector's own, a rename, a move to
    another group or cluster, a change of exactly.once.source.support. Only restore writes to Kafka.
    """


@app.command()
@reading
@about_offsets
def show(
    options: GlobalOptions,
    request: "OffsetsRequest",
    tombstones: Tombstones = False,
) -> int:
    """Show every source offset: in each store, the one Kafka will use, and the one KIP-618 promises.

    Use it before a connector starts again, and above all after giving it an offsets topic of its own: Kafka does not
    look into the worker's topic then, whatever KIP-618 says. Connectors that no longer exist are shown too. Connectors
    and their configs come from --connect-url, else from the config topic; no worker has to run.

    Examples:
      eosctl offsets show -b broker:9092 --connect-url http://worker:8083
      eosctl offsets show -b broker:9092 --connector orders --exactly-once enabled
      eosctl offsets show -b broker:9092 --connector orders --offsets-topic orders-offsets

    Columns:
      CONNECTOR      the connector's name, as the key has it
      PARTITION      the source partition
      WORKER-GLOBAL  the offset in the worker's topic
      OWN            the offset in the connector's own topic
      KAFKA-USES     the offset that the next start begins from; - from nothing; unknown if that cannot be told
      KIP-618        the offset that KIP-618 promises
      PROVENANCE     where the one that Kafka uses comes from, or why there is none
      EXISTS         no if only offsets are left of the connector
      OFFSETS        source partitions with an offset
      STORES         which of Kafka's rules decides where its offsets are
    """
    from eosctl.operations.offsets import show_offsets
    from eosctl.operations.session import Session

    with Session(options) as session:
        answer = show_offsets(session, request, tombstones=tombstones)
        options.console.result(answer.document)
        return answer.exit_code


@app.command()
@reading
@about_offsets
def export(
    options: GlobalOptions,
    request: "OffsetsRequest",
    target: ExportTarget,
    store: StoreName = Store.KAFKA_EFFECTIVE,
) -> int:
    """Write offsets to files that Connect's REST interface takes, a file for each connector.

    Use it to keep offsets before a change, or to carry them elsewhere. Each file is the body of KIP-875, as
    GET /connectors/NAME/offsets answers and PATCH takes it. With one --connector the target is a file; else a directory
    of files named after the connectors. What cannot be expressed there is listed, and the exit code is 1.

    Examples:
      eosctl offsets export orders.json -b broker:9092 --connector orders
      eosctl offsets export before/ -b broker:9092 --connect-url http://worker:8083
      eosctl offsets export own.json -b broker:9092 --connector orders --store connector-specific

    Columns:
      CONNECTOR  the connector's name
      OFFSETS    source partitions written
      FILE       the file
      LEFT-OUT   a key that is not in the file, and why
    """
    from eosctl.operations.offsets_export import export_offsets
    from eosctl.operations.session import Session

    with Session(options) as session:
        answer = export_offsets(session, request, target, store)
        options.console.result(answer.document)
        return answer.exit_code


@app.command()
@reading
@about_offsets
def diff(
    options: GlobalOptions,
    request: "OffsetsRequest",
    a: FirstOffsets,
    b: SecondOffsets,
    store: StoreName = Store.KAFKA_EFFECTIVE,
) -> int:
    """Compare offsets: the cluster now, a snapshot, or files that were exported.

    Use it to see what a change did, or whether two clusters stand at the same place. The exit code is 1 if anything
    differs. An export file is of the connector that it is named after, or of the one --connector.

    Examples:
      eosctl offsets diff before/ live -b broker:9092
      eosctl offsets diff monday.snapshot tuesday.snapshot
      eosctl offsets diff orders.json live -b broker:9092 --connector orders

    Columns:
      CONNECTOR  the connector's name
      PARTITION  the source partition
      CHANGE     only-in-a, only-in-b, different, or unknown if one of them cannot be told
      A          its offset in A
      B          its offset in B
    """
    from eosctl.operations.offsets_export import diff_offsets
    from eosctl.operations.session import Session

    with Session(options) as session:
        answer = diff_offsets(session, request, a, b, store)
        options.console.result(answer.document)
        return answer.exit_code


@app.command()
@writing
def restore(
    options: GlobalOptions,
    file: RestoredFile,
    connector: RestoredConnector,
    stop: StopFirst = False,
    resume: ResumeAfter = False,
    create_keys: CreateKeys = False,
    offsets_topic: OffsetsTopic = None,
    worker_offsets_topic: WorkerOffsetsTopic = None,
    plan_file: PlanFile = None,
    config_topic: ConfigTopic = "connect-configs",
) -> int:
    """Put a connector's offsets back to those of an export file.

    Use it to go back to a position that was exported before, or to set one by hand. Source partitions are found by
    what they say, and the bytes of their keys in the topic are written again. An offset of null deletes; partitions
    that the file does not name keep theirs. A partition that the topic lacks is written if the order of its members is
    known, from the connector's other keys, or else, with --create-keys, from the file. As with migrate-offsets the
    connector must be STOPPED, nothing may have changed meanwhile, all is written in one transaction, and there is an
    undo file.

    Examples:
      eosctl offsets restore orders.json --connector orders -b broker:9092 --group-id connect-cluster --dry-run
      eosctl offsets restore orders.json --connector orders -b broker:9092 --group-id connect-cluster --stop --resume \
--connect-url http://worker:8083
    """
    from eosctl.operations import restore as operation
    from eosctl.operations.session import Session
    from eosctl.operations.two_clusters import SourceAndTarget, TargetOptions
    from eosctl.render.views.plan import view_plan, view_plan_answer

    request = operation.RestoreOptions(
        file, connector, stop, resume, offsets_topic, worker_offsets_topic or "connect-offsets", plan_file, create_keys
    )
    with Session(options) as session, SourceAndTarget(session, config_topic, TargetOptions()) as clusters:
        restored = operation.restore(session, clusters, request, answering.previewing(options, view_plan))
        return answering.answer(options, restored, view_plan_answer)

"""`eosctl mirror audit`: does the target hold what the source committed, once and in order?"""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from eosctl.commands.options import (
    ConnectorNames,
    Engine,
    EngineName,
    Evidence,
    ExecutorProperties,
    JobName,
    LedgerStore,
    OverwriteEvidence,
    Processes,
    SignKey,
    SparkMaster,
    SparkRemote,
)
from eosctl.model.audit import SparkOptions
from eosctl.model.records import IsolationLevel
from eosctl.operations.session import Session
from eosctl.render.answers.audit import WITNESS
from eosctl.render.answers.mirror import GROUPS, PAIRS, view_mirror
from eosctl.render.formats import json_of
from eosctl.shell.options import GlobalOptions, answer, gating, showing

app = typer.Typer()

SourceServers: TypeAlias = Annotated[
    str | None,
    typer.Option("--source-bootstrap-server", metavar="HOST:PORT,…", help="Brokers of the source cluster."),
]
SourceConfig: TypeAlias = Annotated[
    Path | None,
    typer.Option("--source-command-config", metavar="FILE", help="Client properties for the source cluster."),
]
SourceTopics: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(metavar="TOPIC", help="A topic of the source. May be repeated. [default: all that are mirrored]"),
]
Alias: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="source.cluster.alias: target topics are called NAME.TOPIC."),
]
Separator: TypeAlias = Annotated[
    str, typer.Option(metavar="TEXT", help="replication.policy.separator, between the alias and the topic.")
]
SameNames: TypeAlias = Annotated[
    bool, typer.Option("--same-names", help="Topics have the same names on both sides (IdentityReplicationPolicy).")
]
MappingFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help='Source topics to target topics, as JSON: {"orders": "eu-orders"}.'),
]
OffsetsTopics: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TOPIC",
        envvar="EOSCTL_OFFSETS_TOPIC",
        help="The offsets topic of the mirror's workers, in the target cluster. May be repeated.",
    ),
]
CheckpointsTopics: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TOPIC",
        help="Compare the checkpoints of consumer groups in it, such as eu.checkpoints.internal. May be repeated.",
    ),
]
Isolation: TypeAlias = Annotated[
    IsolationLevel | None,
    typer.Option(
        metavar="|".join(IsolationLevel),
        help="The isolation level of the mirror's consumer. [default: from the connector's config]",
    ),
]
SourceExecutorProperties: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Client properties of the source where Spark's executors find them: a file, or env:NAME.",
    ),
]


@app.command()
@showing(PAIRS, WITNESS, GROUPS)
@gating
def audit(
    options: GlobalOptions,
    source_bootstrap_server: SourceServers = None,
    source_command_config: SourceConfig = None,
    topic: SourceTopics = None,
    alias: Alias = None,
    separator: Separator = ".",
    same_names: SameNames = False,
    mapping: MappingFile = None,
    connector: ConnectorNames = None,
    offsets_topic: OffsetsTopics = None,
    checkpoints_topic: CheckpointsTopics = None,
    isolation: Isolation = None,
    engine: Engine = EngineName.LOCAL,
    processes: Processes = None,
    master: SparkMaster = None,
    remote: SparkRemote = None,
    executor_properties: ExecutorProperties = None,
    source_executor_properties: SourceExecutorProperties = None,
    store: LedgerStore = None,
    job: JobName = "mirror",
    evidence: Evidence = None,
    sign_key: SignKey = None,
    overwrite: OverwriteEvidence = False,
) -> int:
    """Compare each mirrored partition with its source, record by record.

    Use it after a mirror was restarted, moved or behind, and before consumers move to the target. Every committed
    source record, from the first mirrored one to the last, must be in the target once and in order; every difference is
    listed with source offsets, target offsets and time. -b is the target. Nothing is written to either cluster. The
    mirror may keep running: records that it copies during the audit count as lag. With --store each run continues where
    the last run of its job ended. Needs Read on the topics of both sides.

    Examples:
      eosctl mirror audit -b target:9092 --source-bootstrap-server source:9092 --alias eu \
--offsets-topic connect-offsets
      eosctl mirror audit -b target:9092 --source-bootstrap-server source:9092 --source-command-config eu.properties \
--same-names --topic orders
      eosctl mirror audit -b target:9092 --source-bootstrap-server source:9092 --mapping topics.json
      eosctl mirror audit -b target:9092 --source-bootstrap-server source:9092 --alias eu \
--store sqlite:////var/lib/eosctl/audit.db
      eosctl mirror audit -b target:9092 --source-bootstrap-server source:9092 --alias eu --engine spark \
--master local[4]
    """
    from eosctl.operations import audit_request, mirror

    asked = audit_request.MirrorRequest(
        source_servers=source_bootstrap_server,
        source_config=source_command_config,
        topics=tuple(topic or ()),
        alias=alias,
        separator=separator,
        same_names=same_names,
        mapping=mapping,
        offsets_topics=tuple(offsets_topic or ()),
        checkpoints_topics=tuple(checkpoints_topic or ()),
        connectors=tuple(connector or ()),
        isolation=isolation,
        engine=engine.value,
        processes=processes,
        spark=SparkOptions(master, remote, executor_properties, source_executor_properties),
        store=store,
        job=job,
        evidence=audit_request.evidence_request(evidence, sign_key, overwrite=overwrite),
    )
    with Session(options) as session:
        report = mirror.audit_mirror(session, asked, lambda found: json_of(view_mirror(found), found))
        return answer(options, report, view_mirror)

"""`eosctl doctor`: all rules on what there is now."""

import typer

from eosctl.commands.evidence_options import (
    ConfigTopicName,
    OffsetsTopicName,
    Preflight,
    Principals,
    PrometheusFile,
    StatusTopicName,
    SuperUsers,
    WorkerConfigs,
    principals_by_role,
)
from eosctl.errors import EXIT_FINE, EXIT_FOUND
from eosctl.shell.options import GlobalOptions, reading

app = typer.Typer()


@app.command()
@reading
def doctor(
    options: GlobalOptions,
    config_topic: ConfigTopicName = None,
    worker_offsets_topic: OffsetsTopicName = None,
    status_topic: StatusTopicName = None,
    worker_config: WorkerConfigs = None,
    principal: Principals = None,
    super_user: SuperUsers = None,
    preflight: Preflight = True,
    prometheus: PrometheusFile = None,
) -> int:
    """Ask every rule whether exactly-once holds here, and will.

    Use it after every change of workers, brokers or connectors, and from cron: it ends with 1 where a rule finds an
    error or a warning. Each finding has a stable ID, its cause in docs/rules.md, and commands that mend it. A rule
    whose facts could not be read says that it cannot tell, and why; it never says that all is fine. Nothing is written.

    Name every worker with --connect-url. Workers do not tell their settings: give their files with --worker-config too.

    Examples:
      eosctl doctor -b broker:9092 --group-id connect-cluster --connect-url http://worker:8083
      eosctl doctor -b broker:9092 --connect-url http://worker:8083 --worker-config worker.properties -o json
      eosctl doctor --snapshot monday.snapshot
      eosctl doctor -b broker:9092 --connect-url http://worker:8083 -q --prometheus eosctl.prom

    Columns:
      WORKER        the worker's REST address
      VERSION       its Kafka version; - if it does not answer
      EXACTLY-ONCE  enabled, not enabled (disabled or preparing), or unknown
      RULE          the rule that cannot tell, or not all
      QUESTION      what it asks
      REASON        what could not be read
    """
    from eosctl.analysis.rules.registry import diagnose
    from eosctl.executors.snapshot_file import write_snapshot_file
    from eosctl.operations.evidence.read import read_evidence
    from eosctl.operations.evidence.request import EvidenceRequest
    from eosctl.operations.session import Session
    from eosctl.render.views.diagnosis import prometheus_lines, view_diagnosis

    topics = {"config": config_topic, "offsets": worker_offsets_topic, "status": status_topic}
    files = tuple(worker_config or ())
    request = EvidenceRequest(topics, files, preflight, principals_by_role(principal), tuple(super_user or ()))
    with Session(options) as session:
        evidence = read_evidence(session, request)
        diagnosis = diagnose(evidence)
        if prometheus is not None:
            write_snapshot_file(prometheus, prometheus_lines(diagnosis, evidence))
        options.console.result(view_diagnosis(diagnosis, evidence))
        return EXIT_FOUND if diagnosis.verdict == "found" else EXIT_FINE

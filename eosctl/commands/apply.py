"""`eosctl apply` and `undo`: carry out a plan that was made before, and roll it back."""

from pathlib import Path
from typing import Annotated

import typer

from eosctl.commands.plan_options import (
    ManagedBy,
    PlannedConfigTopic,
    RequireDigest,
    ToBootstrapServer,
    ToCommandConfig,
    ToConfigTopic,
    ToConnectUrl,
    operator_of,
)
from eosctl.errors import UsageError
from eosctl.operations.two_clusters import TargetOptions
from eosctl.render.answers.plan import CHECKS, OFFSETS, RESULTS, STEPS, view_plan, view_plan_answer
from eosctl.shell.options import GlobalOptions, answer, previewing, showing, writing

app = typer.Typer()


@app.command()
@showing(STEPS, CHECKS, RESULTS, OFFSETS)
@writing
def apply(
    options: GlobalOptions,
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="The plan file.")],
    to_bootstrap_server: ToBootstrapServer = None,
    to_command_config: ToCommandConfig = None,
    to_connect_url: ToConnectUrl = None,
    to_config_topic: ToConfigTopic = None,
    config_topic: PlannedConfigTopic = None,
    require_digest: RequireDigest = None,
    managed_by: ManagedBy = None,
) -> int:
    """Apply a plan file; refuse if the cluster has changed.

    Use it when one person plans and another applies, and after an interruption: it skips finished steps and completes a
    started step. Before anything is changed, the facts of the plan are read again; if they differ, the plan is refused.
    PLAN.journal lists the finished steps; PLAN.undo rolls them back. An edited plan is refused, and so is a plan
    without the preconditions of its steps. --dry-run makes the same checks as a run, and exits with 8 if the run would
    be refused. --require-digest takes the digest from a preview, so that only the reviewed plan is applied. Brokers,
    workers and topics come from the plan unless options say otherwise; identities and secrets come from you. eosctl
    asks before it writes to addresses that only the plan names. With --yes, give these addresses.

    Examples:
      eosctl apply orders.plan
      eosctl apply orders.plan -b broker:9092 --connect-url http://worker:8083 --yes -o json
      eosctl apply orders.plan --dry-run
    """
    from eosctl.operations import plan_files, plan_flow

    target = TargetOptions(to_bootstrap_server, to_command_config, tuple(to_connect_url or ()), to_config_topic)
    read = plan_files.read_plan(plan, require_digest)
    with plan_files.PlanPlaces(options, read, config_topic, target) as (session, clusters):
        operator = operator_of(options, managed_by)
        outcome = plan_flow.apply_file(session, clusters, read, previewing(options, view_plan), operator)
        return answer(options, outcome, view_plan_answer)


@app.command()
@showing(STEPS, CHECKS, OFFSETS, RESULTS)
@writing
def undo(
    options: GlobalOptions,
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="The undo file, PLAN.undo.", show_default=False)
    ] = None,
    last: Annotated[
        bool, typer.Option("--last", help="The undo file of the newest saved plan that eosctl has applied.")
    ] = False,
    to_bootstrap_server: ToBootstrapServer = None,
    to_command_config: ToCommandConfig = None,
    to_connect_url: ToConnectUrl = None,
    to_config_topic: ToConfigTopic = None,
    config_topic: PlannedConfigTopic = None,
    require_digest: RequireDigest = None,
    managed_by: ManagedBy = None,
) -> int:
    """Roll back an applied plan.

    Use it when a move was a mistake and the connector has committed no offsets since. Offsets that a connector has
    committed after the plan are never overwritten: the undo is refused then, because going back would repeat records.
    Steps that were not applied are skipped. --dry-run shows whether it would be refused now. A connector that was
    STOPPED before stays STOPPED, and the last step says how to resume it; one that was PAUSED is PAUSED again. Brokers,
    workers and topics come from the plan unless options say otherwise; with --yes, give their addresses. An undo is a
    plan like any other, with a journal and an undo file of its own.

    Examples:
      eosctl undo orders.plan.undo
      eosctl undo orders.plan.undo -b broker:9092 --dry-run
    """
    from eosctl.operations import plan_files, plan_flow

    target = TargetOptions(to_bootstrap_server, to_command_config, tuple(to_connect_url or ()), to_config_topic)
    if (file is None) is not last:
        raise UsageError("name the undo file, or give --last", hint="`eosctl plans list` shows which there are")
    if file is None:
        file = plan_files.last_undo_file()
        options.console.narrate(f"the undo file is {file}")
    read = plan_files.read_plan(file, require_digest)
    with plan_files.PlanPlaces(options, read, config_topic, target) as (session, clusters):
        operator = operator_of(options, managed_by)
        outcome = plan_flow.undo_file(session, clusters, read, previewing(options, view_plan), operator)
        return answer(options, outcome, view_plan_answer)

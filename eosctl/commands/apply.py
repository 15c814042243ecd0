"""`eosctl apply`: carry out a plan that was made before."""

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
from eosctl.operations.two_clusters import TargetOptions
from eosctl.render.answers.plan import view_plan, view_plan_answer
from eosctl.shell.options import GlobalOptions, answer, previewing, writing

app = typer.Typer()


@app.command()
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

    Use it where one person plans and another applies, and after an interruption: what is done is not done again, and
    what was begun is finished. Before anything is changed, all that the plan was made from is read again; where it is
    not the same any more, the plan is refused. PLAN.journal keeps what was done, PLAN.undo is the way back. An edited
    plan is refused, and one that lacks what its steps have to check. --dry-run checks everything that a run checks
    first, and ends with 8 where the run would. --require-digest takes the digest that a preview shows, so that what one
    person reviewed is what another applies. Brokers, workers and topics are those of the plan unless options say
    otherwise; identities and secrets are yours to give. Addresses that only the plan names are written to after you
    have agreed to them: with --yes, give them.

    Examples:
      eosctl apply orders.plan
      eosctl apply orders.plan -b broker:9092 --connect-url http://worker:8083 --yes -o json
      eosctl apply orders.plan --dry-run

    Columns:
      STEP       the step's number
      KIND       what kind of step it is
      WHAT       what it does
      STEPS      the steps before which something is checked
      NOW        with --dry-run: ok, fails, later (an earlier step brings it about) or unknown
      CHECKED    what is read again, and must hold
      REASON     why it is not ok
      TOPIC      the topic written to
      PARTITION  the partition of the record
      KEY        connector and source partition
      BEFORE     the offset there now
      AFTER      the offset to write
      OUTCOME    done, done-before (by an earlier run), by-hand, failed or not-begun
      DETAIL     what was seen
    """
    from eosctl.operations import plan_files, plan_flow

    target = TargetOptions(to_bootstrap_server, to_command_config, tuple(to_connect_url or ()), to_config_topic)
    read = plan_files.read_plan(plan, require_digest)
    with plan_files.PlanPlaces(options, read, config_topic, target) as (session, clusters):
        operator = operator_of(options, managed_by)
        outcome = plan_flow.apply_file(session, clusters, read, previewing(options, view_plan), operator)
        return answer(options, outcome, view_plan_answer)

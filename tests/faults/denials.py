"""One operation at a time denied by a real authorizer to a user who may do all else."""

from collections.abc import Iterable
from typing import Final

from eosctl.model.acls import (
    CLUSTER,
    AclBinding,
    Operation,
    Permission,
    ResourcePattern,
    group,
    topic,
    transactional_id,
)
from tests.faults.commands import Answer, Command, run_command
from tests.faults.matrix import Cell, Outcome, judged
from tests.faults.site import CONNECTOR, LIVE, Site
from tests.integration.acl_broker import AclBroker

TOOL: Final = "User:tool"
EVERYTHING: Final = frozenset(
    AclBinding(TOOL, Operation.ALL, pattern) for pattern in (topic("*"), group("*"), transactional_id("*"), CLUSTER)
)
DENIALS: Final[tuple[tuple[ResourcePattern, Operation], ...]] = (
    *((topic("*"), each) for each in (Operation.DESCRIBE, Operation.READ, Operation.DESCRIBE_CONFIGS)),
    (group("*"), Operation.DESCRIBE),
    (transactional_id("*"), Operation.DESCRIBE),
    (transactional_id(LIVE), Operation.DESCRIBE),
    (CLUSTER, Operation.DESCRIBE),
    (CLUSTER, Operation.DESCRIBE_CONFIGS),
    *((topic(name), Operation.DESCRIBE) for name in ("connect-offsets", f"{CONNECTOR}-own", LIVE)),
    *((topic(name), Operation.READ) for name in ("connect-configs", "connect-offsets", "__transaction_state")),
    (topic("__transaction_state"), Operation.DESCRIBE),
)


def run_as_tool(site: Site, command: Command) -> Answer:
    """The command as that user."""
    words = [word.replace("{directory}", str(site.directory)) for word in command.words]
    urls = ("--connect-url", site.sandbox.connect_url(1)) if command.rest else ()
    return run_command((*words, "--command-config", str(site.identity), *urls))


def try_denials(
    site: Site, acls: AclBroker, commands: Iterable[Command], denials: Iterable[tuple[ResourcePattern, Operation]]
) -> list[Cell]:
    """A cell for each command under each denial."""
    wanted = list(commands)
    acls.set(EVERYTHING)
    before = {command: run_as_tool(site, command) for command in wanted}
    cells = []
    for pattern, operation in denials:
        acls.set({*EVERYTHING, AclBinding(TOOL, operation, pattern, Permission.DENY)})
        for command in wanted:
            after = run_as_tool(site, command)
            outcome = judged(before[command], after)
            shown = f"{before[command].exit_code} -> {after.exit_code}" if outcome is Outcome.LIE else ""
            cells.append(Cell(command.name, f"{operation} {pattern}", "denied", outcome, shown))
    return cells

"""Why IDs must not be fenced: somebody has them now, or may."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from eosctl.analysis.connect_requests import restart_tasks
from eosctl.model.connectors import connector_path
from eosctl.model.counts import counted, some
from eosctl.model.fencing import Objection
from eosctl.model.live_owners import LiveOwner, LiveOwners


def object_to_live(
    live: LiveOwners, transactional_ids: Iterable[str], leaders_named: frozenset[str] = frozenset()
) -> Iterator[Objection]:
    """One objection for each connector and each leader that has some of the IDs, and one for each unknown group.

    leaders_named are leaders' IDs that the user wants fenced, knowing whose they are.
    """
    tasks: dict[tuple[str, str], list[LiveOwner]] = {}
    unknown: dict[str, list[str]] = {}
    leaders: list[tuple[str, LiveOwner]] = []
    for each in transactional_ids:
        for owner in live.of_id(each):
            if owner.task is not None:
                tasks.setdefault((owner.group_id, owner.task.connector), []).append(owner)
            elif each not in leaders_named:
                leaders.append((each, owner))
        for group_id in live.unknown_of(each):
            unknown.setdefault(group_id, []).append(each)
    for (group_id, connector), owners in sorted(tasks.items()):
        yield _of_connector(group_id, connector, owners)
    for each, owner in leaders:
        yield Objection(
            f"{each} belongs to the leader of Connect cluster {owner.group_id} ({owner.member}), which is at work",
            "leave the ID out; or fence with --force and change a config there next, so that it claims the ID again",
        )
    yield from _of_unknown(live, unknown)


def _of_connector(group_id: str, connector: str, owners: Sequence[LiveOwner]) -> Objection:
    restart = restart_tasks(connector, [each.task.task for each in owners if each.task is not None])
    what = (
        f"connector {connector} of Connect cluster {group_id} has {counted(len(owners), 'task')} at work "
        f"({some(list(map(_described, owners)))})"
    )
    return Objection(
        f"{what}; their open transactions would be aborted and the tasks would turn FAILED, which Connect does not fix",
        f"stop it first (PUT {connector_path(connector)}/stop), or fence with --force and restart its tasks "
        f"afterwards: {restart}",
        f"{what}; they will turn FAILED: restart them afterwards: {restart}",
    )


def _described(owner: LiveOwner) -> str:
    number = "" if owner.task is None else f"{owner.task.task} "
    return f"task {number}{owner.state or 'of unknown state'} at {owner.member}"


def _of_unknown(live: LiveOwners, unknown: Mapping[str, Sequence[str]]) -> Iterator[Objection]:
    for group_id, ids in sorted(unknown.items()):
        yield Objection(
            f"whether a task of Connect group {group_id} has {some(ids)} is unknown: {live.unknown[group_id].reason}",
            "let the group be described (Describe on it, or on the cluster if there is no such group; its "
            "coordinator up and no rebalance); or, if none of its workers can have these IDs, fence with --force",
        )

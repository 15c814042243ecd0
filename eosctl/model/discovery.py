"""What nobody named and the Kafka cluster shows: the one Connect group on it, and the workers that are its members."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from eosctl.errors import UsageError
from eosctl.model.connect_groups import ConnectGroup
from eosctl.model.counts import some
from eosctl.model.groups import ListedGroup
from eosctl.model.skipped import Cause, Skipped, not_asked
from eosctl.model.workers import place_of

NAME_IT = "name it: --group-id (or set EOSCTL_GROUP_ID)"


def only_connect_group(listed: Mapping[str, ListedGroup], hidden: Skipped | None) -> str | Skipped | None:
    """The Connect group of the Kafka cluster where it has exactly one; None where it has none.

    1. Of several none is chosen: UsageError with all of them. One without members counts: its workers may be stopped.
    2. Where brokers may leave groups out (`hidden`), one that they list may not be the only one: Skipped. It is not
       asked for where the user lacks Describe, because nobody promised that a restricted principal finds groups.
    """
    found = sorted((each for each in listed.values() if each.is_connect), key=lambda each: each.group_id)
    if len(found) > 1:
        names = [each.group_id + (f" ({each.state})" if each.state == "Empty" else "") for each in found]
        raise UsageError(f"the Kafka cluster has {len(found)} Connect groups: {some(names)}", hint=NAME_IT)
    if hidden is None:
        return found[0].group_id if found else None
    what = f"{found[0].group_id} may not be the only Connect group" if found else "there may be Connect groups"
    reason = f"{what}: {hidden.reason}; {NAME_IT}"
    return not_asked(reason) if hidden.cause is Cause.DENIED else Skipped(reason, hidden.cause)


@dataclass(frozen=True, slots=True)
class WorkerTrust:
    """What decides whether a worker is asked whose address only the group names.

    wants names what workers at an address may want to see of the user ("" where nothing), and do not get. opted_in: the
    profile has `discover-workers: true`.
    """

    wants: Callable[[str], str]
    opted_in: bool = False


@dataclass(frozen=True, slots=True)
class FoundWorkers:
    """Workers that only the group names: the addresses that answered, and those that were not asked or did not."""

    reached: tuple[str, ...] = ()
    unread: Mapping[str, Skipped] = field(default_factory=dict)

    @property
    def silent(self) -> Mapping[str, Skipped]:
        """Those that were asked."""
        return {url: each for url, each in self.unread.items() if each.cause.is_gap}


def workers_to_ask(group: ConnectGroup, named: Collection[str], trust: WorkerTrust) -> Mapping[str, Skipped | None]:
    """The members of the group that are not among the named workers: None for one to ask, or why it is not asked.

    The address of a member is the claim of any client that may join the group. So a member is asked without a password
    or certificate. Where the user has one, a member is asked only if the user opted in. By its member ID where it has
    no address.
    """
    known = {place_of(url) for url in named}
    found: dict[str, Skipped | None] = {}
    for member in group.members:
        url = (member.url or "").rstrip("/")
        if not url:
            found[member.member_id] = Skipped(f"the group does not show its address while it is {group.state}")
        elif place_of(url) not in known:
            known.add(place_of(url))
            found[url] = _against(url, trust)
    return found


def _against(url: str, trust: WorkerTrust) -> Skipped | None:
    wanted = "" if trust.opted_in else trust.wants(url)
    if not wanted:
        return None
    return not_asked(f"its address is from the group, and only a named worker gets {wanted}: {name_worker(url)}")


def name_worker(url: str) -> str:
    """What to do so that a discovered worker is asked all."""
    return f"give --connect-url {url}, if it is a worker of yours"

"""Discovery: the Connect group in the list of groups, and its workers by the group's members."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from eosctl.clients import rest
from eosctl.clients.rest_identity import DiscoveredUrl, RestIdentity, WorkerUrl
from eosctl.errors import EosctlError, NotAuthorized, UsageError
from eosctl.model.skipped import Cause, Skipped, not_asked
from eosctl.model.workers import (
    FoundWorkers,
    WorkerFacts,
    WorkerTrust,
    is_loopback,
    name_worker,
    only_connect_group,
    workers_to_ask,
)
from eosctl.sources import connect_rest, kafka_groups

if TYPE_CHECKING:
    from eosctl.clients.request_log import RequestLog
    from eosctl.clients.wire import Wire
    from eosctl.model.client_properties import ClientProperties
    from eosctl.model.groups import ConnectGroup, ListedGroup

    ListedGroups = tuple[Mapping[str, ListedGroup], Skipped | None]


PATIENCE_S: Final = 5.0
"""How long to wait for a discovered worker: its advertised address may lead nowhere from here."""
PARALLEL: Final = 32


def list_groups(wire: Wire) -> ListedGroups:
    """All groups that brokers list, and why some may be missing."""
    hidden = kafka_groups.hidden_groups(wire)
    return kafka_groups.listed_groups(wire), hidden()


class Connections(Protocol):
    """The connections to a live cluster. The wire connects at its first request."""

    @property
    def wire(self) -> Wire:
        """The brokers."""

    @property
    def client_properties(self) -> ClientProperties:
        """Address and identity."""

    @property
    def connect_urls(self) -> tuple[str, ...]:
        """The Connect workers' REST addresses."""

    @property
    def timeout_s(self) -> float:
        """How long one request may take."""

    def now(self) -> int:
        """The clock, in ms since the epoch."""


class Discovery:
    """Looks for the group once, and at each call for its workers. A discovery is reported once."""

    def __init__(
        self,
        connections: Connections,
        say: Callable[[str], None],
        *,
        opted_in: bool,
        requests: RequestLog | None = None,
    ) -> None:
        self._connections, self._say, self._opted_in, self._requests = connections, say, opted_in, requests
        self._group: str | Skipped | EosctlError | None = None
        self._has_asked = False
        self._said: set[str] = set()
        self._reached: tuple[WorkerUrl, ...] = ()

    def close(self) -> None:
        """Ends the connections to the workers that were found last."""
        for each in self._reached:
            each.close()

    def group(self, listed: ListedGroups | None = None) -> str | Skipped | None:
        """The only Connect group; None if there is none, or no broker to query. Raises UsageError for several.

        listed are the groups if they were listed already.
        """
        if not self._has_asked:
            self._has_asked, self._group = True, None
            try:
                self._group = self._find_group(listed)
            except EosctlError as error:
                self._group = error
        if isinstance(self._group, EosctlError):
            raise self._group
        if isinstance(self._group, str):
            self._say_once(f"Connect group {self._group}: the only one of the Kafka cluster (--group-id names another)")
        return self._group

    def look_again(self) -> None:
        """The next call looks again for a group that was not found."""
        self._has_asked = isinstance(self._group, str)

    def _find_group(self, listed: ListedGroups | None) -> str | Skipped | None:
        if not self._connections.client_properties.bootstrap_servers:
            return None
        return only_connect_group(*(listed or list_groups(self._connections.wire)))

    def workers(self, group_id: str, described: ConnectGroup | Skipped | None = None) -> FoundWorkers:
        """The members of the discovered group that answer as workers of this Kafka cluster.

        described is the group as it was read before: it is not read again if it was stable.
        """
        if not self._connections.client_properties.bootstrap_servers:
            return FoundWorkers()
        group = described
        if group is None or isinstance(group, Skipped) or group.state != kafka_groups.STABLE:
            group = kafka_groups.read_connect_groups(self._connections.wire, [group_id])[group_id]
        if isinstance(group, Skipped):
            return FoundWorkers(unlisted={f"of Connect group {group_id}": group})
        wanted = workers_to_ask(group, self._connections.connect_urls, self._trust())
        asked = [url for url, against in wanted.items() if against is None]
        answers = rest.at_once(partial(self._ask, self._connections.wire.cluster_id), asked, PARALLEL)
        facts = {each.url: each for each in answers if isinstance(each, WorkerFacts)}
        self.close()
        self._reached = reached = tuple(url for url in facts if isinstance(url, WorkerUrl))
        unread = {**wanted, **dict(zip(asked, answers, strict=True))}
        if reached:
            self._say_once(f"also read: workers that are members of Connect group {group_id}: {', '.join(reached)}")
        skipped = {url: each for url, each in unread.items() if isinstance(each, Skipped)}
        is_new = group is not described and group.state == kafka_groups.STABLE
        return FoundWorkers(reached, skipped, facts=facts, groups={group_id: group} if is_new else {})

    def _trust(self) -> WorkerTrust:
        properties = self._connections.client_properties
        own = RestIdentity(properties)
        named = [url.identity for url in self._connections.connect_urls if isinstance(url, WorkerUrl)]

        def wants(url: str) -> str:
            if own.basic_auth is not None or any(each.basic_auth is not None for each in named):
                return "a password"
            return "" if own.is_anonymous or url.lower().startswith("http:") else "a certificate"

        return WorkerTrust(wants, self._opted_in)

    def _ask(self, cluster_id: str, address: str) -> WorkerFacts | Skipped:
        here = all(map(is_loopback, self._connections.client_properties.bootstrap_servers))
        try:
            url = DiscoveredUrl.of(address, lambda: self._connections.client_properties, self._requests, is_here=here)
            url.keep_connections()
            facts = connect_rest.read_worker(url, min(PATIENCE_S, self._connections.timeout_s))
        except UsageError as error:
            return Skipped(error.message, Cause.UNDECODABLE)
        except rest.InternalAddress as error:
            return not_asked(error.message)
        except NotAuthorized as error:
            return not_asked(f"{error.message}; {name_worker(address)}") if self._opted_in else Skipped.of(error)
        except EosctlError as error:
            return Skipped.of(error)
        if facts.kafka_cluster_id != cluster_id:
            url.close()
            return Skipped(f"who answers there is a worker of Kafka cluster {facts.kafka_cluster_id}, not the member")
        return facts

    def _say_once(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            self._say(text)

"""Requests and commands for fixes: they can be pasted with any connector name.

A restart of a connector with its tasks (`/restart?includeTasks=true`, KIP-745) is no fix here. The leader writes such a
request without initializing its ID again after it expired or was fenced: it refuses the request and, from then on,
every change, until the worker is restarted. Kafka keeps no record of a restart of one task.
"""

import shlex
from collections.abc import Collection, Iterable, Iterator
from itertools import groupby
from typing import Final

from msgspec import Struct

from eosctl.late_pattern import late_pattern
from eosctl.model.report import ANY_BROKER
from eosctl.model.versions import NEWEST, KafkaVersion
from eosctl.model.workers import connector_path

SHOWN: Final = 10
RESTARTS_ON_ANY_CHANGE: Final = KafkaVersion(3, 7, 1)


def restart_tasks(connector: str, tasks: Iterable[int]) -> str:
    """The requests that restart these tasks one by one, in order: the first ten in full, then the others' numbers.

    Where their numbers are not known, the request for each.
    """
    numbers = sorted(tasks)
    path = connector_path(connector)
    if not numbers:
        return f"POST {path}/tasks/<task>/restart for each task"
    reported = "; ".join(f"POST {path}/tasks/{task}/restart" for task in numbers[:SHOWN])
    more = ", ".join(_ranges(numbers[SHOWN:]))
    return f"{reported}; and the same for tasks {more}" if more else reported


def put_config(connector: str, versions: Collection[KafkaVersion]) -> str:
    """The request that changes the connector's config, and what makes its tasks take the change.

    Workers before 3.7.1 restart tasks only where the connector makes other task configs (AbstractHerder.
    taskConfigsChanged, KAFKA-9228), which settings of the framework and of its clients need not be part of.
    """
    change = f"PUT {connector_path(connector)}/config"
    if min(versions, default=NEWEST) >= RESTARTS_ON_ANY_CHANGE:
        return change
    return (
        f"{change}; then {restart_tasks(connector, ())}, for workers before {RESTARTS_ON_ANY_CHANGE} do not restart "
        "tasks whose task configs are unchanged (KAFKA-9228)"
    )


def for_connector(cure: str, connector: str) -> str:
    """The fix with `<connector>` replaced, quoted for a URL in paths, otherwise for a shell."""
    return cure.replace("/connectors/<connector>", connector_path(connector)).replace(
        "<connector>", shlex.quote(connector)
    )


def _ranges(numbers: Iterable[int]) -> Iterator[str]:
    for _, run in groupby(enumerate(numbers), lambda each: each[1] - each[0]):
        members = [number for _, number in run]
        yield str(members[0]) if len(members) == 1 else f"{members[0]}-{members[-1]}"


_REQUEST: Final = late_pattern(
    r"(?P<method>GET|POST|PUT|DELETE) (?P<path>/connectors/\S*?[^\s;,:.)`'\"])(?=[\s;,:.)`'\"]|$)"
)
_QUOTED: Final = late_pattern(r"`(?P<command>(?:eosctl|kafka-[a-z-]+\.sh) [^`]+)`")
_GROUP: Final = late_pattern(r" --group-id \S+")
_WITH_A_BODY: Final = ("/config", "/offsets")


class CommandLine(Struct, frozen=True):
    """The names of the present clusters on a printed command line.

    options are eosctl's. `rest` is the address of a worker ("" if unknown) and rest_user the user for it. kafka_tools
    are the options of Kafka's own tools.
    """

    options: tuple[str, ...] = ()
    rest: str = ""
    rest_user: str | None = None
    kafka_tools: str = ""

    def eosctl(self, command: str) -> str:
        """The command with the options; a group ID of its own gives way to theirs."""
        own = _GROUP.sub("", command) if "--group-id" in self.options or "--snapshot" in self.options else command
        return f"{own} {shlex.join(self.options)}".rstrip()

    def curl(self, method: str, path: str) -> str | None:
        """The request as a command; None where it needs a body, or no worker is known."""
        if not self.rest or (method == "PUT" and path.endswith(_WITH_A_BODY)) or "<" in path:
            return None
        user = "" if self.rest_user is None else f"-u {shlex.quote(self.rest_user)} "
        verb = "" if method == "GET" else f"-X {method} "
        return f"curl -sS {user}{verb}{shlex.quote(self.rest + path)}"

    def commands(self, text: str, connector: str) -> tuple[str, ...]:
        """The commands in a connector's fix or explanation, if all can be run as printed.

        None if one cannot: the others alone may do harm.
        """
        found: list[tuple[int, str]] = []
        if text.startswith("eosctl "):
            found.append((0, self._completed(text)))
        found += [(each.start(), self._completed(each["command"])) for each in _QUOTED.finditer(text)]
        for each in _REQUEST.finditer(text):
            request = self.curl(each["method"], each["path"])
            if request is None:
                return ()
            found.append((each.start(), request))
        commands = [command for _, command in sorted(found)]
        return () if any(_has_placeholder(each, connector) for each in commands) else tuple(dict.fromkeys(commands))

    def _completed(self, command: str) -> str:
        if command.startswith("eosctl "):
            return self.eosctl(command)
        return command.replace(ANY_BROKER, self.kafka_tools) if self.kafka_tools else command


_PLACEHOLDER: Final = late_pattern(r"<[^<>]*>|…|(?:ID|FILE|CONNECTOR|TASK|TOPIC|GROUP|NAME|CONSUMER-GROUP|HOST:PORT)")
"""The placeholder of an unknown name in a command."""


def _has_placeholder(command: str, connector: str) -> bool:
    words = (word for word in command.split(" ") if word not in {connector, shlex.quote(connector)})
    return any(_PLACEHOLDER.fullmatch(word) for word in words)

"""Requests and commands, as fixes print them: they can be pasted whatever the connector's name is.

A restart of a connector with its tasks (`/restart?includeTasks=true`, KIP-745) is no fix here. The leader writes such
a request down without claiming its transactional ID again where that expired or was fenced: it refuses the request and,
from then on, every change, until the worker is restarted. Kafka keeps no record of a restart of one task.
"""

import shlex
from collections.abc import Collection, Iterable, Iterator
from itertools import groupby
from typing import Final

from eosctl.model.connectors import connector_path
from eosctl.model.versions import NEWEST, KafkaVersion

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
        f"{change}; then {restart_tasks(connector, ())}, for workers before {RESTARTS_ON_ANY_CHANGE} restart none "
        "where the task configs stay as they are (KAFKA-9228)"
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

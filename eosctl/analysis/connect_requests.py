"""Requests and commands, as cures print them: they can be pasted whatever the connector's name is.

A restart of a connector with its tasks (`/restart?includeTasks=true`, KIP-745) is no cure here. The leader writes such
a request down without claiming its transactional ID again where that expired or was fenced: it refuses the request and,
from then on, every change, until the worker is restarted. A restart of one task is written down by nobody.
"""

import shlex
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final

from eosctl.model.connectors import connector_path

SHOWN: Final = 10


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


def for_connector(cure: str, connector: str) -> str:
    """A cure that speaks of `<connector>`, for this one: its name as a URL has it in paths, else as a shell has it."""
    return cure.replace("/connectors/<connector>", connector_path(connector)).replace(
        "<connector>", shlex.quote(connector)
    )


def _ranges(numbers: Iterable[int]) -> Iterator[str]:
    for _, run in groupby(enumerate(numbers), lambda each: each[1] - each[0]):
        members = [number for _, number in run]
        yield str(members[0]) if len(members) == 1 else f"{members[0]}-{members[-1]}"

"""What each cycle published last, for all faces of `watch`: pages, pushes and a terminal."""

import time
from dataclasses import dataclass
from threading import Condition

from eosctl.model.watch import Observation


@dataclass(frozen=True, slots=True)
class _Published:
    """An observation that is true until a time of the monotonic clock."""

    observation: Observation
    until: float


class Board:
    """The last observation of each profile. Cycles publish from threads of their own; no reader waits for one."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._published: dict[str, _Published] = {}
        self._count = 0

    def publish(self, observation: Observation, lifetime_s: float) -> None:
        """Takes the place of the profile's last observation; after `lifetime_s` it is too old to be shown."""
        until = time.monotonic() + lifetime_s
        with self._changed:
            self._published[observation.profile] = _Published(observation, until)
            self._count += 1
            self._changed.notify_all()

    def latest(self) -> dict[str, Observation]:
        """The last observation by profile: of one that is too old, what is still true."""
        with self._changed:
            published = dict(self._published)
        now = time.monotonic()
        return {
            name: each.observation if now < each.until else each.observation.stale for name, each in published.items()
        }

    def wait(self, seen: int, timeout_s: float) -> int:
        """Returns how often something was published: as soon as that is not `seen`, or after the timeout."""
        with self._changed:
            self._changed.wait_for(lambda: self._count != seen, timeout_s)
            return self._count

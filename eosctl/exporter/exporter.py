"""What each cycle published last, as the pages that are served."""

import time
from dataclasses import dataclass
from threading import Lock
from typing import Final

from eosctl.exporter.exposition import CONTENT_TYPE, Exposition
from eosctl.exporter.server import Page
from eosctl.model.metrics import Sample
from eosctl.model.watch import Observation

TEXT: Final = "text/plain; charset=utf-8"
NOT_YET: Final = Page(503, TEXT, b"no cycle has ended yet\n")


@dataclass(frozen=True, slots=True)
class _Published:
    """Samples that are true until a time of the monotonic clock, and those that stay true."""

    samples: tuple[Sample, ...]
    when_stale: tuple[Sample, ...]
    until: float

    @property
    def now(self) -> tuple[Sample, ...]:
        return self.samples if time.monotonic() < self.until else self.when_stale


class Exporter:
    """The last observation of each profile. Cycles publish from threads of their own; pages never wait for one."""

    def __init__(self, exposition: Exposition) -> None:
        self._exposition, self._lock = exposition, Lock()
        self._published: dict[str, _Published] = {}

    def publish(self, observation: Observation, lifetime_s: float) -> None:
        """Takes the place of the profile's last observation; after `lifetime_s` it is too old to be shown."""
        until = time.monotonic() + lifetime_s
        with self._lock:
            self._published[observation.profile] = _Published(observation.samples, observation.when_stale, until)

    def page(self, path: str) -> Page | None:
        """/metrics and /readyz are 503 until the first cycle has ended; None: there is no such page."""
        if path == "/healthz":
            return Page(200, TEXT, b"ok\n")
        if path not in {"/metrics", "/readyz"}:
            return None
        with self._lock:
            published = {profile: each.now for profile, each in self._published.items()}
        if not published:
            return NOT_YET
        return (
            Page(200, TEXT, b"ok\n") if path == "/readyz" else Page(200, CONTENT_TYPE, self._exposition.text(published))
        )

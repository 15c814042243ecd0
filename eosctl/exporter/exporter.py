"""What each cycle published last, as the pages that are served."""

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Final

from eosctl.exporter.board import Board
from eosctl.exporter.exposition import CONTENT_TYPE, Exposition
from eosctl.exporter.server import Page
from eosctl.model.metrics import Sample

TEXT: Final = "text/plain; charset=utf-8"
NOT_YET: Final = Page(503, TEXT, b"no cycle has ended yet\n")


class Exporter:
    """The pages of what is on the board."""

    def __init__(self, board: Board, exposition: Exposition) -> None:
        self._board, self._exposition = board, exposition
        self._writing = Lock()
        self._written: tuple[Mapping[str, Sequence[Sample]], Page] | None = None

    def page(self, path: str) -> Page | None:
        """/metrics and /readyz are 503 until the first cycle has ended; None: there is no such page."""
        if path == "/healthz":
            return Page(200, TEXT, b"ok\n")
        if path not in {"/metrics", "/readyz"}:
            return None
        published = {profile: each.samples for profile, each in self._board.latest().items()}
        if not published:
            return NOT_YET
        return Page(200, TEXT, b"ok\n") if path == "/readyz" else self._metrics(published)

    def _metrics(self, published: Mapping[str, Sequence[Sample]]) -> Page:
        """Written once for each change, by one thread at a time, however many clients ask."""
        with self._writing:
            if self._written is None or self._written[0] != published:
                self._written = published, Page(200, CONTENT_TYPE, self._exposition.text(published))
            return self._written[1]

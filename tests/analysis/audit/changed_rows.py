"""A connector that writes changes of rows as Debezium does, and knows which of them it left half."""

import json
from collections.abc import Iterator
from typing import NamedTuple
from zlib import crc32

from eosctl.model.names import TopicPartition
from tests.analysis.audit.brokers import PARTITIONS, Brokers, ConnectCluster, Headers, value_of

NAME = "rows"


class Piece(NamedTuple):
    """A record, and which change it belongs to: the rest of a change may be lost."""

    change: int
    key: bytes
    value: bytes | None
    headers: Headers
    closes: bool


class ChangedRows:
    """One task over rows with keys; a poll gives `batch` records, and each is a transaction."""

    def __init__(
        self,
        transaction_version: int = 2,
        *,
        tombstones: bool = True,
        batch: int = 1,
        partitions: int = PARTITIONS,
        schemas: bool = False,
        policy: str = "delete",
    ) -> None:
        self.brokers = Brokers(transaction_version=transaction_version)
        self.connector = ConnectCluster(self.brokers).connector(NAME, 1, grammar="debezium", policy=policy)
        self.tombstones, self.batch, self.partitions, self.schemas = tombstones, batch, partitions, schemas
        self.rows = list(range(5))
        self.next = 100
        self.half: list[tuple[int, int]] = []
        self.bare: list[int] = []
        self._queue: list[Piece] = []
        self._sent: list[Piece] = []
        self._changes = 0
        for row in self.rows:
            self._put(row, "r")
        self.poll()

    def _key(self, row: int) -> bytes:
        key = {"id": row}
        return json.dumps({"schema": {"type": "struct"}, "payload": key} if self.schemas else key).encode()

    def _put(self, row: int, op: str, headers: Headers = (), *, closes: bool = False, gone: bool = False) -> None:
        event = {"before": None, "after": {"id": row}, "op": op}
        value = json.dumps({"schema": {}, "payload": event} if self.schemas else event, separators=(",", ":")).encode()
        key = self._key(row)
        context = ("__debezium.context.taskId", b"0")
        self._queue.append(Piece(self._changes, key, None if gone else value, (context, *headers), closes))

    def insert(self) -> None:
        self._changes += 1
        self.rows.append(self.next)
        self._put(self.next, "c")
        self.next += 1

    def update(self, which: int) -> None:
        if self.rows:
            self._changes += 1
            self._put(self.rows[which % len(self.rows)], "u")

    def delete(self, which: int) -> None:
        if self.rows:
            self._changes += 1
            row = self.rows.pop(which % len(self.rows))
            self._put(row, "d")
            if self.tombstones:
                self._put(row, "d", closes=True, gone=True)

    def move(self, which: int, to: int | None = None) -> None:
        """Another primary key; `to` may be one that the row or another one had before."""
        if not self.rows:
            return
        new = self.next if to is None or to in self.rows else to
        self.next = max(self.next, new + 1)
        self._changes += 1
        place = which % len(self.rows)
        old, self.rows[place] = self.rows[place], new
        leaving: Headers = (("__debezium.newkey", json.dumps({"id": new}).encode()),)
        self._put(old, "d", leaving)
        if self.tombstones:
            self._put(old, "d", leaving, gone=True)
        self._put(new, "c", (("__debezium.oldkey", json.dumps({"id": old}).encode()),), closes=True)

    def poll(self, most: int | None = None) -> None:
        """Commits the pending changes, one transaction for each poll; `most` records at most."""
        most = len(self._queue) if most is None else min(most, len(self._queue))
        while most > 0:
            taken = min(self.batch, most)
            most -= taken
            pieces, self._queue = self._queue[:taken], self._queue[taken:]
            self._commit(pieces)

    def _write(self, pieces: list[Piece]) -> None:
        task = self.connector.tasks[0]
        for piece in pieces:
            place = TopicPartition(NAME, crc32(piece.key) % self.partitions)
            task.send(place, [(piece.key, piece.value, piece.headers)])

    def _commit(self, pieces: list[Piece]) -> None:
        task = self.connector.tasks[0]
        self._write(pieces)
        self.connector.offset(task, "a", value_of(pieces[-1].change))
        task.commit()
        self._sent += pieces

    def stop(self, how: str) -> None:
        """Kills the worker, which begins a transaction before.

        It continues `behind` the last change, with the `rest` of it, or writes it `again` from its beginning.
        """
        if self._queue:
            self._write(self._queue[:1])
        self.brokers.tick(50)
        self.connector.start(0)
        last = self._sent[-1]
        rest = [each for each in self._queue if each.change == last.change]
        if how == "behind" and rest:
            self._lose(rest)
        elif how == "again" and rest:
            self._queue = [*(each for each in self._sent if each.change == last.change), *self._queue]

    def _lose(self, rest: list[Piece]) -> None:
        self._queue = self._queue[len(rest) :]
        first = self._sent[-1]
        row = _row(first.key)
        moved = [value for name, value in first.headers if name == "__debezium.newkey"]
        if moved:
            self.half.append((row, json.loads(moved[0])["id"]))
        else:
            self.bare.append(row)

    def work_on(self) -> None:
        """Enough that the connector has gone on everywhere."""
        for _ in range(2):
            self.brokers.tick(10_000)
            self.insert()
            self.delete(0)
            self.poll()


def _row(key: bytes) -> int:
    value = json.loads(key)
    row = value.get("payload", value)["id"]
    assert isinstance(row, int)
    return row


def places(evidence: dict[str, object]) -> Iterator[tuple[int, int]]:
    """Old and new key of each half change."""
    found = evidence["places"]
    assert isinstance(found, list)
    for place in found:
        if "new_key" in place:
            yield json.loads(place["old_key"])[0], json.loads(place["new_key"])[0]

"""One transactional ID in each state that a producer alone can bring about, fenced together."""

import json
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from tests.commands.conftest import Eosctl
from tests.conftest import FreshName
from tests.integration.coordinators import describe
from tests.integration.producers import complete, open_transaction, refused_as_fenced, transactional_producer

UNKNOWN = "unknown"


class EveryState:
    """The IDs by state, and the producers that hold them; settings are those of the open transaction."""

    def __init__(self, servers: str, fresh_name: FreshName, topic: str, **settings: object) -> None:
        self.servers = servers
        self.topic = topic
        self.ids = {state: fresh_name(state) for state in ("Empty", "Ongoing", "CompleteCommit", "CompleteAbort")}
        self.unknown = fresh_name(UNKNOWN)
        self.producers: dict[str, Producer] = {
            "Empty": transactional_producer(servers, self.ids["Empty"]),
            "Ongoing": open_transaction(servers, self.ids["Ongoing"], topic, **settings),
            "CompleteCommit": complete(servers, self.ids["CompleteCommit"], topic, commit=True),
            "CompleteAbort": complete(servers, self.ids["CompleteAbort"], topic, commit=False),
        }

    def check_fenced_by(self, eosctl: Eosctl, directory: Path) -> None:
        """Fence them all, the unknown one too, and hold the result against the broker."""
        file = directory / "ids.txt"
        file.write_text("\n".join([*self.ids.values(), self.unknown]) + "\n")
        ran = eosctl("fence", "-b", self.servers, "--ids-file", str(file), "--create-missing", "--yes", "-o", "json")
        assert ran.exit_code == 0, ran.stderr
        rows = json.loads(ran.stdout)["data"]["results"]
        assert {each["outcome"] for each in rows} == {"fenced"}
        results = {each["before"]["state"] if each["before"] else UNKNOWN: each for each in rows}
        assert {state: each["transactional_id"] for state, each in results.items()} == {
            **self.ids,
            UNKNOWN: self.unknown,
        }
        created = results.pop(UNKNOWN)
        assert (created["after"]["producer_epoch"], created["proof"]["old_producer"]) == (0, "not asked")
        for state, each in results.items():
            self._check_one(state, each)
        self._check_broker_agrees(rows)

    @staticmethod
    def _check_one(state: str, result: dict[str, Any]) -> None:
        before, after = result["before"], result["after"]
        assert after["producer_id"] == before["producer_id"]
        raised = after["producer_epoch"] - before["producer_epoch"]
        assert raised == (2 if state == "Ongoing" else 1), "the abort raises it as well"
        assert (result["attempts"] > 1) == (state == "Ongoing"), "only an open transaction is waited for"
        assert result["proof"]["verdict"] == "proved"
        assert result["proof"]["old_producer"] in {"PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"}

    def _check_broker_agrees(self, rows: list[dict[str, Any]]) -> None:
        now = describe(self.servers, [*self.ids.values(), self.unknown])
        for row in rows:
            description = now[row["transactional_id"]]
            assert description is not None
            assert description.state.value == "Empty"
            assert (description.producer.producer_id, description.producer.producer_epoch) == (
                row["after"]["producer_id"],
                row["after"]["producer_epoch"],
            )

    def check_producers_refused(self) -> None:
        """Each old producer tries to go on and is refused as fenced."""
        with refused_as_fenced():
            self.producers["Ongoing"].commit_transaction(30)
        for state in ("Empty", "CompleteCommit", "CompleteAbort"):
            with refused_as_fenced():
                self.producers[state].begin_transaction()
                self.producers[state].produce(self.topic, b"zombie")
                self.producers[state].flush(30)
                self.producers[state].commit_transaction(30)

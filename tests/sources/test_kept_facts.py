"""What several readers ask once, and what later sessions take from earlier ones."""

from typing import ClassVar

from eosctl.model.skipped import Skipped
from eosctl.sources import cluster_reader
from eosctl.sources.cluster_reader import CoverageLog, KeptFacts, asked


class Reader(CoverageLog):
    """One that counts what it was asked; the topics of connector `gone` cannot be read."""

    asked_for: ClassVar[list[str]] = []

    @asked("groups", once=True)
    def groups(self):
        self.asked_for.append("groups")
        return {"a": 1}

    @asked("topics of", once=True, kept_s=600.0)
    def topics(self, connectors):
        self.asked_for.append(f"topics of {connectors}")
        return {each: Skipped("403") if each == "gone" else ("orders",) for each in connectors}


def test_a_later_session_takes_what_is_kept_for_a_time_until_that_is_over(monkeypatch):
    now, kept, asked_for = [1000.0], KeptFacts(), []
    monkeypatch.setattr(cluster_reader, "monotonic", lambda: now[0])
    monkeypatch.setattr(Reader, "asked_for", asked_for)

    def session(*connectors, lasts_s=0.0):
        for reader in (Reader(kept), Reader(kept)):
            assert reader.groups() == {"a": 1}
            reader.topics(connectors)
            assert reader.coverage.asked == ("groups", "topics of")
        now[0] += lasts_s
        kept.next_session()
        seen, asked_for[:] = list(asked_for), []
        return seen

    assert session("a", "b") == ["groups", "topics of ('a', 'b')"]
    assert session("a", "b") == ["groups"]
    assert session("a", "b", "c", lasts_s=600.0) == ["groups", "topics of ('a', 'b', 'c')"]
    assert session("a", "b") == ["groups", "topics of ('a', 'b')"]


def test_what_was_not_read_is_asked_again_each_time(monkeypatch):
    kept, asked_for = KeptFacts(), []
    monkeypatch.setattr(Reader, "asked_for", asked_for)

    for _ in range(2):
        reader = Reader(kept)
        reader.topics(("a", "gone"))
        assert [each.reason for each in reader.coverage.unread] == ["403"]

    assert len(asked_for) == 2

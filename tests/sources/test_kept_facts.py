"""Questions that readers of one session ask once, and what their coverage says all the same."""

import pytest

from eosctl.errors import Unreachable
from eosctl.model.coverage import Coverage
from eosctl.model.skipped import Cause, Skipped
from eosctl.sources.coverage_log import CoverageLog, KeptFacts, asked

GONE = Skipped("it does not answer", Cause.UNREACHABLE)


class Reader(CoverageLog):
    """Asks a list of answers, one after the other."""

    def __init__(self, answers, kept):
        super().__init__(kept)
        self.answers = answers

    @asked("topic {0}", once=True)
    def topic(self, name, *, only=()):
        self.note("leaders", {name: GONE if isinstance(self.answers[0], dict) else 1})
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    @asked("offsets")
    def offsets(self):
        return self.answers.pop(0)


def test_what_was_read_whole_is_asked_once_and_every_reader_says_that_it_was_asked():
    answers, kept = [1, 2, 3], KeptFacts()
    first, second = Reader(answers, kept), Reader(answers, kept)
    assert (first.topic("t"), second.topic("t"), second.topic("u")) == (1, 1, 2)
    assert second.coverage == Coverage(("leaders", "topic t", "topic u"))
    assert first.coverage == Coverage(("leaders", "topic t"))
    assert second.topic("t", only=("x",)) == 3, "a narrower question"


def test_readers_that_share_nothing_ask_again_and_so_does_what_may_change():
    answers = [1, 2, 3, 4]
    assert [Reader(answers, None).topic("t") for _ in range(2)] == [1, 2]
    shared = Reader(answers, KeptFacts())
    assert (shared.offsets(), shared.offsets()) == (3, 4)


@pytest.mark.parametrize("failure", [GONE, {"a part": 1}, Unreachable("gone")])
def test_what_was_not_read_is_asked_again_and_is_missing_only_where_it_was_not_read(failure):
    answers, kept = [failure, 2], KeptFacts()
    first, second = Reader(answers, kept), Reader(answers, kept)
    if isinstance(failure, Unreachable):
        with pytest.raises(Unreachable):
            first.topic("t")
    else:
        assert first.topic("t") == failure
    assert len(first.coverage.gaps) == 1
    assert (second.topic("t"), second.coverage.gaps) == (2, ())
    assert Reader(answers, kept).topic("t") == 2

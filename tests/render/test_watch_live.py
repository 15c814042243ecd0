"""`watch --live` as text: the figures of the samples, what is not known, and names of any text in 80 columns."""

from msgspec.structs import replace

from eosctl.analysis.metrics import catalogue as metrics
from eosctl.model.skipped import Cause, Coverage, Unread
from eosctl.model.watch import Cycle, Observation, Sample
from eosctl.render.answers.watch import view_live
from eosctl.render.formats import Output, text_of
from eosctl.render.layout import Page
from eosctl.render.live import tallest

NOW = 1_790_000_000_000
OWNER = ("connect-cluster-orders-source-0", "orders-source", "0")
TROUBLE = (
    Sample(metrics.LSO_HELD_PARTITIONS, (), 2),
    Sample(metrics.LSO_HELD, ("orders", "0", *OWNER), 3725.2),
    Sample(metrics.LSO_HELD, ("payments", "3", "", "", ""), 61),
    Sample(metrics.HANGING, (), 1),
    Sample(metrics.HANGING_UNDECIDED, (), 2),
    Sample(metrics.HANGING_AGE, ("payments", "3", "4011", "", "", "", "abort"), 3600),
    Sample(metrics.OPEN_TRANSACTIONS, (), 1),
    Sample(metrics.OPEN_AGE, (*OWNER, "Ongoing"), 125),
    Sample(metrics.FENCING_PENDING, ("orders-source",), 1),
    Sample(metrics.FENCING_PENDING, ("other",), 0),
    Sample(metrics.EPOCHS_NEAR_END, (), 3),
    Sample(metrics.NULL_SHADOWS, ("orders-source",), 2),
    Sample(metrics.OFFSET_AGE, ("orders-source",), 12.5),
    Sample(metrics.OFFSET_AGE, ("other",), 7200),
    Sample(metrics.SINCE_COMMIT, ("orders-source", "0"), 14_400),
    Sample(metrics.SINCE_COMMIT, ("other", "1"), 2),
    Sample(metrics.QUIET_RATIO, ("orders-source", "0"), 4.25),
    Sample(metrics.FINDINGS, ("EOS110", "error"), 1),
    Sample(metrics.FINDINGS, ("EOS160", "warning"), 1),
    Sample(metrics.FINDINGS, ("EOS001", "error"), 0),
    Sample(metrics.UNREAD_FACTS, (), 1),
    Sample(metrics.UNREAD, ("doctor", "broker settings", "denied"), 1),
    Sample(metrics.READ_AS_OF, ("doctor",), NOW / 1000 - 3),
    Sample(metrics.READ_AS_OF, ("transactions lso",), NOW / 1000 - 2),
)


def observation(*samples, **more):
    cycle = Cycle(NOW - 2000, 1500, {"brokers": 40})
    stale = (Sample(metrics.UNREAD_FACTS, (), 1),)
    return Observation(profile="east", cycle=cycle, cluster_id="K", samples=samples, when_stale=stale, **more)


def lines(found, *, most=5, columns=80):
    drawn = text_of(view_live(found, NOW, most), Output.TABLE, Page(columns, colour=False)).splitlines()
    assert max(map(len, drawn)) <= columns
    return drawn


def test_who_holds_readers_back_and_all_else_is_named_with_its_figures():
    drawn = lines(observation(*TROUBLE))
    assert drawn[0] == "east, K: the last cycle ended 2.0 s ago and took 1500 ms; q ends it"
    for line in (
        *("HELD-BACK  2, the longest for 62 min", "HANGING    1, the longest for 60 min; 2 undecided"),
        *("OPEN       1, the longest for 2.1 min", "FENCING    a round is pending of orders-source"),
        *("EPOCHS     3 near exhaustion", "EXPIRY     not known", "UNREAD     1"),
        "OFFSETS    of 2 connectors, the oldest 2.0 h (other); shadowed offsets of orders-source",
        "TASKS      last commits 2.0 s to 4.0 h ago; 1 connector quieter than ever (EOS160)",
        *("FINDINGS   1 error (EOS110), 1 warning (EOS160)", "READ       doctor 3.0 s ago, transactions lso 2.0 s ago"),
    ):
        assert " ".join(line.split()) in " ".join(" ".join(drawn).split())
    rows = [line.split() for line in drawn]
    identifier, task = OWNER[0], "orders-source-0"
    for row in (
        *(["orders-0", "3725", identifier, task], ["payments-3", "61", "-", "-"], ["payments-3", "3600", "abort"]),
        *([identifier, task, "Ongoing", "125"], [task, "14400", "4.2"], ["doctor", "broker", "settings", "denied"]),
    ):
        assert row in rows


def test_nothing_wrong_is_said_in_a_summary_alone():
    zero = (
        *(metrics.LSO_HELD_PARTITIONS, metrics.HANGING, metrics.OPEN_TRANSACTIONS, metrics.UNREAD_FACTS),
        *(metrics.EPOCHS_NEAR_END, metrics.IDS_NEAR_EXPIRY),
    )
    drawn = lines(
        observation(*(Sample(each, (), 0) for each in zero), Sample(metrics.FINDINGS, ("EOS001", "error"), 0))
    )
    assert len(drawn) == 13
    assert {line.split(maxsplit=1)[1] for line in drawn if line.startswith(("HELD", "HANG", "OPEN", "UNREAD"))} == {"0"}
    assert "FINDINGS   none" in drawn
    assert "FENCING    none of enabled workers" in drawn


def test_what_was_not_read_is_never_0_nor_none():
    gap = Coverage((), (Unread("doctor: the whole answer", "gone", Cause.UNREACHABLE),))
    drawn = lines(observation(coverage=gap))
    assert [line for line in drawn if line.endswith(" 0") or "none" in line] == []
    assert sum(line.endswith("not known") for line in drawn) == 9
    assert "UNREAD     1" in lines(observation(*TROUBLE).stale)


def test_further_rows_are_counted_and_names_cannot_move_the_screen():
    many = [Sample(metrics.SINCE_COMMIT, (f"c{number}", "0"), 9) for number in range(9)]
    drawn = lines(observation(*many), most=2)
    assert [line.split()[0] for line in drawn if line.startswith("c")] == ["c0-0", "c1-0"]
    assert "Since the last commit: 2 of 9" in drawn
    forged = Sample(metrics.OPEN_AGE, ("\x1b[2Jq\n", "ü" * 90, "0", "Ongoing"), 5)
    drawn = text_of(view_live(replace(observation(), samples=(forged,)), NOW, 5), Output.TABLE, Page(80, colour=False))
    assert "\x1b" not in drawn
    assert "\\x1b[2Jq\\n" in drawn


def test_a_screen_has_as_many_rows_as_it_holds():
    many = [Sample(metrics.SINCE_COMMIT, (f"c{number}", "0"), 9) for number in range(9)]

    def drawn(most: int) -> str:
        return "\n".join(lines(observation(*many), most=most))

    frame = tallest(drawn, 20)
    assert len(frame.splitlines()) == 20
    assert "Since the last commit: 4 of 9" in frame
    assert tallest(drawn, 40) == drawn(9)
    assert tallest(drawn, 3) == drawn(1)

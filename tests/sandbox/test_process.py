"""What is shown of a log when a process fails."""

from eosctl.sandbox.process import Jvm, Spawner


def tail_of(log, *lines):
    log.write_text("".join(f"{line}\n" for line in lines))
    return Jvm("broker 1", [], log, Spawner()).log_tail().splitlines()


def test_the_tail_is_the_last_25_lines(tmp_path):
    lines = [f"[now] INFO {number}" for number in range(100)]
    assert tail_of(tmp_path / "log", *lines) == lines[75:]


def test_an_error_further_up_is_shown_before_the_tail(tmp_path):
    error = ["[now] ERROR not authorised", "cause 1", "cause 2", "cause 3", "cause 4"]
    later = [f"[now] INFO {number}" for number in range(50)]
    assert tail_of(tmp_path / "log", "[now] INFO first", *error, *later) == [*error, "...", *later[25:]]


def test_a_process_that_wrote_nothing_has_an_empty_tail(tmp_path):
    assert Jvm("broker 1", [], tmp_path / "log", Spawner()).log_tail() == ""

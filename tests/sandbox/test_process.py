"""What is shown of a log when a process fails, how it is paused, and that it dies with its parent."""

import subprocess
import sys

from eosctl.sandbox.process import Process, Spawner
from tests.faulty_sandbox import freeze, thaw
from tests.sandbox.processes import is_alive
from tests.waiting import eventually


def tail_of(log, *lines):
    log.write_text("".join(f"{line}\n" for line in lines))
    return Process("broker 1", [], log, Spawner()).log_tail().splitlines()


def test_the_tail_is_the_last_25_lines(tmp_path):
    lines = [f"[now] INFO {number}" for number in range(100)]
    assert tail_of(tmp_path / "log", *lines) == lines[75:]


def test_an_error_further_up_is_shown_before_the_tail(tmp_path):
    error = ["[now] ERROR not authorised", "cause 1", "cause 2", "cause 3", "cause 4"]
    later = [f"[now] INFO {number}" for number in range(50)]
    assert tail_of(tmp_path / "log", "[now] INFO first", *error, *later) == [*error, "...", *later[25:]]


def test_a_process_that_wrote_nothing_has_an_empty_tail(tmp_path):
    assert Process("broker 1", [], tmp_path / "log", Spawner()).log_tail() == ""


def test_a_paused_process_stands_still_at_once_and_goes_on_when_resumed(tmp_path):
    """It has many threads, each of which writes all the time."""
    file = tmp_path / "count"
    busy = (
        "import threading, pathlib\n"
        f"file = open({str(file)!r}, 'a', buffering=1)\n"
        "def write():\n    while True: file.write('x\\n')\n"
        "for _ in range(20): threading.Thread(target=write).start()\n"
    )
    spawner = Spawner()
    jvm = Process("busy", [sys.executable, "-c", busy], tmp_path / "log", spawner)
    jvm.start()
    try:
        eventually(lambda: file.exists() and file.stat().st_size > 0)
        freeze(jvm)
        size = file.stat().st_size
        assert {file.stat().st_size for _ in range(1000)} == {size}
        thaw(jvm)
        eventually(lambda: file.stat().st_size > size)
    finally:
        jvm.kill()
        spawner.close()


PARENT = """
import sys, threading
from pathlib import Path
from eosctl.sandbox.process import Process, Spawner
sleeper = Process("sleeper", ["/bin/sleep", "600"], Path(sys.argv[1]), Spawner())
starter = threading.Thread(target=sleeper.start)
starter.start(); starter.join()
print(sleeper.pid, flush=True)
sys.stdin.read()
"""


def test_a_process_dies_with_a_killed_parent_but_not_with_the_thread_that_started_it(tmp_path):
    command = [sys.executable, "-c", PARENT, str(tmp_path / "log")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        pid = int(parent.stdout.readline())
        assert is_alive(pid)
        parent.kill()
    eventually(lambda: not is_alive(pid))

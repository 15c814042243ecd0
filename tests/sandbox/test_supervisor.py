"""Processes of a sandbox and their supervisor."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import psycopg
import pytest

from eosctl.errors import ConfigError
from eosctl.sandbox.faulty_sandbox import freeze, thaw
from eosctl.sandbox.process import Process, Spawner
from eosctl.sandbox.properties import SandboxSpec
from eosctl.sandbox.site import brokers_in_metadata
from eosctl.sandbox.supervisor import (
    ProcessState,
    SandboxState,
    SupervisorLock,
    kept_state,
    other_options,
    read_state,
    write_state,
)
from tests import forks
from tests.integration.terminal import PROGRAM
from tests.sandbox.processes import is_alive, processes_that_name
from tests.schemas import check_documents
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


def test_a_paused_process_stands_still_at_once_and_continues_when_resumed(tmp_path):
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


STATE = SandboxState(
    bootstrap_servers="127.0.0.1:9001",
    sasl_bootstrap_servers="127.0.0.1:9101",
    connect_urls=("http://127.0.0.1:8083",),
    users={"tool": "secret"},
    kafka_version="4.3.1",
    connect_version="4.3.1",
    cluster_id="ZJCLa35UQBiEwxqGn3edcA",
    classpath="libs/*",
    java="java",
    directory="kept",
    processes=(ProcessState("broker-1", "127.0.0.1:9001", 42, "broker-1.log"),),
)


def test_the_state_file_reads_back_and_only_the_user_can_read_it(tmp_path):
    write_state(tmp_path, STATE)
    assert read_state(tmp_path) == STATE
    assert (tmp_path / "state.json").stat().st_mode & 0o077 == 0


def test_where_no_sandbox_was_there_is_no_state(tmp_path):
    assert read_state(tmp_path) is None
    assert kept_state(tmp_path / "nowhere") is None


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"processes": [{"name": 1}]}'])
def test_a_damaged_state_file_is_a_config_error(tmp_path, text):
    (tmp_path / "state.json").write_text(text)
    with pytest.raises(ConfigError, match=r"state\.json is damaged"):
        read_state(tmp_path)


def test_the_state_of_a_supervisor_that_is_gone_is_no_state(tmp_path):
    write_state(tmp_path, STATE)
    assert kept_state(tmp_path) is None
    assert not (tmp_path / "state.json").exists()


def test_one_directory_has_one_supervisor(tmp_path):
    first, second = SupervisorLock(tmp_path), SupervisorLock(tmp_path)
    assert first.hold()
    assert second.holder() == os.getpid()
    assert not second.hold()
    first.release()
    assert second.holder() is None


@pytest.fixture
def run(tmp_path):
    """Runs `eosctl sandbox ... --directory D -o json` and gives exit code, data and stderr; takes D down at the end."""

    def run(action, *options, directory="kept"):
        command = [PROGRAM, "sandbox", action, *options, "-o", "json"]
        ran = forks.run(*command, "--directory", str(tmp_path / directory))
        check_documents(ran.stdout)
        answer = json.loads(ran.stdout)
        return ran.returncode, answer.get("data", answer.get("error")), ran.stderr

    yield run
    for directory in tmp_path.iterdir():
        run("down", directory=directory.name)


def test_options_that_differ_from_those_of_the_start_are_named_with_both_values(tmp_path):
    started = asdict(SandboxSpec(workers=1)) | {"directory": str(tmp_path)}
    (tmp_path / "spec.json").write_text(json.dumps(started))
    assert other_options(tmp_path, SandboxSpec(workers=1)) == ()
    assert other_options(tmp_path, SandboxSpec(workers=2, users=("a",))) == (
        "workers is 1, not 2",
        'users is [], not ["a"]',
    )


@pytest.mark.kafka
def test_a_sandbox_stays_up_after_the_command_until_it_is_taken_down(run):
    code, up, said = run("up", "--workers", "1", "--user", "audit")
    assert (code, up["already_up"]) == (0, False)
    assert (
        "starting 1 broker(s) of Kafka 4.3.1\nstarting 1 Connect worker(s) of Kafka 4.3.1, exactly-once enabled\n"
        in said
    )
    code, again, said = run("up", "--workers", "1", "--user", "audit")
    assert (code, again["already_up"], again["other_options"], said) == (0, True, [], "")
    assert again["bootstrap_servers"] == up["bootstrap_servers"]

    code, again, _ = run("up", "--workers", "2")
    assert (code, again["other_options"]) == (1, ["workers is 1, not 2", 'users is ["audit"], not []'])

    code, env, _ = run("env")
    assert code == 0
    assert list(env["users"]) == ["worker", "connector", "admin", "tool", "audit"]
    assert brokers_in_metadata(int(env["bootstrap_servers"].rpartition(":")[2])) == {1}
    assert {"sasl_bootstrap_servers", "connect_urls", "kafka_version", "classpath", "java", "directory"} <= env.keys()

    code, lines, _ = run("env", "--shell")
    assert (code, lines["text"].splitlines()) == (
        0,
        [
            f"export EOSCTL_BOOTSTRAP_SERVER={env['bootstrap_servers']}",
            f"export EOSCTL_CONNECT_URL={env['connect_urls'][0]}",
            "export EOSCTL_GROUP_ID=connect-cluster",
        ],
    )

    code, status, _ = run("status")
    assert (code, [process["ready"] for process in status["processes"]]) == (0, [True, True])
    assert not any(password in json.dumps([up, status]) for password in env["users"].values())

    kept = {"directory": env["directory"], "was_up": True, "removed": False, "complete": True, "unread": []}
    assert run("down")[:2] == (0, kept)
    assert not any(is_alive(process["pid"]) for process in status["processes"])
    assert run("down")[1]["was_up"] is False
    assert run("status")[0] == 1
    code, error, _ = run("env")
    assert (code, error["hint"]) == (4, "start one with eosctl sandbox up")


@pytest.mark.kafka
def test_a_killed_supervisor_takes_its_processes_along_and_is_noticed(run, tmp_path):
    _, up, _ = run("up", "--workers", "0")
    _, status, _ = run("status")
    supervisor = SupervisorLock(tmp_path / "kept").holder()
    assert supervisor is not None
    os.kill(supervisor, signal.SIGKILL)
    eventually(lambda: not is_alive(status["processes"][0]["pid"]))
    code, status, _ = run("status")
    assert (code, status["up"]) == (1, False)
    code, again, _ = run("up", "--workers", "0")
    assert (code, again["already_up"], again["cluster_id"]) == (0, False, up["cluster_id"])


@pytest.mark.kafka
def test_a_failed_start_shows_its_reason_in_the_terminal(run):
    code, error, said = run("up", "--broker-config", "num.network.threads=several")
    assert (code, error["type"]) == (2, "ConfigError")
    assert "several for configuration num.network.threads" in said
    assert run("status")[1]["up"] is False


@pytest.mark.kafka
def test_in_the_foreground_it_runs_until_it_is_interrupted_and_status_shows_a_killed_broker(run, tmp_path):
    command = [sys.executable, "-m", "eosctl", "sandbox", "up", "--foreground", "--workers", "0", "-o", "json"]
    command += ["--directory", str(tmp_path / "here")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, bufsize=0) as running:
        answer = b"".join(iter(running.stdout.readline, b"}\n"))
        state = read_state(tmp_path / "here")
        assert [process["ready"] for process in run("status", directory="here")[1]["processes"]] == [True]
        os.kill(state.processes[0].pid, signal.SIGKILL)
        eventually(lambda: run("status", directory="here")[0] == 1)
        assert run("status", directory="here")[1]["processes"][0]["ready"] is False
        code, again, _ = run("up", "--workers", "0", directory="here")
        assert (code, again["silent"]) == (1, ["broker-1"])
        running.send_signal(signal.SIGINT)
        assert running.communicate(timeout=60)[0] == b""
    assert running.returncode == 0
    assert json.loads(answer + b"}")["data"]["bootstrap_servers"] == state.bootstrap_servers
    assert not is_alive(state.processes[0].pid)


@pytest.mark.kafka
def test_an_interrupted_start_is_reported_and_leaves_no_process_running(tmp_path):
    command = [sys.executable, "-m", "eosctl", "sandbox", "up", "--foreground", "--workers", "0", "-o", "json"]
    command += ["--directory", str(tmp_path / "here")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0) as running:
        assert b"starting" in running.stderr.readline()
        running.send_signal(signal.SIGINT)
        answer, _ = running.communicate(timeout=60)
    assert running.returncode == 130
    assert json.loads(answer)["error"]["exit_code"] == 130
    assert processes_that_name(tmp_path) == []
    assert read_state(tmp_path / "here") is None


@pytest.mark.kafka
@pytest.mark.variation
def test_a_postgresql_with_logical_decoding_is_up_with_the_sandbox_and_gone_with_it(run):
    code, up, said = run("up", "--workers", "0", "--postgres")
    assert (code, "starting PostgreSQL" in said, "postgresql_url" in up) == (0, True, False)
    _, env, _ = run("env")
    with psycopg.connect(env["postgresql_url"]) as connection:
        assert connection.execute("SHOW wal_level").fetchone() == ("logical",)
    code, status, _ = run("status")
    (server,) = [process for process in status["processes"] if process["name"] == "postgresql"]
    assert (code, server["ready"]) == (0, True)
    run("down")
    assert not is_alive(server["pid"])
    assert not Path(server["log"]).parent.exists()

"""Properties of every command: widths, colours, a reader who goes, and Ctrl-C while it waits."""

import os
import re
import shlex
import signal
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from eosctl.codecs.evidence_file import encode_evidence
from eosctl.model.evidence_file import EvidencedCluster, EvidenceFile
from tests import forks
from tests.commands.tree import commands
from tests.integration.terminal import PROGRAM as EOSCTL

ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
COMMANDS = {each.path: each for each in commands()}
CONNECTING = {
    path: "-b {mute}"
    for path, each in COMMANDS.items()
    if not each.is_group and "bootstrap_server" in {parameter.name for parameter in each.parameters}
}
"""Command lines that ask a broker which accepts and never answers."""
CONNECTING |= {
    "eosctl profile check": "profile check -b {mute}",
    "eosctl snapshot save": "snapshot save site.snapshot -b {mute}",
    "eosctl inspect-config": "inspect-config -b {mute}",
    "eosctl timeline": "timeline -b {mute}",
    "eosctl offsets show": "offsets show -b {mute}",
    "eosctl offsets export": "offsets export offsets.json -b {mute}",
    "eosctl offsets diff": "offsets diff live offsets.json -b {mute}",
    "eosctl offsets restore": "offsets restore offsets.json --connector orders --yes -b {mute}",
    "eosctl offsets create-connector": "offsets create-connector offsets.json --config orders.json --yes -b {mute}",
    "eosctl audit": "audit -b {mute} --topic orders",
    "eosctl audit source": "audit source -b {mute} --table public.orders=orders --source-dsn postgresql://{mute}/db",
    "eosctl verify": "verify evidence.json -b {mute}",
    "eosctl doctor": "doctor -b {mute}",
    "eosctl connector show": "connector show orders -b {mute}",
    "eosctl connector list": "connector list -b {mute}",
    "eosctl explain": "explain --connector orders -b {mute}",
    "eosctl upgrade-check": "upgrade-check --to enabled -b {mute}",
    "eosctl acl-plan": "acl-plan --worker-config worker.properties --check -b {mute}",
    "eosctl fence": "fence --transactional-id orders-0 --yes -b {mute}",
    "eosctl probe": "probe --yes -b {mute}",
    "eosctl transactions list": "transactions list -b {mute}",
    "eosctl transactions describe": "transactions describe orders-0 -b {mute}",
    "eosctl transactions producers": "transactions producers orders -b {mute}",
    "eosctl transactions hanging": "transactions hanging -b {mute}",
    "eosctl transactions lso": "transactions lso -b {mute}",
    "eosctl transactions abort": "transactions abort --topic orders --partition 0 --yes -b {mute}",
    "eosctl transactions commit": "transactions commit sink-0 --producer-id 1 --producer-epoch 0 --yes -b {mute}",
    "eosctl transactions leftovers": "transactions leftovers --prefix orders- -b {mute}",
    "eosctl transactions trace": "transactions trace orders-0@1 -b {mute}",
    "eosctl transactions log": "transactions log -b {mute}",
    "eosctl transactions history": "transactions history orders-0 -b {mute}",
    "eosctl transactions churn": "transactions churn -b {mute}",
    "eosctl migrate-offsets": "migrate-offsets --connector orders --to-topic own -b {mute}",
    "eosctl mirror audit": "mirror audit --source-bootstrap-server {mute} -b {mute}",
    "eosctl watch": "watch --listen 127.0.0.1:0 -b {mute}",
}
ASKS_NOBODY = {"eosctl profile add", "eosctl profile explain", "eosctl audit status", "eosctl audit history"}
NEEDS_A_PLAN = {"eosctl apply", "eosctl undo"}
OFFSETS = '{"offsets":[{"partition":{"filename":"f"},"offset":{"position":1}}]}'
CONNECTOR = '{"name": "orders", "connector.class": "FileStreamSource"}'
EVIDENCE = EvidenceFile("audit", "1", "audit", 1, None, (EvidencedCluster("k", (), ()),), {})
WORKER = "group.id=connect-cluster\nconfig.storage.topic=c\noffset.storage.topic=o\nstatus.storage.topic=s\n"


BROKEN = re.compile(r"\w-$")
"""A word that is broken at its hyphen."""


@pytest.mark.parametrize("columns", [80, 200])
def test_the_help_of_each_keeps_to_the_width(at_terminal, columns):
    for path in COMMANDS:
        ran = at_terminal(columns).run(*path.split()[1:], "--help")
        assert ran.exit_code == 0, path
        wrapped = [line for line in ran.stdout.splitlines() if not line.startswith("  eosctl ")]
        assert [line for line in wrapped if BROKEN.search(ESCAPE.sub("", line))] == [], path
        assert max(len(ESCAPE.sub("", line)) for line in wrapped) <= columns, path


def test_no_command_colours_what_goes_into_a_pipe(eosctl):
    for path in COMMANDS:
        ran = eosctl(*path.split()[1:], "--help")
        assert (ran.exit_code, "\x1b" in ran.stdout + ran.stderr) == (0, False), path


def test_an_option_that_is_none_is_a_usage_error_of_each_in_json_too(eosctl):
    for path, each in COMMANDS.items():
        if not each.is_group:
            ran = eosctl(*path.split()[1:], "--no-such-option", "-o", "json")
            assert ran.exit_code == 2, path
            assert '"exit_code": 2' in ran.stdout, path


WRONG = [
    (["doctor", "-b", ""], "is empty: is a variable of your shell not set?"),
    (["offsets", "show", "--connector", "orders", "--connector", ""], "is empty: is a variable of your shell"),
    (["explain", __file__], "is a file, and no error\nhint: pipe it in: eosctl explain - < "),
    (["explain", "--connector", "a", "--snapshot", "x"], "No such file or directory\nhint: `eosctl snapshot"),
    (
        ["transactions", "trace", "a", "-b", "127.0.0.1:1", "--timestamp", "now"],
        "is no time such as 2026-01-31T12:00:00Z",
    ),
    (["connector", "list"], "no cluster was named\nhint: give -b"),
    (["connector", "show", "orders"], "no cluster was named\nhint: give -b"),
    (["doctor", "-b", "broker"], "is not HOST:PORT\nhint: give host and port of each broker"),
    (["migrate-offsets", "--connector", "a", "--to-topic", "t", "--to-worker-topic", "-b", "127.0.0.1:1"], "contrad"),
    (["fence", "--ids-file", "/dev/null", "-b", "127.0.0.1:1"], "--ids-file /dev/null has no transactional ID"),
    (["upgrade-check", "-b", "127.0.0.1:1"], "no target was named\nhint: give --to preparing"),
    (["plans", "list", "/dev/null"], "/dev/null is not a directory\nhint: "),
    (["doctor", "-b", "127.0.0.1:1", "--sarif", "/"], "cannot write /: Is a directory\nhint: "),
    (["audit", "-b", "127.0.0.1:1", "--topic", "t", "--report", "/no/x"], "cannot write /no/x: No such file"),
    (["apply", "no.plan"], "No such file or directory\nhint: `eosctl plans list`"),
    (["transactions", "leftovers", "--prefix", "x", "--commit-listed", "no.txt"], "cannot read --commit-listed no.txt"),
    (["doctor", "--snapshot", "no.snapshot"], "No such file or directory\nhint: `eosctl snapshot save FILE`"),
]
"""A row for each kind of mistake that is seen before a cluster is asked, and the words that name it."""


@pytest.mark.parametrize(("args", "says"), WRONG, ids=[" ".join(args) for args, _ in WRONG])
def test_a_mistake_is_named_with_the_next_step_before_a_cluster_is_asked(eosctl, args, says):
    ran = eosctl(*args)
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert says in ran.stderr
    assert "\nhint: " in ran.stderr


def test_an_id_of_a_finding_without_its_zeros_is_near_to_the_whole_one(eosctl):
    assert "Near to it: EOS001" in eosctl("explain", "eos1").stdout


def in_twos(check, items):
    with ThreadPoolExecutor(2) as both:
        return list(both.map(check, items))


def test_no_command_complains_when_its_pipe_is_closed():
    """All of them print by one console: a command, and one of each depth."""

    def ended(path):
        reader, writer = os.pipe()
        os.close(reader)
        ran = forks.run(EOSCTL, *path.split()[1:], "--help", stdout=writer)
        os.close(writer)
        return path, ran.returncode, ran.stderr

    asked = ["eosctl doctor", "eosctl offsets show", "eosctl transactions list", "eosctl audit source"]
    assert in_twos(ended, asked) == [(path, 0, "") for path in asked]


def test_each_command_that_connects_is_interrupted_while_it_waits(tmp_path):
    (tmp_path / "offsets.json").write_text(OFFSETS)
    (tmp_path / "evidence.json").write_bytes(encode_evidence(EVIDENCE))
    (tmp_path / "orders.json").write_text(CONNECTOR)
    (tmp_path / "worker.properties").write_text(WORKER)

    def interrupted(path):
        with socket.create_server(("127.0.0.1", 0)) as mute:
            mute.settimeout(60)
            line = CONNECTING[path].format(mute=f"127.0.0.1:{mute.getsockname()[1]}")
            command = [EOSCTL, *shlex.split(line), "--group-id", "connect-cluster", "--timeout", "50"]
            started = forks.start(*command, directory=tmp_path)
            try:
                accepted, _ = mute.accept()
            except TimeoutError:
                started.kill()
                return path, started.communicate()
            with accepted:
                accepted.recv(1)  # it has asked and waits
                started.send_signal(signal.SIGINT)
                _, stderr = started.communicate(timeout=60)
            return path, started.returncode, stderr.splitlines()[-1]

    asked = [path for path in CONNECTING if path not in ASKS_NOBODY | NEEDS_A_PLAN]
    assert [path for path in asked if CONNECTING[path] == "-b {mute}"] == []
    assert in_twos(interrupted, asked) == [(path, 130, "eosctl: error: interrupted") for path in asked]

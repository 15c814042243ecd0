"""A command asks once for what is one fact of its run."""

import re
from collections import Counter

import pytest

from tests.faults.commands import GROUP, run_command
from tests.faulty_sandbox import Sandbox

pytestmark = pytest.mark.kafka


@pytest.mark.parametrize(
    "words", [("inspect-config",), ("transactions", "list"), ("offsets", "show")], ids=lambda each: each[0]
)
def test_one_connection_one_list_of_groups_and_one_answer_of_a_worker_about_itself(
    connect_sandbox: Sandbox, words: tuple[str, ...]
) -> None:
    ran = run_command((*words, *GROUP, "-b", connect_sandbox.bootstrap_servers, "-v"))
    assert ran.exit_code in {0, 1}, ran.stderr
    sent = Counter(re.findall(r"^(.+?) \S+: (?:open|answered) in \d+ ms$", ran.stderr, re.MULTILINE))
    asked = Counter(re.findall(r"^GET http://[^/]+(/\S*): 200 in \d+ ms$", ran.stderr, re.MULTILINE))
    assert sent["a connection"] == 1, "the one to the bootstrap server is the broker's"
    assert {name: sent[name] for name in ("ListGroups", "DescribeCluster") if sent[name] > 1} == {}
    assert asked["/"] == (0 if words[0] == "transactions" else 1)

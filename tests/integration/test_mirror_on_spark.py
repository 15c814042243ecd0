"""`mirror audit --engine spark` says what the local engine says, of two real clusters with an identity each."""

import json
from pathlib import Path

import pytest

from eosctl.analysis.mirror.blocks import Piece
from eosctl.codecs.client_properties import client_properties
from eosctl.engines import mirroring
from eosctl.engines.mirroring import BothSides, PairJob, compare_pair, compare_pairs
from eosctl.model.audit import AuditedTopic, AuditPlan, PartitionBounds, SparkOptions, TopicRole
from eosctl.model.mirror import EqualPiece, PartitionPair, TopicPair
from eosctl.sandbox.java import find_java
from eosctl.sources.audit_log import OpenCluster
from eosctl.spark.starting import spark_pieces
from tests.conftest import FreshName
from tests.faulty_sandbox import Sandbox
from tests.integration.access import allowed
from tests.integration.mirror_site import Copied, Eosctl

pytestmark = [pytest.mark.kafka, pytest.mark.variation, pytest.mark.timeout(900)]
USER, MASTER = "tool", "local[2]"


@pytest.fixture
def copied(eosctl: Eosctl, two_clusters: tuple[Sandbox, Sandbox], fresh_name: FreshName) -> Copied:
    """A copy of 1,200 records with a gap, a repeat, and aborted transactions on both sides."""
    source, target = two_clusters
    made = Copied(eosctl, source.bootstrap_servers, target.bootstrap_servers, fresh_name("spread"))
    made.write(range(600), **{"batch.num.messages": 25})
    made.transact(range(2000, 2010), commit=False)
    made.write(range(600, 1200), **{"batch.num.messages": 40})
    made.copy([*range(300), *range(305, 700)], **{"batch.num.messages": 30})
    made.transact(range(700, 720), commit=False, in_target=True)
    made.copy([*range(700, 900), *range(890, 1150)])
    return made


def test_the_report_is_that_of_the_local_engine(copied: Copied, two_clusters: tuple[Sandbox, Sandbox], tmp_path: Path):
    identity = tmp_path / "tool.properties"
    identity.write_text(two_clusters[0].client_properties(USER))
    copied.source = two_clusters[0].sasl_bootstrap_servers
    who = ("--source-command-config", identity)
    with allowed(two_clusters[0], USER, ("READ", "TOPIC", copied.name), ("DESCRIBE", "TOPIC", copied.name)):
        local, spark = copied.ask(*who), copied.ask(*who, "--engine", "spark", "--master", MASTER)
    assert (local.exit_code, spark.exit_code) == (1, 1), spark.stderr
    one, other = json.loads(local.stdout)["data"], json.loads(spark.stdout)["data"]
    assert one == other
    assert one["pairs"][0]["gap_records"] == 5
    assert one["pairs"][0]["repeat_records"] == 10


def test_pieces_that_executors_found_equal_are_passed_over(
    monkeypatch, copied: Copied, two_clusters: tuple[Sandbox, Sandbox]
):
    monkeypatch.setattr(mirroring, "SMALLEST_PIECE", 100)
    reached = tuple(client_properties(bootstrap_server=each.bootstrap_servers) for each in two_clusters)
    topics = TopicPair(copied.name, f"eu.{copied.name}")
    plan = AuditPlan(0, None, None, tuple(AuditedTopic(each, TopicRole.OUTPUT) for each in topics), (), ())
    sides = BothSides(*(OpenCluster(each, 30) for each in reached), plan, plan, 20)
    ends = (1211, 1176)
    bounds = (PartitionBounds(name, 0, 0, end, end, 0) for name, end in zip(topics, ends, strict=True))
    job = PairJob(PartitionPair(topics, 0, *bounds))
    found: list[EqualPiece | None] = []
    with spark_pieces(SparkOptions(master=MASTER), reached[::-1], 30, find_java) as pieces:

        def apart(sides, asked):
            assert all(isinstance(each.piece, Piece) for each in asked)
            found.extend(pieces(sides, asked))
            return found

        [answer] = compare_pairs(sides, [job], 4, lambda _: None, apart)
    assert answer.alignment == compare_pair(sides, job).alignment
    assert sum(each.run.records for each in found if each is not None) > 600

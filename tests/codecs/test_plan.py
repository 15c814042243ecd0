"""Plan files and journals: they are read as written, and a change or a cut is noticed."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosctl.codecs.plan import (
    JournalEntry,
    JournalEvent,
    decode_journal,
    decode_plan,
    encode_journal_entry,
    encode_journal_head,
    encode_plan,
    plan_digest,
)
from eosctl.errors import EosctlError, Refused, Undecodable, Unsupported
from eosctl.model import plan as model
from eosctl.model.names import Side
from eosctl.model.plan import Plan, PlannedStep
from eosctl.model.preconditions import ClusterIs, Precondition, TopicIsCompact
from eosctl.model.text import kind_of
from tests.codecs.test_json import values_of

PLAN = Plan(
    "migrate-offsets",
    1_790_000_000_000,
    (
        PlannedStep(
            model.WriteOffsets(
                Side.TARGET,
                "orders-offsets",
                "orders",
                "connect-cluster-orders-0",
                60_000,
                (model.OffsetsWrite(3, b'["orders",{"t":"\xff"}]', None, b"{}"),),
                "records:a",
                "values:b",
                "values:c",
            ),
            (ClusterIs(Side.SOURCE, "abc"), TopicIsCompact(Side.TARGET, "orders-offsets", 25, None)),
        ),
        PlannedStep(
            model.SetConnectorConfig(
                Side.SOURCE, "orders", {"offsets.storage.topic": None}, {"offsets.storage.topic": "x"}
            )
        ),
    ),
)


@given(values_of(Plan))
def test_a_plan_is_read_as_it_was_written(plan: Plan):
    assert decode_plan(encode_plan(plan)) == plan


def test_every_kind_of_step_and_precondition_keeps_its_name():
    """They are in plan files and in the output of commands: a class that is renamed must not change them."""
    assert [kind_of(each) for each in model.Step.__args__] == [
        "stop-connector",
        "read-again",
        "fence-producers",
        "create-topic",
        "write-offsets",
        "verify-offsets",
        "create-connector",
        "set-connector-config",
        "delete-connector",
        "resume-connector",
        "await-operator",
        "abort-transaction",
        "write-commit-marker",
        "commit-transaction",
        "fence-transaction",
        "create-acls",
        "delete-acls",
        "manual-step",
    ]
    assert [kind_of(each) for each in Precondition.__args__] == [
        "cluster-is",
        "connector-stopped",
        "connector-config-is",
        "no-live-owner",
        "topic-is-compact",
        "topic-is-compact-or-absent",
        "offsets-unchanged",
        "no-open-transaction",
        "transaction-hangs",
        "transaction-unchanged",
        "acls-present",
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"partition": 3', '"partition": 4'),
        ("connect-cluster-orders-0", "connect-cluster-orders-1"),
        ('"abc"', '"abd"'),
    ],
)
def test_an_edited_plan_is_refused(old: str, new: str):
    with pytest.raises(Refused, match="changed after it was made"):
        decode_plan(encode_plan(PLAN).replace(old, new))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda plan: plan["plan"]["steps"][0]["step"].pop("topic"), r"plan\.steps\[0\]\.step lacks 'topic'"),
        (lambda plan: plan["plan"]["steps"][0]["step"].update(kind="x"), r"step\.kind is 'x', which is no kind that"),
        (
            lambda plan: plan["plan"]["steps"][0]["step"]["records"][0].update(key="?"),
            r"records\[0\]\.key is not base64",
        ),
        (lambda plan: plan["plan"]["steps"][0]["step"].update(side="left"), r"side is 'left', not source or target"),
        (lambda plan: plan["plan"]["steps"][0]["step"].update(more=1), r"has a member 'more'"),
        (lambda plan: plan.update(kind="x"), "not a plan file"),
        (lambda plan: plan["plan"].update(as_of="now"), r"plan\.as_of is text, not a whole number"),
    ],
)
def test_an_error_in_a_plan_is_named_by_its_place(change, message: str):
    plan = json.loads(encode_plan(PLAN))
    change(plan)
    with pytest.raises(Undecodable, match=message):
        decode_plan(json.dumps(plan))


@pytest.mark.parametrize("version", [0, 2, 99])
def test_a_plan_of_another_version_is_refused_with_a_next_step(version: int):
    with pytest.raises(Unsupported, match=f"the plan has version {version}, this eosctl reads version 1") as refused:
        decode_plan(encode_plan(PLAN).replace('"version": 1', f'"version": {version}'))
    assert refused.value.hint == "use the eosctl that wrote the plan, or write it again with this one"


def test_a_truncated_plan_is_refused_with_its_last_line():
    with pytest.raises(Undecodable, match="not JSON at line 1"):
        decode_plan("{")


@given(st.text())
def test_any_text_is_a_plan_or_refused(text: str):
    with pytest.raises(EosctlError):
        decode_plan(text)


def test_a_line_that_a_crash_cut_did_not_happen():
    digest = plan_digest(PLAN)
    begun = encode_journal_entry(JournalEntry(1, JournalEvent.BEGUN))
    done = encode_journal_entry(JournalEntry(1, JournalEvent.DONE, "all of it"))
    lines = [encode_journal_head(digest), begun, done]
    assert decode_journal(lines, digest)[-1] == JournalEntry(1, JournalEvent.DONE, "all of it")
    assert decode_journal([*lines[:2], done[:-1]], digest) == (JournalEntry(1, JournalEvent.BEGUN),)


def test_a_journal_of_another_plan_is_refused():
    with pytest.raises(Undecodable, match="belongs to another plan"):
        decode_journal([encode_journal_head("sha256:other")], plan_digest(PLAN))


@pytest.mark.parametrize("version", [0, 2])
def test_a_journal_of_another_version_is_refused(version: int):
    digest = plan_digest(PLAN)
    head = encode_journal_head(digest).replace('"version": 1', f'"version": {version}')
    with pytest.raises(Unsupported, match=f"the journal has version {version}, this eosctl reads version 1"):
        decode_journal([head], digest)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"step": "1", "event": "begun", "detail": ""}\n', "line 2 of the journal: step is text, not a whole number"),
        ('{"step": 1, "event": "ended", "detail": ""}\n', "event is 'ended', not begun, done or failed"),
        ('{"step": 1, "event": "begun"}\n', "line 2 of the journal lacks 'detail'"),
    ],
)
def test_an_error_in_a_journal_is_named_by_its_line(line: str, message: str):
    digest = plan_digest(PLAN)
    with pytest.raises(Undecodable, match=message):
        decode_journal([encode_journal_head(digest), line], digest)

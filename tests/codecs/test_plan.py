"""Plan files and journals: what is written is read, and what was changed or cut is noticed."""

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
from eosctl.codecs.plan_steps import PRECONDITIONS, STEPS
from eosctl.errors import EosctlError, Refused, Undecodable, Unsupported
from eosctl.model import plan as model
from eosctl.model.plan import Plan, PlannedStep, Side

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
            (model.ClusterIs(Side.SOURCE, "abc"), model.TopicIsCompact(Side.TARGET, "orders-offsets", 25, None)),
        ),
        PlannedStep(
            model.SetConnectorConfig(
                Side.SOURCE, "orders", {"offsets.storage.topic": None}, {"offsets.storage.topic": "x"}
            )
        ),
    ),
)

texts = st.text(max_size=8)
sides = st.sampled_from(Side)


def values_of(kind: type) -> st.SearchStrategy[object]:
    """Any value of the dataclass."""
    return st.builds(
        kind,
        **{
            name: strategy
            for name, strategy in {
                "settings": st.dictionaries(texts, texts),
                "changes": st.dictionaries(texts, st.none() | texts),
                "before": st.dictionaries(texts, st.none() | texts),
            }.items()
            if name in getattr(kind, "__dataclass_fields__", {}) and kind is not model.WriteOffsets
        },
    )


plans = st.builds(
    Plan,
    texts,
    st.integers(0, 1 << 60),
    st.lists(
        st.builds(
            PlannedStep,
            st.one_of([values_of(kind) for kind in STEPS.values()]),
            st.lists(st.one_of([values_of(kind) for kind in PRECONDITIONS.values()]), max_size=3).map(tuple),
        ),
        max_size=4,
    ).map(tuple),
)


@given(plans)
def test_a_plan_is_read_as_it_was_written(plan: Plan):
    assert decode_plan(encode_plan(plan)) == plan


def test_every_kind_of_step_and_precondition_has_a_name():
    assert set(STEPS.values()) == set(model.Step.__args__)
    assert set(PRECONDITIONS.values()) == set(model.Precondition.__args__)


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
    ("change", "told"),
    [
        (lambda plan: plan["plan"]["steps"][0]["step"].pop("topic"), r"plan\.steps\[0\]\.step lacks 'topic'"),
        (lambda plan: plan["plan"]["steps"][0]["step"].update(kind="x"), r"step\.kind is 'x', which is no step"),
        (
            lambda plan: plan["plan"]["steps"][0]["step"]["records"][0].update(key="?"),
            r"records\[0\]\.key is not base64",
        ),
        (lambda plan: plan["plan"]["steps"][0]["step"].update(side="left"), r"side is 'left', not source or target"),
        (lambda plan: plan["plan"]["steps"][0]["step"].update(more=1), r"has a member 'more'"),
        (lambda plan: plan.update(kind="x"), "not a plan file"),
        (lambda plan: plan["plan"].update(as_of="now"), r"plan\.as_of is a str"),
    ],
)
def test_what_is_wrong_is_named_by_its_place(change, told: str):
    plan = json.loads(encode_plan(PLAN))
    change(plan)
    with pytest.raises(Undecodable, match=told):
        decode_plan(json.dumps(plan))


def test_a_newer_version_is_not_guessed_at():
    with pytest.raises(Unsupported, match="version 2"):
        decode_plan(encode_plan(PLAN).replace('"version": 1', '"version": 2'))


def test_a_cut_plan_says_where():
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

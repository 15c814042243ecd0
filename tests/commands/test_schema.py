"""`eosctl schema`: the schemas for a program, and the kinds that there are."""

import json

import jsonschema
import pytest

from eosctl.render.answers.kinds import KINDS


def test_a_schema_is_printed_as_it_is_and_accepts_what_the_command_prints(eosctl):
    schema = json.loads(eosctl("schema", "explain").stdout)
    document = json.loads(eosctl("explain", "EOS001", "-o", "json").stdout)
    jsonschema.Draft202012Validator(schema).validate(document)
    del document["data"]["explanations"][0]["cause"]
    with pytest.raises(jsonschema.ValidationError, match="'cause' is a required property"):
        jsonschema.Draft202012Validator(schema).validate(document)


def test_programs_that_ask_for_documents_get_one(eosctl):
    document = json.loads(eosctl("schema", "explain", "-o", "json").stdout)
    assert document["kind"] == "schema"
    assert document["data"]["schema"] == json.loads(eosctl("schema", "explain").stdout)


def test_without_a_kind_all_are_listed(eosctl):
    rows = json.loads(eosctl("schema", "-o", "json").stdout)["data"]["kinds"]
    assert [row["kind"] for row in rows] == [kind.name for kind in KINDS]
    assert {"kind": "fence", "version": 1, "commands": ["fence"]} in rows


@pytest.mark.parametrize(
    "args",
    [
        ("schema",),
        ("explain", "EOS001"),
        ("explain",),
        ("watch", "--once", "-b", "127.0.0.1:1", "--timeout", "1"),
        ("schema", "nothing"),
    ],
)
def test_lines_are_what_their_schemas_say(eosctl, args):
    """As every document that a test has a command print is (tests/schemas.py)."""
    lines = [json.loads(line) for line in eosctl(*args, "-o", "jsonl").stdout.splitlines()]
    assert {each["kind"].partition("/")[0] for each in lines} == {lines[0]["kind"]}


def test_a_kind_that_does_not_exist_leads_to_the_one_like_it(eosctl):
    ran = eosctl("schema", "ofsets.show")
    assert ran.exit_code == 2
    assert "there is no document of kind ofsets.show" in ran.stderr
    assert "did you mean offsets.show" in ran.stderr


def test_errors_and_the_help_have_schemas_too(eosctl):
    error = json.loads(eosctl("schema", "nothing", "-o", "json").stdout)
    jsonschema.Draft202012Validator(json.loads(eosctl("schema", "error").stdout)).validate(error)
    helped = json.loads(eosctl("--help-json").stdout)
    jsonschema.Draft202012Validator(json.loads(eosctl("schema", "help").stdout)).validate(helped)

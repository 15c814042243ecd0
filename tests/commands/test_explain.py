"""`eosctl explain`: findings by ID and name, errors by their words, and the list of all."""

import json

import pytest

from eosctl.analysis.catalogue.index import THEMES
from eosctl.analysis.explanations import ERROR_PATTERNS


def explained(ran):
    assert ran.exit_code == 0, ran.stderr
    return json.loads(ran.stdout)["data"]["explanations"]


def test_a_finding_is_explained_by_its_id_and_by_its_name(eosctl):
    [shadow] = explained(eosctl("explain", "eos080", "-o", "json"))
    assert (shadow["id"], shadow["name"], shadow["title"]) == ("EOS080", "shadowed-offset", "shadowed offset")
    assert shadow["severity"] == "error"
    assert "eosctl migrate-offsets --connector <connector>" in shadow["commands"][0]
    assert shadow["reported_by"] == ["doctor", "upgrade-check", "offsets show"]
    assert explained(eosctl("explain", "shadowed-offset", "-o", "json")) == [shadow]


def test_a_name_that_three_topics_share_explains_each(eosctl):
    found = explained(eosctl("explain", "open-transaction", "-o", "json"))
    assert [(each["id"], each["reported_by"][-1]) for each in found] == [
        ("EOS063", "inspect-config"),
        ("EOS088", "offsets show"),
        ("EOS233", "audit"),
    ]


def test_people_read_the_fix_and_who_reports_it(eosctl):
    lines = eosctl("explain", "EOS203").stdout.splitlines()
    assert lines[0] == "FINDING      zombie wrote source offsets"
    assert lines[-1] == "REPORTED-BY  audit"


def test_an_error_is_explained_as_before_and_has_no_severity(eosctl):
    [error] = explained(eosctl("explain", "InvalidPidMappingException", "-o", "json"))
    assert (error["id"], error["name"], error["severity"], error["reported_by"]) == ("id-expired", None, None, [])
    assert eosctl("explain", "InvalidPidMappingException").stdout.startswith("ERROR ")


@pytest.mark.parametrize(
    ("text", "near"),
    [("EOS0800", "EOS080"), ("shadow-offset", "shadowed-offset"), ("ProducerFencdException", "ProducerFencedException"),
     ("org.apache.kafka.common.errors.TransactionCoordinatrFencdException:", "TransactionCoordinatorFencedException")],
)  # fmt: skip
def test_what_nobody_knows_is_said_to_be_unknown_with_what_is_spelt_alike(eosctl, text, near):
    ran = eosctl("explain", text, "-o", "json")
    data = json.loads(ran.stdout)["data"]
    assert (ran.exit_code, data["explanations"], near in data["near"]) == (1, [], True)
    said = eosctl("explain", text)
    assert (said.exit_code, " ".join(said.stdout.split())[:22]) == (1, "Nothing is known of: " + text[0])


def test_what_is_like_nothing_is_said_to_be_unknown(eosctl):
    ran = eosctl("explain", "xyzzy 12")
    assert ran.exit_code == 1
    assert " ".join(ran.stdout.split()) == "Nothing is known of: xyzzy 12. `eosctl explain --list` lists all that is."


@pytest.mark.parametrize(
    ("text", "title"),
    [("KafkaStorageException", "KafkaStorageException: KAFKA_STORAGE_ERROR, code 56"),
     ("the broker answered OFFSET_NOT_AVAILABLE", "OFFSET_NOT_AVAILABLE, code 78"),
     ("org.apache.kafka.connect.errors.ConnectException: it broke", "an error without a code in the protocol")],
)  # fmt: skip
def test_a_class_of_kafka_is_explained_by_what_the_protocol_says_of_it(eosctl, text, title):
    [found] = explained(eosctl("explain", text, "-o", "json"))
    assert found["title"].endswith(title)
    assert "retriable" in found["cause"]


def test_the_list_has_every_finding_under_its_theme_and_every_error(eosctl):
    data = json.loads(eosctl("explain", "--list", "-o", "json").stdout)["data"]
    assert [(each["theme"], each["id"], each["name"]) for each in data["rules"]] == [
        (theme.title, kind.id, kind.name) for theme in THEMES for kind in theme.kinds
    ]
    assert [each["id"] for each in data["errors"]] == [pattern.id for pattern in ERROR_PATTERNS]


def test_the_group_of_the_environment_stands_in_the_commands(eosctl, monkeypatch):
    monkeypatch.setenv("EOSCTL_GROUP_ID", "g7")
    [error] = explained(eosctl("explain", "ProducerFencedException in task pay-0", "-o", "json"))
    assert error["commands"][0] == "eosctl transactions describe g7-pay-0 --group-id g7"


def test_a_profile_s_group_and_its_name_stand_in_the_commands(eosctl):
    assert eosctl("profile", "add", "lab", "-b", "lab:9092", "--group-id", "g8").exit_code == 0
    [error] = explained(eosctl("explain", "ProducerFencedException in task pay-0", "--profile", "lab", "-o", "json"))
    assert error["commands"][0] == "eosctl transactions describe g8-pay-0 --group-id g8 --profile lab"
    assert eosctl("profile", "use", "lab").exit_code == 0
    [error] = explained(eosctl("explain", "ProducerFencedException in task pay-0", "-o", "json"))
    assert error["commands"][0] == "eosctl transactions describe g8-pay-0 --group-id g8"

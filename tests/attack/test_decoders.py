"""Values that nobody writes by accident: each decoder returns one or says why not, soon and in little memory."""

import json
from collections.abc import Iterator
from time import process_time
from typing import Any

import pytest
from msgspec.structs import replace

from eosctl.analysis.rules.registry import RULES, ask, diagnose
from eosctl.analysis.transactions import KnownNames
from eosctl.codecs.config_topic import decode_config_record
from eosctl.codecs.connector_files import decode_connectors
from eosctl.codecs.json_text import NotJson, is_too_deep, load_json, read_json
from eosctl.codecs.ledger import decode_audit_state, decode_json, read_offsets_key
from eosctl.codecs.offsets_topic import decode_kip875, decode_offsets_key, decode_offsets_value
from eosctl.codecs.plan import decode_journal, decode_plan
from eosctl.codecs.profiles import decode_profiles
from eosctl.codecs.record_lines import read_record_lines
from eosctl.codecs.snapshot import decode_snapshot
from eosctl.errors import ConfigError, EosctlError, Undecodable
from eosctl.model.audit_states import LogState
from eosctl.model.client_properties import Property
from eosctl.model.client_roles import ConnectorConfig
from eosctl.model.config_topic import ConnectorConfigRecord, MalformedRecord
from eosctl.model.evidence import Evidence
from eosctl.model.fencing import FencingRequest
from eosctl.model.offsets import MalformedKey, MalformedValue, OffsetKey
from eosctl.model.records import Record
from eosctl.model.report import Finding
from eosctl.model.whole_numbers import whole_number
from eosctl.planning.fencing import select_candidates
from tests.analysis.config_records import Log
from tests.analysis.evidence import HEALTHY, but, inspection
from tests.attack.peak import peak_mib

DEEP = {900: "[" * 900 + '"\\ud800"' + "]" * 900, 100_000: "[" * 100_000, 100_001: '{"a":' * 100_001 + "1"}
DIGITS = "9" * 5_000
ODD = [
    *DEEP.values(),
    DIGITS,
    f"[{DIGITS}]",
    '{"a":1e999}',
    '["\\ud800"]',
    '{"kind":NaN}',
    '{"\\udc00":1}',
    "1e" + DIGITS,
]


TAKEN = {'{"a":1e999}': {"a": float("inf")}, '["\\ud800"]': ["?"], '{"\\udc00":1}': {"?": 1}}
"""What Jackson makes of those of them that it reads."""


@pytest.mark.parametrize("text", ODD, ids=lambda text: text[:8])
def test_files_of_json_with_odd_values_are_undecodable(text: str):
    for decode in (
        decode_plan,
        lambda text: decode_journal([text + "\n"], "d"),
        lambda text: decode_snapshot([text + "\n"]),
        lambda text: decode_kip875(text, "x"),
        lambda text: decode_kip875(f'{{"offsets":[{{"partition":{{"a":{text}}},"offset":null}}]}}', "x"),
        lambda text: decode_connectors(f'{{"name":"a","config":{{"x":{text}}}}}', "x"),
    ):
        with pytest.raises(EosctlError) as caught:
            decode(text)
        assert caught.value.exit_code in {2, 7}
        assert len(caught.value.message) < 1_000
    with pytest.raises(Undecodable, match="the line is not JSON"):
        list(read_record_lines([f'{{"offset":1,"key":"a","value":{text}}}'.encode()]))


def of_topic(text: str) -> tuple[Any, ...]:
    data = text.encode()
    record = Record(1, 1, b"connector-x", b'{"properties":{"a":' + data + b"}}")
    return (
        decode_offsets_key(b'["c",' + data + b"]"),
        decode_offsets_value(b'{"position":' + data + b"}"),
        decode_config_record(record),
        read_offsets_key(b'["c",' + data + b"]"),
    )


@pytest.mark.parametrize("text", ODD, ids=lambda text: text[:8])
def test_records_with_odd_values_are_decoded_or_malformed(text: str):
    key, value, record, read_key = of_topic(text)
    is_partition = text in TAKEN and text.startswith("{")
    assert (isinstance(key, OffsetKey), read_key.connector) == ((True, "c") if is_partition else (False, None))
    assert isinstance(value, MalformedValue)
    assert isinstance(record, ConnectorConfigRecord if text in TAKEN else MalformedRecord)
    for read in (read_json, decode_json):
        if text in TAKEN:
            assert read(text.encode()) == TAKEN[text]
        else:
            with pytest.raises(ValueError, match=r"nested too deeply|more than 1000 digits|are not JSON"):
                read(text.encode())


@pytest.mark.parametrize("depth", [201, 900, 100_000])
def test_what_is_nested_deeply_is_malformed_and_says_so(depth: int):
    text = "[" * depth + "]" * depth
    key = decode_offsets_key(f'["c",{{"a":{text}}}]'.encode())
    assert isinstance(key, MalformedKey)
    assert "nested too deeply" in key.reason
    with pytest.raises(NotJson, match="nested too deeply"):
        read_json(text.encode())


def test_brackets_in_text_and_beside_each_other_are_not_nested():
    assert not is_too_deep(json.dumps(["[{" * 1_000, [[]] * 1_000, '\\"[' * 300]))
    assert load_json(json.dumps([[]] * 1_000)) == [[]] * 1_000


@pytest.mark.parametrize("tasks", [100_001, (1 << 31) - 1])
def test_the_ids_of_more_tasks_than_there_can_be_are_not_listed(tasks: int):
    """The record itself is a worker's to judge: Kafka takes any int."""
    with pytest.raises(Undecodable, match=f"connector orders has {tasks} tasks, and more than 100000 are not listed"):
        select_candidates(FencingRequest(connectors=("orders",)), "g", {"orders": tasks}, (), KnownNames.of({}))


def test_a_value_of_megabytes_is_refused_before_it_is_parsed():
    value = b"[" + b"[]," * 5_000_000 + b"[]]"
    assert peak_mib(lambda: decode_offsets_value(value)) < 20
    with pytest.raises(NotJson, match="more than 8388608 bytes"):
        read_json(value)


@pytest.mark.parametrize("text", ["", "many", "1e3", "0x10", "\u0661", DIGITS, "-", "--1", "1.5", "1 2"])
def test_a_setting_that_is_no_number_is_undecodable(text: str):
    with pytest.raises(Undecodable, match=r"min\.insync\.replicas is '.*', which is no whole number"):
        whole_number(text, "min.insync.replicas")


def test_a_tasks_max_of_any_length_is_no_bug():
    for text in (DIGITS, "\u0661", "-1", "many"):
        assert ConnectorConfig("a", {"tasks.max": Property(text, "x")}).tasks_max == 1


@pytest.mark.parametrize("payload", [b"", b"\xc1", b"\xff" * 9, b"\x91" * 100_000, b"\xdd\xff\xff\xff\xff", bytes(9)])
def test_a_state_of_any_bytes_is_undecodable(payload: bytes):
    with pytest.raises(Undecodable, match="a state of the audit cannot be read"):
        decode_audit_state(payload, LogState)


ODD_YAML = {
    "a date": "profiles: {a: {group-id: 2024-01-01}}",
    "no date": "profiles: {a: {group-id: 2024-99-99}}",
    "a huge number": f"profiles: {{a: {{group-id: {DIGITS}}}}}",
    "a huge hexadecimal number": f"profiles: {{a: {{group-id: 0x{'f' * 6_000}}}}}",
    "a huge property": f"profiles: {{a: {{properties: {{b: 0x{'f' * 6_000}}}}}}}",
    "a number of base 60": "profiles: {a: {group-id: " + "9:" * 4_000 + "9}}",
    "nesting": "[" * 5_000,
    "a list as a key": "? [a]\n: b\n",
    "a mapping as a key": "? {a: b}\n: b\n",
    "an alias of itself": "&a [*a]",
    "merges of merges": "a0: &a0 {x: 1}\n"
    + "".join(f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}\n" for n in range(1, 10)),
    "an object": "!!python/object/apply:os.system [true]",
    "a tag": "!x y",
    "binary": "profiles: {a: !!binary =}",
}


@pytest.mark.parametrize("name", ODD_YAML)
def test_a_file_of_profiles_with_odd_values_is_a_configuration_error(name: str):
    begun = process_time()
    with pytest.raises(ConfigError):
        decode_profiles(ODD_YAML[name], "x")
    assert process_time() - begun < 5


def test_many_profiles_take_time_in_proportion():
    def seconds(count: int) -> float:
        text = "profiles:\n" + "".join(f"  p{number}: {{}}\n" for number in range(count))
        begun = process_time()
        assert len(decode_profiles(text, "x").profiles) == count
        return process_time() - begun

    few = seconds(500)
    assert seconds(5_000) < 40 * few


def test_a_rule_that_meets_what_is_no_number_cannot_tell_and_is_not_the_end_of_all():
    def check(_: Evidence) -> Iterator[Finding]:
        whole_number("many", "min.insync.replicas")
        yield from ()

    answer = ask(replace(RULES[0], check=check, needs=(), versions=None), HEALTHY)
    assert answer.cannot_tell == ("min.insync.replicas is 'many', which is no whole number",)
    assert not answer.complete


def test_the_rules_of_doctor_go_through_no_more_tasks_than_there_can_be():
    log = Log().config("x", **{"exactly.once.support": "required"}).fencing("x", (1 << 31) - 1)
    answers = diagnose(but(inspection=inspection(log))).answers
    [found] = [each for answer in answers for each in answer.findings if each.id == "EOS074"]
    assert (found.subject, "claims 2147483647 tasks" in found.message) == ("x", True)

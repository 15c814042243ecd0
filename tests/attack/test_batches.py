"""Batches, frames and decoders given hostile bytes."""

import json
import random
import struct
from collections.abc import Iterator
from time import monotonic, process_time
from typing import Any

import cramjam
import pytest
from msgspec.structs import replace

from eosctl.analysis.offsets import OffsetsFold
from eosctl.analysis.rules.registry import RULES, ask, diagnose
from eosctl.analysis.transactions import KnownNames
from eosctl.clients.messages import brokers_metadata
from eosctl.clients.wire import Wire
from eosctl.codecs.config_topic import decode_config_record
from eosctl.codecs.connector_files import decode_connectors
from eosctl.codecs.json_text import NotJson, is_too_deep, load_json, read_json
from eosctl.codecs.ledger import decode_audit_state, decode_json, read_offsets_key
from eosctl.codecs.offsets_topic import decode_kip875, decode_offsets_key, decode_offsets_value
from eosctl.codecs.plan import decode_journal, decode_plan
from eosctl.codecs.profiles import decode_profiles
from eosctl.codecs.record_batches import (
    MOST_BYTES,
    Codec,
    TooLargeError,
    decode_entries,
    decode_records,
    iter_batches,
    unpack,
)
from eosctl.codecs.record_lines import read_record_lines
from eosctl.codecs.snapshot import decode_snapshot
from eosctl.errors import ConfigError, EosctlError, Throttled, Undecodable, Unreachable
from eosctl.model.audit_states import LogState
from eosctl.model.client_properties import ClientProperties, Property
from eosctl.model.client_roles import ConnectorConfig
from eosctl.model.config_topic import ConnectorConfigRecord, MalformedRecord
from eosctl.model.evidence import Evidence
from eosctl.model.fencing import FencingRequest
from eosctl.model.names import TopicPartition
from eosctl.model.offsets import MalformedKey, MalformedValue, OffsetKey
from eosctl.model.records import Record, RecordState, Writer, Written
from eosctl.model.report import Finding
from eosctl.model.whole_numbers import whole_number
from eosctl.planning.fencing import select_candidates
from tests.analysis.config_records import Log
from tests.analysis.evidence import HEALTHY, but, inspection
from tests.attack import bombs
from tests.attack.bombs import RECORD, batch, of_zeros, one_record
from tests.attack.false_broker import Answer, after_login, cluster_of_one, false_broker, framed
from tests.attack.peak import peak_mib

PLACE = TopicPartition("connect-offsets", 3)
PACKED = [codec for codec in Codec if codec is not Codec.NONE]
BLOCK = bytes(cramjam.snappy.compress_raw(bytes(1 << 24)))
XERIAL = b"\x82SNAPPY\x00" + bytes([0, 0, 0, 1]) * 2


def refused(data: bytes, most_bytes: int = MOST_BYTES) -> str:
    """Why the one batch in the data cannot be decoded."""
    [found] = iter_batches(data, topic_partition=PLACE, most_bytes=most_bytes)
    with pytest.raises(Undecodable) as caught:
        decode_records(found, topic_partition=PLACE)
    return caught.value.message


@pytest.mark.parametrize("codec", PACKED)
def test_a_batch_that_would_become_large_is_named_with_its_place_in_little_memory(codec: Codec):
    bomb = of_zeros(codec)
    assert len(bomb) < 13 << 20
    assert refused(bomb) == (
        "connect-offsets-3@0: its records take more than 67108864 bytes once they are unpacked (eosctl.batch.max.bytes)"
    )
    assert peak_mib(lambda: refused(bomb)) < 150


@pytest.mark.parametrize("codec", Codec)
def test_very_many_records_are_too_many_regardless_of_their_size(codec: Codec):
    data = batch(codec, RECORD * 500_000, 500_000)
    assert "take more than 67108864 bytes" in refused(data)
    assert peak_mib(lambda: refused(data)) < 30


@pytest.mark.parametrize("codec", Codec)
def test_the_limit_can_be_raised(codec: Codec):
    data = batch(codec, one_record(bytes(1 << 20)), 1)
    [tight] = iter_batches(data, most_bytes=1 << 20)
    with pytest.raises(Undecodable):
        decode_entries(tight)
    [wide] = iter_batches(data, most_bytes=(1 << 20) + 1000)
    assert [len(each.value or b"") for each in decode_entries(wide)] == [1 << 20]


@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize("size", [0, 1, 4000, 100_000])
def test_records_that_pack_well_and_badly_are_unpacked(codec: Codec, size: int):
    values = [bytes(size), bytes(range(256)) * (size // 256)]
    data = batch(codec, b"".join(map(one_record, values)), 2)
    [found] = iter_batches(data)
    assert [each.value for each in decode_entries(found)] == values


def test_a_claim_to_hold_fewer_than_no_records_raises_no_limit():
    data = batch(Codec.ZSTD, one_record(bytes(1 << 28)), -(1 << 31))
    assert "take more than" in refused(data)


LARGEST_CLAIM = b"\xff\xff\xff\xff\x0f"
ODD_SNAPPY = {
    "a claim of 4 GiB": LARGEST_CLAIM + b"abc",
    "a claim of less than the limit": b"\xff\xff\xff\x1f" + b"abc",
    "a block of negative length": XERIAL + struct.pack(">i", -4) * 3,
    "a block of no length": XERIAL + bytes(8),
    "a block that is longer than what is there": XERIAL + struct.pack(">i", 1 << 30) + b"abc",
    "a block that is cut": XERIAL + b"\x00\x00",
    "blocks that are large together": XERIAL + (struct.pack(">i", len(BLOCK)) + BLOCK) * 8,
}


@pytest.mark.parametrize("name", ODD_SNAPPY)
def test_the_length_in_a_snappy_header_is_not_trusted(name: str, monkeypatch):
    monkeypatch.setitem(bombs.PACK, Codec.SNAPPY, lambda _: ODD_SNAPPY[name])
    data = batch(Codec.SNAPPY, b"", 1)
    assert "connect-offsets-3@0: " in refused(data)
    assert peak_mib(lambda: refused(data)) < 100


@pytest.mark.parametrize("codec", PACKED)
def test_damaged_data_is_reported_as_damaged(codec: Codec):
    whole = bytes(bombs.PACK[codec](bytes(range(256)) * 100))
    for damaged in (b"", whole[: len(whole) // 2], whole[:5] + b"\xff" * 9 + whole[14:]):
        with pytest.raises(Exception) as caught:  # noqa: PT011  # each library has its own
            unpack(codec, memoryview(damaged), 0, 1 << 20)
        assert not isinstance(caught.value, TooLargeError)


@pytest.mark.parametrize("seed", range(40))
def test_records_are_had_or_the_batch_is_refused_in_little_memory(seed: int):
    bomb = bombs.any_bomb(5, random.Random(seed))
    [found] = iter_batches(bomb.data, topic_partition=PLACE)

    def decode() -> None:
        if bomb.is_refused:
            with pytest.raises(Undecodable, match="connect-offsets-3@5: "):
                decode_records(found, topic_partition=PLACE)
        else:
            decode_records(found, topic_partition=PLACE)

    assert peak_mib(decode) < 200


def test_many_keys_in_a_batch_are_folded_in_bounded_memory():
    """The most records of a batch, each with its own key, in `offsets show`."""
    count = 50_000
    keys = b"".join(one_keyed(number) for number in range(count))
    data = batch(Codec.ZSTD, keys, count)

    def fold() -> None:
        [found] = iter_batches(data)
        written = Written(0, count, RecordState.COMMITTED, Writer(False, -1, -1))
        OffsetsFold(decode_offsets_key).add_batch(decode_entries(found), written)

    assert peak_mib(fold) < 80


def one_keyed(number: int) -> bytes:
    key = b'["c",{"n":%06d}]' % number
    body = bytes([0, 0, 0, len(key) << 1]) + key + b"\x01\x00"
    return bytes([len(body) << 1]) + body


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
"""The values of those that Jackson reads."""


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
def test_deeply_nested_json_is_reported_as_malformed(depth: int):
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


def test_a_rule_that_meets_a_malformed_number_is_skipped_and_the_others_run():
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


TIMEOUT_S = 1.5
SOON_S = 5.0
LONGEST_MS = 2**31 - 1


def asked(answer: Answer) -> EosctlError:
    """The end of a request for the cluster's brokers to such a broker."""
    with (
        false_broker(answer) as address,
        Wire(ClientProperties((address,)), timeout_s=TIMEOUT_S) as wire,
        pytest.raises(EosctlError) as caught,
    ):
        wire.brokers()
    assert address in caught.value.message
    return caught.value


@pytest.mark.parametrize("claim", [1 << 20, (1 << 30) - 1, (1 << 31) - 1, 1 << 31, (1 << 32) - 1])
def test_a_peer_that_claims_much_before_its_login_is_refused_at_once(claim: int):
    error = asked(lambda key, version, ident: claim.to_bytes(4, "big") + bytes(100))
    assert isinstance(error, Unreachable)
    assert "Invalid frame length" in error.message


@pytest.mark.parametrize("claim", [(1 << 28) + 1, (1 << 30) - 1, 1 << 31])
def test_a_broker_that_claims_too_much_after_its_login_is_refused_at_once(claim: int):
    assert "Invalid frame length" in asked(after_login(claim.to_bytes(4, "big") + bytes(100))).message


@pytest.mark.parametrize("before", [b"", framed(bytes(8))])
def test_a_claim_takes_no_memory(before: bytes):
    """Also where the length comes with the end of another answer."""
    claim = before + (1 << 28).to_bytes(4, "big") + bytes(1 << 18)
    assert peak_mib(lambda: asked(after_login(claim))) < 40


def test_web_pages_and_noise_are_named_as_no_kafka():
    for answer in (b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x15\x03\x01\x00\x02\x02F", bytes(range(256))):
        assert isinstance(asked(lambda key, version, ident, answer=answer: answer), Unreachable)


BODIES = {
    "nothing": b"",
    "zeros": bytes(100),
    "a long array of nothing": b"\x7f\xff\xff\xff" * 3,
    "a long array": b"\x00\x00\x00\x00" + b"\x7f\xff\xff\xff" + bytes(30),
    "negative lengths": b"\xff" * 40,
    "text that is no UTF-8": b"\x00\x00\x00\x01" + bytes(4) + b"\x00\x02\xff\xfe" + bytes(20),
}


@pytest.mark.parametrize("name", BODIES)
def test_answers_that_are_none_of_kafka_s_are_errors(name: str):
    asked(after_login(framed(BODIES[name])))
    asked(lambda key, version, ident: framed(ident + BODIES[name]))


@pytest.mark.parametrize("name", BODIES)
def test_an_answer_that_cannot_be_decoded_is_undecodable_at_once_and_names_the_request(name: str):
    body, began = BODIES[name], monotonic()

    def answer(key: int, version: int, ident: bytes) -> bytes:
        return after_login(framed(ident + body))(key, version, ident)

    said = r"answered Metadata \(version \d+\) with a damaged response: "
    with (
        false_broker(answer) as address,
        Wire(ClientProperties((address,)), timeout_s=60) as wire,
        pytest.raises(Undecodable, match=f"{address} {said}"),
    ):
        wire.brokers()
    assert monotonic() - began < SOON_S


@pytest.mark.parametrize("name", BODIES)
def test_behind_an_address_whose_answer_is_damaged_the_next_is_asked(name: str):
    def answer(key: int, version: int, ident: bytes) -> bytes:
        return after_login(framed(ident + BODIES[name]))(key, version, ident)

    with (
        false_broker(answer) as damaged,
        cluster_of_one() as sound,
        Wire(ClientProperties((damaged, sound)), timeout_s=60) as wire,
    ):
        assert [f"{each.host}:{each.port}" for each in wire.brokers()] == [sound]


def test_a_broker_that_takes_no_request_for_weeks_is_not_waited_for():
    with (
        cluster_of_one(throttle_time_ms=LONGEST_MS) as address,
        Wire(ClientProperties((address,)), timeout_s=60) as wire,
    ):
        wire.brokers()
        began = monotonic()
        for ask in (wire.refresh, lambda: wire.request(1, brokers_metadata())):
            with pytest.raises(Throttled, match=rf"exceeds a client quota: {address} takes no request for 214\d+"):
                ask()
        window = wire.window()
        for item in range(3):
            window.put(item, 1, brokers_metadata())
        assert [type(each.error) for each in window] == [Throttled] * 3
        assert monotonic() - began < SOON_S


def test_a_cluster_without_brokers_is_unreachable():
    with (
        cluster_of_one(brokers=[]) as address,
        Wire(ClientProperties((address,)), timeout_s=TIMEOUT_S) as wire,
        pytest.raises(Unreachable, match="the cluster's metadata names no broker"),
    ):
        wire.brokers()

"""Any bytes: a codec returns a value or raises an EosctlError that says why, and nothing else.

Inputs are mutations of good ones, because random bytes hardly get past a first field, and good ones with odd
values: deep nesting, huge numbers, half characters, duplicate keys. Each codec has a seed of its own, so that a failure
comes again: FUZZ_SEED, and the input itself, are in the message.
"""

import os
import random
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder

from eosctl.codecs.client_properties import decode_jaas, map_subject
from eosctl.codecs.config_topic import decode_config_record
from eosctl.codecs.connector_files import decode_connectors, decode_worker_file, decode_worker_properties
from eosctl.codecs.groups import decode_leader_url, decode_member_url, decode_offset_commit_key
from eosctl.codecs.json_text import read_json
from eosctl.codecs.ledger import decode_audit_state, decode_json, encode_audit_state, read_offsets_key
from eosctl.codecs.offsets_topic import decode_kip875, decode_offsets_key, decode_offsets_value
from eosctl.codecs.plan import decode_journal, decode_plan, encode_plan
from eosctl.codecs.profiles import decode_profiles
from eosctl.codecs.properties import decode_properties
from eosctl.codecs.record_batches import decode_marker, decode_records, iter_batches
from eosctl.codecs.record_lines import read_record_lines
from eosctl.codecs.snapshot import decode_snapshot
from eosctl.codecs.tls import decode_jks, decode_pem
from eosctl.codecs.transaction_log import decode_transaction_log_key, decode_transaction_log_value
from eosctl.errors import EosctlError
from eosctl.executors.files import decode_cached_names
from eosctl.model.audit_states import LogState
from eosctl.model.records import Record
from tests.attack.odd_inputs import grown
from tests.attack.peak import peak_mib
from tests.codecs.test_plan import PLAN
from tests.codecs.test_snapshot import EMPTY, FULL, written

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")  # of Python's re

SHORT, LONG = 1_000, 1_000_000
MOST_MIB = 512
DICTIONARY = (
    *(b"", b"\x00", b"\xff", b"\x80\x00", b"\x7f\xff\xff\xff", b"\xed\xa0\x80", b"\xc2\x94"),
    *(b"\\", b"\\u0000", b'"', b"{", b"[", b"[" * 40, b"null", b"1e999", b"9" * 30, b"-1"),
    *(b"=", b": ", b"\n", b"${file:x:y}", b"$1"),
)
"""What is put in now and then: bytes that some codec gives a meaning."""


def batch() -> bytes:
    settings = {"is_transactional": 1, "producer_id": 7, "producer_epoch": 2, "base_sequence": 0, "batch_size": 4096}
    builder = DefaultRecordBatchBuilder(magic=2, compression_type=0, **settings)
    for offset in range(3):
        builder.append(offset, 1_790_000_000_000, b"key", b"value", [("h", b"x")])
    return bytes(builder.build())


def text(decode: Callable[[str], Any]) -> Callable[[bytes], Any]:
    """A codec of text, given the bytes as the sources give them: UTF-8, else ISO 8859-1."""

    def of_bytes(data: bytes) -> Any:
        try:
            return decode(data.decode())
        except UnicodeDecodeError:
            return decode(data.decode("iso-8859-1"))

    return of_bytes


def or_value_error(decode: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    """A part of other codecs, which turn its ValueError into their own error."""

    def of_bytes(data: bytes) -> Any:
        with suppress(ValueError):
            return decode(data)

    return of_bytes


def batches(data: bytes) -> None:
    for each in iter_batches(data):
        decode_marker(each, check_crc=False) if each.header.is_control else decode_records(each, check_crc=False)


def journal(data: str) -> object:
    return decode_journal(data.splitlines(keepends=True), "d")


def snapshot(data: str) -> object:
    return decode_snapshot(data.splitlines(keepends=True))


def record_lines(data: bytes) -> object:
    return list(read_record_lines(data.splitlines()))


def config_record(data: bytes) -> Any:
    key, _, value = data.partition(b"|")
    return decode_config_record(Record(1, 1, key, value))


JSON_KEY = b'["orders",{"filename":"/data/orders.csv"}]'
CODECS: dict[str, tuple[Callable[[bytes], Any], Sequence[bytes]]] = {
    "offsets key": (decode_offsets_key, [JSON_KEY, b'["a",null]']),
    "offsets key of an audit": (read_offsets_key, [JSON_KEY]),
    "offsets value": (decode_offsets_value, [b'{"position":8421,"x":1.5,"y":"z"}']),
    "Connect's JSON": (or_value_error(read_json), [b'{"a":[1,2.5,"x",true,null]}', b"[1e5,-0.0]"]),
    "JSON of an audit": (or_value_error(decode_json), [b'{"a":[1,2.5,"x",true,null]}']),
    "config record": (config_record, [b'connector-x|{"properties":{"a":"b"}}', b'commit-x|{"tasks":3}', b"task-x-0|{}",
                                      b'tasks-fencing-x|{"task-count":2}', b'target-state-x|{"state":"PAUSED"}',
                                      b'session-key|{"key":"a","algorithm":"b","creation-timestamp":1}']),
    "record batches": (batches, [batch(), batch() * 2]),
    "transaction log key": (decode_transaction_log_key, [struct.pack(">hh", 0, 2) + b"id"]),
    "transaction log value": (decode_transaction_log_value, [
        struct.pack(">hqhibiqq", 0, 7, 2, 60_000, 0, 0, 1, 1),
        struct.pack(">hqhib", 0, 7, 2, 60_000, 1) + struct.pack(">ih2sii", 1, 2, b"tp", 1, 0) + bytes(16),
        struct.pack(">hqhib", 1, 7, 2, 60_000, 4) + b"\x01" + bytes(16) + b"\x00"]),
    "offset commit key": (decode_offset_commit_key, [struct.pack(">hh1sh1si", 1, 1, b"g", 1, b"t", 0)]),
    "member metadata": (decode_member_url, [struct.pack(">hh10sq", 1, 10, b"http://a:1", 5)]),
    "assignment": (decode_leader_url, [struct.pack(">hhh1sh10sqi", 1, 0, 1, b"l", 10, b"http://a:1", 5, 0)]),
    "JKS": (lambda data: decode_jks(data, None), [struct.pack(">Iii", 0xFEEDFEED, 2, 0) + bytes(20)]),
    "PEM": (text(decode_pem), [b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]),
    "JAAS": (text(decode_jaas), [b'a.b.PlainLoginModule required username="a" password="b\\"c";']),
    "properties": (text(lambda data: decode_properties(data, origin="x")), [b"a=b\\\n c\nd : e\n\\u0041=1\n#x\n"]),
    "worker properties": (text(lambda data: decode_worker_properties(data, "x")), [b"group.id=a\nlisteners=a://:1\n"]),
    "worker file": (text(lambda data: decode_worker_file(data, "x")), [b"clusters=a,b\na->b.x=1\n", b"group.id=a\n"]),
    "connector file": (text(lambda data: decode_connectors(data, "x")), [b'{"name":"a","config":{}}', b"name=a\n"]),
    "KIP-875": (text(lambda data: decode_kip875(data, "x")), [b'{"offsets":[{"partition":{"a":1},"offset":{}}]}']),
    "profiles": (text(lambda data: decode_profiles(data, "x")), [b"current: a\nprofiles:\n  a: {group-id: x}\n"]),
    "principal mapping": (text(lambda data: map_subject("CN=a,OU=b", data)), [b"RULE:^CN=(.*?),.*$/$1/L,DEFAULT"]),
    "state of an audit": (lambda data: decode_audit_state(data, LogState), [encode_audit_state(("a", 1)), bytes(9)]),
    "plan": (text(decode_plan), [encode_plan(PLAN).encode()]),
    "journal": (text(journal), [b'{"kind":"journal","version":1}\n']),
    "snapshot": (text(snapshot), ["".join(written(EMPTY)).encode(), "".join(written(FULL)).encode()]),
    "record lines": (record_lines, [b'{"offset":1,"key":"a","value":{"tasks":1}}\n',
                                                                               b'commit-x\t{"tasks":3}\n']),
    "remembered names": (text(decode_cached_names), [b'{"version":1,"names":["a"],"read_at":1,"asked_at":1}']),
}  # fmt: skip


def mutated(seed: bytes, chance: random.Random) -> bytes:
    """`seed` with one to four changes: bytes replaced, cut out, doubled, or something from the dictionary put in."""
    data = bytearray(seed)
    for _ in range(chance.randint(1, 4)):
        place = chance.randint(0, len(data))
        match chance.randrange(4):
            case 0 if place < len(data):
                data[place] = chance.randrange(256)
            case 1:
                del data[place : place + chance.randint(1, 8)]
            case 2:
                data[place:place] = data[place : place + chance.randint(1, 8)]
            case _:
                data[place:place] = chance.choice(DICTIONARY)
    return bytes(data)


def fuzz(name: str, inputs: int) -> None:
    decode, seeds = CODECS[name]
    number = os.environ.get("FUZZ_SEED", "1")
    chance = random.Random(f"{name} {number}")
    for count in range(inputs):
        data = (mutated if count % 4 else grown)(chance.choice(seeds), chance)
        try:
            decode(data)
        except EosctlError:
            pass
        except Exception as error:
            raise AssertionError(f"{name}, FUZZ_SEED={number}, input {count}: {data!r} raised {error!r}") from error


@pytest.mark.parametrize("name", CODECS)
def test_a_codec_given_any_bytes_returns_a_value_or_says_why(name):
    fuzz(name, SHORT)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", CODECS)
def test_fuzz_a_million_inputs(name):
    assert peak_mib(lambda: fuzz(name, LONG)) < MOST_MIB

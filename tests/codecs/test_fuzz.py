"""Any bytes: a codec returns a value or raises an EosctlError with the reason, and nothing else.

Inputs are mutations of good ones, because random bytes hardly get past a first field, and good ones with odd values:
deep nesting, huge numbers, half characters, duplicate keys. Each codec has its own seed, so that a failure can be
repeated: FUZZ_SEED, and the input itself, are in the message.
"""

import base64
import os
import random
import re
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.util import calc_crc32c
from cryptography.hazmat.primitives import serialization as form
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import eosctl
from eosctl.codecs.class_files import decode_class
from eosctl.codecs.client_properties import decode_jaas, map_subject
from eosctl.codecs.config_topic import decode_config_record
from eosctl.codecs.connector_files import (
    decode_connector,
    decode_connectors,
    decode_worker_file,
    decode_worker_properties,
    decode_worker_settings,
)
from eosctl.codecs.evidence_file import decode_evidence, encode_evidence
from eosctl.codecs.flink_checkpoint import decode_flink_checkpoint
from eosctl.codecs.groups import (
    decode_assigned_partitions,
    decode_checkpoint,
    decode_committed_offset,
    decode_group_generation,
    decode_leader_url,
    decode_member_url,
    decode_offset_commit_key,
    decode_streams_process,
    decode_tasks,
)
from eosctl.codecs.json_text import read_json, read_text
from eosctl.codecs.ledger import (
    decode_audit_state,
    decode_earlier_audit,
    decode_json,
    encode_audit_state,
    read_offsets_key,
)
from eosctl.codecs.offsets_topic import decode_kip875, decode_offsets_key, decode_offsets_value
from eosctl.codecs.plan import decode_journal, decode_plan, encode_plan
from eosctl.codecs.producer_state import decode_producer_snapshot, decode_transaction_index
from eosctl.codecs.profiles import decode_profiles
from eosctl.codecs.properties import decode_properties
from eosctl.codecs.record_batches import (
    decode_ending,
    decode_entries,
    decode_entries_with,
    decode_marker,
    decode_records,
    decode_shown,
    iter_batches,
)
from eosctl.codecs.record_keys import read_keys
from eosctl.codecs.record_lines import read_record_lines
from eosctl.codecs.snapshot import decode_snapshot
from eosctl.codecs.ssh_signature import BEGIN, END, LINE, SigningKey, decode_public_keys, decode_signature
from eosctl.codecs.status_topic import decode_status_record
from eosctl.codecs.strimzi import decode_resources
from eosctl.codecs.tls import decode_jks, decode_pem, decode_tls_limits
from eosctl.codecs.transaction_log import (
    decode_log_record,
    decode_transaction_log_key,
    decode_transaction_log_value,
)
from eosctl.codecs.yaml_text import decode_kubernetes_yaml, decode_yaml
from eosctl.errors import EosctlError
from eosctl.executors.files import decode_cached_names
from eosctl.model.audit_states import LogState
from eosctl.model.client_properties import ClientProperties, Property
from eosctl.model.names import ProducerIdAndEpoch
from eosctl.model.records import Record
from tests.attack.odd_inputs import grown
from tests.attack.peak import peak_mib
from tests.codecs.test_evidence_file import EVIDENCE
from tests.codecs.test_flink_checkpoint import HEADER, committable, old_writer, writer
from tests.codecs.test_plan import PLAN
from tests.codecs.test_snapshot import EMPTY, FULL, written

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")  # of Python's re

SHORT, LONG = 300, 1_000_000
SLOW = frozenset(
    {"YAML of Kubernetes", "resources", "settings of a worker", "worker file", "connector file", "connector"}
)
"""An input of YAML takes 2 ms."""
MOST_MIB = 512
DICTIONARY = (
    *(b"", b"\x00", b"\xff", b"\x80\x00", b"\x7f\xff\xff\xff", b"\xed\xa0\x80", b"\xc2\x94"),
    *(b"\\", b"\\u0000", b'"', b"{", b"[", b"[" * 40, b"null", b"1e999", b"9" * 30, b"-1"),
    *(b"=", b": ", b"\n", b"${file:x:y}", b"$1"),
)
"""Inserted now and then: bytes with a meaning for some codec."""


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


def views(data: bytes) -> None:
    """Decodes the parts of one answer's batches other than their records."""
    producer = ProducerIdAndEpoch(7, 2)
    decode_ending(data, 0, producer)
    decode_shown(data, [(7, 0)], 0, producer)
    for each in iter_batches(data):
        decode_entries(each, check_crc=False)
        decode_entries_with(each, [b"value"])


def halves(decode: Callable[[bytes, bytes], Any]) -> Callable[[bytes], Any]:
    """A codec of two fields, given with a bar between them."""

    def of_bytes(data: bytes) -> Any:
        first, _, second = data.partition(b"|")
        return decode(first, second)

    return of_bytes


def armored(blob: bytes) -> str:
    packed = base64.b64encode(blob).decode()
    return "\n".join((BEGIN, *[packed[place : place + LINE] for place in range(0, len(packed), LINE)], END, ""))


def tls_limits(data: str) -> object:
    keys = ("ssl.enabled.protocols", "ssl.protocol", "ssl.cipher.suites")
    given = dict(zip(keys, (Property(each, "x") for each in data.split("|")), strict=False))
    return decode_tls_limits(ClientProperties((), properties=given))


def record_lines(data: bytes) -> object:
    return list(read_record_lines(data.splitlines()))


def of_record(data: bytes) -> Record:
    key, _, value = data.partition(b"|")
    return Record(1, 1, key, value)


def config_record(data: bytes) -> Any:
    return decode_config_record(of_record(data))


PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(32))
SECRET = PRIVATE.private_bytes(form.Encoding.PEM, form.PrivateFormat.OpenSSH, form.NoEncryption())
PUBLIC = PRIVATE.public_key().public_bytes(form.Encoding.OpenSSH, form.PublicFormat.OpenSSH)
SIGNATURE = SigningKey(SECRET).sign(b"x", "eosctl-evidence")
STRIMZI = "apiVersion: kafka.strimzi.io/v1beta2\nkind: "
CONNECT = f"""{STRIMZI}KafkaConnect
metadata: {{name: a, annotations: {{strimzi.io/use-connector-resources: "true"}}}}
spec: {{bootstrapServers: "b:9092", config: {{group.id: g, offset.storage.topic: o}}}}
---
{STRIMZI}KafkaConnector
metadata: {{name: c, labels: {{strimzi.io/cluster: a}}}}
spec: {{class: X, tasksMax: 2, state: running, config: {{topic: t, n: 1e3}}}}
""".encode()
MIRROR = f"""{STRIMZI}KafkaMirrorMaker2
metadata: {{name: m}}
spec:
  connectCluster: t
  clusters: [{{alias: s, bootstrapServers: "s:1"}}, {{alias: t, bootstrapServers: "t:1", config: {{a: b}}}}]
  mirrors: [{{sourceCluster: s, targetCluster: t, sourceConnector: {{tasksMax: 1, config: {{x: y}}}}}}]
""".encode()
CLASS = (
    struct.pack(">IHHH", 0xCAFEBABE, 0, 52, 5) + b"\x07\x00\x02\x01\x00\x01A\x07\x00\x04\x01\x00\x01B"
    + struct.pack(">HHHHHHHHHHIHH", 1, 1, 3, 0, 0, 1, 1, 2, 4, 1, 2, 0, 0)
)  # fmt: skip
ASSIGNED = struct.pack(">hhh1sh10sqih1sii", 1, 0, 1, b"l", 10, b"http://a:1", 5, 1, 1, b"c", 1, 0)
PRODUCERS = struct.pack(">iqhiqiqiq", 1, 7, 2, 9, 40, 0, 1, 3, 38)
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
    "Flink checkpoint": (lambda data: decode_flink_checkpoint(data, [data], "sink-"), [
        HEADER + committable("sink-0-42") + writer("sink", 0, 2, ["sink-0-41"]) + old_writer("sink"),
    ]),
    "transaction log key": (decode_transaction_log_key, [struct.pack(">hh", 0, 2) + b"id"]),
    "transaction log value": (decode_transaction_log_value, [
        struct.pack(">hqhibiqq", 0, 7, 2, 60_000, 0, 0, 1, 1),
        struct.pack(">hqhib", 0, 7, 2, 60_000, 1) + struct.pack(">ih2sii", 1, 2, b"tp", 1, 0) + bytes(16),
        struct.pack(">hqhib", 1, 7, 2, 60_000, 4) + b"\x01" + bytes(16) + b"\x00"]),
    "transaction index": (lambda data: decode_transaction_index(data, 0), [
        struct.pack(">hqqqq", 0, 7, 0, 3, 4) + struct.pack(">hqqqq", 0, 8, 2, 5, 6)]),
    "producer snapshot": (decode_producer_snapshot, [
        struct.pack(">hI", 1, calc_crc32c(PRODUCERS)) + PRODUCERS, struct.pack(">hIi", 1, 0, 0)]),
    "offset commit key": (decode_offset_commit_key, [struct.pack(">hh1sh1si", 1, 1, b"g", 1, b"t", 0)]),
    "member metadata": (decode_member_url, [struct.pack(">hh10sq", 1, 10, b"http://a:1", 5)]),
    "assignment": (decode_leader_url, [struct.pack(">hhh1sh10sqi", 1, 0, 1, b"l", 10, b"http://a:1", 5, 0)]),
    "generation of a group": (decode_group_generation, [
        struct.pack(">hh7sih10sh1sqi", 3, 7, b"connect", 5, 10, b"compatible", 1, b"l", 1, 0)]),
    "tasks of a member": (halves(decode_tasks), [
        struct.pack(">hh10sqi", 1, 10, b"http://a:1", 5, len(ASSIGNED)) + ASSIGNED + b"|" + ASSIGNED]),
    "subscription of a Streams thread": (decode_streams_process, [
        struct.pack(">hih6siiiqq", 1, 1, 6, b"orders", 28, 11, 11, 7, 9)]),
    "assigned partitions": (decode_assigned_partitions, [struct.pack(">hih6siii", 0, 1, 6, b"orders", 2, 1, 4)]),
    "committed offset": (decode_committed_offset, [struct.pack(">hqi", 1, 7, 0)]),
    "checkpoint": (halves(decode_checkpoint), [
        struct.pack(">h1sh1si", 1, b"g", 1, b"t", 0) + b"|" + struct.pack(">hqq", 0, 5, 5)]),
    "log record": (lambda data: decode_log_record(0, of_record(data)), [
        struct.pack(">hh", 0, 2) + b"id|" + struct.pack(">hqhibiqq", 0, 7, 2, 60_000, 0, 0, 1, 1)]),
    "status record": (lambda data: decode_status_record(of_record(data)), [
        b'status-connector-x|{"state":"RUNNING","worker_id":"a:1","generation":1}',
        b'status-task-x-0|{"state":"FAILED","trace":"t","worker_id":"a:1","generation":2}',
        b'status-topic-t:connector-x|{"topic":{"name":"t","connector":"x","task":0,"discoverTimestamp":1}}']),
    "views of batches": (views, [batch(), batch() * 2]),
    "keys of a record": (halves(read_keys), [b'{"id":1}|{"id":1}', b"{}|Struct{id=1}", b"1|1"]),
    "text of Connect": (read_text, [b"a\xffb\xe2\x82"]),
    "class file": (decode_class, [CLASS]),
    "evidence": (decode_evidence, [encode_evidence(EVIDENCE)]),
    "signature": (text(decode_signature), [SIGNATURE.encode()]),
    "signature in its armor": (lambda data: decode_signature(armored(data)), [
        base64.b64decode("".join(SIGNATURE.split("\n")[1:-2]))]),
    "public keys": (text(decode_public_keys), [PUBLIC]),
    "private key": (SigningKey, [SECRET]),
    "earlier audit": (text(lambda data: decode_earlier_audit(data, 1)), [
        b'{"as_of":"x","data":{"findings":[{"id":"a","subject":"b","severity":"error","evidence":{"a":1}}],'
        b'"connectors":[{"name":"a","verdict":"broken"}]}}']),
    "YAML": (text(lambda data: decode_yaml(data, "x")), [b"a: [1, 2]\nb: {c: 2024-01-01}\n"]),
    "YAML of Kubernetes": (text(lambda data: decode_kubernetes_yaml(data, "x")), [CONNECT]),
    "resources": (text(lambda data: decode_resources(data, "x")), [CONNECT, MIRROR]),
    "settings of a worker": (text(lambda data: decode_worker_settings(data, "x")), [CONNECT, MIRROR, b"a=b\n"]),
    "connector": (text(lambda data: decode_connector(data, "x")), [b'{"name":"a","config":{"connector.class":"X"}}']),
    "TLS limits": (text(tls_limits), [b"TLSv1.2,TLSv1.3|TLSv1.3|TLS_AES_128_GCM_SHA256"]),
    "JKS": (lambda data: decode_jks(data, None), [struct.pack(">Iii", 0xFEEDFEED, 2, 0) + bytes(20)]),
    "PEM": (text(decode_pem), [b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]),
    "JAAS": (text(decode_jaas), [b'a.b.PlainLoginModule required username="a" password="b\\"c";']),
    "properties": (text(lambda data: decode_properties(data, origin="x")), [b"a=b\\\n c\nd : e\n\\u0041=1\n#x\n"]),
    "worker properties": (text(lambda data: decode_worker_properties(data, "x")), [b"group.id=a\nlisteners=a://:1\n"]),
    "worker file": (text(lambda data: decode_worker_file(data, "x")), [
        b"clusters=a,b\na->b.x=1\n", b"group.id=a\n", CONNECT, MIRROR]),
    "connector file": (text(lambda data: decode_connectors(data, "x")), [
        b'{"name":"a","config":{}}', b"name=a\n", CONNECT, MIRROR]),
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
def test_a_codec_given_any_bytes_returns_a_value_or_a_reason(name):
    fuzz(name, SHORT // 5 if name in SLOW else SHORT)


def test_every_decoder_is_fuzzed():
    """Rows of the ledger are damaged in tests/attack/test_stores.py; the last two take a record after the other."""
    codecs = (Path(eosctl.__file__).parent / "codecs").glob("*.py")
    declared = {name for path in codecs for name in re.findall(r"^def (decode_\w+)", path.read_text("utf-8"), re.M)}
    assert declared - set(globals()) == {
        *("decode_cursor", "decode_range", "decode_run", "decode_state"),
        *("decode_config_records", "decode_status_records"),
    }


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", CODECS)
def test_fuzz_a_million_inputs(name):
    assert peak_mib(lambda: fuzz(name, LONG)) < MOST_MIB

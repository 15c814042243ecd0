"""Records are folded while they are decoded, and the key that followed the last time is tried first."""

from collections.abc import Iterator, Sequence
from struct import pack_into

from aiokafka.record.util import calc_crc32c
from hypothesis import given, settings
from hypothesis import strategies as st

from eosctl.analysis.audit.batches import BatchWriter
from eosctl.analysis.audit.key_scan import KeyScan
from eosctl.codecs.ledger import decode_json
from eosctl.codecs.record_batches import SHORTEST_BATCH, Codec, DamagedOffsets, iter_batches
from eosctl.engines.scanning import scan_range
from eosctl.model.audit import AuditedTopic, AuditPlan, OffsetRange, PartitionBounds, StateRow, TopicRole
from eosctl.model.records import Record
from eosctl.sources.audit_log import DataBatch, LogItem, LogSource
from tests.analysis.audit.batch_bytes import ATTRIBUTES_AT, CRC_AT, Writer, Written, data_batch

KEYS = (b'["c",{"p":1}]', b'["c",{"p":2}]', b'["d",{"p":1}]', b"no key", b"", None)
ROWS = st.lists(
    st.tuples(
        st.sampled_from(KEYS),
        st.one_of(st.none(), st.just(b"no value"), st.integers(0, 12).map(lambda lsn: b'{"lsn":%d}' % lsn)),
    ),
    min_size=1,
    max_size=8,
)
WRITERS = [BatchWriter(*who) for who in ((-1, -1, False), (1, 0, True), (1, 1, True), (2, 0, True))]


class Items(LogSource):
    """A range that is read from memory, as often as it is asked for."""

    def __init__(self, items: Sequence[LogItem]) -> None:
        self._items = items

    def __exit__(self, *_: object) -> None:
        pass

    def read(self, plan: AuditPlan, offsets: OffsetRange) -> Iterator[LogItem]:
        return iter(self._items)


def _rows(items: Sequence[LogItem], end: int) -> list[StateRow]:
    topics, bounds = (AuditedTopic("offsets", TopicRole.OFFSETS),), (PartitionBounds("offsets", 0, 0, end, end, 0),)
    offsets = OffsetRange("offsets", 0, 0, end)
    plan = AuditPlan(0, "cluster", "group", topics, bounds, (offsets,), (), ())
    return list(scan_range(plan, offsets, Items(items)))


def _item(base: int, rows: list[tuple[bytes | None, bytes | None]], codec: Codec) -> DataBatch:
    written = [Written(delta, 1_000 + base, *row) for delta, row in enumerate(rows)]
    [batch] = iter_batches(data_batch(base, written, Writer(1, 0, transactional=True), codec))
    return DataBatch(batch, aborted=False)


def _spoilt(item: DataBatch, cut: int, more: bytes) -> DataBatch:
    """The batch without its last bytes or with more of them, and with a CRC that matches."""
    data = bytearray(item.batch.data)
    data = data[: max(SHORTEST_BATCH, len(data) - cut)] + more
    pack_into(">i", data, 8, len(data) - 12)
    pack_into(">I", data, CRC_AT, calc_crc32c(bytes(data[ATTRIBUTES_AT:])))
    [batch] = iter_batches(bytes(data))
    return DataBatch(batch, aborted=False)


@settings(max_examples=40)
@given(st.lists(ROWS, min_size=1, max_size=5), st.sampled_from(Codec), st.data())
def test_a_batch_whose_records_do_not_add_up_gives_none_of_them(
    batches: list[list[tuple[bytes | None, bytes | None]]], codec: Codec, data: st.DataObject
):
    items: list[LogItem] = []
    end = 0
    for rows in batches:
        items.append(_item(end, rows, codec))
        end += len(rows)
    place = data.draw(st.integers(0, len(items) - 1))
    plain = _item(items[place].batch.header.base_offset, batches[place], Codec.NONE)  # type: ignore[union-attr]
    cut, more = data.draw(st.one_of(st.tuples(st.integers(1, 30), st.just(b"")), st.just((0, b"\x00"))))
    header = plain.batch.header

    found = _rows([*items[:place], _spoilt(plain, cut, more), *items[place + 1 :]], end)

    damage = DamagedOffsets(
        header.base_offset, header.next_offset, f"offset {header.base_offset}: its records cannot be decoded"
    )
    assert found == _rows([*items[:place], damage, *items[place + 1 :]], end)
    assert found != _rows(items, end)


@settings(max_examples=40)
@given(st.lists(st.tuples(ROWS, st.sampled_from(WRITERS)), min_size=1, max_size=8))
def test_a_key_has_the_state_that_its_own_records_give(
    batches: list[tuple[list[tuple[bytes | None, bytes | None]], BatchWriter]],
):
    together, alone = KeyScan(decode_json), {key: KeyScan(decode_json) for key in KEYS}
    offset = 0
    for rows, writer in batches:
        records = [Record(offset + delta, 1_000, *row) for delta, row in enumerate(rows)]
        offset += len(rows)
        together.add_batch(records, writer)
        for key in KEYS:
            alone[key].add_batch([record for record in records if record.key == key], writer)

    expected = {state.key: state for scan in alone.values() for state in scan.states()}
    assert {state.key: state for state in together.states()} == expected

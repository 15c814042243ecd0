"""A checkpoint of Flink in a directory: which files are read, and which checkpoint is the last."""

from pathlib import Path

import pytest

from eosctl.errors import ConfigError, UsageError
from eosctl.files import FLINK_STATE
from eosctl.operations.leftovers import read_checkpoint
from tests.codecs.test_flink_checkpoint import HEADER, committable, writer


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    made = tmp_path / "job" / "chk-42"
    made.mkdir(parents=True)
    (made / "_metadata").write_bytes(HEADER + writer("sink"))
    (made / "b7a2").write_bytes(committable("sink-0-42"))
    (made / "more").mkdir()
    return made


def names(found) -> list[str]:
    return [each.transactional_id for each in found.transactions]


def test_all_files_of_a_directory_are_read_and_of_a_file_that_alone(checkpoint, monkeypatch):
    assert names(read_checkpoint(checkpoint, "sink-")) == ["sink-0-42"]
    assert names(read_checkpoint(checkpoint / "_metadata", "sink-")) == []
    monkeypatch.chdir(checkpoint)
    assert names(read_checkpoint(Path(), "sink-")) == ["sink-0-42"]


def test_a_file_that_is_too_large_for_a_committer_is_passed_over(checkpoint):
    with (checkpoint / "b7a2").open("ab") as file:
        file.truncate(FLINK_STATE.most_bytes)
    assert names(read_checkpoint(checkpoint, "sink-")) == ["sink-0-42"]
    with (checkpoint / "b7a2").open("ab") as file:
        file.truncate(FLINK_STATE.most_bytes + 1)
    assert names(read_checkpoint(checkpoint, "sink-")) == []


@pytest.mark.parametrize(
    ("other", "is_later"), [("chk-43", True), ("chk-100", True), ("chk-9", False), ("chk-x", False), ("shared", False)]
)
def test_a_later_completed_checkpoint_beside_it_is_the_one_to_give(checkpoint, other, is_later, monkeypatch):
    later = checkpoint.parent / other
    later.mkdir()
    assert names(read_checkpoint(checkpoint, "sink-")) == ["sink-0-42"], "a checkpoint without _metadata is pending"
    (later / "_metadata").write_bytes(HEADER)
    monkeypatch.chdir(checkpoint)
    for path in (checkpoint, checkpoint / "_metadata", Path(), Path("_metadata")):
        if is_later:
            with pytest.raises(UsageError, match="not the last completed checkpoint") as refused:
                read_checkpoint(path, "sink-")
            assert str(later) in str(refused.value.hint)
        else:
            read_checkpoint(path, "sink-")


@pytest.mark.parametrize("missing", ["_metadata", "none"])
def test_a_checkpoint_that_is_not_there_is_named(checkpoint, missing):
    (checkpoint / "_metadata").unlink()
    path = checkpoint if missing == "_metadata" else checkpoint.parent / missing
    with pytest.raises(ConfigError, match=missing):
        read_checkpoint(path, "sink-")

"""Files that are there whole or not at all."""

import stat

import pytest

from eosctl.atomic_write import atomic_file, write_atomic_file
from eosctl.errors import ConfigError


def fill(path, parts):
    with atomic_file(path) as file:
        for part in parts:
            file.write(part)


def test_a_file_is_written_for_its_owner_only(tmp_path):
    assert write_atomic_file(tmp_path / "page.html", "naïve") == 6
    assert (tmp_path / "page.html").read_text("utf-8") == "naïve"
    assert stat.S_IMODE((tmp_path / "page.html").stat().st_mode) == 0o600


def test_what_was_there_stays_when_writing_fails(tmp_path):
    path = tmp_path / "page.html"
    path.write_text("before")
    with pytest.raises(TypeError, match="bytes-like"):
        fill(path, [b"after", "no bytes"])
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_said_with_the_path(tmp_path):
    path = tmp_path / "page.html"
    with pytest.raises(ConfigError, match=r"cannot write .*page\.html: No space left on device"), atomic_file(path):
        raise OSError(28, "No space left on device")
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_is_not_there_is_said(tmp_path):
    with pytest.raises(ConfigError, match=r"cannot write .*No such file or directory"):
        write_atomic_file(tmp_path / "no" / "page.html", "")

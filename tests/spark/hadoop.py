"""HDFS and YARN on this machine: NameNode, DataNode, ResourceManager, two NodeManagers, from Hadoop's shaded jars."""

import getpass
import json
import re
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

from eosctl.sandbox.cache import cache_directory, exclusive
from eosctl.sandbox.jars import holds_all, replacing, retrieve_artifacts
from eosctl.sandbox.java import find_java
from eosctl.sandbox.process import Process
from tests.spark.standalone import HOST, JVM, NODES, SPARK_HOME, Daemons, Node, daemons, plain_environment, ready

SERVER = "org.apache.hadoop.yarn.server"
EXPIRY_MS = 30_000
"""The time without a heartbeat after which a node is lost: its default is ten minutes."""
KEPT_S = 3_600
"""How long NodeManagers keep the files of containers, including launch scripts: tests read them."""
LOG4J = """log4j.rootLogger=INFO,console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.target=System.err
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d %p %c{1} %m%n
"""
CORE, HDFS, YARN, SCHEDULER = "core-site", "hdfs-site", "yarn-site", "capacity-scheduler"


@dataclass(frozen=True)
class Hadoop:
    """The cluster: where it is configured, its nodes, the page of its ResourceManager."""

    directory: Path
    configuration: Path
    nodes: tuple[Node, ...]
    resource_manager: str
    name_node: str

    def ask(self, path: str) -> Any:
        """The answer of the ResourceManager's REST API."""
        with urllib.request.urlopen(f"http://{self.resource_manager}/ws/v1/cluster/{path}", timeout=30) as answer:
            return json.load(answer)

    def application(self, name: str) -> dict[str, Any]:
        """Its state, final status and so on."""
        found: dict[str, Any] = self.ask(f"apps/{name}")["app"]
        return found

    def attempts(self, name: str) -> int:
        """How often its driver, or in client mode its master, was started."""
        return len(self.ask(f"apps/{name}/appattempts")["appAttempts"]["appAttempt"])

    def files(self, path: str) -> dict[str, str]:
        """The permissions of each file and directory below a path of HDFS; empty where there is none."""
        try:
            found = json.loads(self._hdfs(path, "LISTSTATUS"))["FileStatuses"]["FileStatus"]
        except urllib.error.HTTPError as error:
            if error.code != HTTPStatus.NOT_FOUND:
                raise
            return {}
        listed = {}
        for each in found:
            name = f"{path.rstrip('/')}/{each['pathSuffix']}"
            listed[name] = str(each["permission"])
            listed |= self.files(name) if each["type"] == "DIRECTORY" else {}
        return listed

    def read(self, path: str) -> bytes:
        """A file of HDFS."""
        return self._hdfs(path, "OPEN")

    def make(self, path: str) -> None:
        """A directory in HDFS."""
        self._hdfs(path, "MKDIRS", "PUT")

    def remove(self, path: str) -> None:
        """Removes a directory of HDFS, with its contents."""
        self._hdfs(path, "DELETE&recursive=true", "DELETE")

    def kill_application(self) -> None:
        """`yarn application -kill` for the only one that runs."""
        (name,) = [each["id"] for each in self.ask("apps?states=RUNNING")["apps"]["app"]]
        classpath = f"{self.configuration}:{hadoop_classpath()}"
        cli = [str(find_java()), *JVM, "-Xmx128m", "-cp", classpath, "org.apache.hadoop.yarn.client.cli.ApplicationCLI"]
        killing = [*cli, "application", "-kill", name]
        subprocess.run(killing, env=plain_environment(), check=True, capture_output=True, timeout=300)

    def _hdfs(self, path: str, operation: str, method: str = "GET") -> bytes:
        user = getpass.getuser()
        url = f"http://{self.name_node}/webhdfs/v1{path}?op={operation}&user.name={user}"
        with urllib.request.urlopen(urllib.request.Request(url, method=method), timeout=60) as answer:
            return bytes(answer.read())


def hadoop_version() -> str:
    """That of the client in pyspark."""
    found = re.search(r"hadoop-client-api-(.+)\.jar", " ".join(map(str, (SPARK_HOME / "jars").iterdir())))
    assert found is not None
    return found[1].split(".jar")[0]


def hadoop_classpath() -> str:
    """Hadoop's daemons in the version that pyspark's client has, fetched once into the cache of the sandbox."""
    version = hadoop_version()
    coordinates = (
        f"org.apache.hadoop:hadoop-client-minicluster:{version}",
        # The ResourceManager needs them, and the shaded jar leaves them out.
        *(f"org.bouncycastle:{each}-jdk18on:1.82" for each in ("bcprov", "bcpkix")),
        "org.slf4j:slf4j-reload4j:1.7.36",
    )
    place = cache_directory() / "hadoop" / version
    with exclusive(place.with_name(f"{version}.lock")):
        if not holds_all(place, coordinates):
            with replacing(place, coordinates) as staging:
                (staging / "libs").mkdir()
                retrieve_artifacts(coordinates, staging / "libs", lambda _: None)
    return f"{place / 'libs'}/*"


@contextmanager
def hadoop(directory: Path) -> Iterator[Hadoop]:
    """The cluster, ready, for the length of a block."""
    classpath = hadoop_classpath()
    with daemons(directory) as started:
        sites = _sites(started, directory)
        pages = sites[YARN]["yarn.resourcemanager.webapp.address"], sites[HDFS]["dfs.namenode.http-address"]
        configuration = _written(directory / "conf", sites)
        name_node = _start_hdfs(started, f"{configuration}:{classpath}")
        main = f"{SERVER}.resourcemanager.ResourceManager"
        manager = started.start("resourcemanager", f"{configuration}:{classpath}", main)
        nodes = tuple(_node(started, number, sites, classpath) for number in range(NODES))
        cluster = Hadoop(directory, configuration, nodes, *pages)
        ready(name_node, lambda: _stores(cluster))
        ready(manager, lambda: _running(cluster) == NODES)
        yield cluster


def _running(cluster: Hadoop) -> int:
    try:
        return int(cluster.ask("metrics")["clusterMetrics"]["activeNodes"])
    except (OSError, ValueError):
        return 0


def _stores(cluster: Hadoop) -> bool:
    """True if HDFS accepts files: the NameNode answers over HTTP earlier, but refuses requests about its files."""
    page = f"http://{cluster.name_node}/jmx?qry=Hadoop:service=NameNode,name=FSNamesystemState"
    try:
        with urllib.request.urlopen(page, timeout=30) as answer:
            states = json.load(answer)["beans"]
    except (OSError, ValueError):
        return False
    return any(each["FSState"] == "Operational" and each["NumLiveDataNodes"] == 1 for each in states)


def _start_hdfs(started: Daemons, classpath: str) -> Process:
    name_node = "org.apache.hadoop.hdfs.server.namenode.NameNode"
    java = [str(find_java()), *JVM, "-Xmx128m", "-cp", classpath, name_node, "-format", "-nonInteractive"]
    subprocess.run(java, env=plain_environment(), check=True, capture_output=True, timeout=300)
    process = started.start("namenode", classpath, name_node)
    started.start("datanode", classpath, "org.apache.hadoop.hdfs.server.datanode.DataNode")
    return process


def _node(started: Daemons, number: int, sites: Mapping[str, Mapping[str, str]], classpath: str) -> Node:
    place = started.directory / f"node{number}"
    own = {f"yarn.nodemanager.{name}": f"{HOST}:{started.port()}" for name in ("address", "localizer.address")}
    own |= {
        "yarn.nodemanager.webapp.address": f"{HOST}:{started.port()}",
        "yarn.nodemanager.collector-service.address": f"{HOST}:{started.port()}",
        "yarn.nodemanager.local-dirs": str(place / "local"),
        "yarn.nodemanager.log-dirs": str(place / "logs"),
    }
    configuration = _written(place / "conf", {**sites, YARN: {**sites[YARN], **own}})
    main = f"{SERVER}.nodemanager.NodeManager"
    return Node(started.start(f"nodemanager{number}", f"{configuration}:{classpath}", main), place)


def _sites(started: Daemons, directory: Path) -> dict[str, dict[str, str]]:
    manager = ("", "scheduler.", "resource-tracker.", "admin.", "webapp.")
    return {
        CORE: {
            "fs.defaultFS": f"hdfs://{HOST}:{started.port()}",
            "hadoop.tmp.dir": str(directory / "tmp"),
        },
        HDFS: {
            "dfs.replication": "1",
            "dfs.namenode.name.dir": str(directory / "name"),
            "dfs.datanode.data.dir": str(directory / "data"),
            "dfs.namenode.http-address": f"{HOST}:{started.port()}",
            "dfs.namenode.safemode.extension": "0",
            **{f"dfs.datanode.{name}address": f"{HOST}:{started.port()}" for name in ("", "http.", "ipc.")},
        },
        YARN: {
            **{f"yarn.resourcemanager.{name}address": f"{HOST}:{started.port()}" for name in manager},
            "yarn.resourcemanager.scheduler.class": f"{SERVER}.resourcemanager.scheduler.capacity.CapacityScheduler",
            "yarn.scheduler.minimum-allocation-mb": "128",
            # Not all of an application fits on one.
            "yarn.nodemanager.resource.memory-mb": "2304",
            "yarn.nodemanager.resource.cpu-vcores": "4",
            "yarn.nodemanager.vmem-check-enabled": "false",
            "yarn.nodemanager.delete.debug-delay-sec": str(KEPT_S),
            "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "100",
            "yarn.nm.liveness-monitor.expiry-interval-ms": str(EXPIRY_MS),
        },
        SCHEDULER: {
            "yarn.scheduler.capacity.root.queues": "default",
            "yarn.scheduler.capacity.root.default.capacity": "100",
            "yarn.scheduler.capacity.maximum-am-resource-percent": "1.0",
        },
    }


def _written(directory: Path, sites: Mapping[str, Mapping[str, str]]) -> Path:
    directory.mkdir(parents=True)
    (directory / "log4j.properties").write_text(LOG4J, encoding="utf-8")
    for name, values in sites.items():
        lines = [f"<property><name>{key}</name><value>{value}</value></property>" for key, value in values.items()]
        text = "\n".join(["<configuration>", *lines, "</configuration>"])
        (directory / f"{name}.xml").write_text(text, encoding="utf-8")
    return directory

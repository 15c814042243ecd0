"""A standalone master and two workers, from pyspark's own jars."""

import json
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.spark.cluster_processes import HOST, NODES, SPARK_HOME, Node, daemons, ready

DEPLOY = "org.apache.spark.deploy"


@dataclass(frozen=True)
class Standalone:
    """The cluster: its URL, its nodes."""

    directory: Path
    url: str
    nodes: tuple[Node, ...]


@contextmanager
def standalone(directory: Path) -> Iterator[Standalone]:
    """The cluster, ready, for the length of a block. Workers know no path of this checkout."""
    classpath = f"{SPARK_HOME / 'jars'}/*"
    # What Spark's start scripts find out, and a worker needs to start executors.
    home = {"SPARK_HOME": str(SPARK_HOME), "SPARK_CONF_DIR": str(directory), "SPARK_SCALA_VERSION": "2.13"}
    with daemons(directory) as started:
        # It would listen on a port that is the same for all.
        (directory / "spark-defaults.conf").write_text("spark.master.rest.enabled false\n", encoding="utf-8")
        port, page = str(started.port()), str(started.port())
        url = f"spark://{HOST}:{port}"
        address = ("--host", HOST, "--port", port, "--webui-port", page)
        master = started.start("master", classpath, f"{DEPLOY}.master.Master", *address, environment=home)
        ready(master, lambda: _workers(page) == 0)
        nodes = []
        for number in range(NODES):
            place = directory / f"node{number}"
            place.mkdir()
            offered = ("--host", HOST, "--cores", "2", "--memory", "2g", "--work-dir", str(place), "--webui-port")
            arguments = (f"{DEPLOY}.worker.Worker", *offered, str(started.port()), url)
            worker = started.start(f"worker{number}", classpath, *arguments, environment=home)
            nodes.append(Node(worker, place))
        ready(master, lambda: _workers(page) == NODES)
        yield Standalone(directory, url, tuple(nodes))


def _workers(page: str) -> int:
    """How many are alive; -1 where the master does not answer yet."""
    try:
        with urllib.request.urlopen(f"http://{HOST}:{page}/json/", timeout=30) as answer:
            return sum(each["state"] == "ALIVE" for each in json.load(answer)["workers"])
    except (OSError, ValueError):
        return -1

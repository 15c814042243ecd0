"""Passes Kafka credentials to executors, never through Spark, whose options and settings end up in event logs.

1. `file`: a file of Java client properties that each executor reads. A name without a directory is one that came with
   `--files`; it is looked for in the working directory first, where YARN and Kubernetes put it.
2. `environment`: the name of an environment variable of the executors that holds the text of such a file, such as one
   that Kubernetes sets from a secret.
3. The bootstrap servers are no secret; those of the driver replace what the file says.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from eosctl.atomic_write import OWNER_ONLY
from eosctl.codecs.client_properties import client_properties
from eosctl.codecs.properties import ENCODING, encode_properties
from eosctl.errors import ConfigError, UsageError
from eosctl.files import EXECUTORS_CONFIG, read_content
from eosctl.model.client_properties import ClientProperties
from eosctl.sources.config_providers import look_up

ENVIRONMENT: Final = "env:"
BOOTSTRAP: Final = "bootstrap.servers"


class ExecutorAccess(Struct, frozen=True):
    """The place of an executor's client properties; both None: it needs only the bootstrap servers.

    cluster_id is the cluster that the driver has read, None: any.
    """

    bootstrap_servers: str
    timeout_s: float
    file: str | None = None
    environment: str | None = None
    cluster_id: str | None = None

    def client_properties(self) -> ClientProperties:
        """On an executor: the client properties. Raises ConfigError where file or variable is missing there."""
        text, origin = self._text()
        properties = client_properties(
            command_config=text, command_config_name=origin, bootstrap_server=self.bootstrap_servers, lookup=look_up
        )
        return replace(properties, cluster_id=self.cluster_id)

    def _text(self) -> tuple[str | None, str]:
        if self.environment is not None:
            text = os.environ.get(self.environment)
            if text is None:
                raise ConfigError(f"the executor has no environment variable {self.environment}")
            return text, f"{ENVIRONMENT}{self.environment}"
        if self.file is None:
            return None, ""
        return read_content(_found(self.file), EXECUTORS_CONFIG).decode(ENCODING), self.file


def _found(name: str) -> Path:
    from pyspark import SparkFiles

    path = Path(name)
    if path.is_absolute() or path.exists():
        return path
    return Path(SparkFiles.get(path.name))


@contextmanager
def executor_access(
    properties: ClientProperties, timeout_s: float, *, master: str, given: str | None = None
) -> Iterator[ExecutorAccess]:
    """Access of the executors of `master` to the driver's client properties.

    given is a file or `env:NAME`, as in rules 1 and 2. Without it, executors on this machine (`local`, `local-cluster`)
    read a file in memory that only this user may read and that ends with this process. Others get only the bootstrap
    servers; UsageError if they need more.
    """
    servers, cluster_id = ",".join(properties.bootstrap_servers), properties.cluster_id
    if given is not None:
        name = given.removeprefix(ENVIRONMENT)
        where = {"environment" if name != given else "file": name}
        yield ExecutorAccess(servers, timeout_s, **where, cluster_id=cluster_id)
    elif properties.properties.keys() <= {BOOTSTRAP}:
        yield ExecutorAccess(servers, timeout_s, cluster_id=cluster_id)
    elif master.startswith("local"):
        values = {key: each.value for key, each in properties.properties.items()}
        with _in_memory(encode_properties(values).encode(ENCODING)) as path:
            yield ExecutorAccess(servers, timeout_s, file=str(path), cluster_id=cluster_id)
    else:
        raise UsageError(
            "executors on other machines need the client properties too, and Spark's settings are no place for secrets",
            hint="give --executor-properties FILE, with `spark-submit --files FILE`, or --executor-properties env:NAME",
        )


@contextmanager
def _in_memory(content: bytes) -> Iterator[Path]:
    """A file with this content that lies on no disk and ends with this process, however that ends.

    Where the system has no such files, one in a directory of this user alone.
    """
    if not hasattr(os, "memfd_create"):
        with tempfile.TemporaryDirectory(prefix="eosctl-spark-") as directory:
            path = Path(directory, "client.properties")
            path.touch(mode=OWNER_ONLY)
            path.write_bytes(content)
            yield path
        return
    with os.fdopen(os.memfd_create("client.properties"), "wb") as file:
        os.fchmod(file.fileno(), OWNER_ONLY)
        file.write(content)
        file.flush()
        yield Path(f"/proc/{os.getpid()}/fd/{file.fileno()}")

"""pyspark's daemon, from which Python workers are forked, with everything loaded that a range's task needs.

Run by Spark as `spark.python.daemon.module`, on this machine only.

1. Spark puts pyspark's zip before the installed package; a zip holds no compiled modules, so every start compiles them.
   Where pyspark is installed as files too, that is taken.
2. What the daemon has loaded, workers need not load one by one.
3. The collector of cycles need not look at what was loaded: a worker has it look after each task.
"""

import gc
import runpy
import sys
from importlib import import_module
from pathlib import Path
from typing import Final

ZIPPED: Final = ("pyspark.zip", "-src.zip")
NEEDED: Final = (
    "pyspark.worker",
    "pyspark.sql.pandas.serializers",
    "aiokafka.record.default_records",
    "google_crc32c",
    "kafka.net.selector",
    "kafka.protocol.consumer.fetch",
    "kafka.protocol.consumer.offsets",
    "kafka.protocol.metadata",
    "eosctl.clients.kafka_python",
    "eosctl.clients.wire",
    "eosctl.codecs.client_properties",
    "eosctl.spark.range_frame",
)


def prefer_installed(path: list[str]) -> list[str]:
    """The module search path with Spark's zips behind everything else."""
    zipped = [entry for entry in path if Path(entry).name.endswith(ZIPPED)]
    return [entry for entry in path if entry not in zipped] + zipped


def main() -> None:
    """Become pyspark's daemon, with this module's arguments."""
    sys.path[:] = prefer_installed(sys.path)
    for name in NEEDED:
        import_module(name)
    gc.collect()
    gc.freeze()
    runpy.run_module("pyspark.daemon", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()

"""Spark's own Kafka source, tuned, merely reading a topic. Runs with pyspark 3.5.7, which knows nothing of eosctl.

`SERVERS TOPIC PARTITIONS MASTER JARS END…`: the offset behind each partition, so that nothing has to be asked.
"""

import json
import sys
import time

from pyspark.sql import SparkSession

TUNED = {
    "kafka.max.poll.records": "20000",
    "kafka.fetch.max.bytes": str(50 << 20),
    "kafka.max.partition.fetch.bytes": str(10 << 20),
    "kafka.receive.buffer.bytes": str(1 << 20),
}


def main() -> None:
    """Read everything into Spark's sink that keeps nothing."""
    servers, topic, partitions, master, jars, *ends = sys.argv[1:]
    builder = SparkSession.builder.master(master).config("spark.jars", jars).config("spark.driver.memory", "2g")
    builder = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
    spark = builder.getOrCreate()
    begin = {topic: {str(number): 0 for number in range(int(partitions))}}
    end = {topic: {str(number): int(offset) for number, offset in enumerate(ends)}}
    start = time.perf_counter()
    reader = spark.read.format("kafka").options(**TUNED).option("kafka.bootstrap.servers", servers)
    reader = reader.option("subscribe", topic).option("startingOffsets", json.dumps(begin))
    reader.option("endingOffsets", json.dumps(end)).load().write.format("noop").mode("overwrite").save()
    print(json.dumps({"work_s": time.perf_counter() - start, "work_cpu_s": None}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()

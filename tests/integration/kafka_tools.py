"""Kafka's own command lines, run as a cure prints them."""

import shlex
import subprocess

from tests.faulty_sandbox import Sandbox
from tests.jvm import jars_of, java_with

MAIN = {
    "kafka-configs.sh": "kafka.admin.ConfigCommand",
    "kafka-acls.sh": "org.apache.kafka.tools.AclCommand",
    "kafka-features.sh": "org.apache.kafka.tools.FeatureCommand",
    "kafka-topics.sh": "org.apache.kafka.tools.TopicCommand",
    "kafka-reassign-partitions.sh": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
}


def run_kafka_tool(sandbox: Sandbox, printed: str, *more: str) -> str:
    """The output of the printed command, run against the sandbox as the super user; fails if the command fails."""
    printed = printed.split("`")[1] if "`" in printed else printed
    tool, *arguments = shlex.split(printed.replace("<broker>", sandbox.bootstrap_servers))
    assert "--bootstrap-server" in arguments, printed
    command = [*java_with(jars_of(sandbox)), MAIN[tool]]
    ran = subprocess.run([*command, *arguments, *more], check=False, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout

"""Packages that are opened without their __init__.py look whole to whoever asks for a name of theirs."""

import json
import subprocess
import sys

ASKING = """
import json, sys
import eosctl.clients
import kafka.net.manager, aiokafka.record.default_records
some = ("kafka.consumer", "kafka.protocol.admin.topics", "aiokafka.producer")
seen = {"before": [name for name in some if name in sys.modules]}
import kafka, aiokafka
from kafka import KafkaAdminClient
seen["names"] = [KafkaAdminClient.__module__, kafka.KafkaConsumer.__name__, aiokafka.AIOKafkaProducer.__name__]
seen["version"] = kafka.__version__ == __import__("importlib.metadata").metadata.version("kafka-python")
from kafka.protocol.admin import CreateTopicsRequest, ListGroupsRequest
seen["classes"] = ListGroupsRequest is sys.modules["kafka.protocol.admin.groups"].ListGroupsRequest
seen["after"] = [name for name in some if name in sys.modules]
for ask in ("kafka.Nobody", "kafka.__wrapped__"):
    try:
        eval(ask)
    except AttributeError as error:
        seen[ask] = str(error)
try:
    import kafka.nobody
except ModuleNotFoundError as error:
    seen["import"] = error.name
print(json.dumps(seen))
"""


def test_a_bare_package_runs_its_init_for_the_first_name_that_is_no_module():
    ran = subprocess.run([sys.executable, "-c", ASKING], check=True, capture_output=True, text=True, timeout=60)
    assert json.loads(ran.stdout) == {
        "before": [],
        "names": ["kafka.admin.client", "KafkaConsumer", "AIOKafkaProducer"],
        "version": True,
        "classes": True,
        "after": ["kafka.consumer", "kafka.protocol.admin.topics", "aiokafka.producer"],
        "kafka.Nobody": "module 'kafka' has no attribute 'Nobody'",
        "kafka.__wrapped__": "module 'kafka' has no attribute '__wrapped__'",
        "import": "kafka.nobody",
    }

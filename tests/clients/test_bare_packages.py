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


LATE = """
import sys
from threading import Barrier, Thread
from eosctl.analysis import offsets
from eosctl.sources import kafka_groups as groups
def ran(module):
    return "__getattr__" not in vars(module)
seen = [ran(offsets), ran(groups)]
together = Barrier(4)
found = []
def ask():
    together.wait()
    found.append(groups.listed_groups)
threads = [Thread(target=ask) for _ in range(4)]
[each.start() for each in threads]
[each.join() for each in threads]
assert len(found) == 4 and len(set(found)) == 1, found
seen += [ran(offsets), ran(groups)]
from eosctl.analysis.offsets import OffsetsFold
seen += [ran(offsets), OffsetsFold is offsets.OffsetsFold]
try:
    groups.nobody
except AttributeError as error:
    seen.append(str(error))
from eosctl.bare_packages import run
from eosctl.model import hanging
seen += [ran(hanging), ran(run("eosctl.model.hanging")), ran(hanging)]
print(seen)
"""


def test_a_module_that_is_imported_as_one_runs_when_it_is_asked_for_a_name():
    ran = subprocess.run([sys.executable, "-c", LATE], check=True, capture_output=True, text=True, timeout=60)
    absent = "module 'eosctl.sources.kafka_groups' has no attribute 'nobody'"
    assert ran.stdout == f"{[False, False, False, True, True, True, absent, False, True, True]}\n"


BROKEN = """
import sys, types
from pathlib import Path
import eosctl.sources
Path(sys.argv[1], "broken.py").write_text("import nobody_has_this\\n")
eosctl.sources.__path__.append(sys.argv[1])
from eosctl.sources import broken
for _ in range(2):
    try:
        broken.name
    except ImportError as error:
        print(error)
"""


def test_what_is_missing_is_said_whenever_the_module_is_asked(tmp_path):
    ran = subprocess.run(
        [sys.executable, "-c", BROKEN, tmp_path], check=True, capture_output=True, text=True, timeout=60
    )
    assert ran.stdout == 2 * "No module named 'nobody_has_this'\n"


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

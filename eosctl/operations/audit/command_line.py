"""The command line that an audit was run with, as its page shows it: nothing in it is a secret."""

import shlex
from collections.abc import Iterator

from eosctl.operations.audit.request import AuditRequest
from eosctl.operations.offset_stores import OffsetsRequest
from eosctl.operations.session_options import SessionOptions

DEFAULTS = OffsetsRequest()


def command_line(options: SessionOptions, request: AuditRequest) -> str:
    """What decides which cluster and what of it was audited, with options in full and without client properties.

    These are named by key: their values may be secrets.
    """
    words = [word for name, value in _given(options, request) for word in (name, value)]
    return shlex.join(["eosctl", "audit", *words])


def _given(options: SessionOptions, request: AuditRequest) -> Iterator[tuple[str, str]]:
    offsets = request.offsets
    settings = {
        "--profile": (None if options.profile is None else options.profile.name,),
        "--bootstrap-server": (options.bootstrap_servers,),
        "--command-config": (options.command_config,),
        "-X": [f"{key}=…" for key in options.properties],
        "--connect-url": options.connect_urls,
        "--group-id": (options.group_id,),
        "--snapshot": (options.snapshot,),
        "--log-dir": request.log_directories,
        "--connector": offsets.connectors,
        "--topic": request.topics,
        "--offsets-topic": request.offsets_topics,
        "--config-topic": (offsets.config_topic if offsets.config_topic != DEFAULTS.config_topic else None,),
        "--worker-offsets-topic": (offsets.worker_offsets_topic,),
        "--exactly-once": (offsets.exactly_once,),
        "--worker-version": (offsets.worker_version,),
        "--worker-bootstrap-servers": (offsets.worker_bootstrap_servers,),
        "--worker-config": (offsets.worker_config,),
        "--engine": (request.engine if request.engine != "local" else None,),
        "--store": (request.store,),
        "--job": (request.job if request.store is not None else None,),
    }
    for name, values in settings.items():
        yield from ((name, str(value)) for value in values if value is not None)

"""The source cluster of a mirror, with an identity of its own."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from eosctl.operations.session import Session
from eosctl.operations.session_options import PlannedServers


@contextmanager
def source_session(
    session: Session, servers: str | None, config: Path | None, planned: PlannedServers | None = None
) -> Iterator[Session]:
    """The source cluster: nothing of the target's properties is used there.

    `planned` are its brokers where neither `servers` nor the file `config` names any. No credentials are shown to them.
    """
    options = replace(
        session.options,
        bootstrap_servers=servers,
        command_config=config,
        planned=planned,
        properties=MappingProxyType({}),
        connect_urls=(),
        group_id=None,
        profile=None,
    )
    session.has_other_cluster = True
    with Session(options) as source:
        source.has_other_cluster = True  # what the target refuses ends both sessions
        yield source

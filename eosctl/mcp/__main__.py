"""`python -m eosctl.mcp -b HOST:PORT …`: serves one cluster on standard input and output."""

import argparse

from eosctl.api.cluster import Cluster, Workers, connect, open_snapshot
from eosctl.errors import NotInstalled


def main(args: list[str] | None = None) -> None:
    """Serves until the client goes. The cluster and its credentials are named here, never by a client."""
    try:
        from eosctl.mcp.server import serve
    except ImportError as error:
        raise SystemExit(_message_of(NotInstalled("the server for assistants", "mcp", error))) from error

    parser = argparse.ArgumentParser("python -m eosctl.mcp", description=__doc__, allow_abbrev=False)
    parser.add_argument("-b", "--bootstrap-server", metavar="HOST:PORT")
    parser.add_argument("--profile", metavar="NAME", help="a profile of eosctl: `eosctl profile list`")
    parser.add_argument("--command-config", metavar="FILE", help="a Java client's properties file")
    parser.add_argument("--connect-url", metavar="URL", action="append", default=[])
    parser.add_argument("--group-id", metavar="ID")
    parser.add_argument("--snapshot", metavar="FILE", help="answer from this snapshot; no cluster is asked")
    given = parser.parse_args(args)
    if given.snapshot is None and given.bootstrap_server is None and given.profile is None:
        parser.error("name the cluster: -b HOST:PORT, --profile NAME or --snapshot FILE")

    def opened() -> Cluster:
        if given.snapshot is not None:
            return open_snapshot(given.snapshot)
        return connect(
            given.bootstrap_server,
            workers=Workers(group_id=given.group_id, urls=tuple(given.connect_url)),
            command_config=given.command_config,
            profile=given.profile,
        )

    serve(opened)


def _message_of(error: NotInstalled) -> str:
    return f"eosctl: error: {error.message}\nhint: {error.hint}"


if __name__ == "__main__":
    main()

"""A Spark engine from what the user said, and its end."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from eosctl.errors import ConfigError
from eosctl.model.client_properties import ClientProperties
from eosctl.model.spark_options import SparkOptions

if TYPE_CHECKING:
    from eosctl.spark.engine import SparkEngine


@contextmanager
def spark_engine(
    request: SparkOptions,
    properties: ClientProperties,
    timeout_s: float,
    find_java: Callable[[], Path],
    archives: Path | None = None,
) -> "Iterator[SparkEngine]":
    """The engine while the block runs; find_java and archives as session.spark_session takes them.

    Raises ConfigError, Unreachable or UsageError where it cannot be had."""
    try:
        from eosctl.spark.engine import SparkEngine
        from eosctl.spark.executor_access import executor_access
        from eosctl.spark.session import master_of, spark_session
    except ImportError as error:
        raise ConfigError(f"{error.name} is not installed", hint="pip install 'eosctl[spark]'") from error

    with spark_session(find_java, master=request.master, remote=request.remote, archives=archives) as session:
        master = master_of(session)
        with executor_access(properties, timeout_s, master=master, given=request.executor_properties) as access:
            yield SparkEngine(session, access)

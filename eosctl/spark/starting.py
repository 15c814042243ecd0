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
        from eosctl.spark import engine, executor_access, session
    except ImportError as error:
        raise ConfigError(f"{error.name} is not installed", hint="pip install 'eosctl[spark]'") from error

    with session.spark_session(find_java, master=request.master, remote=request.remote, archives=archives) as spark:
        given, master = request.executor_properties, session.master_of(spark)
        with executor_access.executor_access(properties, timeout_s, master=master, given=given) as access:
            yield engine.SparkEngine(spark, access)

"""A Spark engine from what the user said, and its end."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from eosctl.errors import ConfigError
from eosctl.model.client_properties import ClientProperties
from eosctl.model.spark_options import SparkOptions

if TYPE_CHECKING:
    from eosctl.spark.engine import SparkEngine
    from eosctl.spark.piece_frame import SparkPieces


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
    with _installed():
        from eosctl.spark import engine, executor_access, session

    with session.spark_session(find_java, master=request.master, remote=request.remote, archives=archives) as spark:
        given, master = request.executor_properties, session.master_of(spark)
        with executor_access.executor_access(properties, timeout_s, master=master, given=given) as access:
            yield engine.SparkEngine(spark, access)


@contextmanager
def spark_pieces(
    request: SparkOptions,
    properties: tuple[ClientProperties, ClientProperties],
    timeout_s: float,
    find_java: Callable[[], Path],
    archives: Path | None = None,
) -> "Iterator[SparkPieces]":
    """What compares pieces of a mirror while the block runs; properties are those of its source and of its target."""
    with _installed():
        from eosctl.spark import executor_access, piece_frame, session

    with session.spark_session(find_java, master=request.master, remote=request.remote, archives=archives) as spark:
        reach = partial(executor_access.executor_access, timeout_s=timeout_s, master=session.master_of(spark))
        with (
            reach(properties[0], given=request.source_executor_properties) as source,
            reach(properties[1], given=request.executor_properties) as target,
        ):
            yield piece_frame.SparkPieces(spark, piece_frame.BothAccesses(source, target))


@contextmanager
def _installed() -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise ConfigError(f"{error.name} is not installed", hint="pip install 'eosctl[spark]'") from error

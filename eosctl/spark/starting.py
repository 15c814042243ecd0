"""A Spark engine from the user's options, and its end."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from eosctl.errors import NotInstalled
from eosctl.model.audit import SparkOptions
from eosctl.model.client_properties import ClientProperties

if TYPE_CHECKING:
    from eosctl.spark.engine import SparkEngine, SparkPieces


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
    with _started(request, (properties,), timeout_s, find_java, archives) as (engine, _):
        yield engine


@contextmanager
def spark_pieces(
    request: SparkOptions,
    properties: tuple[ClientProperties, ClientProperties],
    timeout_s: float,
    find_java: Callable[[], Path],
    archives: Path | None = None,
) -> "Iterator[SparkPieces]":
    """The comparer of a mirror's pieces for the block; properties are those of its target and of its source."""
    with _started(request, properties, timeout_s, find_java, archives) as (_, pieces):
        yield pieces


@contextmanager
def _started(
    request: SparkOptions,
    properties: tuple[ClientProperties, ...],
    timeout_s: float,
    find_java: Callable[[], Path],
    archives: Path | None,
) -> "Iterator[tuple[SparkEngine, SparkPieces]]":
    """Both on one session; the last cluster is the source of pieces."""
    try:
        from eosctl.spark import engine, executor_access, session
    except ImportError as error:
        raise NotInstalled("Spark", "spark", error) from error

    given = (request.executor_properties, request.source_executor_properties)
    with session.spark_session(find_java, master=request.master, remote=request.remote, archives=archives) as spark:
        master = session.master_of(spark)
        with ExitStack() as stack:
            reached = [
                stack.enter_context(executor_access.executor_access(each, timeout_s, master=master, given=name))
                for each, name in zip(properties, given, strict=False)
            ]
            both = engine.BothAccesses(source=reached[-1], target=reached[0])
            yield engine.SparkEngine(spark, reached[0]), engine.SparkPieces(spark, both)

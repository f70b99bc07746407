"""Rows that stay on other machines: what serves them.

Nothing that lies below `pramble.spark` imports it. What it does for them is listed here, and loaded
when a session or a frame of Spark is met.
"""

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from pramble.data.places import Place
from pramble.errors import InvalidInput

# What is done to the recoded batches of a part of the rows, which has a number.
PartTask = Callable[[Iterator[Any], int], Iterator[Any]]

# What works on Spark, by its name, and the module that has it.
ON_SPARK = {
    "SparkRecords": "pramble.spark.records",
    "SparkFileRecords": "pramble.spark.files",
    "read_frame": "pramble.spark.files",
    "map_items": "pramble.spark.workers",
    "perturb_spark": "pramble.spark.frames",
    "selected_on_spark": "pramble.spark.records",
    "spec_on_spark": "pramble.spark.write",
    "write_on_spark": "pramble.spark.write",
}


def on_spark(name: str) -> Any:
    return getattr(import_module(ON_SPARK[name]), name)


def is_spark(implementation: Any) -> bool:
    """Whether a lazy frame is Spark's, classic or through Connect."""
    return bool(implementation.is_pyspark() or implementation.is_pyspark_connect())


class SparkPath(NamedTuple):
    path: Any
    session: Any


def spark_source(source: Any, session: Any) -> Any:
    if session is None:
        return source
    if not isinstance(source, str | Path | Place):
        raise InvalidInput(
            "With spark= the source is a path of Parquet files; a Spark frame has its session "
            f"already. Found {type(source).__name__}."
        )
    return SparkPath(source, session)

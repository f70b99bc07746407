"""Work where the rows of a Spark frame are: tasks on its partitions, classic and through Connect.

Rows never pass through pandas. What a task refuses comes back as a value and is raised here, so
that it reads as on one machine.
"""

import os
import pickle
import platform
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from operator import itemgetter
from typing import Any
from weakref import WeakSet

import pyarrow as pa

from pramble.errors import InvalidData, InvalidInput, PrambleError, with_values

Batches = Iterable[Any]
Task = Callable[[Batches], Iterator[Any]]

# Sessions whose workers can do our tasks.
CHECKED: "WeakSet[Any]" = WeakSet()

WAYS = (
    "Start the session with PYSPARK_PYTHON set to a Python that has what this one has: its path "
    "on one machine ({python}), or that of a packed environment that spark.archives ships."
)


def map_partitions(frame: Any, task: Task, schema: Any) -> Any:
    """Return the frame of what a task makes of each partition, once workers are known to be fit."""
    check_workers(frame.sparkSession)
    return mapped(frame, task, schema)


def mapped(frame: Any, task: Task, schema: Any) -> Any:
    """Return the frame of what a task makes of each partition.

    Spark warns here of pandas from 3.0 on, which no row passes through.
    """
    with own_python(frame.sparkSession), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
        return frame.mapInArrow(task, schema)


def check_workers(session: Any) -> None:
    """Refuse workers without pramble, or with another version of it or of Python."""
    if session in CHECKED:
        return
    from pyspark.errors import PySparkException

    def versions(batches: Batches) -> Iterator[Any]:
        import platform

        import pyarrow as pa

        for _ in batches:
            pass
        try:
            import pramble

            found = pramble.__version__
        except ImportError as error:
            found = f"cannot import {error.name}"
        known = [platform.python_version(), found]
        yield pa.RecordBatch.from_arrays(
            [pa.array([one]) for one in known], names=["python", "pramble"]
        )

    versions.__module__ = "__main__"  # pickled by value: workers may have no pramble
    try:
        one = session.range(1, numPartitions=1)
        found = mapped(one, versions, "python string, pramble string").toArrow()
    except PySparkException as error:
        raise unfit(said_by_spark(str(error))) from None
    refuse_other_versions(**found.to_pylist()[0])
    CHECKED.add(session)


def said_by_spark(message: str) -> str:
    if "PYTHON_VERSION_MISMATCH" in message or "different version" in message:
        return "have another minor version of Python"
    gone = "No module named"
    if gone in message:
        return f"miss a package: {gone}{message.partition(gone)[2].splitlines()[0]}"
    return f"could not do a first task: {message.splitlines()[0]}"


def refuse_other_versions(python: str, pramble: str) -> None:
    from pramble import __version__

    if python.split(".")[:2] != platform.python_version().split(".")[:2]:
        raise unfit(f"have Python {python}, and this one is {platform.python_version()}")
    if pramble.startswith("cannot"):
        raise unfit(pramble)
    if pramble != __version__:
        raise unfit(f"have pramble {pramble}, and here it is {__version__}")


def unfit(what: str) -> InvalidInput:
    return InvalidInput(f"Spark's workers {what}. {WAYS.format(python=sys.executable)}")


@contextmanager
def own_python(session: Any) -> Iterator[None]:
    """Let tasks that are made meanwhile run in this very Python, if workers are on this machine.

    Where PYSPARK_PYTHON is set, that is meant.
    """
    context: Any = getattr(session, "_sc", None)
    here = context is not None and str(context.master).startswith("local")
    if not here or "PYSPARK_PYTHON" in os.environ:
        yield
        return
    before, context.pythonExec = context.pythonExec, sys.executable
    try:
        yield
    finally:
        context.pythonExec = before


def map_items(session: Any, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """Return what a function makes of each item, in tasks; raise the first error as it is here."""
    numbers = session.range(len(items), numPartitions=max(len(items), 1))

    def on_items(batches: Batches) -> Iterator[Any]:
        for batch in batches:
            for number in batch["id"].to_pylist():
                made: Any
                try:
                    made = function(items[number])
                except PrambleError as error:
                    made = error
                yield answer_line(number, made)

    found = [made for _, _, made in answers_in(map_partitions(numbers, on_items, ANSWERS))]
    for made in found:
        if isinstance(made, PrambleError):
            raise made
    return found


OURS = re.compile(r"^pramble\.errors\.\w+: (.+)$", re.MULTILINE)
RAISED = re.compile(
    r"^(?:\w+\.)*(\w+(?:Error|Exception)|KeyboardInterrupt|SystemExit)\b", re.MULTILINE
)

# What a task made, or the error that it raised, with its number and how many rows it is of.
ANSWERS = "number long, rows long, made binary"


def answer_line(number: int, made: Any, *, rows: int = 0) -> Any:
    kinds = {"number": pa.int64(), "rows": pa.int64(), "made": pa.binary()}
    answer = {"number": number, "rows": rows, "made": pickle.dumps(made)}
    return pa.RecordBatch.from_pylist([answer], schema=pa.schema(kinds))


def answers_in(frame: Any) -> list[tuple[int, int, Any]]:
    """Return numbers, rows and what was made by tasks, in the order of the numbers."""
    from pyspark.errors import PySparkException

    try:
        found = frame.toArrow()
    except PySparkException as error:
        raise failed_on_spark(str(error)) from error
    lines = sorted(found.to_pylist(), key=itemgetter("number"))
    return [(one["number"], one["rows"], pickle.loads(one["made"])) for one in lines]  # noqa: S301


def failed_on_spark(said: str) -> InvalidInput:
    """Return the error for a job that Spark gave up.

    What pramble refused in a task is said as it is; the words of others may hold values of the
    data.
    """
    own = OURS.search(said)
    if own is not None:
        return InvalidData(f"{own[1]} Nothing was released.")
    kinds = RAISED.findall(said)
    kind = f" ({kinds[-1]})" if kinds else ""
    error = InvalidInput(
        f"A task on Spark failed as often as Spark allows{kind}. Nothing was released. The "
        "executors' logs say why; mend it and release again."
    )
    return with_values(error, said)


def functions_for(session: Any) -> Any:
    classic = hasattr(session, "_sc")
    return import_module("pyspark.sql.functions" if classic else "pyspark.sql.connect.functions")


def current_partition() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    return int(context.partitionId()) if context else 0


def quoted(name: str) -> str:
    """Return a column's name as Spark's expressions take it, whatever stands in it."""
    return "`" + name.replace("`", "``") + "`"

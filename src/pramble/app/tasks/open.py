"""Looking at a file."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from pramble.data.reading import Reading
from pramble.datasets import synthetic_new_york
from pramble.releasing.profile.survey import Survey, survey_file
from pramble.values import Watcher

BUILT_IN = 100_000
"""Made-up people of the built-in file."""


def survey(path: Path, reading: dict[str, Any], *, progress: Watcher | None = None) -> Survey:
    """Look at a file."""
    return survey_file(path, Reading(**reading), progress=progress)


def survey_built_in(path: Path, *, progress: Watcher | None = None) -> Survey:
    """Write the built-in, made-up people to a file of the desk, and look at it."""
    pq.write_table(synthetic_new_york(BUILT_IN), path)
    return survey_file(path, progress=progress)
